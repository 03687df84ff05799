from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plmetrics.inference.intervals.wilson import wilson


@pytest.mark.parametrize(
    ("right", "n", "expected"),
    [(150, 200, (0.686, 0.805)), (8542, 9769, (0.867679, 0.880823))],
)
def test_published_intervals(right: int, n: int, expected: tuple[float, float]) -> None:
    lower, upper = wilson(np.array([right / n]), np.array([float(n)]), 0.95)
    digits = len(str(expected[0])) - 2
    assert (round(lower[0], digits), round(upper[0], digits)) == expected


@settings(deadline=None)
@given(st.integers(1, 10_000), st.data(), st.floats(0.01, 0.999))
def test_the_ends_solve_the_score_equation(n: int, data: st.DataObject, level: float) -> None:
    value = data.draw(st.integers(0, n)) / n
    ends = np.array(wilson(np.array([value]), np.array([float(n)]), level))[:, 0]
    z = stats.norm.ppf((1 + level) / 2)
    assert np.abs(value - ends) == pytest.approx(z * np.sqrt(ends * (1 - ends) / n), abs=1e-9)
    assert 0 <= ends[0] <= value <= ends[1] <= 1


@pytest.mark.parametrize("n", [1.0, 2.5, 50.0, 1e9])
def test_a_width_at_both_ends(n: float) -> None:
    lower, upper = wilson(np.array([0.0, 1.0]), np.array([n, n]), 0.95)
    assert lower[0] == 0
    assert upper[1] == 1
    assert upper[0] > 0
    assert lower[1] < 1
    assert upper[0] == pytest.approx(1 - lower[1])


def test_nothing_is_known_of_no_rows_and_of_undefined_values() -> None:
    lower, upper = wilson(np.array([1.0, 0.0, np.nan]), np.array([0.0, 0.0, 10.0]), 0.95)
    assert np.isnan(lower).all()
    assert np.isnan(upper).all()
