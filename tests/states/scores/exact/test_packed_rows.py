"""Rows packed into integers: counted without an order, as rows where most counts are 0."""

import numpy as np
import pytest

from plmetrics.states.scores.exact import packed_rows
from plmetrics.states.scores.exact.packed_rows import PackedRows
from plmetrics.states.scores.exact.point_rows import block_counts
from plmetrics.states.scores.exact.row_counts import RowCounts
from plmetrics.states.scores.exact.sorted_rows import SortedRows
from plmetrics.states.scores.sliced_scores import Binning


def test_counts_are_rows_where_there_are_more_of_them_than_rows():
    rng = np.random.default_rng(1)
    score, positive, block = rng.random(400), rng.random(400) < 0.3, rng.integers(0, 50, 400).astype(np.int32)
    codes = rng.integers(-1, 4, 400)
    order = np.argsort(score)
    ordered = SortedRows(score[order], positive[order], None, block[order])
    for sliced in (PackedRows(score, positive, block).regroup(codes, 4), ordered.regroup(codes[order], 4)):
        ((_, _, rows),) = block_counts(sliced, 50)
        assert isinstance(rows, RowCounts)
        ((_, _, dense),) = block_counts(sliced, 50, dense=True)
        np.testing.assert_array_equal(rows.dense(50), dense)
    weighted = SortedRows(score[order], positive[order], np.ones(400), block[order])
    ((_, _, counts),) = block_counts(weighted.regroup(None, 1), 50)
    assert isinstance(counts, np.ndarray)


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
