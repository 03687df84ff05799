"""Counts as rows: the same dense, in total, slice by slice, and by block."""

import numpy as np
import pytest

from plmetrics.states.scores import packed_rows
from plmetrics.states.scores.packed_rows import PackedRows, RowCounts
from plmetrics.states.scores.sorted_rows import Binning

SLICES, BLOCKS, BINS = 3, 6, 5


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    size, offsets = 40, np.array([0, 25, 25, 40])
    place = rng.integers(0, 2 * BINS, size).astype(np.uint16)
    return RowCounts(place, rng.integers(0, BLOCKS, size).astype(np.int32), offsets, BINS, BLOCKS)


@pytest.fixture
def counts(rows):
    out = np.zeros((SLICES, BLOCKS, BINS, 2))
    for code, (first, last) in enumerate(zip(rows.offsets, rows.offsets[1:], strict=False)):
        for place, block in zip(rows.place[first:last], rows.block[first:last], strict=True):
            out[code, block, place // 2, place % 2] += 1
    return out


def test_rows_are_the_counts_of_all_slices_and_of_some(rows, counts):
    np.testing.assert_array_equal(rows.dense(), counts)
    np.testing.assert_array_equal(rows[0:2].dense(), counts[:2])
    np.testing.assert_array_equal(rows[1:3].total(), counts[1:].sum(axis=1))


def test_rows_by_block_are_drawn_as_the_counts_are(rows, counts):
    weights = np.random.default_rng(2).multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), 7)
    drawn = (rows.by_block() @ weights.T).reshape(SLICES, BINS, 2, 7)
    np.testing.assert_array_equal(drawn, np.einsum("rb,sbpc->spcr", weights, counts))


def test_counts_are_sparse_where_there_are_more_of_them_than_rows():
    rng = np.random.default_rng(1)
    packed = PackedRows(rng.random(400), rng.random(400) < 0.3, rng.integers(0, 50, 400).astype(np.int32))
    sliced = packed.regroup(rng.integers(-1, 4, 400), 4)
    sparse = sliced.sparse_counts(50)
    assert sparse is not None
    np.testing.assert_array_equal(sparse.dense(), next(sliced.block_counts(50))[2])
    assert packed.regroup(None, 1).sparse_counts(1) is None


@pytest.mark.parametrize("piece", [1 << 16, 7])
def test_bins_at_fixed_edges_are_counted_without_an_order(monkeypatch, piece):
    monkeypatch.setattr(packed_rows, "sort_slices", None)
    monkeypatch.setattr(packed_rows, "_PIECE", piece)
    rng = np.random.default_rng(3)
    score, positive = rng.integers(0, 61, 300) / 60, rng.random(300) < 0.3  # edges are among the scores
    codes = rng.integers(-1, 3, 300)
    binning = Binning(15, distances=True)
    ((_, _, found),) = PackedRows(score, positive, None).regroup(codes, 3).bin_counts(binning, 1)
    expected = np.zeros((3, 1, 15, 4))
    for code, value, label in zip(codes, score, positive, strict=True):
        if code >= 0:
            place = sum(value > edge / 15 for edge in range(1, 15))
            expected[code, 0, place] += [1, label, value, (value - label) ** 2]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
