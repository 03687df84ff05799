import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportions_ztest

import plmetrics as plm

RANDOM = np.random.default_rng(4)
A, B = RANDOM.normal(1.0, 2.0, 31), RANDOM.normal(0.5, 0.7, 18)


def test_welch_is_that_of_scipy() -> None:
    expected = stats.ttest_ind(A, B, equal_var=False)
    found = plm.tests.welch_t(A, B, level=0.9)
    assert (found.statistic, found.p_value, found.df) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.df)
    )
    assert (found.lower, found.upper) == pytest.approx(tuple(expected.confidence_interval(0.9)))
    moments = plm.tests.welch_t_from_moments(
        31, A.mean(), A.std(ddof=1), 18, B.mean(), B.std(ddof=1), level=0.9
    )
    assert moments.p_value == pytest.approx(found.p_value)


@pytest.mark.parametrize("scale", [1e-200, 1e-80, 1.0, 1e80, 1e200])
def test_degrees_of_freedom_have_no_unit(scale: float) -> None:
    """The squares of variances of tiny values are 0, those of huge ones too large."""
    expected = stats.ttest_ind(A, B, equal_var=False)
    sides = [(len(side), side.mean() * scale, side.std(ddof=1) * scale) for side in (A, B)]
    found = plm.tests.welch_t_from_moments(*sides[0], *sides[1])
    assert (found.p_value, found.df) == pytest.approx((expected.pvalue, expected.df))


def test_a_spread_is_small_beside_a_mean_however_many_rows_there_are() -> None:
    """The standard error of many rows is tiny though they differ by far more than rounding."""
    sides = (4_000_000, 1e9 + 0.0015, 1.0), (4_000_000, 1e9, 1.0)
    found = plm.tests.welch_t_from_moments(*sides[0], *sides[1])
    assert found.p_value == pytest.approx(2 * stats.norm.sf(0.0015 / (2 / 4_000_000) ** 0.5), rel=1e-3)


@pytest.mark.parametrize("round_to", [8, 0])
def test_mann_whitney_is_that_of_scipy(round_to: int) -> None:
    one, other = A.round(round_to), B.round(round_to)
    expected = stats.mannwhitneyu(one, other, method="asymptotic", use_continuity=True)
    found = plm.tests.mann_whitney(one, other)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    pairs = [float(x > y) + 0.5 * float(x == y) for x in one for y in other]
    assert found.estimate == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("counts", [(45, 300, 30, 280), (3, 10, 9, 12), (0, 10, 4, 12)])
def test_two_proportions_are_those_of_statsmodels(counts: tuple[int, int, int, int]) -> None:
    x_a, n_a, x_b, n_b = counts
    z, p = proportions_ztest([x_a, x_b], [n_a, n_b])
    found = plm.tests.two_proportion_z_from_counts(*counts)
    assert (found.statistic, found.p_value) == pytest.approx((z, p))
    p_a, p_b = x_a / n_a, x_b / n_b
    half = stats.norm.ppf(0.975) * np.sqrt(p_a * (1 - p_a) / n_a + p_b * (1 - p_b) / n_b)
    assert (found.lower, found.upper) == pytest.approx((p_a - p_b - half, p_a - p_b + half))
    outcomes = [[1] * x + [0] * (n - x) for x, n in ((x_a, n_a), (x_b, n_b))]
    assert plm.tests.two_proportion_z(*outcomes) == found


@pytest.mark.parametrize("counts", [(0, 5, 0, 7), (5, 5, 7, 7)])
def test_shares_that_do_not_vary(counts: tuple[int, int, int, int]) -> None:
    found = plm.tests.two_proportion_z_from_counts(*counts)
    assert (found.p_value, found.estimate, found.lower, found.status) == (1.0, 0.0, None, "ok")
    opposite = plm.tests.two_proportion_z_from_counts(5, 5, 0, 5)
    assert opposite.lower is None
    assert opposite.p_value == pytest.approx(2 * stats.norm.sf(np.sqrt(10)))
    assert plm.tests.two_proportion_z_from_counts(0, 0, 1, 5).status == "no_rows"


