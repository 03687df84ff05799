"""`plmetrics power` against statsmodels and hand calculation."""

import json
from typing import Any

import numpy as np
import pytest
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


def test_clusters_take_their_design_effect(invoke: Any) -> None:
    # By hand: 1 + ((1 + 0.5^2) 20 - 1) 0.05 = 2.2.
    options = (
        "--baseline",
        "0.1",
        "--effect",
        "0.02",
        "--cluster-size",
        "20",
        "--icc",
        "0.05",
        "--cluster-cv",
        "0.5",
    )
    plan = planned(invoke, *options)
    assert plan["design_effect"] == pytest.approx(2.2)
    assert (plan["units"], plan["clusters"]) == (np.ceil(3841 * 2.2), np.ceil(np.ceil(3841 * 2.2) / 20))
    assert "in 423 clusters" in invoke("power", *options).out


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
        (("0.1", "--effect", "0.1", "--icc", "2"), "icc: must lie"),
        (("0.1", "--effect", "0.1", "--cluster-size", "0"), "cluster size: must be 1 or more"),
        (("0.1", "--effect", "0.1", "--ratio", "0"), "ratio: must be above 0"),
    ],
)
def test_what_is_out_of_range_is_refused(invoke: Any, options: tuple[str, ...], words: str) -> None:
    outcome = invoke("power", "--baseline", *options)
    assert outcome.code == 2
    assert words in outcome.err
