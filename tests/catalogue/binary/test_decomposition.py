import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.catalogue.needs import Bins, Sums
from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create
from plmetrics.core.errors import ConfigError
from plmetrics.inference.metric_values import bin_view

PARTS = ["brier_reliability", "brier_resolution", "brier_uncertainty", "brier_within_bin"]


def table(seed, rows=500, digits=None):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.0, 2.0, rows)
    p = p if digits is None else p.round(digits)
    return pl.DataFrame(
        {
            "y": rng.random(rows) < p**1.3,
            "p": p,
            "w": rng.integers(0, 4, rows) * 0.5,
            "g": rng.choice(["a", "b", "c"], rows),
        }
    )


def bins_of(frame, bins):
    """The channels of uniform bins `[bin, channel]`, by a loop over rows."""
    out = np.zeros((bins, 4))
    for y, p, w in frame.select("y", "p", "w").iter_rows():
        index = next(b for b in range(bins) if p <= (b + 1) / bins)
        out[index] += w * np.array([1.0, y, p, (p - y) ** 2])
    return out


def evaluated(frame, parameters="", **arguments):
    given = {"label": "y", "models": "p", "slices": {"g": "g"}}
    metrics = [f"{name}{parameters}" for name in PARTS]
    return plm.evaluate(frame, metrics=["brier", *metrics], **{**given, **arguments}).metrics


