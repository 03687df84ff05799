"""Products of W with counts: what is left out and what is multiplied in single precision changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from plmetrics.inference.ordered import products
from plmetrics.inference.ordered.products import (
    drawn_bins,
    drawn_counts,
    exact_occupied_blocks,
    occupied_blocks,
)
from plmetrics.inference.weights import Nudges

SLICES, BLOCKS, BINS = 5, 40, 9


@pytest.fixture(params=["few blocks", "all blocks", "no rows"])
def counts(request):
    """Bins `[slice, block, bin, channel]` with numbers of rows and of positives, and sums of scores."""
    rng = np.random.default_rng(11)
    rate = {"few blocks": 0.01, "all blocks": 3.0, "no rows": 0.0}[request.param]
    rows = rng.poisson(rate, (SLICES, BLOCKS, BINS))
    rows[2] = 0
    return np.stack([rows, rng.binomial(rows, 0.3), rows * rng.random(rows.shape)], axis=-1)


@pytest.fixture
def weights():
    return np.random.default_rng(5).multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), 23).astype(np.float64)


def plain(weights, counts):
    return np.einsum("rb,sb...->sr...", weights, counts)


def test_blocks_that_are_left_out_hold_nothing(counts):
    held = occupied_blocks(counts)
    if held is None:
        assert counts[0].any(axis=(1, 2)).all()
        return
    assert [own.tolist() for own in held] == [np.flatnonzero(own.any(axis=(1, 2))).tolist() for own in counts]


def test_replicates_are_those_of_all_blocks(counts, weights):
    np.testing.assert_allclose(
        drawn_counts(weights, counts, occupied_blocks(counts)), plain(weights, counts), rtol=1e-12
    )


def test_where_single_precision_rounds_no_block_is_left_out(counts):
    rows = counts[..., :2]
    every = occupied_blocks(rows)
    assert (exact_occupied_blocks(rows) is None) == (every is None)
    assert exact_occupied_blocks(rows * 0.37) is None or not rows.any()


@pytest.mark.parametrize("factor", [1.0, 0.37, 1e8])
def test_bins_lose_nothing_in_single_precision(counts, weights, factor):
    counts = counts * factor
    found = drawn_bins(weights, weights.astype(np.float32), counts)
    np.testing.assert_allclose(found, plain(weights, counts), rtol=1e-12)
    if factor == 1.0:
        assert (found[..., :2] == plain(weights, counts)[..., :2]).all()


def test_numbers_of_rows_alone_are_multiplied_in_single_precision(monkeypatch, counts, weights):
    kinds = []

    def seen(weights, counts, held):
        kinds.append((weights.dtype, counts.shape[-1]))
        return drawn_counts(weights, counts, held)

    monkeypatch.setattr(products, "drawn_counts", seen)
    drawn_bins(weights, weights.astype(np.float32), counts)
    drawn_bins(weights, weights.astype(np.float32), counts + 0.5)
    assert kinds == [(np.float32, 2), (np.float64, 1), (np.float64, 3)]


def test_one_block_moved_at_a_time_needs_no_product(counts):
    moved = Nudges("jackknife", np.ones(BLOCKS, dtype=np.int64))
    rows = np.concatenate(list(moved.rows()))
    np.testing.assert_allclose(drawn_bins(moved, None, counts), plain(rows, counts), atol=1e-12)
