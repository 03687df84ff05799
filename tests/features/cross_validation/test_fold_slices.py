"""Folds as slice sets: which sets a run adds, which rows count, and what is refused once the data are seen."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.request import OVERALL
from plmetrics.features.cross_validation.fold_slices import with_folds
from plmetrics.suite.arguments import suite_from_arguments

FRAME = pl.DataFrame(
    {
        "y": [0, 1] * 12,
        "p": [0.2, 0.9, 0.6, 0.4] * 6,
        "fold": [1, 2, 3] * 8,
        "inner": [None, 1, 2, None] * 6,
        "split": ["train", "valid"] * 12,
        "size": [10.0, 20.0, 20.0, 10.0] * 6,
        "region": ["a", "b", "b"] * 8,
        "tags": [["x"], ["x", "z"]] * 12,
    }
)


def evaluated(section: Any = None, frame: pl.DataFrame = FRAME, **arguments: Any) -> plm.Result:
    given = {"label": "y", "models": "p", "metrics": ["accuracy"], "fold": "fold", **arguments}
    return plm.evaluate(frame, cross_validation=section, **given)


def sets_of(section: Any, fold: str | None = "fold") -> dict[str, list[str]]:
    suite = suite_from_arguments(
        label="y", models="p", metrics=["accuracy"], fold=fold, cross_validation=section
    )
    sets, _ = with_folds(suite, [OVERALL], FRAME.schema)
    return {part.name: [key.label for key in part.keys] for part in sets}


@pytest.mark.parametrize(
    ("section", "fold", "expected"),
    [
        (None, None, {"overall": []}),
        (None, "fold", {"overall": [], "folds|overall": ["fold"]}),
        ({"split": "split"}, None, {"overall": [], "pooled|overall": ["split"]}),
        (
            {"split": "split", "train_size": "size", "inner": "inner"},
            "fold",
            {
                "overall": [],
                "folds|overall": ["split", "size", "fold", "inner"],
                "pooled|overall": ["split", "size"],
            },
        ),
    ],
)
def test_sets_that_a_run_adds(section: Any, fold: str | None, expected: dict[str, list[str]]) -> None:
    assert sets_of(section, fold) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("exact", [None, False])
@pytest.mark.parametrize("uncertainty", [None, {"replicates": 10}])
def test_metrics_are_of_rows_that_are_held_out(exact: bool | None, uncertainty: Any) -> None:
    section = {"split": "split", "inner": "inner"}
    more: dict[str, Any] = {
        "metrics": ["roc_auc", "accuracy"],
        "slices": ["region"],
        "exact": exact,
        "curves": ["roc"],
        "fold": "fold",
    }
    result = evaluated(section, uncertainty=uncertainty, **more)
    held = FRAME.filter(pl.col("split") != "train", pl.col("inner").is_null())
    alone = plm.evaluate(held, label="y", models="p", **{**more, "fold": None})
    same = ["slice_set", "slice", "metric", "value", "n", "status"]
    assert result.metrics.select(same).equals(alone.metrics.select(same))
    assert result.curves.select("x", "y").equals(alone.curves.select("x", "y"))


def test_many_slice_columns_keep_to_rows_that_are_held_out() -> None:
    random = np.random.default_rng(0)
    wide = {f"c{number}": random.permutation(np.arange(500)) for number in range(8)}
    frame = pl.DataFrame(
        {"y": [0, 1] * 250, "p": random.random(500), "split": ["train", "valid"] * 250, **wide}
    )
    result = plm.evaluate(
        frame,
        label="y",
        models="p",
        metrics=["accuracy"],
        slices={"all_of_them": list(wide), "one": "c0"},
        cross_validation={"split": "split"},
    )
    counted = result.metrics.group_by("slice_set", maintain_order=True).agg(pl.col("n").sum(), pl.len())
    assert counted.rows() == [("overall", 250, 1), ("all_of_them", 250, 250), ("one", 250, 250)]


def test_slices_are_those_of_rows_that_are_held_out_with_or_without_a_label() -> None:
    frame = pl.DataFrame(
        {
            "y": [0, 1, None, None, 1],
            "p": [0.2, 0.7, 0.6, 0.4, 0.9],
            "split": ["train", "valid", "valid", "train", "valid"],
            "c": ["trained", "seen", "unlabelled", "neither", "seen"],
        }
    )
    result = plm.evaluate(
        frame,
        label="y",
        models="p",
        metrics=["accuracy"],
        slices=["c"],
        cross_validation={"split": "split"},
        missing="drop",
    )
    rows = result.metrics.filter(pl.col("slice_set") == "c").select("slice", "n", "value", "status").rows()
    assert rows == [("c=seen", 2, 1.0, "ok"), ("c=unlabelled", 0, None, "no_rows")]


DROPPED_FOLDS = [pytest.param(7, 0, id="numbers"), pytest.param("z", None, id="texts")]


@pytest.mark.exhaustive
@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize(("dropped", "other"), DROPPED_FOLDS)
def test_rows_of_a_fold_that_is_dropped_count_in_their_own_slice(
    dropped: Any, other: Any, reproducible: bool
) -> None:
    """Rows without a label are seen by shares of nulls, also where no row of their fold has one."""
    unlabelled = {"y": [None] * 3, "p": [0.5] * 3, "fold": [dropped] * 3, "region": ["a", "a", "b"]}
    folds = [other, 1, 2] if isinstance(dropped, int) else [other, "x", "y"]
    rows = pl.concat(
        [
            FRAME.select("y", "p", pl.Series("fold", folds * 8), "region"),
            pl.DataFrame(unlabelled, schema_overrides={"y": pl.Int64}),
        ]
    )
    result = evaluated(
        {"slices": ["region"]},
        rows,
        metrics=["accuracy", {"name": "unlabelled", "null_share": "label"}],
        slices={"region": "region"},
        missing="drop",
        reproducible=reproducible,
    )
    shares = result.metrics.filter(slice_set="region", metric="unlabelled")
    assert dict(zip(shares["slice"], shares["n"], strict=True)) == {"region=a": 10, "region=b": 17}
    assert shares["value"].to_list() == [2 / 10, 1 / 17]
    assert result.folds.filter(metric="unlabelled")["value"].to_list() == [0.0] * len(
        result.folds.filter(metric="accuracy")
    )


@pytest.mark.parametrize(
    ("section", "slices", "error", "words"),
    [
        ({"split": "region"}, None, plm.DataError, "must say train, valid or test"),
        ({"split": "tags"}, None, plm.DataError, "has no slices"),
        ({"split": "spilt"}, None, plm.DataError, "did you mean 'split'"),
        ({"train_size": "region"}, None, plm.DataError, "must hold numbers"),
        ({"slices": "tags"}, ["tags"], plm.ConfigError, "is of tags"),
        ({"slices": "fold"}, ["fold"], plm.ConfigError, "tells folds apart already"),
        ({"repeated": {"m": ["p", "region"]}}, None, plm.DataError, "must hold numbers"),
        ({"repeated": {"m": ["p", "absent"]}}, None, plm.DataError, "is not in the data"),
    ],
)
def test_what_the_data_refuse(section: Any, slices: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        evaluated(section, slices=slices)


def test_null_among_repeated_predictions() -> None:
    frame = FRAME.with_columns(q=pl.when(pl.int_range(pl.len()) != 3).then("p"))
    section = {"repeated": {"m": ["p", "q"]}}
    with pytest.raises(plm.DataError, match=r"column 'q' \(cross_validation\): 1 of 24 values is null"):
        evaluated(section, frame)
    dropped = evaluated(section, frame, missing="drop").cross_validation.filter(model="m")
    assert dropped["n"].unique().to_list() == [23]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("key", "column"), [("repeat", "inner"), ("configuration", "region"), ("train_size", "size")]
)
def test_intervals_must_know_what_rows_are_about(key: str, column: str) -> None:
    section, frame = {key: column}, FRAME.with_columns(inner=pl.int_range(pl.len()) % 2)
    (warning,) = evaluated(section, frame, uncertainty={"replicates": 10}).record["warnings"]
    assert f"rows occur more than once (cross_validation.{key}), and intervals" in warning
    assert not evaluated(section, frame, uncertainty={"replicates": 10}, unit="y").record["warnings"]
    assert not evaluated(section, frame).record["warnings"]


def test_rows_of_inner_folds_are_in_no_interval() -> None:
    result = evaluated({"inner": "inner"}, uncertainty={"replicates": 10})
    assert result.metrics["n"].item() == FRAME["inner"].null_count()
    assert not result.record["warnings"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("of_fold", "words"),
    [
        (
            {0: "test"},
            "rows of train are in several folds (cross_validation.split), and intervals of generalisation",
        ),
        ({0: "valid"}, "rows of train are in several folds"),
        ({0: "test", 1: "valid"}, "rows occur more than once (cross_validation.split), and intervals take"),
    ],
)
def test_a_split_repeats_rows_of_folds(of_fold: dict[int, str], words: str) -> None:
    """Each of 12 rows is trained on in the folds that it is not held out in."""
    rows = pl.DataFrame({"y": [0, 1] * 6, "p": [0.2, 0.7, 0.6, 0.4] * 3, "id": range(12)})
    frame = pl.concat(
        rows.with_columns(
            fold=pl.lit(fold), split=((pl.col("id") - fold) % 3).replace_strict(of_fold, default="train")
        )
        for fold in range(3)
    )
    (warning,) = evaluated({"split": "split"}, frame, uncertainty={"replicates": 10}).record["warnings"]
    assert words in warning
    assert not evaluated({"split": "split"}, frame, uncertainty={"replicates": 10}, unit="id").record[
        "warnings"
    ]


@pytest.mark.parametrize("dtype", [pl.String(), pl.Enum(["train", "valid", "test"])])
def test_a_split_of_rows_that_occur_once_is_no_repetition(dtype: pl.DataType) -> None:
    split = pl.Series(["train", "train", "valid", "test"] * 6, dtype=dtype)
    frame = FRAME.with_columns(split=split)
    section = {"split": "split"}
    for columns in ({"fold": None}, {}):
        rows = frame if columns else frame.with_columns(fold=pl.lit(0))
        result = evaluated(section, rows, uncertainty={"replicates": 10}, **columns)
        assert not [text for text in result.record["warnings"] if "independent" in text]


def test_a_column_without_a_fold() -> None:
    result = evaluated(frame=FRAME.with_columns(fold=pl.lit(None, dtype=pl.Int64)))
    assert result.record["warnings"] == ["column 'fold' (fold) is null in every row: there are no folds"]
    assert result.folds.is_empty()
    assert result.metrics["n"].item() == FRAME.height


def test_folds_of_queries() -> None:
    random = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"y": random.integers(0, 3, 120), "q": np.arange(120) // 10, "p": random.random(120)}
    )
    arguments: dict[str, Any] = {"task": "ranking", "query": "q", "metrics": ["ndcg"]}
    by_query = frame.with_columns(fold=pl.col("q") % 3)
    result = evaluated({}, by_query, **arguments)
    for fold in range(3):
        own = by_query.filter(fold=fold)
        alone = plm.evaluate(own, label="y", models="p", **arguments).metrics["value"].item()
        assert result.folds.filter(fold=str(fold))["value"].item() == pytest.approx(alone)
    mixed = frame.with_columns(fold=pl.int_range(pl.len()) % 3)
    with pytest.raises(plm.DataError, match="varies within"):
        evaluated({}, mixed, **arguments)
    assert evaluated(None, mixed, **arguments).folds.is_empty()


def test_nan_in_columns_of_floats_is_no_fold() -> None:
    """Whole numbers some of which are absent, as NumPy and csv files hold them."""
    nan = float("nan")
    inner = FRAME.with_columns(pl.col("inner").cast(pl.Float64), q=1 - pl.col("p"))
    given = {"models": ["p", "q"], "slices": ["inner"]}
    seen = evaluated({"inner": "inner"}, inner.with_columns(pl.col("inner").fill_null(nan)), **given)
    outer = FRAME.filter(pl.col("inner").is_null())
    right = outer.with_columns(right=(pl.col("p") >= 0.5) == (pl.col("y") == 1))
    of_fold = right.group_by("fold").agg(pl.col("right").mean()).sort("fold")["right"].to_list()
    listed = seen.folds.filter(pl.col("inner").is_null(), model="p")
    assert listed.sort("fold")["value"].to_list() == pytest.approx(of_fold)
    assert seen.metrics.filter(model="p", slice="all")["n"].item() == outer.height
    nested = seen.cross_validation.filter(kind="nested")
    assert nested["folds"].item() == 3

    rows = FRAME.with_columns(
        pl.when(pl.col("fold") < 3).then(pl.col("fold").cast(pl.Float64)).otherwise(nan)
    )
    summary = evaluated(None, rows).cross_validation
    assert summary.select("folds", "n", "note").row(0) == (2, 16, "8 rows have no fold")


def test_the_slice_of_nan_has_folds() -> None:
    random = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "y": random.integers(0, 2, 600),
            "p": random.random(600),
            "fold": random.integers(0, 3, 600),
            "age": random.choice([20.0, 30.5, float("nan")], 600),
        }
    )
    result = plm.evaluate(
        frame,
        label="y",
        models="p",
        metrics=["accuracy"],
        slices={"age": "age"},
        fold="fold",
        cross_validation={"slices": ["age"]},
    )
    right = frame.with_columns(right=(pl.col("p") >= 0.5) == (pl.col("y") == 1))
    for slice_, rows in (
        ("age=20", right.filter(age=20.0)),
        ("age=nan", right.filter(pl.col("age").is_nan())),
    ):
        of_fold = rows.group_by("fold").agg(pl.col("right").mean()).sort("fold")["right"].to_list()
        assert result.folds.filter(slice=slice_)["value"].to_list() == pytest.approx(of_fold)
        assert result.cross_validation.filter(slice=slice_)["mean"].to_list() == pytest.approx(
            [np.mean(of_fold)]
        )


def test_the_slice_of_nan_among_many_slice_columns() -> None:
    """Cells that are listed, since the crossing has too many."""
    random = np.random.default_rng(0)
    wide = {f"c{number}": random.permutation(np.arange(500.0)) for number in range(8)}
    wide["c0"][:200] = np.nan
    frame = pl.DataFrame({"y": [0, 1] * 250, "p": random.random(500), **wide})
    result = plm.evaluate(
        frame, label="y", models="p", metrics=["accuracy"], slices={"all_of_them": list(wide), "one": "c0"}
    )
    assert result.metrics.filter(slice_set="one", slice="c0=nan")["n"].to_list() == [200]
    assert result.metrics.filter(slice_set="one")["n"].sum() == 500
