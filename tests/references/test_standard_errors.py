"""Standard errors from blocks against analytic and row-level ones, averaged over seeds.

One standard error from 1000 blocks and 1000 replicates has a relative noise of 3.2 %; a mean over seeds has less.
"""

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from scipy.stats import rankdata

import plmetrics as plm

ROWS, SEEDS = (200_000, 40) if THOROUGH else (40_000, 6)
MEAN, SINGLE = (0.02, 0.15) if THOROUGH else (0.05, 0.15)
METRICS = [
    "accuracy",
    "precision",
    "recall",
    "specificity",
    "brier",
    "log_loss",
    "f1",
    "roc_auc",
    "average_precision",
]


def table(seed, rows=ROWS, clusters=None):
    rng = np.random.default_rng(seed)
    unit = np.arange(rows) if clusters is None else rng.integers(0, clusters, rows)
    shock = 0.0 if clusters is None else rng.normal(0, 0.7, clusters)[unit]
    positive = rng.random(rows) < 1 / (1 + np.exp(1 - shock))
    score = 1 / (1 + np.exp(1 - 1.5 * positive - 0.5 * shock - rng.normal(size=rows)))
    return pl.DataFrame({"y": positive, "p": score, "unit": unit})


def placements(y, p):
    """DeLong's placement values: for each positive the share of negatives below it, and the reverse."""
    ranks = rankdata(p)
    above = (ranks[y] - rankdata(p[y])) / (~y).sum()
    below = 1 - (ranks[~y] - rankdata(p[~y])) / y.sum()
    return above, below


def influence(metric, y, p):
    """First-order influence of each row on the metric, times n: its sum over units gives the variance."""
    n, s = len(y), p >= 0.5
    if metric in {"accuracy", "brier", "log_loss"}:
        value = {"accuracy": s == y, "brier": (p - y) ** 2, "log_loss": -np.log(np.where(y, p, 1 - p))}[
            metric
        ].astype(float)
        return value - value.mean()
    if metric in {"precision", "recall", "specificity"}:
        part, whole = {"precision": (s & y, s), "recall": (s & y, y), "specificity": (~s & ~y, ~y)}[metric]
        return (part - part.sum() / whole.sum() * whole) / whole.mean()
    if metric == "f1":
        part, whole = 2.0 * (s & y), 1.0 * s + y
        return (part - part.sum() / whole.sum() * whole) / whole.mean()
    if metric == "roc_auc":
        above, below = placements(y, p)
        out = np.empty(n)
        out[y] = (above - above.mean()) / y.mean()
        out[~y] = (below - below.mean()) / (~y).mean()
        return out
    order = np.argsort(-p)
    hits, alarms = np.cumsum(y[order]), np.cumsum(~y[order])
    precision, share = hits / (hits + alarms), y[order] / y.sum()
    # How much the precision at later positives moves with a row: d(T / (T + F)).
    of_positive = np.cumsum((share * alarms / (hits + alarms) ** 2)[::-1])[::-1]
    of_negative = -np.cumsum((share * hits / (hits + alarms) ** 2)[::-1])[::-1]
    ap = (precision * share).sum()
    out = np.empty(n)
    out[order] = n * np.where(y[order], (precision - ap) / y.sum() + of_positive, of_negative)
    return out


def reference(metric, frame):
    y, p, unit = (frame[name].to_numpy() for name in ("y", "p", "unit"))
    by_unit = np.bincount(unit, weights=influence(metric, y, p))
    return np.sqrt((by_unit**2).sum()) / len(y)


def ratios(clusters):
    found = {metric: [] for metric in METRICS}
    for seed in range(SEEDS):
        frame = table(seed, clusters=clusters)
        result = plm.evaluate(
            frame,
            label="y",
            models="p",
            metrics=METRICS,
            unit="unit" if clusters else None,
            uncertainty={"replicates": 1000, "seed": seed},
        )
        for row in result.metrics.iter_rows(named=True):
            found[row["metric"]].append(row["std_error"] / reference(row["metric"], frame))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 12_000])
def test_block_standard_errors_equal_row_level_ones(clusters):
    for metric, values in ratios(clusters).items():
        assert abs(np.mean(values) - 1) < MEAN, (metric, np.mean(values))
        assert np.abs(np.array(values) - 1).max() < SINGLE, (metric, values)
