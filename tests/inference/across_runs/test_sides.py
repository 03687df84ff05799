"""Rows of two runs, side by side."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm
from plmetrics.inference.across_runs.sides import align


def table(keys: list[str | None], values: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"key": keys, "value": values}, schema={"key": pl.String, "value": pl.Int64})


def test_rows_of_either_run_once_the_later_one_first() -> None:
    both = align(table(["b", None, "new"], [1, 2, 3]), table(["gone", None, "b"], [4, 5, 6]), ["key"])
    assert both.select("key", "value", "value|b", "here", "here|b").rows() == [
        ("b", 1, 6, True, True),
        (None, 2, 5, True, True),
        ("new", 3, None, True, None),
        ("gone", None, 4, None, True),
    ]


def test_rows_of_one_key_are_matched_in_order_where_both_runs_have_as_many() -> None:
    alike = align(table(["a", "a"], [1, 2]), table(["a", "a"], [3, 4]), ["key"])
    assert alike.select("value", "value|b").rows() == [(1, 3), (2, 4)]
    other = align(table(["a"], [1]), table(["a", "a"], [3, 4]), ["key"])
    assert other.select("value", "value|b").rows() == [(1, None), (None, 3), (None, 4)]


METRICS = {
    "binary": ["log_loss", "roc_auc", "precision(threshold=0.5)", "ks"],
    "regression": ["mae", "rmse", "median_absolute_error"],
    "multiclass": ["accuracy", "f1(average=none)"],
}
OTHER_COLUMN = "was 'old' and is 'new'"
SCALES = ["difference", "ratio", "relative_change"]


def run_pairs_table(rows: int, seed: int = 1, task: str = "binary") -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    label = draw.integers(0, 3 if task == "multiclass" else 2, rows)
    old = (0.3 * label + 0.7 * draw.random(rows)).clip(0, 1).round(2)
    new = (old + draw.normal(0, 0.1, rows)).clip(0, 1)
    if task == "multiclass":
        old, new = (np.where(draw.random(rows) < 0.7, label, draw.integers(0, 3, rows)) for _ in range(2))
    return pl.DataFrame(
        {
            "y": label + (0.25 * draw.normal(size=rows) if task == "regression" else 0),
            "old": old,
            "new": new,
            "region": draw.choice(["n", "s", "tiny"], rows, p=[0.6, 0.39, 0.01]),
            "customer": draw.integers(0, rows // 3, rows),
            "w": draw.integers(0, 3, rows).astype(float),
        }
    )


def evaluated(frame: pl.DataFrame, models: dict[str, str], task: str = "binary", **given: Any) -> plm.Result:
    drawn = {"replicates": 60, "seed": 5} | given.pop("uncertainty", {})
    columns: dict[str, Any] = {"label": "y", "metrics": METRICS[task], "slices": ["region"]} | given
    if task != "binary":
        models = {name: {"prediction": column} for name, column in models.items()}
    return plm.evaluate(frame, task=task, models=models, uncertainty=drawn, **columns)


def versus(earlier: plm.Result) -> dict[str, Any]:
    return {"compare": {"run": earlier, "scales": SCALES, "correction": "none"}}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("rows", "task", "given"),
    [
        (300, "binary", {}),
        (6000, "binary", {}),
        (6000, "binary", {"exact": False}),
        (900, "binary", {"unit": "customer", "weight": "w"}),
        (15_000, "binary", {"unit": "customer"}),
        (900, "binary", {"weight": "w"}),
        (900, "binary", {"uncertainty": {"method": "jackknife"}}),
        (900, "binary", {"uncertainty": {"method": "analytic"}}),
        (900, "regression", {}),
        (6000, "regression", {}),
        (900, "multiclass", {}),
    ],
)
def test_as_one_run_with_both_models(rows: int, task: str, given: dict[str, Any]) -> None:
    frame = run_pairs_table(rows, task=task)
    asked = {"baseline": "before", "scales": SCALES, "correction": "none"}
    whole = evaluated(frame, {"before": "old", "m": "new"}, task, compare=asked, **given).comparisons
    before = evaluated(frame, {"m": "old"}, task, **given, **given_compared(given))
    found = evaluated(frame, {"m": "new"}, task, **versus(before), **given).comparisons
    keys = ["scale", "slice_set", "slice", "metric", "class"]
    both = whole.join(found, on=keys, suffix="|run", nulls_equal=True, maintain_order="left")
    assert both.height == whole.height == found.height
    for name in ("status", "n"):
        assert both[name].to_list() == both[f"{name}|run"].to_list()
    assert_allclose(both, "difference")
    # DeLong's test of two areas needs the rows of both models, which one run alone has.
    both = both.filter(pl.col("test").ne_missing("delong"))
    for name in ("lower", "upper", "std_error", "p_value"):
        assert_allclose(both, name)
    assert both["method"].to_list() == both["method|run"].to_list()
    read = both.filter(interval_status="ok")
    assert read["test"].to_list() == read["test|run"].to_list()
    assert read.height > rows / 1000
    kind = "units" if "unit" in given else "rows"
    (note,) = set(read["note|run"])
    assert note.startswith(f"paired: both runs are of the same {kind}; the model's ")
    assert note.endswith(OTHER_COLUMN)


def assert_allclose(both: pl.DataFrame, name: str) -> None:
    one, other = (both[column].fill_null(np.nan).to_numpy() for column in (name, f"{name}|run"))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def given_compared(given: dict[str, Any]) -> dict[str, Any]:
    """What makes an analytic run have the replicates of a comparison: these are not made for values alone."""
    analytic = given.get("uncertainty", {}).get("method") == "analytic"
    return {"compare": {"slices": {"region": "all"}}} if analytic else {}


@pytest.mark.slow
def test_the_interval_is_narrower_than_that_of_independent_samples() -> None:
    frame = run_pairs_table(2000)
    before = evaluated(frame, {"m": "old"})
    paired = evaluated(frame, {"m": "new"}, **versus(before)).comparisons
    apart = evaluated(frame, {"m": "new"}, uncertainty={"keep": False}, **versus(before)).comparisons
    assert set(apart["test"]) == {"independent_t"}
    assert set(apart["note"]) == {f"independent samples; the model's score {OTHER_COLUMN}"}
    ratio = paired["std_error"] / apart["std_error"]
    large = paired["slice"] != "region=tiny"
    assert ratio.filter(large).max() < 0.9
    assert paired["difference"].to_list() == apart["difference"].to_list()


def test_the_same_model_again_is_equal() -> None:
    frame = run_pairs_table(5000)
    before = evaluated(frame, {"m": "old"})
    again = evaluated(frame, {"m": "old"}, compare={"run": before}).comparisons
    numbers = again.select("difference", "lower", "upper", "std_error", "p_value")
    assert numbers.unique().rows() == [(0.0, 0.0, 0.0, 0.0, 1.0)]


def test_equal_calls_leave_open_what_their_rows_can() -> None:
    """By Tango's (1998) interval; what is no share or mean in [0, 1] has no interval."""
    frame = run_pairs_table(400).with_columns(half=pl.when(pl.col("old") >= 0.5).then(0.9).otherwise(0.1))
    metrics = ["accuracy", "precision", "f1", "log_loss"]
    before = evaluated(frame, {"m": "old"}, metrics=metrics)
    found = evaluated(frame, {"m": "half"}, metrics=metrics, compare={"run": before}).comparisons
    overall = {row["metric"]: row for row in found.filter(slice_set="overall").to_dicts()}
    statuses = {name: row["interval_status"] for name, row in overall.items()}
    assert statuses == {"accuracy": "ok", "precision": "ok", "f1": "degenerate", "log_loss": "ok"}
    z2 = stats.norm.ppf(0.975) ** 2
    for name, rows in (("accuracy", 400), ("precision", (frame["old"] >= 0.5).sum())):
        assert overall[name]["upper"] == -overall[name]["lower"] == pytest.approx(z2 / (rows + z2), rel=0.35)
        assert overall[name]["p_value"] == 1


