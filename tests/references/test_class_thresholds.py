"""Thresholds of classes, against scikit-learn on classes that are called by hand."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    hamming_loss,
    precision_score,
    recall_score,
)

import plmetrics as plm

CLASSES = ["a", "b", "c"]
CUTS = {"a": 0.2, "b": 0.7}
LIMITS = np.array([0.2, 0.7, 0.5])
ROWS = 400


def several() -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    truth = random.integers(0, 3, ROWS)
    shares = random.dirichlet([1, 1, 1], ROWS) + np.eye(3)[truth] * random.random((ROWS, 1))
    shares /= shares.sum(axis=1, keepdims=True)
    columns = {f"p_{name}": shares[:, number] for number, name in enumerate(CLASSES)}
    table = pl.DataFrame({"y": [CLASSES[number] for number in truth], **columns})
    return table.with_columns(w=pl.Series(random.integers(1, 4, ROWS))), truth, shares


def evaluated(table: pl.DataFrame, **asked: Any) -> dict[tuple[str, str | None], float]:
    found = plm.evaluate(table, **asked).metrics
    return {(row["metric"], row["class"]): row["value"] for row in found.to_dicts()}


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_largest_probability_over_its_threshold_is_called(weight: str | None) -> None:
    table, truth, shares = several()
    called = (shares / LIMITS).argmax(axis=1)
    weights = None if weight is None else table[weight].to_numpy()
    metrics = ["accuracy", "f1", "precision(average=none)", "log_loss"]
    models = {"m": {"proba": "p_", "threshold": CUTS}}
    asked = {"task": "multiclass", "label": "y", "weight": weight, "metrics": metrics}
    found = evaluated(table, **asked, models=models)
    assert found["accuracy", None] == pytest.approx(accuracy_score(truth, called, sample_weight=weights))
    assert found["f1", None] == pytest.approx(f1_score(truth, called, average="macro", sample_weight=weights))
    each = precision_score(truth, called, average=None, sample_weight=weights)
    assert [found["precision(average=none)", name] for name in CLASSES] == pytest.approx(list(each))
    plain = evaluated(table, **asked, models={"m": {"proba": "p_"}})
    assert found["log_loss", None] == plain["log_loss", None]
    assert found["accuracy", None] != plain["accuracy", None]


def test_confusions_confidence_and_comparisons_follow_the_called_class() -> None:
    table, truth, shares = several()
    called = (shares / LIMITS).argmax(axis=1)
    proba = {name: f"p_{name}" for name in CLASSES}
    result = plm.evaluate(
        table,
        task="multiclass",
        label="y",
        models={"m": {"proba": proba, "threshold": CUTS}, "plain": {"proba": proba}},
        metrics=["accuracy", "top_label_ece(bins=1)"],
        curves=["confusion"],
        uncertainty={"replicates": 20},
        compare="plain",
    )
    counts = result.curves.filter(model="m")["n"].to_list()
    assert counts == confusion_matrix(truth, called).ravel().tolist()
    gap = abs(shares[np.arange(ROWS), called].mean() - (called == truth).mean())
    (error,) = result.metrics.filter(model="m", metric="top_label_ece(bins=1)")["value"]
    assert error == pytest.approx(gap)
    (moved,) = result.comparisons.filter(metric="accuracy")["difference"]
    assert moved == pytest.approx((called == truth).mean() - (shares.argmax(axis=1) == truth).mean())


@pytest.mark.parametrize(("threshold", "limits"), [(CUTS, LIMITS), (0.3, np.full(3, 0.3))])
def test_each_class_of_several_is_called_at_its_own(threshold: Any, limits: np.ndarray) -> None:
    random = np.random.default_rng(2)
    truth, scores = random.integers(0, 2, (ROWS, 3)), random.random((ROWS, 3)).round(2)
    columns = {f"y_{name}": truth[:, number] for number, name in enumerate(CLASSES)}
    columns |= {f"p_{name}": scores[:, number] for number, name in enumerate(CLASSES)}
    asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_", "threshold": threshold}}}
    called = scores >= limits
    metrics = [
        "recall(average=none)",
        "f1",
        "f1(average=samples, undefined=zero)",
        "hamming_loss",
        "f1(threshold=0.8)",
    ]
    found = evaluated(pl.DataFrame(columns), **asked, metrics=metrics)
    each = recall_score(truth, called, average=None)
    assert [found["recall(average=none)", name] for name in CLASSES] == pytest.approx(list(each))
    assert found["f1", None] == pytest.approx(f1_score(truth, called, average="macro"))
    of_rows = f1_score(truth, called, average="samples", zero_division=0)
    assert found["f1(average=samples, undefined=zero)", None] == pytest.approx(of_rows)
    assert found["hamming_loss", None] == pytest.approx(hamming_loss(truth, called))
    assert found["f1(threshold=0.8)", None] == pytest.approx(f1_score(truth, scores >= 0.8, average="macro"))
    texts = ["f1", "recall(average=none)", "recall(average=none, threshold=0.8)"]
    result = plm.evaluate(pl.DataFrame(columns), **asked, metrics=texts).metrics
    of_all = None if isinstance(threshold, dict) else threshold
    assert result["threshold"].to_list() == [of_all, *limits, 0.8, 0.8, 0.8]


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (0.4, "threshold must be a mapping of classes"),
        ({"a": 0.0}, "thresholds must be above 0"),
        ({"d": 0.5}, "'d' is not one of the classes"),
        ({}, "threshold"),
    ],
)
def test_thresholds_that_no_class_can_have(threshold: Any, words: str) -> None:
    models = {"m": {"proba": "p_", "threshold": threshold}}
    with pytest.raises(plm.ConfigError, match=words):
        plm.evaluate(several()[0], task="multiclass", label="y", models=models, metrics=["accuracy"])
