"""Slices side by side: their replicates are what formulas give of the rows so weighted."""

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from references.formulas import average_precision, ks, roc_auc

import plmetrics as plm
from plmetrics.inference.metric_values import score_view, value_or_nan
from plmetrics.inference.ordered.replicates import exact_replicates
from plmetrics.inference.weights import Nudges, ResamplingWeights
from plmetrics.states.scores.exact import point_rows
from plmetrics.states.scores.exact.point_rows import BlockDraws, PointRows, slice_groups
from plmetrics.states.scores.exact.sorted_rows import SortedRows

few = settings(phases=(Phase.explicit, Phase.generate))
BLOCKS, SLICES = 6, 5
FORMULAS = {"roc_auc": roc_auc, "average_precision": average_precision, "ks": ks}
METRICS = [plm.metric(name) for name in FORMULAS]
OPERATING = [
    *("precision_at_recall(recall=0.4)", "fpr_at_recall(recall=0.8)", "recall_at_precision(precision=0.6)"),
    *("recall_at_fpr(fpr=0.1)", "precision_at_volume(volume=0.1)", "precision_at_volume(volume=0.45)"),
    *(
        "precision_at_k(k=0.1)",
        "recall_at_k(k=30)",
        "lift_at_k(k=0.1)",
        "roc_auc(max_fpr=0.2)",
        "pr_auc",
        "gini",
    ),
]


def slices_of(rows, seed, *, ties):
    rng = np.random.default_rng(seed)
    positive = rng.random(rows) < 0.4
    score = np.sort(rng.random(rows))
    score = np.round(score * 6) / 6 if ties else score
    code = np.minimum(rng.geometric(0.5, rows) - 2, SLICES - 1)
    block = rng.integers(0, BLOCKS, rows).astype(np.int32)
    return SortedRows(score, positive, None, block).regroup(code, SLICES)


sliced_rows = st.builds(slices_of, st.integers(0, 60), st.integers(0, 2**20), ties=st.booleans())


def draws(seed, most=1):
    drawn = np.random.default_rng(seed).multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), 5)
    return drawn.astype(np.int32) * most


def resampling(drawn):
    return ResamplingWeights(drawn, np.ones(len(drawn)))


def reweighted(sliced, drawn, code, formula):
    """The formula on the rows of a slice, each as often as its block is drawn."""
    own = slice(*sliced.offsets[code : code + 2])
    rows = sliced.ordered
    mass = drawn[rows.block[own]]
    kept = mass > 0
    return formula(rows.positive[own][kept], rows.score[own][kept], mass[kept]) if kept.any() else np.nan


def check(found, sliced, drawn, name):
    for replicate, code in np.ndindex(len(drawn), SLICES):
        wanted = reweighted(sliced, drawn[replicate], code, FORMULAS[name])
        np.testing.assert_allclose(found[replicate, code], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 20_000])
@few
@given(sliced_rows, st.integers(0, 99))
def test_replicates_are_those_of_rows(most, sliced, seed):
    drawn = draws(seed, most)
    rows, parts = PointRows.exact(sliced), BlockDraws.parts(drawn)
    views = [score_view(state) for part in parts for state in rows.replicate_points(part)]
    for metric in METRICS:
        check(np.concatenate([value_or_nan(metric, view) for view in views]), sliced, drawn, metric.name)


@pytest.mark.slow
@few
@given(sliced_rows, st.integers(0, 99), st.integers(1, 40))
def test_groups_of_any_size_give_every_slice_its_own(sliced, seed, size):
    drawn = draws(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(point_rows, "SIZE", size)
        patch.setattr(point_rows, "_REPLICATES", 2)
        patch.setattr(point_rows, "_ROOM", 10)
        patch.setattr(point_rows, "_LEAST_REPLICATES", 1)
        groups = slice_groups(sliced)
        replicates, deviations = exact_replicates(METRICS, sliced, resampling(drawn))
    assert sorted(np.concatenate([numbers for numbers, _ in groups])) == list(range(SLICES))
    for metric in METRICS:
        check(replicates[metric.text], sliced, drawn, metric.name)
    whole = exact_replicates(METRICS, sliced, resampling(drawn))[1]
    np.testing.assert_allclose(deviations["ks"], whole["ks"], rtol=1e-12)


@pytest.mark.parametrize("decimals", [9, 1])
def test_each_replicate_is_the_value_of_its_rows(decimals):
    """But for part of a row: where a run of rows without positives is one point, a volume ends inside of it."""
    rng = np.random.default_rng(8)
    positive, block = rng.random(600) < 0.1, rng.integers(0, 40, 600).astype(np.int32)
    score = np.sort((0.3 * positive + 0.7 * rng.random(600)).round(decimals))
    drawn = rng.multinomial(40, np.full(40, 1 / 40), 6).astype(np.int32)
    sliced = SortedRows(score, positive, None, block).regroup(np.zeros(600, dtype=np.int64), 1)
    metrics = [plm.metric(text) for text in [*FORMULAS, *OPERATING]]
    replicates, _ = exact_replicates(metrics, sliced, resampling(drawn))
    draw, row = (np.repeat(each.ravel(), drawn[:, block].ravel()) for each in np.indices((6, 600)))
    table = pl.DataFrame({"y": positive[row], "p": score[row], "draw": draw})
    asked = [metric.text for metric in metrics]
    values = plm.evaluate(table, label="y", models="p", metrics=asked, slices=["draw"], exact=True).metrics
    for metric in metrics:
        of_draws = values.filter(pl.col("slice_set") == "draw", metric=metric.text).sort("slice")["value"]
        of_volume = metric.name == "precision_at_volume" and decimals > 1
        rows = drawn.max() / (metric.volume * drawn[:, block].sum(axis=1).min()) if of_volume else 1e-9
        np.testing.assert_allclose(replicates[metric.text][:, 0], of_draws.to_numpy(), rtol=rows)


def test_no_slices_have_no_replicates():
    rows = SortedRows(np.zeros(0), np.zeros(0, dtype=bool), None, np.zeros(0, dtype=np.int32))
    replicates, _ = exact_replicates(
        METRICS, rows.regroup(np.zeros(0, dtype=np.int64), 0), resampling(draws(0))
    )
    assert {values.shape for values in replicates.values()} == {(5, 0)}


@pytest.mark.slow
def test_moved_blocks_have_the_replicates_of_their_rows():
    sliced = slices_of(60, 3, ties=True)
    for kind in ("jackknife", "influence"):
        nudges = Nudges(kind, np.ones(BLOCKS, dtype=np.int64))
        replicates, _ = exact_replicates(METRICS, sliced, nudges)
        for metric in METRICS:
            check(replicates[metric.text], sliced, np.concatenate(list(nudges.rows())), metric.name)


@pytest.mark.parametrize("points", [0, 1, 2, 3, 8, 9, 10, 99])
def test_running_totals_are_those_of_numpy(points):
    counts = np.random.default_rng(points).integers(0, 5, (points, 2, 3)).astype(np.int16)
    totals = counts.copy()
    point_rows._add_up(totals)
    np.testing.assert_array_equal(totals, np.cumsum(counts, axis=0))
