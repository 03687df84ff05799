"""Cross-validation against loops over scikit-learn, which trains, predicts and scores fold by fold."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    validation_curve,
)
from sklearn.tree import DecisionTreeClassifier

import plmetrics as plm

X, Y = make_classification(n_samples=160, n_features=6, n_informative=3, flip_y=0.2, random_state=3)
SCORES = {
    "roc_auc": roc_auc_score,
    "log_loss": log_loss,
    "accuracy": lambda y, p: accuracy_score(y, p >= 0.5),
}
SCORERS = {"roc_auc": "roc_auc", "log_loss": "neg_log_loss", "accuracy": "accuracy"}
TREES = {f"tree_{depth}": DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (2, 5)}


def summary(result: plm.Result, kind: str) -> pl.DataFrame:
    return result.cross_validation.filter(kind=kind, slice="all")


def test_folds_are_what_cross_val_score_says() -> None:
    folds = StratifiedKFold(5)
    model = LogisticRegression()
    number = np.zeros(len(Y), dtype=int)
    for place, (_, out) in enumerate(folds.split(X, Y)):
        number[out] = place
    predicted = cross_val_predict(model, X, Y, cv=folds, method="predict_proba")[:, 1]
    frame = pl.DataFrame({"y": Y, "p": predicted, "fold": number})
    result = plm.evaluate(frame, label="y", models="p", fold="fold", metrics=list(SCORES))
    for metric, scorer in SCORERS.items():
        expected = np.abs(cross_val_score(model, X, Y, cv=folds, scoring=scorer))
        assert result.folds.filter(metric=metric)["value"].to_list() == pytest.approx(expected.tolist())
        (row,) = summary(result, "folds").filter(metric=metric).rows(named=True)
        assert row["value"] == row["mean"] == pytest.approx(expected.mean())
        assert (row["sd"], row["minimum"], row["maximum"]) == pytest.approx(
            (expected.std(), expected.min(), expected.max())
        )
        assert row["pooled"] == pytest.approx(SCORES[metric](Y, predicted))
        assert (row["folds"], row["undefined_folds"], row["status"], row["sd_status"]) == (5, 0, "ok", "ok")


def test_repeats_are_means_of_repeats() -> None:
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0)
    model = LogisticRegression()
    rows = []
    for number, (train, out) in enumerate(folds.split(X, Y)):
        predicted = model.fit(X[train], Y[train]).predict_proba(X[out])[:, 1]
        rows.append(
            pl.DataFrame({"y": Y[out], "p": predicted}).with_columns(fold=number % 4, repeat=number // 4)
        )
    frame = pl.concat(rows)
    result = plm.evaluate(
        frame, label="y", models="p", fold="fold", metrics=["roc_auc"], cross_validation={"repeat": "repeat"}
    )
    expected = cross_val_score(model, X, Y, cv=folds, scoring="roc_auc")
    assert result.folds["value"].to_list() == pytest.approx(expected.tolist())
    assert result.folds["repeat"].to_list() == [str(number) for number in np.repeat(range(3), 4)]
    means = expected.reshape(3, 4).mean(axis=1)
    (row,) = summary(result, "repeats").rows(named=True)
    assert (row["folds"], row["mean"], row["sd"]) == (
        3,
        pytest.approx(means.mean()),
        pytest.approx(means.std()),
    )
    assert summary(result, "folds")["sd"].item() == pytest.approx(expected.std())


def nested_table() -> pl.DataFrame:
    rows = []

    def add(train: Any, out: Any, fold: int, inner: int | None) -> None:
        scores = {
            name: model.fit(X[train], Y[train]).predict_proba(X[out])[:, 1] for name, model in TREES.items()
        }
        own = pl.DataFrame({"y": Y[out], **scores})
        rows.append(own.with_columns(fold=fold, inner=pl.lit(inner, dtype=pl.Int64)))

    for fold, (train, out) in enumerate(StratifiedKFold(4).split(X, Y)):
        add(train, out, fold, None)
        for inner, (fit, valid) in enumerate(StratifiedKFold(3).split(X[train], Y[train])):
            add(train[fit], train[valid], fold, inner)
    return pl.concat(rows)


def nested_by_loops(table: pl.DataFrame) -> tuple[list[str], list[float], list[float]]:
    """What each outer fold chooses by accuracy, what inner folds say of it, and its log loss in the outer fold."""
    chosen, inner_best, outer = [], [], []
    for fold in range(4):
        own = table.filter(fold=fold)
        means = {}
        for name in TREES:
            inner = [own.filter(inner=number) for number in range(3)]
            means[name] = float(np.mean([SCORES["accuracy"](part["y"], part[name]) for part in inner]))
        best = max(means, key=means.__getitem__)
        held = own.filter(pl.col("inner").is_null())
        chosen.append(best)
        inner_best.append(means[best])
        outer.append(SCORES["accuracy"](held["y"], held[best]))
    return chosen, inner_best, outer


def long_form(table: pl.DataFrame) -> pl.DataFrame:
    """A row per configuration, in place of a column."""
    return table.unpivot(
        list(TREES), index=["y", "fold", "inner"], variable_name="configuration", value_name="p"
    )


@pytest.mark.parametrize("form", ["models", "column"])
def test_nested_folds_score_what_inner_folds_choose(form: str) -> None:
    table = nested_table()
    chosen, inner_best, outer = nested_by_loops(table)
    assert len(set(chosen)) == 2, "the sample shows a choice"
    frame, models, section = table, list(TREES), {"inner": "inner"}
    if form == "column":
        frame, models = long_form(table), ["p"]
        section = {"inner": "inner", "configuration": "configuration"}
    result = plm.evaluate(
        frame,
        label="y",
        models=models,
        fold="fold",
        metrics=["accuracy", "roc_auc"],
        cross_validation=section,
    )
    (row,) = summary(result, "nested").filter(metric="accuracy").rows(named=True)
    assert row["model"] == (None if form == "models" else "p")
    assert (row["value"], row["sd"], row["folds"]) == (
        pytest.approx(np.mean(outer)),
        pytest.approx(np.std(outer)),
        4,
    )
    counted = ", ".join(
        f"{name} in {chosen.count(name)}" for name in sorted(set(chosen), key=lambda n: (-chosen.count(n), n))
    )
    assert row["note"] == f"chosen by accuracy of inner folds: {counted}"
    (optimism,) = summary(result, "selection_optimism").rows(named=True)
    assert optimism["value"] == pytest.approx(np.mean(inner_best) - np.mean(outer))
    held = table.filter(pl.col("inner").is_null())
    areas = [
        roc_auc_score(part["y"], part[best])
        for best, part in zip(chosen, held.partition_by("fold", maintain_order=True), strict=True)
    ]
    assert summary(result, "nested").filter(metric="roc_auc")["value"].item() == pytest.approx(np.mean(areas))


def test_metrics_are_of_the_rows_of_outer_folds() -> None:
    table = nested_table()
    held = table.filter(pl.col("inner").is_null())
    result = plm.evaluate(
        table,
        label="y",
        models=list(TREES),
        fold="fold",
        metrics=["roc_auc"],
        cross_validation={"inner": "inner"},
    )
    alone = plm.evaluate(held, label="y", models=list(TREES), metrics=["roc_auc"])
    assert result.metrics.equals(alone.metrics)


def curve_table(sizes: list[int] | None, depths: list[int]) -> pl.DataFrame:
    """Predictions behind `learning_curve` (the first rows of each fold's training rows) and `validation_curve`."""
    rows = []
    for fold, (train, out) in enumerate(KFold(4).split(X)):
        for depth in depths:
            for size in sizes or [len(train)]:
                fit = train[:size]
                model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[fit], Y[fit])
                for split, part in (("train", fit), ("valid", out)):
                    predicted = model.predict_proba(X[part])[:, 1]
                    about = {"fold": fold, "depth": depth, "size": size}
                    own = pl.DataFrame({"y": Y[part], "p": predicted})
                    rows.append(
                        own.with_columns(
                            pl.lit(split).alias("split"), **{k: pl.lit(v) for k, v in about.items()}
                        )
                    )
    return pl.concat(rows)


