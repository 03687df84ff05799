"""Rows without a label: metrics that need none count them, all others are those of the labelled rows."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn import metrics as sklearn

import plmetrics as plm

ROWS = 3000
MISSING = ("error", "drop", "drop_per_model")


def table(seed: int = 1) -> pl.DataFrame:
    """Rows whose labels come the sooner the higher the score, and in slice c not at all."""
    generator = np.random.default_rng(seed)
    score = generator.random(ROWS)
    frame = pl.DataFrame(
        {
            "p": score,
            "q": np.clip(score + generator.normal(0, 0.1, ROWS), 0, 1),
            "y": (generator.random(ROWS) < score).astype(int),
            "z": score * 3 + generator.normal(0, 1, ROWS),
            "c": generator.choice(["u", "v", "w"], ROWS),
            "t": generator.integers(0, 2, ROWS),
            "w": generator.integers(1, 4, ROWS),
            "k": generator.integers(0, 300, ROWS),
            "g": generator.choice(["a", "b", "c"], ROWS),
        }
    )
    labelled = pl.lit(pl.Series(generator.random(ROWS) < 0.2 + 0.6 * score)) & (pl.col("g") != "c")
    return frame.with_columns(pl.when(labelled).then(name).alias(name) for name in ("y", "z", "c"))


TASKS: dict[str, dict[str, Any]] = {
    "binary": {
        "label": "y",
        "metrics": [
            "prevalence",
            "precision",
            "roc_auc",
            "brier",
            "ks",
            "ece",
            "calibration_ratio",
            "max_accuracy",
        ],
    },
    "regression": {"label": "z", "metrics": ["mae", "rmse", "r2", "spearman", "median_absolute_error"]},
    "multiclass": {
        "label": "c",
        "models": {"m": {"proba": {"u": "u", "v": "v", "w": "x"}}},
        "metrics": ["log_loss", "f1", "roc_auc"],
    },
    "quantile": {
        "label": "z",
        "models": {"m": {"quantiles": {0.1: "p", 0.9: "q"}}},
        "metrics": ["wis", "interval_coverage(level=0.8)"],
    },
    "uplift": {"label": "y", "treatment": "t", "metrics": ["ate", "qini"]},
}
FREE = {"binary": "selection_rate", "quantile": "interval_width(level=0.8)"}


def prepared(task: str) -> pl.DataFrame:
    """The table with what a task reads."""
    frame = table()
    if task == "multiclass":
        generator = np.random.default_rng(5)
        shares = generator.dirichlet([1, 1, 1], ROWS)
        frame = frame.with_columns(
            pl.Series(name, shares[:, place]) for place, name in enumerate(("u", "v", "x"))
        )
    return frame


def arguments(task: str, **further: Any) -> dict[str, Any]:
    return {"task": task, "models": {"m": "p"}, "slices": ["g"], **TASKS[task], **further}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("task", TASKS)
def test_metrics_of_labels_are_those_of_the_labelled_rows(
    task: str, missing: str, weight: str | None
) -> None:
    frame, asked = prepared(task), arguments(task, missing=missing, weight=weight)
    late = plm.evaluate(frame, labels=True, **asked).metrics
    complete = plm.evaluate(frame.filter(pl.col(asked["label"]).is_not_null()), **asked).metrics
    there = late.filter(pl.col("slice") != "g=c")
    assert_frame_equal(there.drop("labelled", strict=False), complete, check_exact=False, abs_tol=1e-12)
    absent = late.filter(slice="g=c")
    assert absent["status"].unique().to_list() == ["unlabelled"]
    assert absent["value"].null_count() == absent.height > 0
    assert absent["n"].unique().to_list() == [frame.filter(g="c").height]


@pytest.mark.exhaustive
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("task", FREE)
def test_metrics_that_need_no_label_count_all_rows(task: str, missing: str) -> None:
    frame = prepared(task)
    label = TASKS[task]["label"]
    asked = arguments(task, metrics=[FREE[task]], missing=missing)
    late = plm.evaluate(frame, labels=True, **asked).metrics
    filled = plm.evaluate(frame.with_columns(pl.col(label).fill_null(0)), **asked).metrics
    assert_frame_equal(late.drop("labelled", strict=False), filled)


@pytest.mark.parametrize(
    "model", [{"mean": "p", "sd": "q"}, {"quantiles": {0.9: "q"}}, {"members": ["p", "q"]}]
)
def test_crossing_quantiles_need_no_label_where_there_is_no_pair(model: dict[str, Any]) -> None:
    asked = arguments("quantile", models={"m": model}, metrics=["crossing_rate", "labelled"])
    found = plm.evaluate(prepared("quantile"), labels=True, missing="drop", **asked).metrics
    rates = found.filter(metric="crossing_rate")
    assert rates["status"].unique().to_list() == ["ok"]
    assert rates["value"].unique().to_list() == [0.0]
    assert rates["n"].to_list() == found.filter(metric="labelled")["n"].to_list()


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("missing", MISSING)
def test_numbers_that_need_no_label_are_ordered_beside_those_that_do(
    missing: str, weight: str | None
) -> None:
    median = {"name": "median_score", "quantile": "score", "q": 0.5}
    of_label = {"name": "median_of_label", "quantile": "score - label", "q": 0.5}
    asked = arguments("binary", metrics=[median, of_label, "roc_auc"], missing=missing, weight=weight)
    asked |= {"uncertainty": {"replicates": 50, "seed": 3}, "unit": "k"}
    frame = table().with_columns(pl.col("k") % 60)
    late = plm.evaluate(frame, **asked, labels=True).metrics.drop("labelled")
    filled = plm.evaluate(frame.with_columns(pl.col("y").fill_null(0)), **asked).metrics
    complete = plm.evaluate(frame.filter(pl.col("y").is_not_null()), **asked).metrics
    free = pl.col("metric") == "median_score"
    assert_frame_equal(late.filter(free), filled.filter(free), abs_tol=1e-12)
    there = late.filter(~free, pl.col("slice") != "g=c")
    assert_frame_equal(there, complete.filter(~free), abs_tol=1e-12)
    assert late.filter(~free, pl.col("slice") == "g=c")["status"].unique().to_list() == ["unlabelled"]


def test_values_are_those_of_scikit_learn() -> None:
    frame = table()
    rows = frame.filter(pl.col("y").is_not_null())
    result = plm.evaluate(
        frame,
        label="y",
        models={"m": "p"},
        weight="w",
        labels=True,
        metrics=["roc_auc", "log_loss", "labelled"],
    )
    values = dict(result.metrics.select("metric", "value").iter_rows())
    assert values["roc_auc"] == pytest.approx(
        sklearn.roc_auc_score(rows["y"], rows["p"], sample_weight=rows["w"]), abs=1e-12
    )
    assert values["log_loss"] == pytest.approx(
        sklearn.log_loss(rows["y"], rows["p"], sample_weight=rows["w"]), abs=1e-12
    )
    assert values["labelled"] == pytest.approx(rows["w"].sum() / frame["w"].sum(), abs=1e-15)
    assert result.record["rows"]["used"] == {"m": rows.height}
    assert result.record["rows"]["unlabelled"] == {"m": ROWS - rows.height}


def test_intervals_and_differences_are_those_of_the_labelled_rows_where_blocks_are_units() -> None:
    frame = table().with_columns(pl.col("k") % 60)
    asked = arguments(
        "binary", models={"m": "p", "o": "q"}, unit="k", compare="m", uncertainty={"replicates": 200}
    )
    late = plm.evaluate(frame, labels=True, **asked)
    complete = plm.evaluate(frame.filter(pl.col("y").is_not_null()), **asked)
    units = frame["k"].n_unique() == frame.filter(pl.col("y").is_not_null())["k"].n_unique()
    assert units, "else the blocks are others"
    there = late.metrics.filter(pl.col("slice") != "g=c").drop("labelled", strict=False)
    assert_frame_equal(there, complete.metrics, abs_tol=1e-10)
    assert_frame_equal(late.comparisons.filter(pl.col("slice") != "g=c"), complete.comparisons, abs_tol=1e-10)
    assert late.comparisons.filter(slice="g=c")["status"].unique().to_list() == ["unlabelled"]


def test_a_table_may_lack_the_column() -> None:
    frame = table().drop("y")
    result = plm.evaluate(
        frame, **arguments("binary", metrics=["selection_rate", "roc_auc", "labelled"]), labels=True
    )
    overall = {row["metric"]: row for row in result.metrics.filter(slice="all").to_dicts()}
    assert overall["roc_auc"]["status"] == "unlabelled"
    assert overall["selection_rate"]["value"] == pytest.approx((frame["p"] >= 0.5).mean())
    assert overall["labelled"]["value"] == 0.0
    assert {row["n"] for row in overall.values()} == {ROWS}


def test_a_reference_of_drift_may_lack_the_column() -> None:
    frame = table().drop("y")
    rows = arguments("binary", metrics=["selection_rate"])
    drift = plm.evaluate(frame, **rows, labels=True, drift={"reference": frame}).drift
    of_score = drift.filter(subject="score", measure="psi", slice="all")
    assert of_score["value"].to_list() == [0.0]
    assert drift.filter(subject="label", measure="psi", slice="all")["status"].to_list() == [
        "no_rows_in_reference"
    ]


def test_without_the_section_a_null_is_a_bad_value() -> None:
    with pytest.raises(plm.DataError, match="are null"):
        plm.evaluate(table(), **arguments("binary"))


@pytest.mark.parametrize("positive", [None, 1.0])
def test_a_label_that_is_no_number_is_bad(positive: float | None) -> None:
    frame = pl.DataFrame({"y": [1.0, 0.0, None, float("nan")], "p": [0.9, 0.1, 0.2, 0.3]})
    with pytest.raises(plm.DataError, match=r"1 of 4 values is"):
        plm.evaluate(frame, label="y", models="p", positive=positive, labels=True, metrics=["roc_auc"])
    dropped = plm.evaluate(
        frame,
        label="y",
        models="p",
        positive=positive,
        labels=True,
        metrics=["roc_auc", "labelled"],
        missing="drop",
    )
    assert dropped.record["rows"]["dropped"] == {"p": 1}
    assert dropped.record["rows"]["unlabelled"] == {"p": 1}
    assert dropped.metrics["n"].to_list() == [2, 3]


def test_labels_may_be_texts() -> None:
    frame = table().with_columns(pl.col("y").replace_strict({1: "yes", 0: "no"}, default=None))
    numbers = plm.evaluate(table(), **arguments("binary"), labels=True).metrics
    texts = plm.evaluate(frame, **arguments("binary", positive="yes"), labels=True).metrics
    assert_frame_equal(texts, numbers)


def test_a_query_counts_once_all_its_rows_have_labels() -> None:
    judged = pl.Series(np.random.default_rng(3).integers(0, 3, ROWS))
    due = (pl.col("k") >= 100) | (pl.col("p") < 0.7)
    frame = table().with_columns(y=pl.when(due).then(judged), g=pl.lit("a"))
    complete = frame.filter(pl.col("y").is_not_null().all().over("k"))
    asked: dict[str, Any] = {
        "task": "ranking",
        "label": "y",
        "query": "k",
        "models": {"m": "p", "o": "q"},
        "compare": "m",
        "uncertainty": True,
    }
    late = plm.evaluate(frame, **asked, labels=True, metrics=["ndcg", "map", "labelled"])
    there = plm.evaluate(complete, **asked, metrics=["ndcg", "map"])
    shared = ["model", "metric", "value", "n"]
    assert_frame_equal(
        late.metrics.filter(pl.col("metric") != "labelled").select(shared), there.metrics.select(shared)
    )
    share = complete["k"].n_unique() / frame["k"].n_unique()
    assert late.metrics.filter(metric="labelled")["value"].to_list() == pytest.approx([share, share])


def test_a_row_that_no_model_ranks_leaves_its_query_labelled() -> None:
    frame = pl.DataFrame(
        {
            "k": [1, 1, 1, 2, 2],
            "y": [1, 0, None, None, 1],
            "p": [0.2, 0.8, None, 0.1, 0.2],
            "q": [1, 0, None, 1, 2],
        }
    )
    asked: dict[str, Any] = {"task": "ranking", "label": "y", "query": "k", "labels": True}
    asked |= {"models": ["p", "q"], "metrics": ["mrr", "labelled"]}
    for missing in ("drop", "drop_per_model"):
        values = plm.evaluate(frame, **asked, missing=missing).metrics.sort("metric", "model")
        assert values["value"].to_list() == [0.5, 0.5, 0.5, 1.0]


def test_columns_derived_from_the_label_are_those_of_labelled_rows() -> None:
    frame = table()
    derive = {
        "good": "y = 0",
        "cost": "CASE WHEN good THEN z2 ELSE 0 END",
        "known": "y IS NOT NULL",
        "z2": "p * 2",
    }
    derive = {name: derive[name] for name in ("z2", "good", "cost", "known")}
    metrics = [
        {"name": "loss", "mean": "CASE WHEN good THEN p ELSE 0 END"},
        {"name": "median", "quantile": "cost", "q": 0.5},
        {"name": "total", "sum": "cost"},
        {"name": "late", "mean": "CASE WHEN known THEN 0 ELSE 1 END"},
        {"name": "double", "mean": "z2"},
    ]
    found = plm.evaluate(frame, label="y", models="p", labels=True, derive=derive, metrics=metrics).metrics
    labelled = frame.filter(pl.col("y").is_not_null())
    cost = np.where(labelled["y"] == 0, labelled["p"], 0.0)
    expected = [
        cost.mean(),
        2 * np.median(cost),
        2 * cost.sum(),
        frame["y"].is_null().mean(),
        2 * frame["p"].mean(),
    ]
    assert found["value"].to_list() == pytest.approx(expected, rel=1e-12)
    assert found["n"].to_list() == [labelled.height] * 3 + [ROWS] * 2
