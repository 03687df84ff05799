"""Tests of probability integral transforms against scipy."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm

RNG = np.random.default_rng(31)
ROWS = 700
MEAN, SD = RNG.normal(50, 10, ROWS), RNG.uniform(1, 4, ROWS)
TABLE = pl.DataFrame(
    {
        "y": MEAN + 0.3 + 1.2 * SD * RNG.normal(size=ROWS),
        "mean": MEAN,
        "sd": SD,
        "g": RNG.choice(["a", "b"], ROWS),
        "w": RNG.choice([0.0, 1.0, 2.0], ROWS),
    }
).with_columns(pl.Series(f"q{i}", MEAN + SD * stats.norm.ppf(i / 10)) for i in range(1, 10))
MODELS: dict[str, Any] = {
    "normal": {"mean": "mean", "sd": "sd"},
    "deciles": {"quantiles": {i / 10: f"q{i}" for i in range(1, 10)}},
}


def values(rows: pl.DataFrame, metrics: Any, models: Any = MODELS, **settings: Any) -> pl.DataFrame:
    return plm.evaluate(rows, task="quantile", label="y", models=models, metrics=metrics, **settings).metrics


def transforms(rows: pl.DataFrame) -> np.ndarray:
    return stats.norm.cdf(rows["y"], rows["mean"], rows["sd"])


@pytest.mark.parametrize("bins", [10, 5])
def test_bins_are_compared_as_by_scipy(bins: int) -> None:
    names = [f"pit_chi2(bins={bins})", f"pit_chi2_p_value(bins={bins})"]
    found = values(TABLE, names, slices="g", uncertainty={"replicates": 50})
    for (place, _), lines in found.group_by("slice", "model"):
        rows = TABLE if place == "all" else TABLE.filter(g=str(place)[-1])
        theirs = stats.chisquare(np.histogram(transforms(rows), bins=bins, range=(0, 1))[0])
        assert lines["value"].to_list() == pytest.approx([theirs.statistic, theirs.pvalue], rel=1e-9)
    assert set(found["interval_status"]) == {"not_estimable"}


def ensemble(rows: int, members: int, digits: int | None = None) -> tuple[pl.DataFrame, dict[str, Any]]:
    draws = RNG.normal(size=(rows, members + 1))
    draws = draws if digits is None else draws.round(digits)
    names = [f"x{place}" for place in range(members)]
    frame = pl.DataFrame({"y": draws[:, 0], "g": np.arange(rows) % 2, "w": np.arange(rows) % 3})
    return frame.hstack(pl.DataFrame(draws[:, 1:], schema=names)), {"m": {"members": names}}


def rank_shares(rows: pl.DataFrame, members: list[str], bins: int) -> np.ndarray:
    """By hand: each row once, evenly over the ranks that the label may have, and ranks together in bins."""
    counts = np.zeros(len(members) + 1)
    for label, *values in rows.select("y", *members).rows():
        below, equal = sum(value < label for value in values), sum(value == label for value in values)
        counts[below : below + equal + 1] += 1 / (equal + 1)
    return counts.reshape(bins, -1).sum(axis=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("digits", [None, 0])
@pytest.mark.parametrize(("members", "bins"), [(9, 10), (9, 5), (9, 2), (10, 11), (19, 10)])
def test_ranks_among_members_are_compared_as_by_scipy(members: int, bins: int, digits: int | None) -> None:
    frame, models = ensemble(400, members, digits)
    names = [f"pit_chi2(bins={bins})", f"pit_chi2_p_value(bins={bins})"]
    for (place,), lines in values(frame, names, models, slices="g").group_by("slice"):
        rows = frame if place == "all" else frame.filter(g=int(str(place)[-1]))
        theirs = stats.chisquare(rank_shares(rows, models["m"]["members"], bins))
        assert lines["value"].to_list() == pytest.approx([theirs.statistic, theirs.pvalue], rel=1e-9)
    twice = frame.filter(pl.col("w") > 0).select(pl.all().repeat_by("w").explode())
    weighted = values(frame, names, models, weight="w")["value"].to_list()
    assert weighted == pytest.approx(values(twice, names, models)["value"].to_list(), rel=1e-9)


def test_p_values_of_right_ensembles_are_uniform() -> None:
    frame, models = ensemble(400 * 300, 9)
    by = frame.with_columns(g=pl.int_range(pl.len()) // 300)
    p = values(by, "pit_chi2_p_value", models, slices="g").filter(slice_set="g")["value"]
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_ranks_that_bins_do_not_divide() -> None:
    frame, models = ensemble(10, 11)
    with pytest.raises(
        plm.ConfigError, match=r"bins that divide the 12 ranks among members \(2, 3, 4, 6, 12\)"
    ):
        values(frame, "pit_chi2(bins=5)", models)


def test_weights_count_rows() -> None:
    twice = TABLE.filter(pl.col("w") > 0).select(pl.all().repeat_by(pl.col("w").cast(int)).explode())
    names = ["pit_chi2", "berkowitz", "berkowitz_p_value", "interval_coverage_p_value(level=0.8)"]
    normal = {"normal": MODELS["normal"]}
    weighted = values(TABLE, names, normal, weight="w")["value"].to_list()
    assert weighted == pytest.approx(values(twice, names, normal)["value"].to_list(), rel=1e-9)


def test_berkowitz_is_the_ratio_of_two_normal_likelihoods() -> None:
    found = values(TABLE, ["berkowitz", "berkowitz_p_value"], {"normal": MODELS["normal"]})["value"].to_list()
    scores = stats.norm.ppf(transforms(TABLE))
    fitted = stats.norm.logpdf(scores, *stats.norm.fit(scores)).sum()
    ratio = 2 * (fitted - stats.norm.logpdf(scores).sum())
    assert found == pytest.approx([ratio, stats.chi2.sf(ratio, 2)], rel=1e-9)


@pytest.mark.parametrize("level", [0.8, 0.6])
def test_coverage_is_tested_by_the_ratio_of_two_binomial_likelihoods(level: float) -> None:
    found = values(TABLE, [f"interval_coverage_p_value(level={level})"])["value"].to_list()
    inside = np.sum(abs(transforms(TABLE) - 0.5) <= level / 2)
    ratio = 2 * (stats.binom.logpmf(inside, ROWS, inside / ROWS) - stats.binom.logpmf(inside, ROWS, level))
    assert found == pytest.approx([stats.chi2.sf(ratio, 1)] * 2, rel=1e-9)


@pytest.mark.parametrize("y", [0.0, 100.0])
def test_intervals_that_hold_all_or_nothing(y: float) -> None:
    rows = pl.DataFrame({"y": [y] * 20, "q1": [-1.0] * 20, "q9": [1.0] * 20})
    models = {"m": {"quantiles": {0.1: "q1", 0.9: "q9"}}}
    found = values(rows, ["interval_coverage_p_value(level=0.8)"], models)["value"].item()
    share = 0.8 if y == 0 else 0.2
    assert found == pytest.approx(stats.chi2.sf(-40 * np.log(share), 1), rel=1e-9)


def test_p_values_of_right_forecasts_are_uniform() -> None:
    groups = np.repeat(np.arange(400), 200)
    rows = pl.DataFrame({"y": RNG.normal(size=80_000), "mean": 0.0, "sd": 1.0, "g": groups})
    names = ["pit_chi2_p_value", "berkowitz_p_value", "interval_coverage_p_value(level=0.8)"]
    found = values(rows, names, {"m": MODELS["normal"]}, slices="g").filter(slice_set="g")
    for (name,), part in found.group_by("metric"):
        rejected = (part["value"] < 0.1).mean()
        assert 0.05 < rejected < 0.155, name


@pytest.mark.parametrize(("score", "rows", "weight"), [(0.7, 3, None), (0.1, 100, None), (0.7, 100_000, 0.3)])
def test_rounding_of_equal_scores_is_no_variance(score: float, rows: int, weight: float | None) -> None:
    alike = pl.DataFrame({"y": [score] * rows, "mean": 0.0, "sd": 1.0, "w": weight or 1.0})
    found = plm.evaluate(
        alike,
        task="quantile",
        label="y",
        models={"m": MODELS["normal"]},
        weight=None if weight is None else "w",
        metrics=["berkowitz", "berkowitz_p_value"],
    ).metrics
    assert found["status"].to_list() == ["zero_denominator"] * 2


def test_what_has_no_value_says_why() -> None:
    alike = pl.DataFrame({"y": [1.0, 1.0], "mean": [0.0, 0.0], "sd": [1.0, 1.0]})
    normal = {"m": MODELS["normal"]}
    assert values(alike, "berkowitz", normal)["status"].item() == "zero_denominator"
    certain = TABLE.with_columns(sd=pl.when(pl.col("g") == "a").then("sd").otherwise(0.0))
    assert values(certain, "berkowitz", normal, slices="g")["status"].to_list() == [
        "nonpositive_values",
        "ok",
        "nonpositive_values",
    ]
    for metric, words in (("pit_chi2(bins=7)", "the quantile 0.1428"), ("berkowitz", "a mean with its sd")):
        with pytest.raises(plm.ConfigError, match=words):
            values(TABLE, metric, {"deciles": MODELS["deciles"]})
