"""Replicates from coarse bins of metrics that look for their threshold, on scores that many rows share.

The references are tables drawn anew: the slices of one table, and a large table for the true values.
"""

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

import plmetrics as plm
from plmetrics.catalogue.binary.best import MaxAccuracy
from plmetrics.catalogue.binary.score_order import AveragePrecision, KolmogorovSmirnov, RocAuc
from plmetrics.inference.ordered.replicates import coarse_replicates, exact_replicates
from plmetrics.inference.weights import draw_weights
from plmetrics.states.scores.exact.packed_rows import PackedRows
from plmetrics.states.scores.exact.sorted_rows import SortedRows

TABLES, ROWS, LARGE, REPLICATES = (600, 2000, 3_000_000, 300) if THOROUGH else (80, 1500, 300_000, 100)
METRICS = [
    "precision_at_recall(recall=0.2)",
    "precision_at_recall(recall=0.7)",
    "fpr_at_recall(recall=0.8)",
    "recall_at_precision(precision=0.4)",
    "recall_at_precision(precision=0.6)",
    "recall_at_fpr(fpr=0.1)",
    "precision_at_volume(volume=0.1)",
    "precision_at_volume(volume=0.4)",
    "precision_at_k(k=0.1)",
    "recall_at_k(k=0.2)",
    "lift_at_k(k=0.1)",
]


def draw(rng, rows, kind):
    """Labels and scores: continuous, of so many decimals, or 70 % of them equal."""
    label = rng.random(rows) < 0.2
    score = 1 / (1 + np.exp(1 - 1.3 * label - rng.normal(size=rows)))
    if kind == "ties":
        return label, np.where(rng.random(rows) < np.where(label, 0.55, 0.74), 0.35, score)
    return label, score if kind == "continuous" else score.round(int(kind))


def evaluated(rng, rows, kind, **more):
    label, score = draw(rng, rows, kind)
    number = np.arange(rows) // ROWS
    asked = {"label": "y", "models": "p", "metrics": METRICS, "exact": True, "memory": "4GB"}
    return plm.evaluate(pl.DataFrame({"y": label, "p": score, "table": number}), **asked, **more).metrics


class Bins:
    """Counts `[slice, block, bin, class]`, as coarse replicates read them."""

    channels = ("negative", "positive")

    def __init__(self, counts):
        self.counts = counts
        self.slices = len(counts)

    def block_counts(self, blocks):
        assert blocks == self.counts.shape[1]
        yield 0, self.slices, self.counts


@pytest.mark.exhaustive
@pytest.mark.parametrize("unit", [1.0, 0.3, 1e6])
def test_replicates_of_whole_counts_and_of_weights_are_scikit_learns(unit):
    rng = np.random.default_rng(3)
    counts = rng.poisson(np.linspace(0.2, 3, 20)[:, None] * [0.7, 0.4], (5, 30, 20, 2)) * unit
    weights = draw_weights(np.full(30, 4), 7, 1)
    metrics = [RocAuc(), AveragePrecision(), KolmogorovSmirnov()]

    def references(negative, positive):
        label, score = np.repeat([0, 1], 20), np.tile(np.arange(20), 2)
        weight = np.concatenate([negative, positive])
        false, true, _ = roc_curve(label, score, sample_weight=weight)
        scikit = [of(label, score, sample_weight=weight) for of in (roc_auc_score, average_precision_score)]
        return [*scikit, np.abs(true - false).max()]

    total = np.array([references(*part.sum(axis=0).T) for part in counts])
    values = {metric.text: total[:, place] for place, metric in enumerate(metrics)}
    replicates, _ = coarse_replicates(metrics, Bins(counts), weights, values)
    drawn = np.einsum("rb,sbpc->rscp", weights.matrix, counts)
    expected = np.array([[references(*part) for part in row] for row in drawn])
    for place, metric in enumerate(metrics):
        np.testing.assert_allclose(replicates[metric.text], expected[..., place], rtol=0, atol=2e-6)


def test_few_rows_have_the_replicates_of_their_counts():
    rng, blocks = np.random.default_rng(6), 40
    label = rng.random(900) < 0.4
    score = np.round((rng.random(900) + label) / 2, 3)
    rows = PackedRows(score, label, rng.integers(0, blocks, 900).astype(np.int32))
    sliced = rows.regroup(rng.integers(-1, 3, 900), 3)
    assert sliced.row_counts().is_sparse(blocks)
    weights = draw_weights(np.full(blocks, 4), 30, 1)
    metrics = [RocAuc(), AveragePrecision(), KolmogorovSmirnov()]
    values = {metric.text: np.array([0.4, 0.5, 0.6]) for metric in metrics}
    of_rows, deviations = coarse_replicates(metrics, sliced, weights, values)
    counted = coarse_replicates(metrics, Bins(next(sliced.block_counts(blocks))[2]), weights, values)
    for found, expected in zip((of_rows, deviations), counted, strict=True):
        assert found.keys() == expected.keys()
        for name, replicates in found.items():
            np.testing.assert_array_equal(replicates, expected[name])