def values(result):
    """Values by slice and name, without parameters."""
    return {
        (text, metric.split("(")[0]): value
        for text, metric, value in result.select("slice", "metric", "value").iter_rows()
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("parameters", ["", "(bins=1)", "(bins=7)", "(bins=5, strategy=quantile)"])
def test_the_parts_add_up_to_brier(parameters, weight, digits):
    found = values(evaluated(table(1, digits=digits), parameters, weight=weight))
    for text in ("all", "g=a", "g=b", "g=c"):
        reliability, resolution, uncertainty, within = (found[text, name] for name in PARTS)
        total = reliability - resolution + uncertainty + within
        assert found[text, "brier"] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_binned_grid_gives_the_same_parts(weight):
    frame = table(2)
    options = {"weight": weight, "uncertainty": {"replicates": 20, "seed": 1}}
    exact, binned = (evaluated(frame, "(bins=6)", exact=exact, **options) for exact in (True, False))
    assert values(binned) == pytest.approx(values(exact), rel=1e-12)
    for column in ("lower", "upper", "std_error"):
        np.testing.assert_allclose(binned[column], exact[column], rtol=1e-9)


def test_one_score_a_bin_leaves_nothing_inside():
    frame = table(3, digits=1).filter(pl.col("p") > 0)
    found = values(evaluated(frame, "(bins=10)"))
    assert found["all", "brier_within_bin"] == 0.0
    by_score = frame.group_by("p").agg(pl.len().alias("n"), pl.col("y").mean().alias("rate"))
    n, p, rate = (by_score[name].to_numpy() for name in ("n", "p", "rate"))
    assert found["all", "brier_reliability"] == pytest.approx(
        np.average((p - rate) ** 2, weights=n), rel=1e-12
    )
    spread = np.average((rate - frame["y"].mean()) ** 2, weights=n)
    assert found["all", "brier_resolution"] == pytest.approx(spread, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rounding_inside_bins_is_no_difference_of_models(seed):
    frame = table(seed, digits=1).filter(pl.col("p") > 0).with_columns(shuffled=pl.col("p").shuffle(seed))
    models = {name: name for name in ("p", "shuffled")}
    given = {"models": models, "uncertainty": {"replicates": 50}, "compare": "p"}
    found = plm.evaluate(frame, label="y", metrics=["brier_within_bin(bins=10)"], **given)
    assert found.metrics["value"].to_list() == [0.0, 0.0]
    assert set(found.metrics["interval_status"]) == {"degenerate"}
    assert found.comparisons.select("difference", "p_value").row(0) == (0.0, None)


@pytest.mark.parametrize(("score", "within"), [(1.0, -0.25), (0.0, 0.75)])
def test_one_bin_holds_the_ends_of_the_range(score, within):
    frame = pl.DataFrame({"y": [True, False], "p": [score, 1 - score], "g": ["a", "a"]})
    found = values(evaluated(frame, "(bins=1)"))
    assert found["all", "brier_within_bin"] == pytest.approx(within, rel=1e-12)
    assert create("binary", "brier_within_bin", {}).range == (-0.25, 0.75)


@pytest.mark.parametrize("case", [[True], [False], [True] * 4])
def test_one_row_or_class_is_defined(case):
    frame = pl.DataFrame({"y": case, "p": [0.3] * len(case), "g": ["a"] * len(case)})
    result = evaluated(frame)
    assert (result["status"] == "ok").all()
    found = values(result)
    assert (found["all", "brier_resolution"], found["all", "brier_uncertainty"]) == (0.0, 0.0)
    assert found["all", "brier_reliability"] == pytest.approx((0.3 - case[0]) ** 2)


@pytest.mark.parametrize("name", PARTS)
def test_leading_axes_do_not_matter(name):
    states = np.array([bins_of(table(seed, rows=40), 15) for seed in range(6)])
    states[0] = 0.0
    metric = create("binary", name, {})
    with np.errstate(invalid="ignore"):
        found = metric.finalise(bin_view(states.reshape(2, 3, 15, 4)))
        expected = [metric.finalise(bin_view(state)) for state in states]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-13)
    reasons = metric.undefined(bin_view(states))
    assert [(status, where.tolist()) for status, where in reasons] == [("no_rows", [True] + [False] * 5)]


@pytest.mark.parametrize("name", ["brier_reliability", "brier_resolution"])
def test_deviation_is_what_the_squared_length_loses(name):
    point, replicate = (bin_view(bins_of(table(seed, rows=200), 5)) for seed in (4, 5))
    metric = create("binary", name, {"bins": 5})
    moved = metric.gaps(replicate) - metric.gaps(point)
    length = np.sqrt(np.average(moved**2, weights=replicate.bin_weight))
    value = np.average(metric.gaps(point) ** 2, weights=point.bin_weight)
    lower = value - metric.deviation(replicate, point)
    assert lower == pytest.approx(max(0.0, np.sqrt(value) - length) ** 2, abs=1e-15)
    assert metric.deviation(point, point) == pytest.approx(0.0, abs=1e-15)


def test_the_interval_of_a_calibrated_model_reaches_down_to_no_gap():
    rng = np.random.default_rng(6)
    p = rng.random(3000)
    frame = pl.DataFrame({"y": rng.random(3000) < p, "p": p, "g": rng.integers(0, 3, 3000)})
    found = evaluated(frame, uncertainty={"replicates": 200}).filter(pl.col("metric") == "brier_reliability")
    assert found["method"].to_list() == ["centred"] * 4
    assert (found["lower"] < 1e-4).all()
    assert (found["upper"] > found["value"]).all()


@pytest.mark.parametrize("name", PARTS)
def test_the_four_are_written_alike(name):
    metric = create("binary", name, {"bins": 10, "strategy": "quantile"})
    assert metric.text == f"{name}(bins=10, strategy=quantile)"
    with pytest.raises(ParameterError, match="bins must be a whole number from 1 to 10,000"):
        create("binary", name, {"bins": 0})
    if name != "brier_uncertainty":
        with pytest.raises(ConfigError, match="evaluate"):
            metric.expr("y", "p")


def test_only_the_within_bin_part_asks_for_distances():
    asked = {name: create("binary", name, {}).needs for name in PARTS}
    binned = {name: need.binning for name, need in asked.items() if isinstance(need, Bins)}
    assert {name for name, binning in binned.items() if binning.distances} == {"brier_within_bin"}
    assert asked["brier_uncertainty"] == Sums()
    assert create("binary", "ece", {}).needs == asked["brier_reliability"] == asked["brier_resolution"]
