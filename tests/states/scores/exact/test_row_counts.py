"""Counts as rows: the same dense, in total, slice by slice, and drawn by block."""

from dataclasses import replace

import numpy as np
import pytest

from plmetrics.core.ops import Counts
from plmetrics.states.scores.exact.point_rows import BlockDraws, PointRows
from plmetrics.states.scores.exact.row_counts import RowCounts

SLICES, BLOCKS, BINS = 3, 6, 5


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    size, offsets = 40, np.array([0, 25, 25, 40])
    place = rng.integers(0, 2 * BINS, size).astype(np.uint16)
    return RowCounts(place, rng.integers(0, BLOCKS, size).astype(np.int32), None, offsets, BINS)


@pytest.fixture
def counts(rows):
    out = np.zeros((SLICES, BLOCKS, BINS, 2))
    for code, (first, last) in enumerate(zip(rows.offsets, rows.offsets[1:], strict=False)):
        for place, block in zip(rows.place[first:last], rows.block[first:last], strict=True):
            out[code, block, place // 2, place % 2] += 1
    return out


def test_rows_are_the_counts_of_all_slices_and_of_some(rows, counts):
    np.testing.assert_array_equal(rows.dense(BLOCKS), counts)
    np.testing.assert_array_equal(rows[0:2].dense(BLOCKS), counts[:2])
    np.testing.assert_array_equal(rows[1:3].total(), counts[1:].sum(axis=1))
    np.testing.assert_array_equal(rows.masses(BLOCKS), counts.sum(axis=2))


def test_rows_with_weights_are_counted_by_them(rows, counts):
    weighted = replace(rows, weight=np.full(len(rows.place), 0.5))
    np.testing.assert_array_equal(weighted.dense(BLOCKS), 0.5 * counts)
    np.testing.assert_array_equal(weighted[0:1].total(), 0.5 * counts[:1].sum(axis=1))
    assert rows.is_sparse(1000)
    assert not weighted.is_sparse(1000)


@pytest.mark.parametrize("most", [1, 2000, 100_000])
def test_rows_are_drawn_as_the_counts_are(rows, counts, most):
    weights = np.random.default_rng(2).multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), 7) * most
    (draws,) = BlockDraws.parts(weights)
    (state,) = PointRows.of(rows).replicate_points(draws)
    drawn = np.einsum("rb,sbpc->crsp", weights, counts)
    for name, expected in zip(("negative", "positive"), drawn, strict=True):
        assert isinstance(state[name], Counts)
        np.testing.assert_array_equal(state[name], expected)
        np.testing.assert_array_equal(state[name].running, np.cumsum(expected, axis=-1))
