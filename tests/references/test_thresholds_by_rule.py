"""Thresholds that rules choose for each class of several a row, against a search over all of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import plmetrics as plm

CLASSES = ["bill", "spam", "urgent"]
ROLES: dict[str, Any] = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}


def table(rows: int = 500, seed: int = 0) -> pl.DataFrame:
    """Scores on scales of their own with ties, weights of which some are 0, and rows to choose on."""
    rng = np.random.default_rng(seed)
    truth = rng.random((rows, 3)) < [0.5, 0.3, 0.1]
    score = (rng.random((rows, 3)) * [0.3, 0.6, 1.0] * (1 + truth) / 2).round(2)
    columns: dict[str, Any] = {"w": rng.choice([0.0, 0.5, 2.0], rows), "g": rng.choice(["x", "y"], rows)}
    for number, name in enumerate(CLASSES):
        columns |= {f"y_{name}": truth[:, number].astype(int), f"p_{name}": score[:, number]}
    return pl.DataFrame(columns | {"split": rng.choice(["valid", "test"], rows)})


def matrices(rows: pl.DataFrame) -> tuple[Any, Any]:
    """What rows have, and their scores, `[row, class]`."""
    truth, score = (rows.select(f"{prefix}_{name}" for name in CLASSES).to_numpy() for prefix in "yp")
    return truth, score


def shares(truth: Any, score: Any, weight: Any, cut: float) -> dict[str, float]:
    """What a class gives at a threshold, NaN where it is not defined."""
    called = score >= cut
    tp, fp = (weight[called & (truth == side)].sum() for side in (1, 0))
    fn, tn = (weight[~called & (truth == side)].sum() for side in (1, 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "f1": np.float64(2 * tp) / (2 * tp + fp + fn),
            "cost": (fp + 5 * fn) / (tp + fp + fn + tn),
            "recall": np.float64(tp) / (tp + fn),
            "precision": np.float64(tp) / (tp + fp),
            "fpr": np.float64(fp) / (fp + tn),
            "volume": (tp + fp) / (tp + fp + fn + tn),
        }


def searched(
    rows: pl.DataFrame, weight: str | None, pick: Callable[[list[dict[str, float]]], Any]
) -> list[float]:
    """For each class the highest threshold among those that `pick` takes as best; NaN where it takes none."""
    truth, score = matrices(rows)
    weights = np.ones(rows.height) if weight is None else rows[weight].to_numpy()
    out = []
    for number in range(3):
        cuts = [*np.unique(score[weights > 0, number]), np.inf]
        each = [shares(truth[:, number], score[:, number], weights, cut) for cut in cuts]
        picked = pick(each)
        out.append(cuts[max(picked)] if len(picked) else np.nan)
    return out


def highest(name: str, sign: float = 1.0) -> Any:
    def pick(each: list[dict[str, float]]) -> Any:
        values = sign * np.array([one[name] for one in each])
        return np.flatnonzero(values >= np.nanmax(values) - 1e-12)

    return pick


def reaching(name: str, limit: float) -> Any:
    def pick(each: list[dict[str, float]]) -> Any:
        values = np.array([one[name] for one in each])
        enough = np.flatnonzero(values <= limit + 1e-12 if name == "fpr" else values >= limit - 1e-12)
        if name in {"recall", "volume"} or len(enough) == 0:
            return enough
        recall = np.array([each[place]["recall"] for place in enough])
        return enough[recall >= recall.max()]

    return pick


RULES: dict[str, Any] = {
    "max(f1)": highest("f1"),
    "min(expected_cost(cost_fp=1, cost_fn=5))": highest("cost", -1.0),
    "at(recall=0.8)": reaching("recall", 0.8),
    "at(volume=0.2)": reaching("volume", 0.2),
    "at(precision=0.6)": reaching("precision", 0.6),
    "at(fpr=0.1)": reaching("fpr", 0.1),
    "optimal(cost_fp=1, cost_fn=4)": None,
}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::plmetrics.PlmetricsWarning")
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("rule", RULES)
def test_each_class_has_the_threshold_of_a_search(rule: str, weight: str | None) -> None:
    rows = table()
    cuts = [0.2] * 3 if RULES[rule] is None else searched(rows, weight, RULES[rule])
    truth, score = matrices(rows)
    texts = [
        f"{name}, threshold={rule})"
        for name in ("recall(average=none", "f1(average=micro", "jaccard(average=samples")
    ]
    texts += [f"{name}(threshold={rule})" for name in ("f1", "hamming_loss", "subset_accuracy")]
    found = plm.evaluate(rows, **ROLES, metrics=texts, weight=weight, slices="g").metrics
    each = found.filter(slice="all", metric=texts[0])
    assert each["class"].to_list() == CLASSES
    np.testing.assert_allclose(each["threshold"].to_numpy(), cuts)
    for part in ("all", "g=x"):
        some = np.ones(rows.height, dtype=bool) if part == "all" else (rows["g"] == "x").to_numpy()
        y, p = truth[some], (score[some] >= cuts).astype(int)
        more: dict[str, Any] = {"sample_weight": None if weight is None else rows[weight].to_numpy()[some]}
        values = found.filter(slice=part)
        expected = [
            *sk.recall_score(y, p, average=None, **more),
            sk.f1_score(y, p, average="micro", **more),
            None,
            sk.f1_score(y, p, average="macro", **more),
            sk.hamming_loss(y, p, **more),
            sk.accuracy_score(y, p, **more),
        ]
        for one, other in zip(values["value"], expected, strict=True):
            assert other is None or one == pytest.approx(other, rel=1e-12)
        union = (y | p).any(axis=1)
        of_rows = (y & p).sum(axis=1)[union] / (y | p).sum(axis=1)[union]
        weights = None if weight is None else more["sample_weight"][union]
        assert values["value"][4] == pytest.approx(np.average(of_rows, weights=weights), rel=1e-12)
    assert found.filter(metric=texts[3])["threshold"].null_count() == (0 if RULES[rule] is None else 3)


def test_they_may_be_chosen_on_other_rows_and_stand_in_the_run(tmp_path: Path) -> None:
    rows = table()
    rows.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "suite.yaml").write_text(
        "task: multilabel\ndata: {path: rows.parquet, where: \"split = 'test'\"}\ncolumns: {label: y_}\n"
        "models: {m: {proba: p_}}\nuncertainty: {replicates: 50}\noutput: {directory: runs}\n"
        "metrics: [{metric: 'recall(average=none, threshold=max(f1))', select_on: \"split = 'valid'\"}]\n"
    )
    result = plm.run(tmp_path / "suite.yaml")
    cuts = searched(rows.filter(split="valid"), None, RULES["max(f1)"])
    truth, score = matrices(rows.filter(split="test"))
    np.testing.assert_allclose(result.metrics["threshold"].to_numpy(), cuts)
    recall = sk.recall_score(truth, (score >= cuts).astype(int), average=None)
    np.testing.assert_allclose(result.metrics["value"].to_numpy(), recall)
    assert (result.metrics["interval_status"] == "ok").all()
    (folder,) = (tmp_path / "runs" / "suite").glob("*-*")
    record = json.loads((folder / "run.json").read_text())
    key = "max(f1, select_on=\"split = 'valid'\")"
    expected = {f"{key}|{name}": cut for name, cut in zip(CLASSES, cuts, strict=True)}
    assert record["constants"]["thresholds"]["m"] == expected


@pytest.mark.filterwarnings("ignore::plmetrics.PlmetricsWarning")
def test_states_of_days_take_the_thresholds_of_the_first() -> None:
    rows, metrics = table(), ["f1(threshold=max(f1))", "recall(average=none, threshold=max(f1))"]
    first = plm.state(rows, **ROLES, metrics=metrics)
    days = [plm.state(day, **ROLES, metrics=metrics, constants=first) for day in (rows[:200], rows[200:])]
    whole = plm.evaluate(rows, **ROLES, metrics=metrics).metrics
    merged = plm.merge(*days).metrics
    for column in ("value", "threshold"):
        np.testing.assert_allclose(merged[column].to_numpy(), whole[column].to_numpy())


@pytest.mark.filterwarnings("ignore::plmetrics.PlmetricsWarning")
def test_a_class_that_reaches_no_limit_has_no_value() -> None:
    rows = table().with_columns(y_spam=pl.lit(0))
    rule = "threshold=at(recall=0.9)"
    found = plm.evaluate(
        rows, **ROLES, metrics=[f"fbeta(beta=1, average=none, {rule})", f"f1({rule})"]
    ).metrics
    assert found["status"].to_list() == ["ok", "zero_denominator", "ok", "unreachable"]
    assert found["value"].is_null().to_list() == [False, True, False, True]


@pytest.mark.filterwarnings("ignore::plmetrics.PlmetricsWarning")
def test_models_of_other_scores_are_compared_at_thresholds_of_their_own() -> None:
    rows = table().with_columns(pl.col(f"p_{name}").sqrt().alias(f"q_{name}") for name in CLASSES)
    models = {"m": {"proba": "p_"}, "root": {"proba": "q_"}}
    asked: dict[str, Any] = {**ROLES, "models": models, "compare": "m", "uncertainty": {"replicates": 30}}
    result = plm.evaluate(rows, **asked, metrics=["f1(threshold=max(f1))", "f1"])
    differences = result.comparisons["difference"].to_list()
    assert differences[0] == 0
    assert differences[1] != 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"uncertainty": {"thresholds": "resampled"}}, "has one for each class"),
        ({"metrics": ["f1(threshold=max(roc_auc))"]}, "read at no threshold"),
        ({"metrics": ["f1(threshold=max(lrap))"]}, "lrap"),
        (
            {"label": "tags", "classes": CLASSES, "models": {"hard": {"prediction": "tags"}}},
            "model 'hard' has only hard predictions",
        ),
    ],
)
def test_what_has_no_such_threshold_is_said(arguments: dict[str, Any], words: str) -> None:
    rows = table(40).with_columns(tags=pl.lit(["spam"], dtype=pl.List(pl.String)))
    with pytest.raises(plm.ConfigError, match=words):
        plm.evaluate(rows, **{**ROLES, "metrics": ["f1(threshold=max(f1))"], **arguments})


def test_where_one_class_a_row_is_called_there_are_no_thresholds() -> None:
    """The metric that a rule names has them in every task of classes, so that it is not blamed."""
    with pytest.raises(
        plm.ConfigError, match=r"f1: unknown parameter 'threshold' \(known: average, undefined\)"
    ):
        plm.metric("f1(threshold=max(f1))", task="multiclass")
