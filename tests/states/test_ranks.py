"""Ranks of labels and predictions: sums against exact arithmetic, and only those that are asked for."""

import math

import numpy as np
import pytest

from plmetrics.states.pairs import Pairs
from plmetrics.states.ranks import rank_view

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


def test_large_slices_are_ranked_as_small_ones_are(monkeypatch):
    rng = np.random.default_rng(4)
    label, score = rng.integers(0, 50, 900) / 7.0, rng.normal(size=900)
    score[::3] = -0.0
    score[1::3] = 0.0
    codes = rng.integers(-1, 3, 900)
    label[codes == 2] = 0.1
    pairs = Pairs(label, score, None).regroup(codes, 3)
    expected = rank_view(pairs)
    monkeypatch.setattr("plmetrics.states.ranks._MANY", 1)
    found = rank_view(pairs, pairwise=False)
    for name in ("weight", "rank_product", "prediction_square", "label_square"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-13, abs=1e-9), name
    for name in ("prediction_untied", "label_untied"):
        assert (getattr(found, name) == 0).tolist() == (getattr(expected, name) == 0).tolist()
    assert (found.label_untied == 0).tolist() == [False, False, True]
