from __future__ import annotations

import numpy as np
import pytest

from plmetrics.inference.intervals.centring import centred_interval


def test_lower_end_from_deviations_and_upper_end_from_replicates() -> None:
    deviations, replicates = np.linspace(0.001, 0.099, 99)[:, None], np.linspace(0.202, 0.398, 99)[:, None]
    lower, upper = centred_interval(np.array([0.3]), replicates, deviations, 0.0, 0.9)
    assert lower[0] == pytest.approx(0.3 - 0.095)
    assert upper[0] == pytest.approx(0.39)


def test_the_lower_end_stops_at_the_least_value() -> None:
    lower, _ = centred_interval(np.array([0.01]), np.full((5, 1), 0.02), np.full((5, 1), 0.5), 0.0, 0.95)
    assert lower.tolist() == [0.0]


def test_without_deviations_the_distance_to_the_value_counts() -> None:
    replicates = np.array([[-0.4], [0.1], [0.6]])
    lower, upper = centred_interval(np.array([0.1]), replicates, None, -1.0, 0.98)
    assert lower[0] == pytest.approx(0.1 - 0.5)
    assert upper[0] == pytest.approx(0.6)


def test_undefined_replicates_are_left_out_of_both() -> None:
    replicates, deviations = np.array([[0.2], [np.nan], [0.4]]), np.array([[0.1], [9.0], [0.1]])
    lower, upper = centred_interval(np.array([0.3]), replicates, deviations, 0.0, 0.9)
    assert lower[0] == pytest.approx(0.2)
    assert upper[0] == pytest.approx(0.4)