@pytest.mark.parametrize("kind", ["learning_curve", "validation_curve"])
def test_curves_are_those_of_scikit_learn(kind: str) -> None:
    places = [30, 60, 120] if kind == "learning_curve" else [1, 2, 4]
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    if kind == "learning_curve":
        table = curve_table(places, [2])
        _, train, valid = learning_curve(model, X, Y, cv=KFold(4), train_sizes=places, scoring="roc_auc")
        section = {"split": "split", "train_size": "size"}
    else:
        table = curve_table(None, places)
        train, valid = validation_curve(
            model, X, Y, cv=KFold(4), param_name="max_depth", param_range=places, scoring="roc_auc"
        )
        section = {"split": "split", "parameter": "depth"}
    result = plm.evaluate(
        table, label="y", models="p", fold="fold", metrics=["roc_auc"], cross_validation=section
    )
    for split, expected in (("train", train), ("valid", valid)):
        own = summary(result, kind).filter(split=split)
        assert own["x"].to_list() == places
        assert own["mean"].to_list() == pytest.approx(expected.mean(axis=1).tolist())
        assert own["sd"].to_list() == pytest.approx(expected.std(axis=1).tolist())
    gaps = summary(result, "generalisation_gap")
    assert gaps["mean"].to_list() == pytest.approx((train - valid).mean(axis=1).tolist())
    assert gaps["sd"].to_list() == pytest.approx((train - valid).std(axis=1).tolist())
    held = table.filter(split="valid")
    assert result.metrics["n"].item() == held.height
    assert result.metrics["value"].item() == pytest.approx(roc_auc_score(held["y"], held["p"]))


