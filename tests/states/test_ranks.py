"""Ranks of labels and predictions: sums against exact arithmetic, and only those that are asked for."""

import math

import numpy as np
import pytest

from plmetrics.states.ranks import Pairs, rank_view

ROWS = 200_000


def shuffled(seed, rows=ROWS):
    return np.random.default_rng(seed).permutation(rows).astype(np.float64)


def test_moments_of_many_ranks_keep_their_digits():
    label, score = shuffled(0), shuffled(1)
    score = np.where(score < label, label, score)  # correlated, with ties
    view = rank_view(Pairs(label, score, None).regroup(None, 1), pairwise=False)
    _, place, size = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(size) - size / 2.0)[place] - ROWS / 2.0
    assert view.prediction_square[0] == pytest.approx(math.fsum(rank**2), rel=1e-14)
    assert view.rank_product[0] == pytest.approx(math.fsum(rank * (label + 0.5 - ROWS / 2.0)), rel=1e-14)


def test_pairs_are_compared_only_where_they_are_asked_for():
    label, score = shuffled(2, 50), shuffled(3, 50)
    pairs = Pairs(label, score, None).regroup(np.arange(50) % 3, 4)
    ranks, both = rank_view(pairs, pairwise=False), rank_view(pairs)
    assert not hasattr(ranks, "concordance")
    for name in ("weight", "rank_product", "prediction_square", "label_square", "label_untied"):
        assert getattr(ranks, name).tolist() == getattr(both, name).tolist()
    signs = np.sign(np.subtract.outer(label, label) * np.subtract.outer(score, score))
    of_slice = [np.arange(50) % 3 == number for number in range(4)]
    assert both.concordance.tolist() == [signs[np.ix_(rows, rows)].sum() / 2 for rows in of_slice]


@pytest.mark.parametrize("rows", [1, 2, 31, 33, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_are_those_that_signs_say(rows, weighted):
    rng = np.random.default_rng(rows)
    label, score = rng.integers(0, 50, rows) / 7.0, rng.normal(size=rows).round(1)
    score[::3] = -0.0
    score[1::3] = 0.0
    weight = rng.uniform(0.5, 2.0, rows) if weighted else np.ones(rows)
    view = rank_view(Pairs(label, score, weight if weighted else None).regroup(None, 1))
    both = np.outer(weight, weight)
    labels, scores = (np.sign(np.subtract.outer(side, side)) for side in (label, score))
    assert view.concordance[0] == pytest.approx((both * labels * scores).sum() / 2, rel=1e-12, abs=1e-9)
    square = math.fsum(weight**2)
    assert view.label_untied[0] == pytest.approx((both * labels**2).sum() / 2, rel=1e-12, abs=1e-9 * square)
    assert view.prediction_untied[0] == pytest.approx(
        (both * scores**2).sum() / 2, rel=1e-12, abs=1e-9 * square
    )


def test_slices_without_rows_have_no_pairs():
    empty = rank_view(Pairs(np.zeros(0), np.zeros(0), None).regroup(np.zeros(0, dtype=np.int64), 2))
    assert empty.concordance.tolist() == empty.weight.tolist() == [0.0, 0.0]