@pytest.mark.parametrize("weighted", [False, True])
def test_norms_are_of_every_threshold_also_between_negatives(weighted):
    """The largest change of F1 - F0 and of the accuracy over all thresholds, by NumPy; few rows are positive."""
    rng = np.random.default_rng(8)
    score, label, block = np.arange(60) / 60, rng.random(60) < 0.15, rng.permutation(60).astype(np.int32)
    weight = rng.integers(1, 5, 60) / 2 if weighted else np.ones(60)
    sliced = SortedRows(score, label, weight if weighted else None, block).regroup(None, 1)
    weights = draw_weights(np.full(60, 1), 40, 1)
    metrics = [KolmogorovSmirnov(), MaxAccuracy()]
    _, deviations = exact_replicates(metrics, sliced, weights)
    masses = np.concatenate([weights.matrix, np.ones((1, 60))])[:, block] * weight
    hits, alarms = (np.cumsum((masses * of_class)[:, ::-1], axis=1) for of_class in (label, ~label))
    with np.errstate(invalid="ignore"):
        gaps = hits / hits[:, -1:] - alarms / alarms[:, -1:]
    total = (hits + alarms)[:, -1:]
    rates = np.hstack([alarms[:, -1:], hits + alarms[:, -1:] - alarms]) / total
    expected = [np.abs(gaps[:-1] - gaps[-1]).max(axis=1), (rates[:-1] - rates[-1]).max(axis=1)]
    for metric, wanted in zip(metrics, expected, strict=True):
        np.testing.assert_allclose(deviations[metric.text][:, 0], wanted, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ties", "continuous", "1", "2", "3"] if THOROUGH else ["ties"])
def test_intervals_at_operating_points_cover(monkeypatch, kind):
    monkeypatch.setattr("plmetrics.states.scores.coarse.EXACT_REPLICATES", 0)
    monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 0)
    rng = np.random.default_rng(5)
    true = dict(evaluated(rng, LARGE, kind).select("metric", "value").iter_rows())
    asked = {"replicates": REPLICATES, "blocks": 300}
    found = evaluated(rng, TABLES * ROWS, kind, slices=["table"], uncertainty=asked).filter(slice_set="table")
    covers = pl.col("true").is_between(pl.col("lower") - 1e-9, pl.col("upper") + 1e-9)
    by_metric = (
        found.with_columns(pl.col("metric").replace_strict(true).alias("true"))
        .group_by("metric", maintain_order=True)
        .agg(
            covers.mean().alias("coverage"),
            (pl.col("std_error").pow(2).mean().sqrt() / pl.col("value").std()).alias("width"),
        )
    )
    noise = 2.5 * np.sqrt(0.05 * 0.95 / TABLES)
    outside = by_metric.filter(~pl.col("coverage").is_between(0.92 - noise, 0.97 + noise))
    assert outside.is_empty(), by_metric
    assert by_metric["coverage"].mean() == pytest.approx(0.945, abs=0.025)
    if kind in {"ties", "continuous"}:  # thresholds that are tenths jump: so do standard errors
        assert by_metric.filter(~pl.col("width").is_between(0.75, 1.3)).is_empty(), by_metric


def test_models_that_part_all_rows_do_not_differ_by_rounding_in_single_precision():
    """Recall is 1 in every replicate, where weights in single precision do not add up to it: models are tied."""
    rng = np.random.default_rng(2)
    label = rng.random(300) < 0.5
    rows = pl.DataFrame({"y": label, "w": rng.exponential(size=300), "unit": range(300)}).with_columns(
        p=label * 0.5 + rng.random(300) / 3, q=label * 0.4 + rng.random(300) / 3
    )
    state = plm.state(
        rows,
        label="y",
        weight="w",
        unit="unit",
        models=["p", "q"],
        metrics=["recall_at_precision(precision=0.7)"],
        uncertainty={"replicates": 60},
        compare="p",
    )
    merged = plm.merge(state)
    assert merged.metrics["std_error"].to_list() == [0.0, 0.0]
    difference, lower, upper, p = merged.comparisons.select("difference", "lower", "upper", "p_value").row(0)
    assert (difference, lower, p) == (0.0, -upper, 1.0)
    positives, z2 = rows.filter("y")["w"], stats.norm.ppf(0.975) ** 2
    size = positives.sum() ** 2 / positives.pow(2).sum()
    assert upper == pytest.approx(z2 / (size + z2), rel=0.05)


@pytest.mark.exhaustive
@pytest.mark.parametrize("coarse", [True, False])
def test_scores_that_know_nothing_seem_no_better_than_chance(monkeypatch, coarse):
    """Half of the rows are right and nothing is parted, in intervals of metrics that noise makes larger, too."""
    if coarse:
        monkeypatch.setattr("plmetrics.states.scores.coarse.EXACT_REPLICATES", 0)
        monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 0)
    rng, tables, rows = np.random.default_rng(7), 50, 800
    table = np.repeat(np.arange(tables), rows)
    frame = pl.DataFrame({"y": rng.random(table.size) < 0.5, "p": rng.random(table.size), "table": table})
    true = {"max_accuracy": 0.5, "ks": 0.0, "corp_discrimination": 0.0}
    found = plm.evaluate(
        frame,
        label="y",
        models="p",
        metrics=list(true),
        slices=["table"],
        exact=True,
        uncertainty={"replicates": 100, "blocks": 4000},
    ).metrics.filter(slice_set="table")
    truth = pl.col("metric").replace_strict(true)
    above = (pl.col("lower") - truth) > 0.05 * (pl.col("value") - truth)
    shares = found.group_by("metric").agg(above.mean(), pl.col("interval_status").eq("ok").all().alias("ok"))
    assert shares["ok"].all()
    assert shares["lower"].max() < 0.1, shares
