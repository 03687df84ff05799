"""Unweighted rows: score and class in one integer, for a sort several times faster than of columns.

Sorted slices give the exact values, and the edges of their coarse bins. Counts by block need no order: they are taken
from the rows as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.segments import Segments
from plmetrics.core.threads import parallel_map
from plmetrics.states.scores.bin_lookup import FixedBins, Keys
from plmetrics.states.scores.coarse import DENSE_LIMIT, coarse_edges, coarse_number
from plmetrics.states.scores.exact.row_counts import RowCounts
from plmetrics.states.scores.exact.sorted_rows import SlicedRows, SortedRows, count_bins, group_order
from plmetrics.states.scores.exact.sorting import sort_slices
from plmetrics.states.scores.sliced_scores import Binning, ScoresWithoutRows

_PIECE = 1 << 16
_CLASS = np.uint64(1)
"""The lowest bit of a key is the class, the others are the score."""

Number = TypeVar("Number", bound=np.generic)


class PackedRows:
    """One model's rows in any order. `block` is None without intervals; bins of rows are kept once looked up."""

    def __init__(self, score: Array, positive: Flags, block: NDArray[np.int32] | None) -> None:
        self.score = score
        self.positive = positive
        self.block = block
        self._bins: dict[bytes, NDArray[np.uint16]] = {}

    @staticmethod
    def fits(score: Array) -> bool:
        """Whether the scores sort by their bits: none is negative, so the highest bit is free."""
        return bool(score.min(initial=0.0) >= 0)

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """Score and class of each row."""
        return (self.score.view(np.uint64) << _CLASS) | self.positive

    def bins(self, binning: Binning) -> NDArray[np.uint16]:
        """The bin of each row: the number of edges below its score."""
        edges = binning.uniform_edges()
        name = edges.tobytes()
        if name not in self._bins:
            keys = Keys.between(*binning.span)
            fixed = FixedBins.at(edges, keys)
            self._bins[name] = _in_pieces(lambda part: fixed.bins(part, keys(part)), self.score)
        return self._bins[name]

    def regroup(self, codes: Codes | None, slices: int) -> PackedSlices:
        """The rows of a slice set; `codes` is None where all rows are one slice, -1 for rows of none."""
        return PackedSlices(self, codes, slices)


class PackedSlices(ScoresWithoutRows):
    """Packed rows by slice, sorted on first use: counts on fixed bins need no sort."""

    has_weights: ClassVar[bool] = False

    def __init__(self, source: PackedRows, codes: Codes | None, slices: int) -> None:
        self.slices = slices
        self._source = source
        self._codes = codes

    @cached_property
    def _groups(self) -> tuple[NDArray[np.uint64], NDArray[np.int32] | None, Codes]:
        """Keys and blocks slice after slice, there in any order, and the slices' boundaries."""
        keys, block = self._source.keys, self._source.block
        if self._codes is None:
            return keys, block, np.array([0, len(keys)])
        order, offsets = group_order(self._codes, self.slices)
        return keys[order], None if block is None else block[order], offsets

    @cached_property
    def ascending(self) -> SlicedRows:
        """The rows of each slice ascending, without their blocks."""
        keys, _, offsets = self._groups
        ascending = keys.copy()
        sort_slices(ascending, offsets)
        score, member = (ascending >> _CLASS).view(np.float64), (ascending & _CLASS).astype(np.bool_)
        return SlicedRows(SortedRows(score, member, None, None), offsets, len(self._source.score))

    def point_state(self) -> dict[str, Segments]:
        """Distinct scores per slice with the weight of each class."""
        return self.ascending.point_state()

    def row_counts(self) -> RowCounts:
        """Rows per class on coarse bins, in any order within their slice."""
        keys, block, offsets = self._groups
        assert block is not None
        return RowCounts(
            _coarse_places(keys, self.ascending), block, None, offsets, coarse_number(self.slices)
        )

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Rows per class on coarse bins by block."""
        return self.row_counts().dense_parts(blocks)

    def coarse_scores(self) -> Array:
        """Mean score of the rows in each coarse bin."""
        return self.ascending.coarse_scores()

    def coarse_ties(self) -> Flags:
        """Whether all rows of a coarse bin have one score."""
        return self.ascending.coarse_ties()

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """The channels of fixed bins by block."""
        if binning.strategy == "quantile":
            if blocks > 1 and self._source.block is not None:
                raise NotImplementedError
            yield from self.ascending.bin_counts(binning, 1)
            return
        source, bin_of = self._source, self._source.bins(binning)
        step = max(1, DENSE_LIMIT // (blocks * binning.bins * binning.channels))
        for first in range(0, self.slices, step):
            last = min(first + step, self.slices)
            code, keep = self._members(first, last)
            key: NDArray[Any] = _select(bin_of, keep)
            if source.block is not None and blocks > 1:
                key = key + _select(source.block, keep) * np.int64(binning.bins)
            if code is not None:
                key = key + code * (blocks * binning.bins)
            shape = (last - first, blocks, binning.bins)
            score, positive = _select(source.score, keep), _select(source.positive, keep)
            yield first, last, count_bins(binning, key, score, positive, None, shape)

    def quantile_edges(self, bins: int) -> Array:
        """Quantiles i/bins of each slice's scores: `[slice, bins - 1]`."""
        return self.ascending.quantile_edges(bins)

    def _members(self, first: int, last: int) -> tuple[Codes | None, Flags | None]:
        """Slice of each row of a range of slices, counted from the first of them, and the mask of these rows."""
        if self._codes is None:
            return None, None
        keep = (self._codes >= first) & (self._codes < last)
        mask = None if keep.all() else keep
        return _select(self._codes, mask) - first, mask


def _coarse_places(keys: NDArray[np.uint64], ordered: SlicedRows) -> NDArray[np.uint16]:
    """Coarse bin and class of packed rows grouped by slice."""
    rows = ordered.ordered
    edges = coarse_edges(rows.score, rows.positive, ordered.offsets).view(np.uint64) << _CLASS
    out = np.empty(len(keys), dtype=np.uint16)
    for cuts, (first, last) in zip(edges, pairwise(ordered.offsets.tolist()), strict=True):
        out[first:last] = _in_pieces(partial(_coarse_place, cuts), keys[first:last])
    return out


def _coarse_place(edges: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.uint16]:
    bins = np.searchsorted(edges, keys, side="right").astype(np.uint16)
    return bins * np.uint16(2) + (keys & _CLASS).astype(np.uint16)


def _in_pieces(function: Callable[[NDArray[Any]], NDArray[Number]], values: NDArray[Any]) -> NDArray[Number]:
    """Apply an element-wise function to an array in parallel, in chunks of the size of the processor's cache."""
    pieces = -(-len(values) // _PIECE)
    if pieces <= 1:
        return function(values)
    return np.concatenate(parallel_map(function, np.array_split(values, pieces)))


def _select(values: NDArray[Number], keep: Flags | None) -> NDArray[Number]:
    return values if keep is None else values.compress(keep)
