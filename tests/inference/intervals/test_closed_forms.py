from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest, norm
from scipy.stats import chi2 as distribution
from statsmodels.stats.proportion import proportion_confint

from plmetrics.inference.intervals.closed_forms import (
    chi2,
    clopper_pearson,
    logit,
    normal,
    share_error,
    wilson,
)


@pytest.mark.parametrize(("counted", "n", "level"), [(150, 200, 0.95), (3, 7, 0.5), (1, 9, 0.99)])
def test_a_share_against_statsmodels(counted: int, n: int, level: float) -> None:
    share = np.array([counted / n])
    lower, upper = normal(share, share_error(share, np.array([float(n)])), level)
    expected = proportion_confint(counted, n, 1 - level, "normal")
    assert (max(lower[0], 0), min(upper[0], 1)) == pytest.approx(expected)


def test_as_many_standard_errors_as_the_level_says() -> None:
    lower, upper = normal(np.array([2.0, 3.0]), np.array([0.1, 0.0]), 0.9)
    assert (upper - lower) / 2 == pytest.approx([0.1 * norm.ppf(0.95), 0.0])
    assert np.isnan(share_error(np.array([0.5]), np.array([0.0])))[0]


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


@given(st.integers(1, 3000), st.data(), st.floats(0.5, 0.999))
def test_against_scipy_and_statsmodels(n: int, data: st.DataObject, level: float) -> None:
    counted = data.draw(st.integers(0, n))
    lower, upper = clopper_pearson(np.array([counted / n]), np.array([float(n)]), level)
    exact = binomtest(counted, n).proportion_ci(level, method="exact")
    assert (lower[0], upper[0]) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert (lower[0], upper[0]) == pytest.approx(
        proportion_confint(counted, n, 1 - level, "beta"), abs=1e-9, nan_ok=True
    )


def test_no_rows_no_interval() -> None:
    lower, upper = clopper_pearson(np.array([0.5, np.nan]), np.array([0.0, 10.0]), 0.95)
    assert np.isnan(lower).all()
    assert np.isnan(upper).all()


def test_it_is_not_the_interval_that_a_library_prints_as_wilson() -> None:
    lower, upper = clopper_pearson(np.array([8542 / 9769]), np.array([9769.0]), 0.9)
    assert (round(lower[0], 5), round(upper[0], 6)) == (0.86875, 0.879882)


def test_a_published_interval() -> None:
    lower, upper = logit(np.array([0.830708]), np.array([2357.0]), 0.95)
    assert (round(lower[0], 6), round(upper[0], 6)) == (0.815025, 0.845313)


@pytest.mark.parametrize("area", [0.01, 0.3, 0.99])
@pytest.mark.parametrize("positives", [2.0, 50.0, 1e6])
def test_ends_stay_inside_and_say_one_minus_the_other(area: float, positives: float) -> None:
    lower, upper = logit(np.array([area, 1 - area]), np.array([positives, positives]), 0.95)
    assert 0 < lower[0] < area < upper[0] < 1
    assert [lower[0], upper[0]] == pytest.approx([1 - upper[1], 1 - lower[1]])


@pytest.mark.parametrize("n", [1, 10, 5000])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_against_scipy(n: int, level: float) -> None:
    lower, upper = chi2(np.array([3.0]), np.array([float(n)]), level)
    tail = (1 - level) / 2
    assert lower[0] == pytest.approx(3 * (n / distribution.ppf(1 - tail, n)) ** 0.5)
    assert upper[0] == pytest.approx(3 * (n / distribution.ppf(tail, n)) ** 0.5)


def test_it_covers_under_normal_errors() -> None:
    errors = np.random.default_rng(2).normal(0, 2.0, (3000, 25))
    lower, upper = chi2(np.sqrt((errors**2).mean(axis=1)), np.full(3000, 25.0), 0.9)
    assert np.mean((lower <= 2) & (upper >= 2)) == pytest.approx(0.9, abs=0.025)
