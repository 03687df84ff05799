"""The metrics of an order of scores: values, thresholds, replicates and bounds, against definitions point by point."""

import numpy as np
import polars as pl
import pytest
from references.rankings import LIMITS, at_limit, davis_goadrich, hull_auc, partial_auc, sklearn_trapezoid
from references.test_evaluate import table
from sklearn.metrics import roc_auc_score

import plmetrics as plm


@pytest.mark.exhaustive
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", ["ties", "continuous", "constant_score", "ends"])
def test_thresholds_are_where_the_values_are_read(case, weighted):
    frame = table(case).filter(pl.col("w") > 0)
    found = plm.evaluate(
        frame, label="y", models="p", weight="w" if weighted else None, metrics=list(LIMITS)
    ).metrics
    w = frame["w"].to_numpy() if weighted else np.ones(frame.height)
    for row in found.iter_rows(named=True):
        _, threshold = at_limit(frame["y"].to_numpy(), frame["p"].to_numpy(), w, *LIMITS[row["metric"]])
        assert row["threshold"] == (None if np.isnan(threshold) else threshold), row["metric"]


@pytest.mark.parametrize("seed", range(3))
def test_references_agree_with_scikit_learn(seed):
    frame = table("ties", seed)
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    w = frame["w"].to_numpy() + 0.5
    ours = plm.evaluate(
        frame.with_columns(w=pl.col("w") + 0.5),
        label="y",
        models="p",
        weight="w",
        metrics=["pr_auc(method=trapezoid)", "roc_auc(max_fpr=0.2)", "roc_auc(min_recall=0.8)"],
    ).metrics
    assert ours["metric"].to_list() == ["pr_auc", "roc_auc(max_fpr=0.2)", "roc_auc(min_recall=0.8)"]
    turned = roc_auc_score(1 - y, -p, sample_weight=w, max_fpr=1 - 0.8)
    assert ours["value"][2] == pytest.approx(turned, rel=1e-9)
    assert ours["value"][0] == pytest.approx(sklearn_trapezoid(y, p, w), rel=1e-12)
    assert ours["value"][1] == pytest.approx(roc_auc_score(y, p, sample_weight=w, max_fpr=0.2), rel=1e-9)
    assert partial_auc(y, p, w, 1) == pytest.approx(roc_auc_score(y, p, sample_weight=w))
    assert hull_auc(y, p, w) >= roc_auc_score(y, p, sample_weight=w)


@pytest.mark.parametrize("case", ["ties", "continuous", "one_class", "two_rows"])
def test_davis_goadrich_is_the_integral(case):
    frame = table(case)
    found = plm.evaluate(frame, label="y", models="p", metrics=["pr_auc(method=davis_goadrich)"]).metrics
    wanted = davis_goadrich(frame["y"].to_numpy(), frame["p"].to_numpy(), np.ones(frame.height))
    assert found["value"].item() == pytest.approx(wanted, rel=2e-6)


METRICS = [
    "roc_auc(max_fpr=0.2)",
    "roc_auc(min_recall=0.7)",
    "roc_hull_auc",
    "pr_auc",
    "pr_auc(method=upper_trapezoid)",
    "pr_auc(method=davis_goadrich)",
    "interpolated_ap(points=101)",
    "interpolated_ap(points=all)",
    "precision_at_recall(recall=0.6)",
    "precision_at_volume(volume=0.2)",
    "recall_at_precision(precision=0.55)",
    "recall_at_fpr(fpr=0.1)",
    "fpr_at_recall(recall=0.8)",
    "precision_at_k(k=0.1)",
    "recall_at_k(k=0.3)",
    "recall_at_k(k=400)",
    "lift_at_k(k=0.1)",
    "max_accuracy",
]


def sample(rows, seed, digits=None):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.3
    p = 1 / (1 + np.exp(-rng.normal(1.3 * y - 1, 1)))
    return pl.DataFrame(
        {"y": y, "p": p if digits is None else np.round(p, digits), "w": rng.integers(1, 4, rows)}
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("digits", [None, 2])
@pytest.mark.parametrize("weight", [None, "w"])
def test_binned_values_are_within_their_bound(weight, digits):
    frame = sample(20_000, 5, digits)
    exact, binned = (
        plm.evaluate(frame, label="y", models="p", weight=weight, metrics=METRICS, exact=exact).metrics
        for exact in (True, False)
    )
    for row, true in zip(binned.iter_rows(named=True), exact["value"], strict=True):
        assert row["bound"] < 0.05, row["metric"]
        assert abs(row["value"] - true) <= row["bound"] + 1e-12, row["metric"]


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "replicates"), [(1500, 300), (80_000, 300)], ids=["exact replicates", "coarse replicates"]
)
@pytest.mark.parametrize("weight", [None, "w"])
def test_standard_errors_are_those_of_fresh_samples(rows, replicates, weight):
    """Spread of the values over fresh samples against the mean of their standard errors, in the middle of its range."""
    draws = 40 if rows < 5000 else 12
    values, errors = [], []
    for seed in range(draws):
        found = plm.evaluate(
            sample(rows, 100 + seed),
            label="y",
            models="p",
            weight=weight,
            metrics=METRICS,
            uncertainty={"replicates": replicates, "seed": seed} if seed < 6 else None,
        ).metrics
        values.append(found["value"].to_numpy())
        if seed < 6:
            errors.append(found["std_error"].to_numpy())
    ratio = np.mean(errors, axis=0) / np.std(values, axis=0, ddof=1)
    noise = 3.5 / np.sqrt(2 * (draws - 1))
    for metric, found in zip(METRICS, ratio, strict=True):
        assert 1 - noise < found < 1 + noise + 0.15, (metric, found)
