"""`plmetrics power` against statsmodels and hand calculation."""

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import power_proportions_2indep, samplesize_proportions_2indep_onetail


def planned(invoke: Any, *options: str) -> Any:
    outcome = invoke("power", *options, "--format", "json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


@pytest.mark.parametrize("ratio", [0.5, 1, 3])
def test_units_of_shares_are_those_of_statsmodels(invoke: Any, ratio: float) -> None:
    plan = planned(invoke, "--baseline", "0.1", "--effect", "0.02", "--ratio", str(ratio))
    theirs = samplesize_proportions_2indep_onetail(0.02, 0.1, 0.8, ratio=ratio)
    assert plan["units"] == np.ceil(theirs)
    power = power_proportions_2indep(0.02, 0.1, plan["units"], ratio, return_results=False)
    assert plan["power"] == pytest.approx(power, abs=1e-4)


@pytest.mark.parametrize("ratio", [0.5, 1, 3])
def test_units_of_means_are_those_of_statsmodels(invoke: Any, ratio: float) -> None:
    options = ("--baseline", "40", "--sd", "25", "--effect", "0.1", "--relative", "--ratio", str(ratio))
    plan = planned(invoke, *options, "--power", "0.9", "--level", "0.99")
    assert plan["units"] == np.ceil(TTestIndPower().solve_power(4 / 25, None, 0.01, 0.9, ratio))
    assert plan["effect"] == 4


def test_units_find_an_effect(invoke: Any) -> None:
    plan = planned(invoke, "--baseline", "5", "--sd", "2", "--units", "200")
    assert plan["effect"] == pytest.approx(2 * TTestIndPower().solve_power(None, 200, 0.05, 0.8), rel=1e-5)
    share = planned(invoke, "--baseline", "0.1", "--units", "3841")
    assert share["effect"] == pytest.approx(0.02, abs=1e-5)
    both = planned(invoke, "--baseline", "0.1", "--units", "1000", "--effect", "-0.03")
    theirs = power_proportions_2indep(-0.03, 0.1, 1000, return_results=False)
    assert both["power"] == pytest.approx(theirs, abs=1e-4)


def theirs_of_clusters(
    effect: float, variance: tuple[float, float], units: float, ratio: float, size: float, deflate: float
) -> float:
    """Power of the t test of clusters by SciPy's noncentral t."""
    error = np.sqrt(deflate * (variance[0] / units + variance[1] / (ratio * units)))
    freedom = (1 + ratio) * units / size - 2
    limit = stats.t.ppf(0.975, freedom)
    away = stats.nct(freedom, effect / error)
    return float(away.sf(limit) + away.cdf(-limit))


@pytest.mark.parametrize(
    ("options", "effect", "variance"),
    [
        (("--baseline", "0.1", "--effect", "0.02"), 0.02, (0.12 * 0.88, 0.1 * 0.9)),
        (("--baseline", "10", "--effect", "2.5", "--sd", "5"), 2.5, (25.0, 25.0)),
    ],
)
@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_clusters_count_as_one(
    invoke: Any, options: tuple[str, ...], effect: float, variance: tuple[float, float], ratio: float
) -> None:
    # By hand: 1 + ((1 + 0.5^2) 20 - 1) 0.05 = 2.2.
    clusters = ("--cluster-size", "20", "--icc", "0.05", "--cluster-cv", "0.5", "--ratio", str(ratio))
    plan = planned(invoke, *options, *clusters)
    assert plan["design_effect"] == pytest.approx(2.2)
    assert plan["clusters"] == np.ceil(plan["units"] / 20)
    assert plan["clusters_control"] == np.ceil(plan["units_control"] / 20)
    powers = [theirs_of_clusters(effect, variance, plan["units"] - less, ratio, 20, 2.2) for less in (0, 1)]
    assert plan["power"] == pytest.approx(powers[0], abs=1e-7)  # SciPy 1.13 differs by 1e-8
    assert powers[0] >= 0.8 > powers[1]
    assert f"in {plan['clusters']:,} clusters" in invoke("power", *options, *clusters).out
    detected = planned(invoke, *options[:2], *options[4:], *clusters, "--units", str(plan["units"]))
    assert detected["effect"] == pytest.approx(effect, rel=0.01)


def test_few_clusters_have_the_power_that_is_planned(invoke: Any) -> None:
    """Simulated with clusters of 100 as they are analysed: by the t test of their means."""
    few = ("--baseline", "10", "--effect", "2.5", "--sd", "5", "--cluster-size", "100", "--icc", "0.05")
    plan = planned(invoke, *few)
    assert 400 < plan["units"] <= 500
    at_two = planned(invoke, *few, "--units", "200")
    rng = np.random.default_rng(3)
    of_means = np.sqrt(25 * 0.05 + 25 * 0.95 / 100)
    arm, control = rng.normal(12.5, of_means, (20_000, 2)), rng.normal(10, of_means, (20_000, 2))
    significant = stats.ttest_ind(arm, control, axis=1).pvalue < 0.05
    assert at_two["power"] == pytest.approx(significant.mean(), abs=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("0.1",), "give an effect, or units"),
        (("1.5", "--effect", "0.1"), "baseline: must lie between 0 and 1"),
        (("0.9", "--effect", "0.2"), "makes 1.1 of the arm"),
        (("0.1", "--effect", "0"), "other than 0"),
        (("3", "--effect", "1", "--sd", "-1"), "sd: must be above 0"),
        (("3", "--effect", "1e-30", "--sd", "1"), "no number of units"),
        (("0.1", "--units", "2"), "find no effect"),
        (("0.1", "--units", "1"), "2 or more"),
        (("0.1", "--effect", "nan"), "other than 0"),
        (("0.1", "--effect", "0.1", "--cluster-size", "9", "--icc", "2"), "icc: must lie"),
        (("0.1", "--effect", "0.1", "--cluster-size", "0", "--icc", "0"), "cluster size: must be 1 or more"),
        (("0.1", "--units", "900", "--relative"), "effect: --relative is of an effect"),
        (("0.1", "--effect", "0.1", "--icc", "0.1"), "cluster size: --icc is of clusters"),
        (("0.1", "--effect", "0.1", "--cluster-cv", "0.1", "--icc", "0"), "give --cluster-size as well"),
        (("0.1", "--effect", "0.1", "--cluster-size", "9"), "icc: clusters have a correlation"),
        (
            ("0.1", "--units", "17", "--cluster-size", "9", "--icc", "0"),
            "an arm of 17 units is too small: it takes 18",
        ),
        (
            ("5", "--sd", "1", "--effect", "2", "--units", "4", "--ratio", "0.2"),
            "an arm of 1 units is too small",
        ),
        (("0.1", "--effect", "0.1", "--ratio", "0"), "ratio: must be above 0"),
        (
            ("0.1", "--effect", "0.1", "--units", "99", "--power", "0.9"),
            "effect, units and power give the third",
        ),
    ],
)
def test_what_is_out_of_range_is_refused(invoke: Any, options: tuple[str, ...], words: str) -> None:
    outcome = invoke("power", "--baseline", *options)
    assert outcome.code == 2
    assert words in outcome.err
