import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest, norm
from scipy.stats import chi2 as distribution
from statsmodels.stats.proportion import proportion_confint

from plmetrics.core.placements import placement_area
from plmetrics.inference.intervals.closed_forms import (
    area_error,
    chi2,
    clopper_pearson,
    delong,
    delong_error,
    delong_logit,
    hanley_mcneil,
    hanley_mcneil_score,
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
    ("right", "n", "expected"), [(150, 200, (0.686, 0.805)), (8542, 9769, (0.867679, 0.880823))]
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


def scores(seed: int, positives: int, negatives: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties of either class."""
    random = np.random.default_rng(seed)
    return random.normal(1, 1, positives).round(1), random.normal(0, 1.3, negatives).round(1)


def covariances(inside: np.ndarray, outside: np.ndarray) -> tuple[float, float, float]:
    """Area and the two parts of its variance as DeLong writes them: a loop over all pairs."""
    psi = np.array([[float(x > y) + 0.5 * (x == y) for y in outside] for x in inside])
    area = psi.mean()
    by_row = sum((v - area) ** 2 for v in psi.mean(axis=1)) / (len(inside) - 1)
    by_column = sum((v - area) ** 2 for v in psi.mean(axis=0)) / (len(outside) - 1)
    return area, by_row / len(inside), by_column / len(outside)


@pytest.mark.parametrize(("positives", "negatives"), [(3, 5), (30, 50), (7, 200)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_against_loops(positives: int, negatives: int, level: float) -> None:
    inside, outside = scores(positives, positives, negatives)
    area, first, second = covariances(inside, outside)
    distinct = np.unique(np.concatenate([inside, outside]))
    counts = [np.array([[(part == x).sum() for x in distinct]], float) for part in (inside, outside)]
    found = placement_area(*counts)
    variances = found.positive_variance, found.negative_variance
    assert found.area[0] == pytest.approx(area)
    assert delong_error(variances)[0] == pytest.approx((first + second) ** 0.5)
    lower, upper = delong(found.area, variances, level)
    half = stats.norm.ppf((1 + level) / 2) * (first + second) ** 0.5
    assert (lower[0], upper[0]) == pytest.approx((max(area - half, 0), min(area + half, 1)))
    freedom = (first + second) ** 2 / (first**2 / (positives - 1) + second**2 / (negatives - 1))
    half = stats.t.ppf((1 + level) / 2, freedom) * (first + second) ** 0.5 / (area * (1 - area))
    sizes = np.array([float(positives)]), np.array([float(negatives)])
    lower, upper = delong_logit(found.area, variances, sizes, level)
    centre = np.log(area / (1 - area))
    expected = [1 / (1 + np.exp(-centre + half)), 1 / (1 + np.exp(-centre - half))]
    assert [lower[0], upper[0]] == pytest.approx(expected)


def test_the_error_is_that_of_the_mann_whitney_statistic_under_equal_distributions() -> None:
    """Without ties and skill the variance of the area is (P + N + 1) / (12 P N)."""
    random = np.random.default_rng(1)
    parts = []
    for _ in range(400):
        positive = np.zeros(90)
        positive[random.choice(90, 40, replace=False)] = 1
        made = placement_area(positive, 1 - positive)
        parts.append(made.positive_variance + made.negative_variance)
    assert np.mean(parts) == pytest.approx(91 / (12 * 40 * 50), rel=0.02)


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
def test_a_width_at_both_ends_of_hanley_mcneil(positives: int, negatives: int) -> None:
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
