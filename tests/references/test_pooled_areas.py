"""Areas of all pairs of row and class (average=micro), held against scikit-learn's on the pairs themselves."""

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import plmetrics as plm
from plmetrics.engine import run_plan
from plmetrics.engine.memory import budget
from plmetrics.engine.memory.budget import OrderPlan

CLASSES = ["bill", "spam", "urgent"]
TEXTS = [f"{name}(average=micro)" for name in ("roc_auc", "average_precision", "pr_auc")]
SETS: dict[str, Any] = {
    "task": "multilabel",
    "label": "y_",
    "models": {"m": {"proba": "p_"}, "k": {"proba": "q_"}},
}


def table(rows: int = 900, seed: int = 0) -> pl.DataFrame:
    """Scores of two models, some of them tied, with weights of which some are 0."""
    rng = np.random.default_rng(seed)
    truth = rng.random((rows, 3)) < [0.5, 0.3, 0.05]
    columns: dict[str, Any] = {"w": rng.choice([0.0, 0.5, 1.0, 2.5], rows), "u": rng.integers(0, 120, rows)}
    columns["g"] = np.where(truth[:, 2], "x", rng.choice(["x", "y"], rows))
    for number, name in enumerate(CLASSES):
        columns[f"y_{name}"] = truth[:, number].astype(int)
        for model, digits, lift in (("p", 2, 0.3), ("q", 6, 0.1)):
            score = rng.random(rows) * (0.4 + 0.2 * number) + lift * truth[:, number]
            columns[f"{model}_{name}"] = np.round(score, digits)
    return pl.DataFrame(columns)


def pairs(rows: pl.DataFrame, prefix: str) -> tuple[Any, Any]:
    """What each row has and its scores, all pairs of row and class one after another."""
    truth, score = (rows.select(f"{p}_{name}" for name in CLASSES).to_numpy() for p in ("y", prefix))
    return truth.ravel(), score.ravel()


def expected(truth: Any, score: Any, weight: Any = None) -> list[float]:
    precision, recall, _ = sk.precision_recall_curve(truth, score, sample_weight=weight)
    return [
        sk.roc_auc_score(truth, score, sample_weight=weight),
        sk.average_precision_score(truth, score, sample_weight=weight),
        sk.auc(recall, precision),
    ]


def evaluated(rows: pl.DataFrame, **more: Any) -> pl.DataFrame:
    return plm.evaluate(rows, **{**SETS, "metrics": TEXTS, **more}).metrics


def check(found: pl.DataFrame, rows: pl.DataFrame, weight: str | None, *, bound: bool = False) -> None:
    for (model, part), values in found.group_by("model", "slice"):
        own = rows if part == "all" else rows.filter(g=str(part)[-1])
        weights = None if weight is None else np.repeat(own[weight].to_numpy(), 3)
        off = np.abs(
            values["value"].to_numpy() - expected(*pairs(own, "p" if model == "m" else "q"), weights)
        )
        most = values["bound"].to_numpy() + 1e-12 if bound else 1e-12
        assert (off <= most).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
