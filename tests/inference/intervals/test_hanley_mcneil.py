from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plmetrics.inference.intervals.hanley_mcneil import area_error, hanley_mcneil, hanley_mcneil_score

sizes = st.integers(1, 5000).map(float)


def error_by_hand(area: float, positives: float, negatives: float) -> float:
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (positives - 1) * (q1 - area**2) + (negatives - 1) * (q2 - area**2)
    return (max(variance, 0.0) / (positives * negatives)) ** 0.5


@pytest.mark.parametrize(
    ("area", "positives", "negatives", "expected"),
    [(0.75, 100, 100, (0.683, 0.817)), (0.929207, 2357, 7412, (0.921866, 0.936549))],
)
def test_published_wald_intervals(
    area: float, positives: int, negatives: int, expected: tuple[float, float]
) -> None:
    (error,) = area_error(np.array([area]), np.array([float(positives)]), np.array([float(negatives)]))
    assert (area - 1.959964 * error, area + 1.959964 * error) == pytest.approx(
        expected, abs=1.1e-3 if area < 0.8 else 1e-6
    )


@settings(deadline=None)
@given(st.floats(0, 1), sizes, sizes)
def test_the_error_by_hand(area: float, positives: float, negatives: float) -> None:
    (error,) = area_error(np.array([area]), np.array([positives]), np.array([negatives]))
    assert error == pytest.approx(error_by_hand(area, positives, negatives), rel=1e-6, abs=1e-9)


@settings(deadline=None)
@given(st.floats(0, 1), sizes, sizes, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_ends_are_the_outermost_areas_that_hold(
    area: float, positives: float, negatives: float, level: float
) -> None:
    z = {0.5: 0.67448975, 0.9: 1.64485363, 0.95: 1.95996398, 0.99: 2.5758293}[level]
    lower, upper = hanley_mcneil_score(np.array([area]), np.array([positives]), np.array([negatives]), level)
    assert 0 <= lower[0] <= area <= upper[0] <= 1
    grid = np.linspace(0, 1, 401)
    error = np.array([error_by_hand(t, positives, negatives) for t in grid])
    clearly_holds = np.abs(area - grid) <= z * error - 1e-6
    clearly_fails = np.abs(area - grid) > z * error + 1e-6
    inside = (grid >= lower[0]) & (grid <= upper[0])
    assert not np.any(clearly_holds & ~inside)
    assert not np.any(clearly_fails & inside)


@pytest.mark.parametrize(("positives", "negatives"), [(1, 1), (2, 50), (50, 2), (1000, 1000)])
def test_a_width_at_both_ends(positives: int, negatives: int) -> None:
    counts = np.full(2, float(positives)), np.full(2, float(negatives))
    lower, upper = hanley_mcneil_score(np.array([0.0, 1.0]), *counts, 0.95)
    assert lower[0] == 0
    assert 0 < upper[0] < 1
    assert 0 < lower[1] < 1
    assert upper[1] == 1


def test_more_rows_narrow_it() -> None:
    counts = np.array([10.0, 100.0, 1000.0])
    lower, _ = hanley_mcneil_score(np.ones(3), counts, counts, 0.95)
    assert np.all(np.diff(lower) > 0)


def test_nothing_is_known_without_one_of_the_classes() -> None:
    area, counts = np.array([0.5, 0.5, np.nan]), (np.array([0.0, 5.0, 5.0]), np.array([5.0, 0.0, 5.0]))
    ends = hanley_mcneil_score(area, *counts, 0.95)
    assert np.isnan(ends).all()


@pytest.mark.parametrize(
    ("area", "positives", "negatives", "expected"),
    [(0.75, 100, 100, (0.683, 0.817)), (0.929207, 2357, 7412, (0.921866, 0.936549))],
)
def test_published_intervals_of_the_plain_form(
    area: float, positives: int, negatives: int, expected: tuple[float, float]
) -> None:
    sizes = np.array([float(positives)]), np.array([float(negatives)])
    lower, upper = hanley_mcneil(np.array([area]), *sizes, 0.95)
    assert (lower[0], upper[0]) == pytest.approx(expected, abs=1.5 * 10.0 ** (2 - len(str(expected[0]))))
