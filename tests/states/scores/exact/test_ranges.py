"""Points kept from ranges of scores: values are those of sorted rows, however they are cut."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from states.scores.exact.rows_in_ranges import add_in_ranges, by_cell, one_by_one, some

import plmetrics as plm
from plmetrics.core import ops
from plmetrics.core import pieces as in_pieces
from plmetrics.inference.ordered import metrics as finalising
from plmetrics.inference.ordered.metrics import ordered_values
from plmetrics.states.scores.exact import class_rows as ascending
from plmetrics.states.scores.exact import ranges as module
from plmetrics.states.scores.exact.ranges import SetPoints, SlicedPoints
from plmetrics.states.scores.exact.sorted_rows import SortedRows

few = settings(phases=(Phase.explicit, Phase.generate))
SLICES, CELLS = 4, 6
WHOLE = (1 << 15, 1 << 17)
MOST_PIECES = 25
BY_ORDER = ["roc_auc", "roc_auc(max_fpr=0.3)", "gini", "average_precision", "ks", "pr_auc", "roc_hull_auc"]
BY_ORDER += [
    "corp_discrimination",
    "pr_auc(method=upper_trapezoid)",
    "pr_auc(method=davis_goadrich)",
    "interpolated_ap",
]
BY_SCORE = ["precision_at_recall(recall=0.6)", "precision_at_volume(volume=0.3)", "precision_at_k(k=3)"]
BY_SCORE += ["recall_at_precision(precision=0.5)", "recall_at_fpr(fpr=0.2)", "fpr_at_recall(recall=0.9)"]
BY_SCORE += ["recall_at_k(k=0.4)", "lift_at_k(k=2)", "max_accuracy"]
METRICS = [plm.metric(text) for text in [*BY_ORDER, *BY_SCORE]]


def rows(size, seed, ties, positives, weights):
    rng = np.random.default_rng(seed)
    positive = rng.random(size) < positives
    score = rng.normal(size=size) + positive
    score = np.round(score * ties) / ties if ties else score
    weight = {"none": None, "whole": rng.integers(1, 4, size) + 0.0, "any": rng.lognormal(0, 3, size)}
    return score, positive, rng.integers(0, CELLS, size), weight[weights]


tables = st.builds(
    rows,
    size=st.integers(1, 300),
    seed=st.integers(0, 2**20),
    ties=st.sampled_from([0, 1, 4]),
    positives=st.sampled_from([0.0, 0.05, 0.4, 0.9, 1.0]),
    weights=st.sampled_from(["none", "whole", "any"]),
)


def in_ranges(table, code, edges):
    """The points of a table that comes in ranges of scores, and the same rows sorted."""
    score, positive, cell, weight = table
    held = [SetPoints(SLICES, scores=scores) for scores in (False, True)]
    add_in_ranges(held, table, code, edges, CELLS)
    order = np.argsort(score, kind="stable")
    ordered = SortedRows(score[order], positive[order], some(weight, order), None)
    points = SlicedPoints(SLICES, *held, None, has_weights=weight is not None)
    return points, ordered.regroup(code[cell[order]], SLICES)


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [(1, 1), (16, 3), WHOLE])
@few
@given(
    table=tables,
    code=st.lists(st.integers(-1, SLICES - 1), min_size=CELLS, max_size=CELLS),
    edges=st.lists(st.sampled_from([-1.0, 0.0, 0.25, 1.0]), max_size=3, unique=True),
)
def test_values_are_those_of_sorted_rows(lengths, table, code, edges):
    with pytest.MonkeyPatch.context() as patch:
        for name, length in zip(("SHORT", "PIECE"), lengths, strict=True):
            patch.setattr(module, name, length)
        if lengths != WHOLE:  # a pool of threads for every few rows would take most of the time
            for user in (module, in_pieces, finalising):
                patch.setattr(user, "parallel_map", one_by_one)
        table = [some(part, slice(lengths[1] * MOST_PIECES)) for part in table]
        points, ordered = in_ranges(table, np.array(code), sorted(edges))
        found, expected = (ordered_values(METRICS, each, None, placements=True) for each in (points, ordered))
        state, wanted = points.point_state(), ordered.point_state()
    for metric in METRICS:
        one, other = found[metric.text], expected[metric.text]
        for (status, holds), (_, held) in zip(one.reasons, other.reasons, strict=True):
            assert (holds == held).all(), (metric.text, status)
        defined = ~np.any([held for _, held in other.reasons], axis=0)
        np.testing.assert_allclose(one.value[defined], other.value[defined], rtol=1e-12, err_msg=metric.text)
        if metric.finds_threshold:
            np.testing.assert_array_equal(one.threshold[defined], other.threshold[defined])
        if metric.kind == "roc_area" and table[-1] is None:
            np.testing.assert_allclose(one.placements, other.placements, rtol=1e-9, atol=1e-15)
    for name, channel in wanted.items():
        np.testing.assert_allclose(state[name].values, channel.values, rtol=0 if table[-1] is None else 1e-14)
        np.testing.assert_array_equal(state[name].offsets, channel.offsets)


def test_points_are_few_where_positives_are():
    rng = np.random.default_rng(1)
    score, cell = rng.random(50_000), np.zeros(50_000, dtype=np.int64)
    points, _ = in_ranges(
        (score, np.arange(50_000) % 100 == 0, cell, None), np.zeros(CELLS, dtype=np.int64), []
    )
    sizes = [ops.total(part()["positive"] * 0.0 + 1.0) for part in points.parts(scores=False)]
    assert 500 <= np.concatenate(sizes).sum() <= 2 * 500 + 2


def test_many_cells_in_any_order_are_brought_together(monkeypatch):
    monkeypatch.setattr(ascending, "_FEW", 0)
    rng = np.random.default_rng(2)
    score, cell = rng.random(200), rng.integers(0, CELLS, 200)
    cells = np.array([4, 0, 1, 5])
    found, weight, outcome = by_cell(score, cell, CELLS, 2 * score).of_cells(cells)
    assert outcome is None
    assert sorted(found) == sorted(score[np.isin(cell, cells)])
    np.testing.assert_array_equal(weight, 2 * found)
