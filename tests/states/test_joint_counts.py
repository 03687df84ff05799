"""Differences of areas from joint counts of two models' scores, held against all pairs of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.states.joint_counts import JointTally, joint_shape, paired_areas
from plmetrics.states.scores.grid.placed_rows import Members, PlacedRows


def counted(truth, bins_of_models, sizes):
    """What the joint counts of rows in some bins say."""
    places = [(bins * 2 + truth).astype(np.uint16) for bins in bins_of_models]
    counts = np.zeros((1, 1, *joint_shape("joint", *sizes, areas=True)))
    tally = JointTally.on_grid(0, counts, sizes, None, areas=True)
    tally.add(
        PlacedRows(places[0], None, None, across=places[1]), Members.of(np.zeros(len(truth), dtype=np.int64))
    )
    tally.finish()
    found = paired_areas(counts[0], *sizes)
    return [float(part[0]) for part in (found.difference, found.positive_variance, found.negative_variance)]


def by_pairs(truth, scores):
    """DeLong's components from every pair of a positive and a negative, as the paper defines them."""
    kernels = []
    for score in scores:
        ups, downs = score[truth == 1][:, None].astype(float), score[truth == 0][None, :]
        kernels.append((ups > downs) + 0.5 * (ups == downs))
    difference = kernels[0] - kernels[1]
    of_positives, of_negatives = difference.mean(axis=1), difference.mean(axis=0)
    return [
        difference.mean(),
        of_positives.var(ddof=1) / len(of_positives),
        of_negatives.var(ddof=1) / len(of_negatives),
    ]


@given(st.integers(0, 1 << 30), st.integers(5, 90), st.integers(2, 250), st.integers(2, 250))
def test_bins_that_are_groups_leave_nothing_open(seed, rows, first, other):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, rows)
    truth[:4] = [0, 0, 1, 1]
    bins = rng.integers(0, first, rows), rng.integers(0, other, rows)
    assert counted(truth, bins, (first, other)) == pytest.approx(by_pairs(truth, bins), abs=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("noise", "most"), [(1.0, 0.001), (0.3, 0.002), (0.05, 0.05), (0.0, None)])
def test_variances_are_the_largest_that_bins_leave_open(noise, most):
    """Never below those of the binned scores, and hardly above where models differ."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 3000)
    score = rng.normal(size=3000) + truth
    ranks = [
        np.argsort(np.argsort(values)) * 1024 // 3000
        for values in (score, score + noise * rng.normal(size=3000))
    ]
    found, expected = counted(truth, ranks, (1024, 1024)), by_pairs(truth, ranks)
    assert found[0] == pytest.approx(expected[0], abs=1e-12)
    for largest, variance in zip(found[1:], expected[1:], strict=True):
        assert variance <= largest * (1 + 1e-9)
        if most is not None:
            assert largest <= variance * (1 + most)


def test_a_class_of_one_row_has_no_variance():
    difference, of_positives, of_negatives = counted(
        np.array([1, 0, 0]), [np.array([2, 1, 0]), np.array([0, 1, 1])], (3, 2)
    )
    assert difference == 1.0
    assert np.isnan(of_positives)
    assert of_negatives == 0.0
