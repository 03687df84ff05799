"""The tables `folds` and `cross_validation`: what stands in them, and what where folds are few, empty or many."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

PUBLISHED = {
    "lr": [0.841, 0.823, 0.856, 0.832, 0.848],
    "rf": [0.853, 0.831, 0.862, 0.839, 0.855],
    "gb": [0.861, 0.837, 0.859, 0.842, 0.851],
}
"""Accuracies of three models in five folds."""


def sample(rows: int = 400, folds: int = 4, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, rows)
    return pl.DataFrame(
        {
            "y": label,
            "p": np.clip(0.3 * label + 0.7 * random.random(rows), 0, 1),
            "q": random.random(rows),
            "fold": np.arange(rows) % folds,
            "region": random.choice(["north", "south"], rows),
            "split": random.choice(["train", "valid"], rows),
        }
    )


def evaluated(frame: pl.DataFrame, **arguments: Any) -> plm.Result:
    given = {"label": "y", "models": "p", "metrics": ["roc_auc", "accuracy"], "fold": "fold", **arguments}
    return plm.evaluate(frame, **given)


def test_published_accuracies_of_folds() -> None:
    rows = 1000
    parts = []
    for fold in range(5):
        right = {name: np.arange(rows) < round(values[fold] * rows) for name, values in PUBLISHED.items()}
        parts.append(pl.DataFrame({"y": np.ones(rows), **right, "fold": np.full(rows, fold)}))
    frame = pl.concat(parts).with_columns(pl.col(*PUBLISHED).cast(pl.Float64))
    result = evaluated(frame, models=list(PUBLISHED), metrics=["accuracy"])
    for name, values in PUBLISHED.items():
        assert result.folds.filter(model=name)["value"].to_list() == pytest.approx(values)
        (row,) = result.cross_validation.filter(model=name).rows(named=True)
        assert (row["mean"], row["sd"]) == pytest.approx((np.mean(values), np.std(values)))
        assert row["pooled"] == pytest.approx(np.mean(values))


@pytest.mark.parametrize("missing", ["error", "drop_per_model"])
def test_a_fold_without_labels_counts_for_metrics_that_need_none(missing: str) -> None:
    frame = sample().with_columns(y=pl.when(pl.col("fold") != 2).then("y"))
    mean = {"name": "mean_score", "mean": "score"}
    result = evaluated(frame, metrics=["accuracy", mean], labels=True, missing=missing)
    scores = frame.group_by("fold").agg(pl.col("p").mean(), pl.len()).sort("fold")
    of_scores = result.folds.filter(metric="mean_score")
    assert of_scores["value"].to_list() == pytest.approx(scores["p"].to_list())
    assert of_scores["n"].to_list() == scores["len"].to_list()
    (row,) = result.cross_validation.filter(metric="mean_score").rows(named=True)
    assert (row["mean"], row["folds"], row["undefined_folds"]) == (pytest.approx(scores["p"].mean()), 4, 0)
    hits = frame.filter(pl.col("fold") != 2).select("fold", hit=(pl.col("p") >= 0.5) == (pl.col("y") == 1))
    (row,) = result.cross_validation.filter(metric="accuracy").rows(named=True)
    assert row["mean"] == pytest.approx(hits.group_by("fold").agg(pl.col("hit").mean())["hit"].mean())
    assert (row["n"], row["note"]) == (300, "undefined folds left out: 1 (unlabelled)")
    assert result.folds.filter(metric="accuracy", fold="2").select("n", "status").row(0) == (0, "unlabelled")


@pytest.mark.exhaustive
@pytest.mark.parametrize("uncertainty", [None, {"replicates": 20}, {"method": "jackknife"}])
def test_folds_are_the_metrics_of_their_rows(uncertainty: Any) -> None:
    frame = sample()
    metrics = ["roc_auc", "f1", "ks", "ece", "tp"]
    sets = {"region": "region", "q": {"column": "q", "quantiles": 3}, "high": {"where": "q > 0.5"}}
    result = evaluated(
        frame, metrics=metrics, slices=sets, cross_validation={"slices": list(sets)}, uncertainty=uncertainty
    )
    keys = ["slice_set", "slice", "metric"]
    for fold, part in frame.partition_by("fold", as_dict=True).items():
        edges = plm.evaluate(frame, label="y", models="p", metrics=["tp"], slices=sets)
        own = {**sets, "q": {"column": "q", "bins": _edges(edges)}}
        alone = plm.evaluate(part, label="y", models="p", metrics=metrics, slices=own).metrics
        found = result.folds.filter(fold=str(fold[0])).select(*keys, "value", "n", "status")
        assert found.height == len(metrics) * (1 + 2 + 3 + 1)
        both = found.join(alone, on=keys)
        assert both.height == found.height
        assert both["value"].to_list() == pytest.approx(both["value_right"].to_list())
        assert both["n"].equals(both["n_right"])


def _edges(result: plm.Result) -> list[float]:
    texts = result.metrics.filter(slice_set="q")["slice"].to_list()
    return [float(text.split("[")[1].split(",")[0]) for text in texts[1:]]


def test_a_fold_column_alone_leaves_metrics_as_they_are() -> None:
    frame = sample()
    plain = plm.evaluate(
        frame, label="y", models=["p", "q"], metrics=["roc_auc"], compare="p", slices=["region"]
    )
    folded = plm.evaluate(
        frame, label="y", models=["p", "q"], metrics=["roc_auc"], compare="p", slices=["region"], fold="fold"
    )
    assert folded.metrics.equals(plain.metrics)
    assert folded.comparisons.equals(plain.comparisons)
    assert folded.folds["slice_set"].unique().to_list() == ["overall"]
    assert plain.folds.is_empty()
    assert plain.cross_validation.is_empty()


def test_folds_do_not_count_as_slices() -> None:
    result = evaluated(sample(), slices=["region"], max_slices=2, cross_validation={"slices": "region"})
    assert result.folds.height == 2 * 4 * 3


def test_one_fold_has_no_spread() -> None:
    (row,) = evaluated(sample(folds=1), metrics=["accuracy"]).cross_validation.rows(named=True)
    assert (row["folds"], row["status"], row["sd_status"], row["sd"]) == (1, "ok", "one_fold", None)
    assert row["mean"] == row["pooled"] == row["minimum"] == row["maximum"]


def test_equal_folds_have_spread_zero() -> None:
    frame = pl.concat([sample(50, 1).with_columns(fold=number) for number in range(3)])
    (row,) = evaluated(frame, metrics=["accuracy"]).cross_validation.rows(named=True)
    assert (row["sd"], row["sd_status"], row["folds"]) == (0.0, "ok", 3)


def test_a_fold_without_positives_is_counted() -> None:
    frame = sample().with_columns(y=pl.when(pl.col("fold") == 2).then(0).otherwise("y"))
    result = evaluated(frame)
    area = result.folds.filter(metric="roc_auc")
    assert area["status"].to_list() == ["ok", "ok", "no_positives", "ok"]
    (row,) = result.cross_validation.filter(metric="roc_auc").rows(named=True)
    assert (row["folds"], row["undefined_folds"], row["status"]) == (4, 1, "ok")
    assert row["note"] == "undefined folds left out: 1 (no_positives)"
    assert row["mean"] == pytest.approx(area["value"].mean())


def test_no_defined_fold() -> None:
    frame = sample(40).sort("y").with_columns(fold=pl.col("y"))
    (row,) = evaluated(frame, metrics=["roc_auc"]).cross_validation.rows(named=True)
    assert (row["value"], row["status"], row["sd_status"]) == (None, "no_defined_folds", "no_defined_folds")
    assert row["pooled"] is not None
    assert row["note"] == "undefined folds left out: 2 (no_negatives, no_positives)"


def test_rows_without_a_fold_are_counted() -> None:
    frame = sample().with_columns(fold=pl.when(pl.col("fold") == 3).then(None).otherwise("fold"))
    result = evaluated(frame, metrics=["accuracy"])
    (row,) = result.cross_validation.rows(named=True)
    assert (row["folds"], row["n"], row["note"]) == (3, 300, "100 rows have no fold")
    assert result.folds["fold"].to_list() == ["0", "1", "2"]
    assert result.metrics["n"].item() == 400
    (warning,) = result.warnings
    assert warning == "column 'fold' (fold): 100 rows have no fold: counted overall, but in no fold"


def test_models_with_missing_rows() -> None:
    frame = sample().with_columns(q=pl.when(pl.col("fold") == 1).then(None).otherwise("q"))
    result = evaluated(frame, models=["p", "q"], metrics=["accuracy"], missing="drop_per_model")
    own = result.folds.filter(model="q")
    assert own.select("n", "status").rows() == [(100, "ok"), (0, "no_rows"), (100, "ok"), (100, "ok")]
    assert result.cross_validation["undefined_folds"].to_list() == [0, 1]


@pytest.mark.parametrize("uncertainty", [None, {"replicates": 20}])
def test_leave_one_out(uncertainty: Any) -> None:
    frame = sample(700).with_columns(fold=pl.int_range(pl.len()))
    result = evaluated(frame, metrics=["accuracy", "roc_auc", "log_loss"], uncertainty=uncertainty)
    assert result.folds.is_empty()
    rows = {row["metric"]: row for row in result.cross_validation.rows(named=True)}
    right = ((frame["p"] >= 0.5) == (frame["y"] == 1)).to_numpy()
    assert (rows["accuracy"]["mean"], rows["accuracy"]["sd"]) == pytest.approx((right.mean(), right.std()))
    assert rows["accuracy"]["note"] == "700 folds are not listed one by one"
    assert rows["log_loss"]["mean"] == pytest.approx(rows["log_loss"]["pooled"])
    assert rows["roc_auc"]["status"] == "no_defined_folds"
    assert rows["roc_auc"]["pooled"] == result.metrics.filter(metric="roc_auc")["value"].item()


def test_a_gap_is_a_contrast_of_shared_replicates() -> None:
    frame = sample()
    result = evaluated(
        frame, metrics=["accuracy"], cross_validation={"split": "split"}, uncertainty={"replicates": 400}
    )
    (row,) = result.cross_validation.filter(kind="generalisation_gap").rows(named=True)
    right = frame.with_columns(right=(pl.col("p") >= 0.5) == (pl.col("y") == 1))
    train, valid = (right.filter(split=split)["right"].to_numpy() for split in ("train", "valid"))
    assert row["value"] == pytest.approx(train.mean() - valid.mean())
    error = np.sqrt(train.var() / len(train) + valid.var() / len(valid))
    assert row["std_error"] == pytest.approx(error, rel=0.15)
    assert row["interval_status"] == "ok"
    assert row["lower"] < row["value"] < row["upper"]


def test_a_gap_takes_the_test_where_nothing_is_valid() -> None:
    frame = sample().with_columns(pl.col("split").replace("valid", "test"))
    result = evaluated(frame, metrics=["accuracy"], cross_validation={"split": "split"})
    (row,) = result.cross_validation.filter(kind="generalisation_gap").rows(named=True)
    assert row["note"] == "of the test, for there are no rows of valid"
    assert row["interval_status"] == "not_requested"


def test_a_gap_needs_both_sides() -> None:
    frame = sample().with_columns(split=pl.lit("valid"))
    result = evaluated(frame, cross_validation={"split": "split"})
    assert "generalisation_gap" not in result.cross_validation["kind"].to_list()
    judged = result.cross_validation.filter(kind="diagnosis")
    assert judged.select("value", "verdict", "status").rows() == [(None, None, "no_points")]


def curve(train: list[float], valid: list[float]) -> pl.DataFrame:
    """Rows of 100 whose accuracies are these, at sizes 10, 20, ..."""
    rows = []
    for place, pair in enumerate(zip(train, valid, strict=True)):
        for split, value in zip(("train", "valid"), pair, strict=True):
            right = (np.arange(100) < round(100 * value)).astype(float)
            own = pl.DataFrame({"y": np.ones(100), "p": right})
            rows.append(own.with_columns(pl.lit(split).alias("split"), size=10 * (place + 1)))
    return pl.concat(rows)


@pytest.mark.parametrize(
    ("train", "valid", "verdicts"),
    [
        ([0.9, 0.8, 0.7], [0.6, 0.65, 0.68], ["no high variance", "high bias", "still improving"]),
        ([0.99, 0.99, 0.99], [0.7, 0.7, 0.71], ["high variance", "no high bias", "no still improving"]),
        ([0.95, 0.93], [0.9, 0.9], ["no high variance", "no high bias", None]),
    ],
)
def test_diagnosis_of_a_learning_curve(train: list[float], valid: list[float], verdicts: list[str]) -> None:
    section = {"split": "split", "train_size": "size", "diagnosis": {"high_bias": {"level": 0.9, "gap": 0.1}}}
    result = evaluated(curve(train, valid), metrics=["accuracy"], fold=None, cross_validation=section)
    judged = result.cross_validation.filter(kind="diagnosis")
    assert judged["verdict"].to_list() == verdicts
    assert judged["x"].unique().to_list() == [10.0 * len(train)]
    assert "0.15" in judged["note"][0]
    drawn = result.cross_validation.filter(kind="learning_curve", split="valid")
    assert drawn["value"].to_list() == pytest.approx(valid)
    assert drawn["sd_status"].unique().to_list() == ["no_defined_folds"]


def test_ties_take_the_first_configuration() -> None:
    frame = (
        sample(200, 2)
        .with_columns(inner=pl.int_range(pl.len()) % 3)
        .with_columns(inner=pl.when(pl.col("inner") == 2).then(None).otherwise("inner"))
    )
    both = pl.concat([frame.with_columns(pl.lit(name).alias("setting")) for name in ("b", "a")])
    section = {"inner": "inner", "configuration": "setting"}
    result = evaluated(both, metrics=["accuracy"], cross_validation=section)
    nested = result.cross_validation.filter(kind="nested")
    assert nested["note"].to_list() == ["chosen by accuracy of inner folds: a in 2"]


RIGHT = {
    ("a", "train"): 1.0,
    ("a", "valid"): 0.5,
    ("a", "test"): 0.8,
    ("b", "train"): 0.7,
    ("b", "valid"): 0.6,
    ("b", "test"): 0.4,
}
"""Accuracies of two configurations: of training rows, and of the test, that of the other is better."""


@pytest.mark.parametrize(
    ("splits", "score", "optimism"),
    [(("train", "valid"), 0.6, 0.0), (("train", "test"), 0.8, 0.0), (("train", "valid", "test"), 0.4, 0.2)],
)
def test_rows_that_were_trained_on_neither_choose_nor_score(
    splits: tuple[str, ...], score: float, optimism: float
) -> None:
    parts = [
        pl.DataFrame({"p": np.arange(10) < round(10 * RIGHT[setting, split])}).with_columns(
            pl.lit(inner, dtype=pl.Int64).alias("inner"), setting=pl.lit(setting), split=pl.lit(split)
        )
        for inner in (None, 0, 1)
        for setting in "ab"
        for split in splits
    ]
    frame = pl.concat(parts).select(pl.all().exclude("p"), pl.col("p").cast(pl.Float64), y=1)
    frame = pl.concat([frame.with_columns(fold=pl.lit(fold)) for fold in range(2)])
    section = {"inner": "inner", "configuration": "setting", "split": "split"}
    table = evaluated(frame, metrics=["accuracy"], cross_validation=section).cross_validation
    rows = table.filter(pl.col("kind").is_in(["nested", "selection_optimism"])).sort("kind")
    assert rows["value"].to_list() == pytest.approx([score, optimism])
    assert rows["folds"].to_list() == [2, 2]


def test_each_training_size_has_its_own_choices() -> None:
    sizes = {100: {"a": 0.8, "b": 0.6}, 200: {"a": 0.7, "b": 0.9}}
    parts = [
        pl.DataFrame({"p": np.arange(10) < round(10 * right)}).with_columns(
            pl.lit(inner, dtype=pl.Int64).alias("inner"),
            setting=pl.lit(setting),
            size=size,
            fold=pl.lit(fold),
        )
        for size, settings in sizes.items()
        for setting, right in settings.items()
        for inner in (None, 0, 1)
        for fold in range(2)
    ]
    frame = pl.concat(parts).with_columns(pl.col("p").cast(pl.Float64), y=1)
    section = {"inner": "inner", "configuration": "setting", "train_size": "size"}
    table = evaluated(frame, metrics=["accuracy"], cross_validation=section).cross_validation
    nested = table.filter(kind="nested")
    assert nested.select("x", "value", "folds").rows() == [(100, pytest.approx(0.8), 2), (200, 0.9, 2)]
    assert nested["note"].to_list() == [f"chosen by accuracy of inner folds: {name} in 2" for name in "ab"]


def test_rows_without_a_training_size_are_no_point_of_the_diagnosed_curve() -> None:
    frame = sample().with_columns(size=pl.when(pl.col("region") == "north").then(100))
    section = {"split": "split", "train_size": "size"}
    table = evaluated(frame, metrics=["accuracy"], cross_validation=section).cross_validation
    assert table.filter(kind="diagnosis")["x"].to_list() == [100.0, 100.0]


def test_slices_take_the_choice_of_all_rows() -> None:
    frame = sample(600, 2).with_columns(
        inner=pl.when(pl.int_range(pl.len()) % 4 < 2).then(pl.int_range(pl.len()) % 2)
    )
    result = evaluated(
        frame,
        models=["p", "q"],
        metrics=["accuracy"],
        slices=["region"],
        cross_validation={"inner": "inner", "slices": ["region"]},
    )
    nested = result.cross_validation.filter(kind="nested")
    assert nested["slice"].to_list() == ["all", "region=north", "region=south"]
    outer = result.cross_validation.filter(kind="folds", model="p")
    assert nested["value"].to_list() == outer["value"].to_list()


def test_an_outer_fold_without_inner_rows_has_no_choice() -> None:
    frame = sample(300, 3).with_columns(
        inner=pl.when((pl.int_range(pl.len()) % 2 == 0) & (pl.col("fold") > 0)).then(1)
    )
    result = evaluated(frame, models=["p", "q"], metrics=["accuracy"], cross_validation={"inner": "inner"})
    (row,) = result.cross_validation.filter(kind="nested").rows(named=True)
    assert (row["folds"], row["undefined_folds"], row["status"]) == (3, 1, "ok")
    assert "undefined folds left out: 1 (no_choice)" in row["note"]


def test_every_row_says_where_it_is_undefined() -> None:
    frame = sample().with_columns(y=pl.when(pl.col("fold") == 2).then(0).otherwise("y"))
    table = evaluated(
        frame, slices=["region"], cross_validation={"split": "split", "slices": "region"}
    ).cross_validation
    assert ((table["status"] == "ok") == table["value"].is_not_null()).all()
    held = table.filter(pl.col("sd_status").is_not_null())
    assert ((held["sd_status"] == "ok") == held["sd"].is_not_null()).all()


def test_folds_that_differ_by_rounding_have_no_interval_along_a_curve() -> None:
    """Errors of 0.1 in every row: means of 3, 5 and 6 of them have other last digits."""
    rows = [
        (place * 0.1, place * 0.1 + 0.1, fold) for fold, size in enumerate((3, 5, 6)) for place in range(size)
    ]
    frame = pl.DataFrame(rows, schema=["y", "p", "fold"], orient="row").with_columns(depth=4)
    asked: dict[str, Any] = {"task": "regression", "metrics": ["mae"], "uncertainty": {"replicates": 20}}
    folds: dict[str, Any] = {"fold": "fold", "cross_validation": {"parameter": "depth"}}
    result = plm.evaluate(frame, label="y", models="p", **asked, **folds)
    assert result.folds["value"].n_unique() > 1
    row = result.cross_validation.row(0, named=True)
    assert row["value"] == pytest.approx(0.1)
    assert (row["lower"], row["interval_status"]) == (None, "degenerate")
