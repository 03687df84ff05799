"""Standard errors of every metric against the spread of its values over many data sets drawn anew.

The data sets are the slices of one table: their values spread as samples of the population do, and no resampling of
ours has a part in that.
"""

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH

import plmetrics as plm
from plmetrics.catalogue import registry
from plmetrics.catalogue.composite_metrics import AcrossSlices

SAMPLES, JUDGED, WIDEST = (2000, 40, 1.08) if THOROUGH else (250, 8, 1.25)
"""Data sets, how many of them get a standard error, and by which factor the two may differ."""

WITH_PARAMETERS = {
    "binary": [
        "interpolated_ap(points=101)",
        "fbeta(beta=2)",
        "expected_cost(cost_fp=1, cost_fn=5)",
        "ppv_at_prevalence(prevalence=0.1)",
        "roc_auc(max_fpr=0.3)",
        "precision_at_recall(recall=0.6)",
        "precision_at_volume(volume=0.2)",
        "recall_at_precision(precision=0.6)",
        "recall_at_fpr(fpr=0.2)",
        "fpr_at_recall(recall=0.7)",
        "precision_at_k(k=0.2)",
        "recall_at_k(k=0.2)",
        "lift_at_k(k=0.2)",
    ],
    "multiclass": [
        "top_k_accuracy(k=2)",
        "precision_at_recall(recall=0.6)",
        "precision_at_volume(volume=0.2)",
        "recall_at_precision(precision=0.6)",
        "recall_at_fpr(fpr=0.2)",
        "fpr_at_recall(recall=0.7)",
        "precision_at_k(k=0.2)",
        "recall_at_k(k=0.2)",
        "lift_at_k(k=0.2)",
    ],
    "regression": [
        "adjusted_r2(predictors=2)",
        "mase(scale=scale)",
        "scaled_mae(by=scale)",
        "lin_lin(over=1, under=3)",
        "linex(a=0.3)",
        "quantile_loss(tau=0.8)",
        "absolute_error_quantile(q=0.8)",
        "tweedie_deviance(power=1.5)",
    ],
    "quantile": [
        "quantile_loss(tau=0.1)",
        "interval_coverage(level=0.8)",
        "interval_width(level=0.8)",
        "interval_score(level=0.8)",
    ],
    "ranking": [
        "precision_at_k(k=3)",
        "recall_at_k(k=3)",
        "hit_at_k(k=2)",
        "f1_at_k(k=3)",
        "judged_at_k(k=3)",
        "interpolated_precision(recall=0.5)",
    ],
    "uplift": [
        "ate_ipw(propensity=propensity)",
        "ate_aipw(propensity=propensity, mu0=mu0, mu1=mu1)",
        "uplift_at_k(k=0.3)",
    ],
}


def binary(rng, rows):
    positive = rng.random(rows) < 0.35
    score = 1 / (1 + np.exp(0.9 - 1.6 * positive - rng.normal(size=rows)))
    return {"y": positive, "p": score}


def multiclass(rng, rows):
    label = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    raw = np.exp(1.2 * (label[:, None] == np.arange(3)) + rng.normal(size=(rows, 3)))
    share = raw / raw.sum(axis=1, keepdims=True)
    return {"y": np.array(["a", "b", "c"])[label], **{f"p_{n}": share[:, i] for i, n in enumerate("abc")}}


def regression(rng, rows):
    label = np.exp(rng.normal(1, 0.3, rows))
    return {"y": label, "p": label * np.exp(rng.normal(0.05, 0.15, rows)), "scale": np.full(rows, 2.0)}


def quantile(rng, rows):
    centre = rng.normal(5, 2, rows)
    label = centre + rng.normal(0, 1.2, rows)
    spread = rng.normal(1, 0.6, rows)
    return {"y": label, "q1": centre - 1.28 * spread, "q5": centre, "q9": centre + 1.28 * spread}


def ranking(rng, rows):
    query = np.arange(rows) // 8
    relevant = rng.random(rows) < 0.3
    relevant[query * 8] = True
    score = relevant + rng.normal(0, 1.2, rows)
    judged = relevant | (rng.random(rows) < 0.7)
    return {"y": relevant.astype(float), "p": score, "query": query, "judged": judged}


def uplift(rng, rows):
    score, treated = rng.normal(size=rows), rng.random(rows) < 0.5
    chance = np.clip(0.3 + 0.1 * treated * (1 + score), 0, 1)
    return {
        "y": (rng.random(rows) < chance).astype(float), "p": score, "treated": treated.astype(int),
        "propensity": np.full(rows, 0.5), "mu0": np.full(rows, 0.3), "mu1": np.clip(0.4 + 0.1 * score, 0, 1),
    }  # fmt: skip


TASKS = {
    "binary": (binary, 600, {"label": "y", "models": "p"}),
    "multiclass": (multiclass, 600, {"label": "y", "models": {"m": {"proba": {n: f"p_{n}" for n in "abc"}}}}),
    "regression": (regression, 400, {"label": "y", "models": "p"}),
    "quantile": (
        quantile,
        300,
        {"label": "y", "models": {"m": {"quantiles": {0.1: "q1", 0.5: "q5", 0.9: "q9"}}}},
    ),
    "ranking": (ranking, 1600, {"label": "y", "models": "p", "query": "query"}),
    "uplift": (uplift, 1200, {"label": "y", "models": "p", "treatment": "treated"}),
}


def metrics_of(task):
    plain = []
    for metric in registry.classes(task):
        if metric.kind == "extreme" or metric.name == "relative" or issubclass(metric, AcrossSlices):
            continue
        if not any(text.startswith(f"{metric.name}(") for text in WITH_PARAMETERS[task]):
            plain.append(metric.name)
    return [*plain, *WITH_PARAMETERS[task]]


def of_samples(task):
    """One table of all data sets, and the rows of each."""
    make, rows, roles = TASKS[task]
    rng = np.random.default_rng(11)
    columns = make(rng, rows * SAMPLES)
    return pl.DataFrame({**columns, "sample": np.repeat(np.arange(SAMPLES), rows)}), rows, roles


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_standard_errors_are_the_spread_over_samples(task):
    frame, rows, roles = of_samples(task)
    asked = {"task": task, "metrics": metrics_of(task), **roles}
    every = plm.evaluate(frame, slices=["sample"], **asked).metrics
    key = ["metric", "class"]
    spread = (
        every.filter(slice_set="sample", status="ok")
        .group_by(key)
        .agg(pl.col("value").std().alias("spread"), pl.len().alias("defined"))
    )
    parts = [frame.slice(number * rows, rows) for number in range(JUDGED)]
    uncertainty = {"replicates": 1000 if THOROUGH else 150}
    judged = pl.concat([plm.evaluate(part, uncertainty=uncertainty, **asked).metrics for part in parts])
    found = (
        judged.group_by(key, maintain_order=True)
        .agg(pl.col("std_error").pow(2).mean().sqrt())
        .join(spread, on=key, nulls_equal=True)
    )
    assert found.height == every.filter(slice_set="overall").height
    assert found["defined"].min() > 0.95 * SAMPLES
    for row in found.iter_rows(named=True):
        if row["spread"] < 1e-12:
            assert row["std_error"] < 1e-12, row
        else:
            assert 1 / WIDEST < row["std_error"] / row["spread"] < WIDEST, row