def test_areas_of_pairs_are_those_of_scikit_learn(weight: str | None) -> None:
    rows = table()
    check(evaluated(rows, weight=weight, slices="g"), rows, weight)
    check(evaluated(rows, weight=weight, slices="g", exact=False), rows, weight, bound=True)
    found = evaluated(rows, weight=weight, slices="g", reproducible=True, exact=False)
    check(found, rows, weight, bound=True)


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("ranges", [1, 5])
@pytest.mark.parametrize("weight", [None, "w"])
def test_they_are_read_in_ranges(weight: str | None, ranges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of one class is read beside them, and the rests of slices are compared with."""
    rows = table()
    more: dict[str, Any] = {"compare": {"slices": {"g": "rest"}}, "uncertainty": {"replicates": 30}}
    more |= {"slices": "g", "weight": weight}
    texts = [*TEXTS, "roc_auc", "ks"]
    usual = plm.evaluate(rows, **SETS, metrics=texts, **more)
    plan = OrderPlan("points", 1, ranges, 8 * ranges, 0)
    monkeypatch.setattr(run_plan, "order_plan", lambda *_: plan)
    found = plm.evaluate(rows, **SETS, metrics=texts, **more)
    check(found.metrics.filter(pl.col("metric").is_in(TEXTS)), rows, weight)
    for table_name in ("metrics", "comparisons"):
        column = "value" if table_name == "metrics" else "difference"
        ours, theirs = (getattr(result, table_name)[column].to_numpy() for result in (found, usual))
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.slow
def test_the_plan_of_a_run_counts_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "POINT_ROWS", 1000)
    rows = table(60_000)
    check(evaluated(rows, exact=True, memory=9_000_000), rows, None)
    with pytest.raises(plm.ConfigError, match="raise memory"):
        evaluated(rows, exact=True, memory=600_000)
    check(evaluated(rows, memory=600_000), rows, None, bound=True)


@cache
def resampled_spread(unit: str | None) -> Any:
    """Standard deviations over resampled units of the values of scikit-learn."""
    rows, rng = table(600), np.random.default_rng(1)
    truth, score = pairs(rows, "p")
    place = np.arange(600) if unit is None else np.unique(rows[unit], return_inverse=True)[1]
    units = place.max() + 1
    draws = (np.bincount(rng.integers(0, units, units), minlength=units) for _ in range(400))
    replicates = [expected(truth, score, np.repeat(drawn[place], 3).astype(float)) for drawn in draws]
    return np.std(replicates, axis=0, ddof=1)


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("unit", [None, "u"])
def test_rows_are_resampled_with_all_of_their_pairs(unit: str | None, exact: bool) -> None:
    found = evaluated(table(600), unit=unit, exact=exact, uncertainty={"replicates": 800}).filter(model="m")
    np.testing.assert_allclose(found["std_error"].to_numpy(), resampled_spread(unit), rtol=0.12)
    assert found["method"].to_list() == ["t"] * 3


def test_models_may_lack_rows() -> None:
    rows = table().with_columns(q_spam=pl.when(pl.int_range(pl.len()) < 50).then(None).otherwise("q_spam"))
    for exact in (True, False):
        found = evaluated(rows, missing="drop_per_model", exact=exact)
        check(found.filter(model="m"), rows, None, bound=not exact)
        check(found.filter(model="k"), rows[50:], None, bound=not exact)


def test_states_of_days_add() -> None:
    rows, asked = table(), {**SETS, "metrics": TEXTS, "slices": "g", "weight": "w"}
    whole = plm.state(rows, **asked)
    merged = plm.merge(*(plm.state(day, **asked, constants=whole) for day in (rows[:300], rows[300:])))
    check(merged.metrics, rows, "w", bound=True)


def test_classes_of_which_a_row_has_one_are_pooled_alike() -> None:
    rng = np.random.default_rng(4)
    number, score = rng.integers(0, 3, 500), rng.dirichlet([1, 2, 1], 500)
    score[np.arange(500), number] += 0.3
    score /= score.sum(axis=1, keepdims=True)
    rows = pl.DataFrame(
        {"y": np.array(CLASSES)[number], **{f"p_{c}": score[:, i] for i, c in enumerate(CLASSES)}}
    )
    found = plm.evaluate(
        rows, task="multiclass", label="y", models={"m": {"proba": "p_"}}, metrics=TEXTS
    ).metrics
    hot = np.eye(3)[number]
    np.testing.assert_allclose(found["value"].to_numpy(), expected(hot.ravel(), score.ravel()), rtol=1e-12)
    micro = sk.roc_auc_score(number, score, multi_class="ovr", average="micro")
    assert found["value"][0] == pytest.approx(micro, abs=1e-12)


def test_what_has_no_area_says_why() -> None:
    rows = table(40).with_columns(pl.lit(0).alias(f"y_{name}") for name in CLASSES)
    found = evaluated(rows, metrics=[*TEXTS, "average_precision(average=micro, undefined=zero)"])
    assert found["value"].is_null().all()
    assert set(found["status"]) == {"no_positives"}
    with pytest.raises(plm.ConfigError, match="scheme=ovo has no average=micro"):
        plm.metric("roc_auc(scheme=ovo, average=micro)", task="multiclass")