@pytest.mark.parametrize("again", ["rows", "units"])
def test_five_rows_without_an_error_in_either_run_prove_nothing(again: str) -> None:
    """Rows that both runs call rightly, or other rows of the same units."""
    frame = pl.DataFrame({"y": [0, 1, 0, 1, 1], "p": [0.1, 0.8, 0.2, 0.9, 0.6], "customer": range(5)})
    other = frame.with_columns(y=1 - pl.col("y"), p=1 - pl.col("p")) if again == "units" else frame
    unit = {"unit": "customer"} if again == "units" else {}
    gate = {"metric": "accuracy", "against": {"run": True}, "no_worse_than": 0.1, "using": "interval"}
    asked: dict[str, Any] = {"metrics": ["accuracy", "f1"], "slices": [], **unit}
    before = evaluated(frame, {"m": "p"}, **asked)
    result = evaluated(other, {"m": "p"}, compare={"run": before}, gates=[gate], **asked)
    found = {row["metric"]: row for row in result.comparisons.to_dicts()}
    z2 = stats.norm.ppf(0.975) ** 2
    assert found["accuracy"]["upper"] == -found["accuracy"]["lower"] == pytest.approx(z2 / (5 + z2))
    assert found["f1"]["interval_status"] != "ok"
    assert result.gates["verdict"].to_list() == ["inconclusive"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("after", "given", "words"),
    [
        (run_pairs_table(900, seed=2), {}, "independent samples"),
        (run_pairs_table(901).head(900).with_columns(y=1 - pl.col("y")), {}, "independent samples"),
        (run_pairs_table(900).head(800), {}, "independent samples"),
        (run_pairs_table(900), {"uncertainty": {"seed": 6}}, "by other seeds"),
        (run_pairs_table(900), {"unit": "customer", "uncertainty": {"seed": 6}}, "by other seeds"),
        (run_pairs_table(900).with_columns(y=pl.col("y").reverse()), {}, "independent samples"),
        (
            run_pairs_table(900).filter(pl.col("customer") < 200),
            {"unit": "customer"},
            "units are in both runs, of",
        ),
        (
            run_pairs_table(900).with_columns(pl.col("customer") + 300),
            {"unit": "customer"},
            "independent samples",
        ),
    ],
)
def test_other_units_or_draws_are_no_pairs(after: pl.DataFrame, given: dict[str, Any], words: str) -> None:
    unit = {"unit": given["unit"]} if "unit" in given else {}
    before = evaluated(run_pairs_table(900), {"m": "old"}, **unit)
    found = evaluated(after, {"m": "new"}, compare={"run": before}, **given).comparisons
    assert set(found["test"]) == {"independent_t"}
    (note,) = set(found["note"])
    assert note.endswith(words) or words in note


