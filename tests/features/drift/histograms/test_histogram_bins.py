"""Edges of histograms: round, few, and around all values, whatever these are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plmetrics.features.drift.histograms.histogram_bins import MOST_INTERVALS, round_edges

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
@example(1e-310, 2e-310)
@example(-1.7e308, 1.7e308)
@example(1e15, 1e15 + 12.375)
@example(0.0, 5e-324)
def test_edges_rise_and_hold_every_value_between_two(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low == high:
        return
    edges = round_edges(low, high)
    assert 2 <= len(edges) <= MOST_INTERVALS + 1
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= low
    assert high <= edges[-1]


@pytest.mark.parametrize(
    ("low", "high", "step", "first", "last"),
    [
        (0.0, 1.0, 0.05, 0.0, 1.05),
        (0.0137, 0.9981, 0.05, 0.0, 1.0),
        (-3.2, 4.9, 0.5, -3.5, 5.0),
        (18.0, 79.9, 5.0, 15.0, 80.0),
        (1e6, 1.2e6, 1e4, 1e6, 1.21e6),
        (0.0, 2.6e-9, 1e-10, 0.0, 2.7e-9),
    ],
)
def test_edges_are_round(low: float, high: float, step: float, first: float, last: float) -> None:
    edges = round_edges(low, high)
    assert edges[[0, -1]] == pytest.approx([first, last], rel=1e-12, abs=1e-300)
    assert np.diff(edges) == pytest.approx(np.full(len(edges) - 1, step), rel=1e-9)


def test_whole_numbers_have_intervals_of_whole_width() -> None:
    assert round_edges(0.0, 4.0, whole=True).tolist() == [0, 1, 2, 3, 4, 5]
    assert set(np.diff(round_edges(0.0, 100.0, whole=True))) == {5.0}
