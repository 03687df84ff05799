import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import power_proportions_2indep, samplesize_proportions_2indep_onetail

import plmetrics as plm
from plmetrics.inference.comparisons.tests.power import (
    detectable_effect,
    detectable_proportion,
    power_of_means,
    power_of_proportions,
    power_of_t,
    required_for_means,
    required_for_proportions,
)


@pytest.mark.parametrize(("p1", "p2"), [(0.1, 0.12), (0.5, 0.3), (0.01, 0.02)])
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_units_for_two_shares(p1: float, p2: float, power: float) -> None:
    mean = (p1 + p2) / 2
    root = stats.norm.ppf(0.975) * np.sqrt(2 * mean * (1 - mean))
    root += stats.norm.ppf(power) * np.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    n = plm.tests.required_n_proportions(p1, p2, power=power)
    assert n == int(np.ceil(root**2 / (p1 - p2) ** 2))
    assert plm.tests.power_proportions(p1, p2, n) >= power > plm.tests.power_proportions(p1, p2, n - 1)


@pytest.mark.parametrize("effect", [0.05, 0.5, 1.5])
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_units_for_two_means_are_those_of_statsmodels(effect: float, power: float) -> None:
    expected = TTestIndPower().solve_power(effect, alpha=0.05, power=power)
    assert plm.tests.required_n_means(effect * 3, 3.0, power=power) == int(np.ceil(expected))


def test_power_of_a_huge_effect_where_few_units_tell_its_error() -> None:
    """A t of 99.7 may lie below the limit of 63.7 by its denominator alone."""
    limit, spread = stats.t.ppf(0.995, 1), np.sqrt(stats.chi2.ppf((np.arange(100_000) + 0.5) / 1e5, 1))
    expected = stats.norm.sf(limit * spread - limit - 36).mean()
    found = power_of_t(np.array([limit + 36]), np.array([1.0]), 0.99)
    assert found[0] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("n", [2, 10, 200])
def test_power_of_two_means_is_that_of_statsmodels(n: int) -> None:
    expected = TTestIndPower().power(0.4, n, alpha=0.1)
    assert plm.tests.power_means(-0.8, 2.0, n, level=0.9) == pytest.approx(expected)


