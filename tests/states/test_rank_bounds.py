"""What joint counts leave open: rows that lie in their bins as unluckily as they can are within the bound."""

import numpy as np
import pytest
from scipy import stats

from plmetrics.catalogue.regression.correlation import Kendall, Spearman
from plmetrics.states.joint_counts import JointTally, joint_shape, rank_locator
from plmetrics.states.rank_bounds import grid_view
from plmetrics.states.scores.bin_lookup import bins_of_one
from plmetrics.states.scores.grid.placed_rows import Members, PlacedRows


def counted(score, label, weight=None, bins=80):
    """The view of a grid with few bins."""
    locators = [rank_locator(values[::7], bins) for values in (score, label)]
    places = []
    for locator, values in zip(locators, (score, label), strict=True):
        place = np.empty(len(values), dtype=np.uint16)
        locator.locate(values, locator.keys(values), place)
        assert place.tolist() == np.searchsorted(locator.edges, values).tolist()
        places.append(place * 2 + 1)
    sizes = [len(locator.edges) + 1 for locator in locators]
    counts = np.zeros((1, 1, *joint_shape("joint", *sizes)))
    tally = JointTally.on_grid(0, counts, sizes, None)
    rows = PlacedRows(places[0], weight, None, across=places[1])
    tally.add(rows, Members.of(np.zeros(len(score), dtype=np.int64)))
    tally.finish()
    return grid_view(counts, locators[0].edges, locators[1].edges, weighted=weight is not None), locators


@pytest.mark.exhaustive
@pytest.mark.parametrize("noise", [0.0, 0.001, 0.3, 3.0])
@pytest.mark.parametrize("sign", [-1, 1])
def test_values_lie_within_their_bounds(noise, sign):
    rng = np.random.default_rng(3)
    label = rng.normal(size=3_000)
    score = sign * label + noise * rng.normal(size=len(label))
    view, _ = counted(score, label)
    for metric, expected in ((Spearman(), stats.spearmanr), (Kendall(), stats.kendalltau)):
        off = abs(metric.finalise(view)[0] - expected(score, label).statistic)
        bound = metric.bound(view)[0]
        assert off <= bound
        assert bound < (0.06 if noise > 0.01 else 0.1)
    assert view.weight[0] == len(label)


@pytest.mark.parametrize("turn", [-1, 1])
def test_rows_that_agree_or_disagree_inside_every_cell_are_within_the_bound(turn):
    """Cells of 20 by 20 bins; inside each, rows rise together or against each other: as far as a grid can be off."""
    rng = np.random.default_rng(4)
    within = rng.uniform(size=(20, 20, 15))
    score = np.arange(20)[:, None, None] + within
    label = np.arange(20)[None, :, None] + (within if turn == 1 else 1.0 - within)
    score, label = score.reshape(-1), label.reshape(-1)
    view, _ = counted(score, label, bins=20)
    for metric, expected in ((Spearman(), stats.spearmanr), (Kendall(), stats.kendalltau)):
        off = abs(metric.finalise(view)[0] - expected(score, label).statistic)
        assert 1e-4 < off <= metric.bound(view)[0] < 0.2


def test_weights_are_repetitions_within_the_bound():
    rng = np.random.default_rng(5)
    label, score = rng.normal(size=(2, 2_000))
    score += label
    weight = rng.integers(1, 5, len(label))
    view, _ = counted(score, label, weight.astype(float))
    repeated = np.repeat(score, weight), np.repeat(label, weight)
    assert (
        abs(Spearman().finalise(view)[0] - stats.spearmanr(*repeated).statistic) <= Spearman().bound(view)[0]
    )
    assert (
        abs(Kendall().finalise(view)[0] - stats.kendalltau(*repeated).statistic) <= Kendall().bound(view)[0]
    )


def test_a_number_that_many_have_is_a_bin_of_its_own():
    rng = np.random.default_rng(6)
    values = np.where(rng.uniform(size=5_000) < 0.2, 0.1, rng.normal(size=5_000))
    edges = rank_locator(values, 100).edges
    assert len(edges) <= 100
    assert edges[np.flatnonzero(bins_of_one(edges))].tolist() == [0.1]
    assert bins_of_one(rank_locator(np.array([1.0, 2.0, 2.0, 5.0]), 100).edges).tolist()[1::2] == [True] * 3
