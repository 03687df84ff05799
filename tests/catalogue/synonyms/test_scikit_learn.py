"""Every name of scikit-learn that is taken as a metric gives the number of scikit-learn's function."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics
from sklearn.datasets import load_iris

import plmetrics as plm
from plmetrics.catalogue.synonyms.scikit_learn import SCIKIT_LEARN

ROWS = 300
OF_SCORES = {
    "roc_auc_score",
    "average_precision_score",
    "brier_score_loss",
    "d2_brier_score",
    "d2_log_loss_score",
    "top_k_accuracy_score",
}
"""Functions that read scores; the others read classes."""

ARGUMENTS = {"fbeta_score": {"beta": 2.0}}
SCORERS = set(metrics.get_scorer_names())


def names(task: str) -> list[str]:
    tables = (same for tasks, same in SCIKIT_LEARN.equivalents.items() if task in tasks.split())
    return " ".join(together for same in tables for together in same).split()


def function_of(name: str) -> tuple[Callable[..., float], bool]:
    """What scikit-learn computes under a name, and whether it reads scores."""
    if name not in SCORERS:
        return partial(getattr(metrics, name), **ARGUMENTS.get(name, {})), name in OF_SCORES
    scorer: Any = metrics.get_scorer(name)
    return partial(scorer._score_func, **scorer._kwargs), "predict_proba" in str(scorer._response_method)


def evaluated(frame: pl.DataFrame, task: str, **asked: Any) -> dict[str, float]:
    """Values by the names of scikit-learn."""
    texts = {name: f"{name}(beta=2)" if name == "fbeta_score" else name for name in names(task)}
    canonical = {name: plm.metric(text, task).text for name, text in texts.items()}
    table = plm.evaluate(frame, task=task, label="y", metrics=list(texts.values()), **asked).metrics
    values = dict(table.select("metric", "value").iter_rows())
    return {name: values[text] for name, text in canonical.items()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.random(ROWS).round(2)
    y = (rng.random(ROWS) < p).astype(int)
    values = evaluated(pl.DataFrame({"y": y, "p": p}), "binary", models="p")
    assert len(values) >= 16
    for name, value in values.items():
        function, of_scores = function_of(name)
        assert value == pytest.approx(function(y, p if of_scores else p >= 0.5), rel=1e-9), name


@pytest.mark.parametrize("called", [3, 2])
def test_several_classes(called: int) -> None:
    """Of which one may never be called: it counts as 0 there as well as here."""
    rng = np.random.default_rng(called)
    y, p = rng.integers(0, 3, ROWS), rng.dirichlet([1.0, 1.0, 1.0], ROWS)
    p[np.arange(ROWS), y] += 0.3
    p[:, called:] *= 0.01
    p /= p.sum(1, keepdims=True)
    frame = pl.DataFrame({"y": y} | {f"p{k}": p[:, k] for k in range(3)})
    model = {"m": {"proba": {k: f"p{k}" for k in range(3)}}}
    values = evaluated(frame, "multiclass", models=model, classes=[0, 1, 2])
    assert len(values) >= 23
    for name, value in values.items():
        function, of_scores = function_of(name)
        if name.startswith("precision_") and called < 3:
            function = partial(function, zero_division=0)
        assert value == pytest.approx(function(y, p if of_scores else p.argmax(1)), rel=1e-9), name


def test_an_average_leaves_out_classes_that_are_nowhere() -> None:
    y, c = [0, 0, 1, 1, 1], [0, 1, 1, 1, 0]
    asked = {"task": "multiclass", "label": "y", "models": "c", "classes": ["0", "1", "2"]}
    frame = pl.DataFrame({"y": map(str, y), "c": map(str, c)}, schema={"y": pl.String, "c": pl.String})
    values = plm.evaluate(frame, **asked, metrics=["f1_macro", "jaccard_macro"]).metrics["value"].to_list()
    expected = [metrics.f1_score(y, c, average="macro"), metrics.jaccard_score(y, c, average="macro")]
    assert values == pytest.approx(expected)


@pytest.mark.parametrize("seed", [1, 2])
def test_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.gamma(2.0, 1.0, ROWS)
    p = y + rng.random(ROWS)
    for name, value in evaluated(pl.DataFrame({"y": y, "p": p}), "regression", models="p").items():
        assert value == pytest.approx(function_of(name)[0](y, p), rel=1e-9), name


def test_rankings() -> None:
    """A query without anything relevant counts as 0 there as well as here."""
    rng = np.random.default_rng(3)
    y, p = rng.integers(0, 4, (40, 8)), rng.random((40, 8)).round(1)
    y[:5] = 0
    frame = pl.DataFrame({"y": y.ravel(), "p": p.ravel(), "q": np.repeat(np.arange(40), 8)})
    for name, value in evaluated(frame, "ranking", models="p", query="q").items():
        assert value == pytest.approx(function_of(name)[0](y, p), rel=1e-9), name


def test_what_has_another_sign_or_scale_is_not_taken() -> None:
    """The reason why the `neighbours` of scorers are no metrics here."""
    iris = load_iris()
    y, p = (iris.target > 1).astype(int), np.clip(iris.data[:, 3] / 2.5, 0.01, 0.99)
    frame = pl.DataFrame({"y": y, "p": p})
    ours = (
        plm.evaluate(frame, label="y", models="p", metrics=["log_loss", "brier"]).metrics["value"].to_list()
    )
    for name, value in zip(["neg_log_loss", "neg_brier_score"], ours, strict=True):
        scorer: Any = metrics.get_scorer(name)
        assert scorer._sign * scorer._score_func(y, p) == pytest.approx(-value)
        with pytest.raises(plm.ConfigError, match="lower is better here"):
            plm.metric(name)


def test_every_scorer_is_known() -> None:
    """Taken, ours, or told what to write, but for those of clusterings and of several labels."""
    clusterings = (
        "adjusted_",
        "mutual_",
        "normalized_",
        "rand_",
        "homogeneity_",
        "completeness_",
        "v_measure_",
    )
    listed = [
        name
        for sides in (SCIKIT_LEARN.equivalents, SCIKIT_LEARN.neighbours)
        for table in sides.values()
        for together in table
        for name in together.split()
    ]
    own = {name for task in ("binary", "multiclass", "regression") for name in plm.metrics(task)["name"]}
    unknown = {
        name
        for name in SCORERS - set(listed) - own
        if not name.startswith(clusterings) and not name.endswith("_samples")
    }
    assert unknown == set()


def test_several_classes_a_row() -> None:
    rng = np.random.default_rng(5)
    p = rng.random((ROWS, 3)).round(1)
    y = (rng.random((ROWS, 3)) < p * [1.0, 0.5, 0.3]).astype(int)
    frame = pl.DataFrame({f"y{k}": y[:, k] for k in range(3)} | {f"p{k}": p[:, k] for k in range(3)})
    texts = names("multilabel")
    canonical = [plm.metric(name, "multilabel").text for name in texts]
    found = plm.evaluate(
        frame, task="multilabel", label="y", models={"m": {"proba": "p"}}, metrics=texts
    ).metrics
    values = dict(found.select("metric", "value").iter_rows())
    assert len(texts) == 14
    for name, text in zip(texts, canonical, strict=True):
        function = function_of(name)[0]
        if name.split("_")[0] in {"precision", "recall", "f1", "jaccard"}:
            function = partial(function, zero_division=0)
        of_order = name == "label_ranking_average_precision_score"
        assert values[text] == pytest.approx(function(y, p if of_order else p >= 0.5), rel=1e-9), name