def test_an_effect_that_cannot_be_missed() -> None:
    assert plm.tests.power_means(1.0, 1e-3, 1000) == 1.0
    assert plm.tests.required_n_means(1.0, 1e-6) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plm.tests.required_n_proportions(0.1, 0.1), "must differ"),
        (lambda: plm.tests.required_n_proportions(0.0, 0.1), "p1 must be above 0 and below 1"),
        (lambda: plm.tests.power_proportions(0.2, 0.1, 0), "n must be at least 1"),
        (lambda: plm.tests.required_n_means(0.0, 1.0), "must not be 0"),
        (lambda: plm.tests.required_n_means(1.0, 1.0, power=1.0), "power must be above 0"),
        (lambda: plm.tests.power_means(1.0, 0.0, 5), "sd must be"),
        (lambda: plm.tests.power_means(1.0, 1.0, 1), "n must be at least 2"),
    ],
)
def test_wrong_arguments_are_said(call: object, words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(("effect", "n_a", "n_b"), [(0.3, 90, 200), (-0.5, 30, 30), (0.01, 5, 4)])
def test_power_of_means_is_that_of_statsmodels(effect: float, n_a: int, n_b: int) -> None:
    theirs = TTestIndPower().power(effect, n_a, 0.05, ratio=n_b / n_a)
    sizes = np.array([float(n_a)]), np.array([float(n_b)])
    assert power_of_means(np.array([effect]), *sizes, 0.95)[0] == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("effect", [0.8, 0.2, -0.05])
def test_required_n_is_the_first_with_the_power(effect: float) -> None:
    n = required_for_means(np.array([effect]), 0.8, 0.95)
    assert n[0] == np.ceil(TTestIndPower().solve_power(abs(effect), None, 0.05, 0.8))
    assert power_of_means(np.array([effect]), n, n, 0.95)[0] >= 0.8
    assert power_of_means(np.array([effect]), n - 1, n - 1, 0.95)[0] < 0.8


def test_required_n_of_nothing_is_undefined() -> None:
    assert np.isnan(required_for_means(np.array([0.0, np.nan]), 0.8, 0.95)).all()
    shares = np.array([0.2, 0.2, 1.2])
    assert np.isnan(required_for_proportions(shares, np.array([0.2, 0.2, 0.5]), 0.8, 0.95)).all()


@pytest.mark.parametrize(("share", "base"), [(0.12, 0.1), (0.5, 0.6), (0.01, 0.02)])
def test_shares_need_as_many_units_as_give_the_power(share: float, base: float) -> None:
    a, b = np.array([share]), np.array([base])
    n = required_for_proportions(a, b, 0.8, 0.95)
    assert power_of_proportions(a, b, n, n, 0.95)[0] >= 0.8
    assert power_of_proportions(a, b, n - 1, n - 1, 0.95)[0] < 0.8
    theirs = power_proportions_2indep(share - base, base, n[0], return_results=False)
    assert power_of_proportions(a, b, n, n, 0.95)[0] == pytest.approx(theirs, abs=2e-3)


@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
@pytest.mark.parametrize(("share", "base"), [(0.12, 0.1), (0.5, 0.6)])
def test_shares_of_uneven_arms_need_the_units_of_statsmodels(share: float, base: float, ratio: float) -> None:
    n = required_for_proportions(np.array([share]), np.array([base]), 0.8, 0.95, ratio)[0]
    theirs = samplesize_proportions_2indep_onetail(share - base, base, 0.8, ratio=ratio)
    assert n == pytest.approx(np.ceil(theirs), abs=1)


@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
def test_means_of_uneven_arms_need_the_units_of_statsmodels(ratio: float) -> None:
    n = required_for_means(np.array([0.2, 0.7]), 0.9, 0.95, ratio)
    theirs = [TTestIndPower().solve_power(effect, None, 0.05, 0.9, ratio) for effect in (0.2, 0.7)]
    assert n.tolist() == np.ceil(theirs).tolist()


def test_a_large_effect_is_certain() -> None:
    n = np.array([50.0, 51.0, 1e5])
    assert power_of_means(np.array([7.0, 5.0, 0.1]), n, n, 0.95).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("n_a", "n_b"), [(64, 64), (20, 400), (5_000, 4_000)])
def test_the_detectable_effect_is_that_of_statsmodels(n_a: int, n_b: int) -> None:
    effect = detectable_effect(np.array([float(n_a)]), np.array([float(n_b)]), 0.8, 0.95)[0]
    assert effect == pytest.approx(TTestIndPower().solve_power(None, n_a, 0.05, 0.8, n_b / n_a), rel=1e-5)


def test_the_detectable_effect_of_large_arms_is_that_of_the_normal() -> None:
    n = np.array([1e5])
    hand = (1.959964 + 0.841621) * np.sqrt(2 / 1e5)
    assert detectable_effect(n, n, 0.8, 0.95)[0] == pytest.approx(hand, rel=2e-5)


def test_the_detectable_share_has_the_power() -> None:
    base, sizes = np.array([0.1, 0.1, 0.999, np.nan, 0.5]), np.array([3841.0, 200, 50, 100, 0])
    effect = detectable_proportion(base, sizes, 2 * sizes, 0.8, 0.95)
    power = power_of_proportions(base + effect, base, sizes, 2 * sizes, 0.95)
    assert power[:2] == pytest.approx(0.8, abs=1e-9)
    assert np.isnan(effect[2:]).all()
    assert np.isnan(detectable_effect(np.array([1.0]), np.array([9.0]), 0.8, 0.95)).all()