def test_other_rows_of_the_same_units_are_pairs() -> None:
    """Customers are resampled, whatever they did: runs of two days share them."""
    frame = run_pairs_table(3000)
    days = [frame.filter(pl.int_range(pl.len()) % 2 == day) for day in (0, 1)]
    held = set(days[0]["customer"]) & set(days[1]["customer"])
    one, other = (day.filter(pl.col("customer").is_in(held)) for day in days)
    before = evaluated(one, {"m": "old"}, unit="customer")
    found = evaluated(other, {"m": "old"}, unit="customer", compare={"run": before}).comparisons
    assert set(found["test"]) == {"paired_bootstrap"}


@pytest.mark.slow
def test_fewer_replicates_are_the_first_of_more() -> None:
    frame = run_pairs_table(700)
    few, many = (evaluated(frame, {"m": "old"}, uncertainty={"replicates": size}) for size in (30, 80))
    drawn = [evaluated(frame, {"m": "new"}, compare={"run": before}).comparisons for before in (few, many)]
    short = evaluated(frame, {"m": "new"}, uncertainty={"replicates": 30}, compare={"run": few}).comparisons
    names = ["difference", "lower", "upper", "p_value"]
    # Sums of floats differ in their last bits from run to run.
    assert_frame_equal(drawn[0].select(names), short.select(names), rel_tol=1e-12)
    with pytest.raises(AssertionError):
        assert_frame_equal(drawn[1].select(names), short.select(names), rel_tol=1e-6)


def test_what_is_kept_and_when(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = run_pairs_table(500)
    assert evaluated(frame, {"m": "old"}, uncertainty={"keep": False}).replicates is None
    assert plm.evaluate(frame, label="y", models="old", metrics=["log_loss"]).replicates is None
    few = evaluated(frame, {"m": "old"}).replicates
    assert few is not None
    assert few.rows["replicates"].list.len().unique().to_list() == [60]
    monkeypatch.setattr("plmetrics.inference.across_runs.retained_replicates.FEW", 60 * few.rows.height - 1)
    many = evaluated(frame, {"m": "old"})
    assert many.replicates is None
    for asked in ({"uncertainty": {"keep": True}}, {"compare": {"run": many}}):
        kept = evaluated(frame, {"m": "old"}, **asked).replicates
        assert kept is not None
        assert kept.rows.equals(few.rows)


def test_other_blocks_of_the_same_units_are_no_pairs() -> None:
    frame = run_pairs_table(15_000)
    asked: dict[str, Any] = {"unit": "customer", "metrics": ["log_loss"]}
    before = evaluated(frame, {"m": "old"}, **asked)
    found = evaluated(frame, {"m": "new"}, compare={"run": before}, uncertainty={"blocks": 500}, **asked)
    words = f"the runs are of the same units, but in other blocks; the model's score {OTHER_COLUMN}"
    assert set(found.comparisons["note"]) == {f"taken as independent samples: {words}"}


def test_a_gate_on_an_earlier_run_judges_pairs() -> None:
    """A gain that is plain on the same rows, and drowned in the noise of two samples."""
    frame = run_pairs_table(1500).with_columns(new=(pl.col("old") + 0.02 * (pl.col("y") - 0.5)).clip(0, 1))
    asked: dict[str, Any] = {
        "metrics": ["roc_auc"],
        "gates": [{"metric": "roc_auc", "against": {"run": True}, "better_than": 0, "using": "interval"}],
    }
    before = evaluated(frame, {"m": "old"}, metrics=["roc_auc"])
    paired = evaluated(frame, {"m": "new"}, compare={"run": before}, **asked)
    assert paired.verdict == "pass"
    apart = evaluated(frame, {"m": "new"}, compare={"run": before}, uncertainty={"keep": False}, **asked)
    assert apart.verdict == "inconclusive"
