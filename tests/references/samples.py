"""Small random tables for laws that hold on any table, and comparisons of whole results."""

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

KEYS = ["model", "slice_set", "slice", "metric"]
VALUES = [*KEYS, "value", "n", "weight", "status"]
INTERVALS = [
    *VALUES,
    "lower",
    "upper",
    "std_error",
    "method",
    "interval_status",
    "blocks",
    "undefined_replicates",
]
QUANTILE_ECE = "ece(bins=4, strategy=quantile, norm=l2)"
BINARY = [
    "tp",
    "n",
    "accuracy",
    "mcc",
    "log_loss",
    "roc_auc",
    "average_precision",
    "ks",
    "ece",
    QUANTILE_ECE,
    "log_loss_skill",
    "brier_resolution(bins=5)",
    "brier_within_bin(bins=5)",
    "brier_reliability(bins=4, strategy=quantile)",
    "calibration_ratio",
    "roc_auc(max_fpr=0.3)",
    "roc_hull_auc",
    "pr_auc",
    "interpolated_ap",
    "precision_at_volume(volume=0.3)",
    "recall_at_precision(precision=0.5)",
    "recall_at_fpr(fpr=0.2)",
    "lift_at_k(k=0.2)",
    "max_accuracy",
]
REGRESSION = [
    "mae",
    "rmse",
    "mean_error",
    "error_variance",
    "bias_squared",
    "r2",
    "adjusted_r2(predictors=1)",
    "explained_variance",
    "rmse_skill",
    "mape(zeros=drop)",
    "smape",
    "wmape",
    "rmsle",
    "log_cosh",
    "quantile_loss(tau=0.75)",
]
FAST = {"replicates": 12, "seed": 3}
SLICE_TEXTS = {"a": "g=a", "b, c": 'g="b, c"', "x=1": 'g="x=1"', None: "g=null"}
"""By value of `g` the text of its slice."""


def sample(rows, seed, ties=True, classes=2):
    """A table with two scores, weights that may be 0, attributes with nulls, and few units."""
    rng = np.random.default_rng(seed)
    positive = rng.random(rows) < 0.4 if classes == 2 else np.full(rows, classes == 1)
    score, other = rng.random((2, rows))
    if ties:
        score, other = np.round(score * 8) / 8, np.round(other * 4) / 4
    weight = rng.integers(0, 4, rows).astype(float)
    weight[rng.integers(rows)] = 2.0
    group = rng.choice(np.array(["a", "b, c", "x=1", None], dtype=object), rows)
    number = [None if v == 3 else int(v) for v in rng.integers(-3, 4, rows)]
    return pl.DataFrame(
        {
            "y": positive,
            "p": score,
            "q": other,
            "w": weight,
            "g": group.tolist(),
            "h": number,
            "u": rng.integers(0, 9, rows),
            "target": np.round(rng.normal(2, 2, rows) * 4) / 4,
        },
        schema_overrides={"g": pl.String, "h": pl.Int64},
    )


# What hypothesis tries first, the simplest, is a table that says something: of most rows, with ties.
samples = st.builds(
    sample,
    rows=st.integers(0, 59).map(lambda fewer: 60 - fewer),
    seed=st.integers(0, 2**20),
    ties=st.sampled_from([True, False]),
    classes=st.sampled_from([2, 2, 2, 2, 1, 0]),
)


def assert_same(found, wanted, columns=INTERVALS, drop=()):
    """Equal results, floats up to the rounding of sums in another order."""
    names = [name for name in columns if name not in drop and name in found.columns]
    assert_frame_equal(found.select(names), wanted.select(names), rel_tol=1e-9, abs_tol=1e-11)


EXACT = pytest.mark.parametrize("exact", [None, False], ids=["rows", "grid"])


def probability_sample(rows, seed, decimals=None, power=1):
    """Probabilities, labels that are positive with this power of them, weights, and two slices."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, rows)
    y = rng.random(rows) < p**power
    p = p if decimals is None else p.round(decimals)
    return pl.DataFrame(
        {"y": y, "p": p, "w": rng.integers(1, 4, rows) / 2, "g": rng.choice(["a", "b"], rows)}
    )
