"""Orders of classes, arms and errors in ranges: values are those of independent formulas, and of rows in memory."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import plmetrics as plm
from plmetrics.engine import run_plan
from plmetrics.engine.memory import budget
from plmetrics.engine.memory.budget import OrderPlan

CLASSES = ("x", "y", "z")
PARTS = ((1, 3), (2, 1))
CLASS_METRICS = ["roc_auc", "roc_auc(scheme=ovo)", "average_precision", "ks", "classwise_ece"]
CLASS_METRICS += ["precision_at_recall(recall=0.5)"]
ARM_METRICS = ["qini", "auuc", "qini(method=guelman)", "uplift_at_k(k=0.2)"]
ERRORS = ["median_absolute_error", "absolute_error_quantile(q=0.9)", "max_error"]


def table(rows: int = 2500) -> pl.DataFrame:
    """Scores with ties, some of them null, labels of every kind, weights, and slices of which one is tiny."""
    rng = np.random.default_rng(8)
    number = rng.integers(0, 3, rows)
    odds = np.exp(rng.normal(size=(rows, 3)) + np.eye(3)[number])
    shares = (odds / odds.sum(axis=1, keepdims=True)).round(2)
    shares[:, 2] = (1 - shares[:, 0] - shares[:, 1]).round(2).clip(0)
    effect, unit = rng.normal(size=rows).round(1), rng.integers(0, 200, rows)
    columns = {f"p_{name}": shares[:, place] for place, name in enumerate(CLASSES)}
    columns |= {"effect": effect, "other": effect + rng.normal(size=rows), "unit": unit}
    columns |= {"topic_a": number == 0, "topic_b": rng.random(rows) < 0.3, "treated": rng.random(rows) < 0.5}
    columns |= {"bought": rng.random(rows) < 0.3, "spent": rng.normal(size=rows)}
    columns |= {"weight": rng.lognormal(0, 1, rows) * (rng.random(rows) < 0.9)}
    columns |= {"region": rng.choice(["north", "south", "tiny"], rows, p=[0.6, 0.39, 0.01])}
    frame = pl.DataFrame(columns).with_columns(pl.col(pl.Boolean).cast(pl.Int8))
    absent = pl.col("unit") < 8
    nulls = [pl.when(~absent).then(pl.col(name)).alias(name) for name in ("p_x", "effect")]
    return frame.with_columns(*nulls, kind=pl.Series([CLASSES[place] for place in number]))


ASKED: dict[str, dict[str, Any]] = {
    "classes": {
        "task": "multiclass",
        "label": "kind",
        "models": {"m": {"proba": "p_"}},
        "metrics": CLASS_METRICS,
    },
    "topics": {
        "task": "multilabel",
        "label": {"a": "topic_a", "b": "topic_b"},
        "models": {"m": {"proba": {"a": "p_x", "b": "p_y"}}},
        "metrics": ["roc_auc", "average_precision"],
    },
    "arms": {"label": "bought", "metrics": [*ARM_METRICS, "qini(normalise=perfect)"]},
    "outcomes": {"label": "spent", "metrics": ARM_METRICS},
    "outcomes in order": {"label": "spent", "metrics": ["qini", "auuc"]},
    "errors": {"task": "regression", "label": "spent", "metrics": ERRORS},
}
for one in ASKED.values():
    one.setdefault("models", {"m": "effect", "o": "other"})
    if "task" not in one:
        one |= {"task": "uplift", "treatment": "treated"}


def evaluate(frame: pl.DataFrame, what: str, **options: Any) -> plm.Result:
    return plm.evaluate(
        frame, **ASKED[what], **({"slices": {"region": "region"}, "missing": "drop"} | options)
    )


def planned(monkeypatch: pytest.MonkeyPatch, orders: int, parts: int) -> None:
    """Make every run read so many orderings at a time, in so many ranges."""
    monkeypatch.setattr(run_plan, "order_plan", lambda *_: OrderPlan("points", orders, parts, 1, 0))


def agree(one: pl.DataFrame, other: pl.DataFrame, keys: list[str], *columns: str) -> None:
    assert one.select(keys).equals(other.select(keys))
    for name in columns:
        both = [frame[name].cast(pl.Float64) for frame in (one, other)]
        assert both[0].is_null().equals(both[1].is_null())
        np.testing.assert_allclose(*(each.drop_nulls().to_numpy() for each in both), rtol=1e-12, atol=1e-13)


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("what", ASKED)
def test_values_and_those_of_rests_are_those_of_rows_held_in_memory(
    monkeypatch: pytest.MonkeyPatch, what: str, weight: str | None
) -> None:
    options: dict[str, Any] = {"weight": weight, "compare": {"slices": {"region": "rest"}}}
    expected = evaluate(table(), what, **options)
    for orders, parts in PARTS if what == "classes" and weight is None else PARTS[:1]:
        planned(monkeypatch, orders, parts)
        here = evaluate(table(), what, **options)
        keys = ["model", "slice_set", "slice", "metric", "status", "n"]
        agree(here.metrics, expected.metrics, keys, "value", "threshold")
        agree(here.comparisons, expected.comparisons, [*keys, "contrast"], "difference")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["classes", "arms", "errors"])
def test_rows_are_dropped_for_each_model_alone(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    expected = evaluate(table(), what, missing="drop_per_model").metrics
    planned(monkeypatch, 1, 3)
    here = evaluate(table(), what, missing="drop_per_model").metrics
    agree(here, expected, ["model", "slice", "metric", "n"], "value")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["classes", "arms"])
def test_curves_are_those_of_rows_held_in_memory(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    asked = {"classes": ["roc", "reliability"], "arms": ["qini", "uplift"]}[what]
    curves = [{"curve": name, "slices": ["region"]} for name in asked]
    expected = evaluate(table(), what, curves=curves).curves
    planned(monkeypatch, 1, 3)
    agree(evaluate(table(), what, curves=curves).curves, expected, ["model", "slice", "curve", "n"], "x", "y")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["classes", "outcomes in order", "errors"])
def test_standard_errors_are_close_to_those_of_resampled_rows(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    options: dict[str, Any] = {"unit": "unit", "slices": None, "uncertainty": {"replicates": 300, "seed": 1}}
    expected = evaluate(table(), what, **options).metrics
    planned(monkeypatch, 1, 3)
    here = evaluate(table(), what, **options).metrics
    agree(here, expected, ["model", "metric", "status"], "value")
    smooth = pl.col("metric").is_in(["roc_auc", "average_precision", "qini", "auuc", "median_absolute_error"])
    both = (each.filter(smooth)["std_error"].to_numpy() for each in (here, expected))
    np.testing.assert_allclose(*both, rtol=0.1)


def value_of(result: plm.Result, metric: str, place: str, model: str = "m") -> float:
    return float(result.metrics.filter(model=model, metric=metric, slice=place)["value"].item())


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "weight"])
def test_classes_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch, weight: str | None) -> None:
    planned(monkeypatch, 1, 4)
    here = evaluate(table(), "classes", weight=weight)
    rows = table().drop_nulls()
    for place, part in (("all", rows), ("region=north", rows.filter(region="north"))):
        mass = None if weight is None else part[weight].to_numpy()
        for metric, reference in (("roc_auc", roc_auc_score), ("average_precision", average_precision_score)):
            each = [
                reference(part["kind"] == name, part[f"p_{name}"], sample_weight=mass) for name in CLASSES
            ]
            assert value_of(here, metric, place) == pytest.approx(np.mean(each), abs=1e-12)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_areas_of_arms_are_those_of_the_definition(
    monkeypatch: pytest.MonkeyPatch, weight: str | None
) -> None:
    planned(monkeypatch, 1, 4)
    here = evaluate(table(), "outcomes in order", weight=weight)
    rows = table().drop_nulls()
    for place, part in (("all", rows), ("region=south", rows.filter(region="south"))):
        qini, auuc = areas(part, weight)
        assert value_of(here, "qini", place) == pytest.approx(qini, abs=1e-12)
        assert value_of(here, "auuc", place) == pytest.approx(auuc, abs=1e-12)


def areas(rows: pl.DataFrame, weight: str | None) -> tuple[float, float]:
    """Qini and area under the uplift curve, score by score from the highest on."""
    size = float(rows.height if weight is None else rows[weight].sum())
    n, y = [0.0, 0.0], [0.0, 0.0]
    points = [(0.0, 0.0, 0.0)]
    columns = (
        rows["effect"],
        rows["treated"],
        rows["spent"],
        [1.0] * rows.height if weight is None else rows[weight],
    )
    by_score: dict[float, list[tuple[int, float, float]]] = {}
    for score, arm, outcome, mass in zip(*columns, strict=True):
        by_score.setdefault(score, []).append((arm, outcome, mass))
    for score in sorted(by_score, reverse=True):
        for arm, outcome, mass in by_score[score]:
            n[arm] += mass
            y[arm] += mass * outcome
        share = (n[0] + n[1]) / size
        means = [total / mass if mass else 0.0 for total, mass in zip(y, n, strict=True)]
        points.append((share, y[1] - means[0] * n[1], share * (means[1] - means[0])))
    pairs = list(pairwise(points))
    gained, effect = (sum((b[0] - a[0]) * (a[k] + b[k]) / 2 for a, b in pairs) for k in (1, 2))
    return (gained - points[-1][1] / 2) / n[1], effect


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "memory"), [("classes", 3_000_000), ("arms", 4_000_000), ("errors", 3_000_000)]
)
def test_a_run_reads_as_many_ranges_as_its_memory_asks_for(
    monkeypatch: pytest.MonkeyPatch, reads: list[Any], what: str, memory: int
) -> None:
    monkeypatch.setattr(budget, "LIBRARIES", 0)
    frame = pl.concat([table()] * 20)
    here = evaluate(frame, what, exact=True, memory=memory).metrics
    assert len(reads) > 2 * len({each[0].name for each in reads})
    assert here["bound"].is_null().all()
    agree(here, evaluate(frame, what).metrics, ["model", "slice", "metric", "n"], "value")


MIXED = ["roc_auc", "ece", {"name": "late", "quantile": "spent", "q": 0.9}]
MIXED += [{"name": "some", "quantile": "score * (1 + label)", "q": 0.5, "where": "score > 0"}]


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "weight"])
def test_scores_and_quantiles_of_rows_without_a_label_are_read_side_by_side(
    monkeypatch: pytest.MonkeyPatch, weight: str | None
) -> None:
    absent = pl.when(pl.col("unit") % 3 > 0)
    frame = table().with_columns(absent.then("bought").alias("bought"), pl.col("p_x").fill_null(0.5))
    asked: dict[str, Any] = {"label": "bought", "models": {"m": "p_x", "o": "p_y"}, "metrics": MIXED}
    asked |= {"labels": True, "weight": weight, "slices": {"region": "region"}}
    asked |= {"compare": {"slices": {"region": "rest"}}}
    expected = plm.evaluate(frame, **asked)
    planned(monkeypatch, 1, 3)
    here = plm.evaluate(frame, **asked)
    keys = ["model", "slice_set", "slice", "metric", "status", "n"]
    agree(here.metrics, expected.metrics, keys, "value")
    agree(here.comparisons, expected.comparisons, [*keys, "contrast"], "difference")


def test_the_order_of_rows_of_two_arms_does_not_show_where_it_must_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned(monkeypatch, 1, 3)
    options: dict[str, Any] = {"weight": "weight", "reproducible": True}
    options["compare"] = {"slices": {"region": "rest"}}
    frame = table().with_columns(pl.col("other").round(1))
    one, other = (evaluate(rows, "outcomes", **options) for rows in (frame, frame.reverse()))
    assert other.metrics.equals(one.metrics)
    assert other.comparisons.equals(one.comparisons)