def test_cohen_d_pools_the_variances() -> None:
    pooled = np.sqrt((30 * A.var(ddof=1) + 17 * B.var(ddof=1)) / 47)
    d = (A.mean() - B.mean()) / pooled
    found = plm.tests.cohen_d(A, B)
    assert found.estimate == pytest.approx(d)
    half = stats.norm.ppf(0.975) * np.sqrt(49 / (31 * 18) + d**2 / (2 * 49))
    assert (found.lower, found.upper, found.p_value) == (
        pytest.approx(d - half),
        pytest.approx(d + half),
        None,
    )


@pytest.mark.parametrize("sizes", [(8, 12), (40, 30)])
def test_lift_has_the_ends_that_the_test_of_the_difference_leaves(sizes: tuple[int, int]) -> None:
    """The mean of an arm less 1 + lift times that of the other is just at the limit of Welch's t (Fieller)."""
    random = np.random.default_rng(9)
    one, other = random.normal(6.0, 2.0, sizes[0]), random.normal(5.0, 2.0, sizes[1])
    found, welch = plm.tests.lift(one, other), stats.ttest_ind(one, other, equal_var=False)
    assert found.p_value == pytest.approx(welch.pvalue)
    for end in (1 + found.lower, 1 + found.upper):
        error = np.sqrt(one.var(ddof=1) / sizes[0] + end**2 * other.var(ddof=1) / sizes[1])
        assert abs(one.mean() - end * other.mean()) / error == pytest.approx(stats.t.ppf(0.975, welch.df))
    about_zero = plm.tests.lift(one, random.normal(0.3, 2.0, sizes[1]) ** 3)
    assert (about_zero.status, about_zero.lower, about_zero.upper) == ("ok", None, None)


def test_lift_has_the_width_that_replicates_have() -> None:
    random = np.random.default_rng(9)
    one, other = random.exponential(2.2, 4000), random.exponential(2.0, 5000)
    found = plm.tests.lift(one, other)
    assert found.estimate == pytest.approx(one.mean() / other.mean() - 1)
    drawn = [random.choice(one, 4000).mean() / random.choice(other, 5000).mean() - 1 for _ in range(600)]
    half = stats.norm.ppf(0.975) * np.std(drawn)
    assert (found.upper - found.lower) / 2 == pytest.approx(half, rel=0.12)
    assert (found.p_value < 0.05) == (not found.lower <= 0 <= found.upper)
    assert plm.tests.lift([1.0, 2.0], [-1.0, 1.0]).status == "zero_denominator"
    below = plm.tests.lift([1.0, 2.0], [-1.0, -3.0])
    assert (below.status, below.estimate, below.lower) == ("nonpositive_values", None, None)


@pytest.mark.parametrize("test", ["welch_t", "cohen_d", "lift"])
def test_arms_that_are_too_small_or_do_not_vary(test: str) -> None:
    function = getattr(plm.tests, test)
    for one, other in (([], [1.0, 2.0]), ([1.0], [1.0, 2.0])):
        assert function(one, other).status == "too_few_units"
    assert function([2.0, 2.0], [1.0, 1.0]).status == "zero_variance"
    if test != "cohen_d":
        same = function([2.0, 2.0], [2.0, 2.0])
        assert (same.p_value, same.estimate, same.lower, same.upper) == (1.0, 0.0, 0.0, 0.0)


def test_ranks_without_a_difference() -> None:
    assert plm.tests.mann_whitney([1.0, 1.0], [1.0]).p_value == 1.0
    assert plm.tests.mann_whitney([], [1.0]).status == "no_rows"


@pytest.mark.parametrize("bad", [[1.0, None], [1.0, float("nan")], ["x"], [[1.0]]])
def test_values_must_be_numbers(bad: list) -> None:
    with pytest.raises(plm.ConfigError, match="a must be"):
        plm.tests.welch_t(bad, [1.0, 2.0])


def test_outcomes_must_be_zero_or_one() -> None:
    with pytest.raises(plm.ConfigError, match="0 and 1 only"):
        plm.tests.two_proportion_z([0.5], [1])
    with pytest.raises(plm.ConfigError, match="successes_b must lie between 0 and n_b: 9 of 5"):
        plm.tests.two_proportion_z_from_counts(1, 5, 9, 5)
