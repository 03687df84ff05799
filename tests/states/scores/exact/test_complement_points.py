"""Rests made from rows kept in order: their values are those of the rows that are not in a slice, sorted."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from states.scores.exact.rows_in_ranges import add_in_ranges, one_by_one, some

import plmetrics as plm
from plmetrics.core import pieces as in_pieces
from plmetrics.inference.ordered import metrics as finalising
from plmetrics.inference.ordered.metrics import ordered_values
from plmetrics.states.scores.exact import complement_points as module
from plmetrics.states.scores.exact import ranges as in_points
from plmetrics.states.scores.exact.complement_points import SetOrder
from plmetrics.states.scores.exact.ranges import SlicedPoints
from plmetrics.states.scores.exact.sorted_rows import SortedRows

few = settings(phases=(Phase.explicit, Phase.generate))
SLICES, CELLS, MOST_PIECES = 3, 5, 25
TEXTS = ["roc_auc", "average_precision", "ks", "recall_at_k(k=3)", "precision_at_recall(recall=0.6)"]
METRICS = [plm.metric(text) for text in TEXTS]


def rows(size, seed, digits, positives, weighted):
    rng = np.random.default_rng(seed)
    positive = rng.random(size) < positives
    score = np.round(rng.normal(size=size) + positive, digits)
    return score, positive, rng.integers(0, CELLS, size), rng.lognormal(0, 2, size) if weighted else None


tables = st.builds(
    rows,
    size=st.integers(1, 200),
    seed=st.integers(0, 2**20),
    digits=st.sampled_from([0, 1, 9]),
    positives=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    weighted=st.booleans(),
)


def in_ranges(table, code, edges):
    """The order of a set's rows that come in ranges of scores."""
    held = SetOrder(SLICES, scores=True)
    add_in_ranges([held], table, code, edges, CELLS)
    return held


@pytest.mark.slow
@pytest.mark.parametrize("piece", [3, 1 << 17])
@few
@given(
    table=tables,
    code=st.lists(st.integers(-1, SLICES - 1), min_size=CELLS, max_size=CELLS),
    edges=st.lists(st.sampled_from([-1.0, 0.0, 0.25, 1.0]), max_size=3, unique=True),
)
def test_values_are_those_of_the_other_rows_sorted(piece, table, code, edges):
    table = [some(part, slice(piece * MOST_PIECES)) for part in table]
    code = np.array(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        for user in (in_points, in_pieces, finalising):
            patch.setattr(user, "parallel_map", one_by_one)
        agree(table, code, in_ranges(table, code, sorted(edges)))


def agree(table, code, held):
    """Every rest is what its rows are, sorted."""
    score, positive, cell, weight = table
    order = np.argsort(score, kind="stable")
    ordered = SortedRows(score[order], positive[order], some(weight, order), None)
    for number in range(SLICES):
        joined, distinct = (held.complement(number, scores=scores) for scores in (False, True))
        points = SlicedPoints(1, joined, distinct, None, has_weights=weight is not None)
        rest = ordered.take(np.flatnonzero(code[cell[order]] != number)).regroup(None, 1)
        found, expected = (ordered_values(METRICS, each, None) for each in (points, rest))
        for text in TEXTS:
            one, other = found[text], expected[text]
            assert [bool(holds[0]) for _, holds in one.reasons] == [
                bool(holds[0]) for _, holds in other.reasons
            ]
            if not any(holds[0] for _, holds in other.reasons):
                np.testing.assert_allclose(one.value, other.value, rtol=1e-12, atol=1e-15, err_msg=text)