def test_bias_variance_and_noise_are_what_the_definitions_say() -> None:
    random = np.random.default_rng(5)
    truth = random.normal(size=90)
    label = truth + random.normal(scale=0.5, size=90)
    predictions = {f"p{number}": 0.8 * truth + random.normal(scale=0.3, size=90) for number in range(5)}
    weight = random.uniform(0.5, 2, size=90)
    region = random.choice(["a", "b"], size=90)
    frame = pl.DataFrame({"y": label, "f": truth, "w": weight, "region": region, **predictions})
    section = {"repeated": {"tree": list(predictions)}, "truth": "f", "slices": "region"}
    result = plm.evaluate(
        frame,
        task="regression",
        label="y",
        weight="w",
        models="p0",
        metrics=["mse"],
        slices=["region"],
        cross_validation=section,
    )
    for name, rows in {"all": np.ones(90, dtype=bool), "region=a": region == "a"}.items():
        parts: dict[str, list[float]] = {"bias_squared": [], "variance": [], "noise": [], "expected_loss": []}
        for place in np.flatnonzero(rows):
            own = [column[place] for column in predictions.values()]
            parts["bias_squared"].append((np.mean(own) - truth[place]) ** 2)
            parts["variance"].append(np.var(own))
            parts["noise"].append((label[place] - truth[place]) ** 2)
            parts["expected_loss"].append(np.mean([(one - label[place]) ** 2 for one in own]))
        found = dict(result.cross_validation.filter(slice=name).select("kind", "value").iter_rows())
        expected = {kind: np.average(values, weights=weight[rows]) for kind, values in parts.items()}
        assert found == pytest.approx(expected)
    noted = result.cross_validation.filter(pl.col("note").is_not_null())
    assert set(noted["kind"]) == {"expected_loss"}
    assert "on average" in noted["note"][0]


def test_without_the_truth_noise_is_part_of_the_bias() -> None:
    random = np.random.default_rng(6)
    frame = pl.DataFrame({"y": random.integers(0, 2, 50), "a": random.random(50), "b": random.random(50)})
    result = plm.evaluate(
        frame, label="y", models="a", metrics=["brier"], cross_validation={"repeated": {"m": ["a", "b"]}}
    )
    found = dict(result.cross_validation.select("kind", "value").iter_rows())
    assert set(found) == {"bias_squared", "variance", "expected_loss"}
    assert found["bias_squared"] + found["variance"] == pytest.approx(found["expected_loss"])
    brier = [((frame["y"] - frame[name]) ** 2).mean() for name in ("a", "b")]
    assert found["expected_loss"] == pytest.approx(np.mean(brier))  # type: ignore[arg-type]
    assert "noise is part of it" in result.cross_validation["note"][0]
