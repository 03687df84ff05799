"""Changes from one run to another, by the intervals of their differences."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

TABLES, ROWS = 40, 400


@pytest.fixture(scope="module")
def calibrated() -> pl.DataFrame:
    """Slices with two scores that are right: the mean of all labels in one bin, and chances in many bins."""
    rng = np.random.default_rng(3)
    chance = 0.3 + 0.4 * rng.random(TABLES * ROWS)
    label = (rng.random(len(chance)) < chance).astype(int)
    table = np.repeat(np.arange(TABLES), ROWS)
    return pl.DataFrame({"y": label, "table": table, "one": 0.5, "many": chance})


def evaluated(frame: pl.DataFrame, models: Any, **further: Any) -> plm.Result:
    metrics = ["ece(bins=20)", "ece(bins=20, debias=true)", "brier", "ks"]
    uncertainty = {"replicates": 100, "keep": True}
    asked: dict[str, Any] = {"metrics": metrics, "slices": ["table"], "uncertainty": uncertainty}
    return plm.evaluate(frame, label="y", models=models, **asked, **further)


@pytest.fixture(scope="module")
def paired(calibrated: pl.DataFrame) -> pl.DataFrame:
    """The changes of the slices, from the scores in one bin to those in many."""
    before, after = (evaluated(calibrated, {"m": name}) for name in ("one", "many"))
    return plm.diff(before, after).metrics.filter(slice_set="table")


@pytest.mark.slow
def test_paired_runs_have_the_intervals_of_models_in_one_run(
    calibrated: pl.DataFrame, paired: pl.DataFrame
) -> None:
    models = {"one": "one", "many": "many"}
    compared = evaluated(calibrated, models, compare="one").comparisons
    both = paired.join(compared, on=["metric", "slice_set", "slice"], suffix="_of_models")
    tested = both.filter(pl.col("interval_status") == "ok")
    assert tested["metric"].n_unique() == 4
    for name in ("difference", "lower", "upper"):
        assert tested[name].to_list() == pytest.approx(tested[f"{name}_of_models"].to_list(), abs=1e-12)


def test_noise_in_more_bins_is_no_change_of_a_calibration_error(paired: pl.DataFrame) -> None:
    """Both scores are calibrated, and the variance of the chances, 0.4^2 / 12, is a gain in the Brier score."""
    alarms = paired.group_by("metric").agg((pl.col("change") == "beyond_interval").sum())
    number = dict(alarms.iter_rows())
    assert max(number["ece(bins=20)"], number["ece(bins=20, debias=true)"]) <= 6
    assert number["brier"] >= 20


def test_values_moved_where_the_interval_does_not_hold_0(paired: pl.DataFrame) -> None:
    judged = paired.filter(pl.col("lower").is_not_null(), pl.col("difference") != 0)
    outside = (judged["lower"] > 0) | (judged["upper"] < 0)
    assert (judged["change"] == "beyond_interval").to_list() == outside.to_list()
    assert (judged["moved"] > 1).to_list() == outside.to_list()
    assert {*outside} == {True, False}
    change, lower, upper = (judged[name].to_numpy() for name in ("difference", "lower", "upper"))
    reach = np.where(change > 0, change - lower, upper - change)  # to the end on the side of 0
    assert judged["moved"].to_list() == pytest.approx((np.abs(change) / reach).tolist())
    assert not np.allclose(upper - change, change - lower)


def test_independent_runs_have_intervals_from_those_of_both_values() -> None:
    """Intervals of rates near 1 reach farther down than up."""
    rng = np.random.default_rng(5)

    def run(rows: int, right: float) -> plm.Result:
        label = rng.integers(0, 2, rows)
        call = np.where(rng.random(rows) < right, label, 1 - label)
        frame = pl.DataFrame({"y": label, "p": call.astype(float), "g": np.arange(rows) % 5})
        asked: dict[str, Any] = {"metrics": ["accuracy"], "slices": ["g"]}
        return plm.evaluate(frame, label="y", models={"m": "p"}, uncertainty={"method": "analytic"}, **asked)

    before, after = run(300, 0.97), run(200, 0.9)
    changes = plm.diff(before, after).metrics
    rows = before.metrics.join(after.metrics, on=["metric", "slice"], suffix="_after")
    assert changes.height == rows.height == 6
    for row in changes.iter_rows(named=True):
        both = rows.row(by_predicate=pl.col("slice") == row["slice"], named=True)
        a, a1, a2 = (both[name] for name in ("value", "lower", "upper"))
        b, b1, b2 = (both[f"{name}_after"] for name in ("value", "lower", "upper"))
        ends = (b - a) - np.hypot(b - b1, a2 - a), (b - a) + np.hypot(b2 - b, a - a1)
        assert (row["lower"], row["upper"]) == pytest.approx(ends)
        outside = ends[0] > 0 or ends[1] < 0
        assert row["change"] == ("beyond_interval" if outside else "within_interval")
        reach = (b - a) - ends[0] if b > a else ends[1] - (b - a)
        assert row["moved"] == pytest.approx(abs(b - a) / reach)
