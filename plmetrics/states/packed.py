"""Rows without weights: score and class in one integer, which sorts several times faster than columns do.

Sorted slices give the exact values. Counts by block need no order: they are taken from the rows as they came, the bin
of each row looked up once.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from plmetrics.states.scores import (
    DENSE_LIMIT,
    Array,
    Binning,
    Codes,
    OrderedRows,
    SlicedRows,
    count,
    grouped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from plmetrics.core.segments import Segments


_ROWS_A_THREAD = 250_000

Number = TypeVar("Number", bound=np.generic)


class PackedRows:
    """One model's rows in any order. `block` is None without intervals; bins of rows are kept once looked up."""

    def __init__(
        self,
        score: Array,
        positive: NDArray[np.bool_],
        block: NDArray[np.int32] | None,
        coarse: Array,
    ) -> None:
        self.score = score
        self.positive = positive
        self.block = block
        self.coarse = coarse
        self.keys = (score.view(np.uint64) << np.uint64(1)) | positive
        self._bins: dict[bytes, NDArray[np.int32]] = {}

    @staticmethod
    def fits(score: Array) -> bool:
        """Whether the scores sort by their bits: none is negative, so the highest bit is free."""
        return bool(score.min(initial=0.0) >= 0)

    def bins(self, edges: Array) -> NDArray[np.int32]:
        """The bin of each row: the number of edges below its score."""
        name = edges.tobytes()
        if name not in self._bins:
            with ThreadPoolExecutor() as pool:
                parts = np.array_split(
                    self.score, max(1, min(os.cpu_count() or 1, len(self.score) // _ROWS_A_THREAD))
                )
                found = list(pool.map(lambda part: np.searchsorted(edges, part).astype(np.int32), parts))
            self._bins[name] = np.concatenate(found)
        return self._bins[name]

    def regroup(self, codes: Codes | None, slices: int) -> SlicedPacked:
        """The rows of a slice set; `codes` is None where all rows are one slice, -1 for rows of none."""
        if codes is None:
            offsets = np.array([0, len(self.keys)])
            keys = np.sort(self.keys)
        else:
            order, offsets = grouped(codes, slices)
            keys = self.keys[order]
            for first, last in pairwise(offsets.tolist()):
                keys[first:last].sort()
        score, member = (keys >> np.uint64(1)).view(np.float64), (keys & np.uint64(1)).astype(np.bool_)
        ordered = SlicedRows(OrderedRows(score, member, None, None), offsets, self.coarse)
        return SlicedPacked(self, ordered, codes)


@dataclass(frozen=True, slots=True)
class SlicedPacked:
    """Packed rows by slice: `ordered` for values, `source` and `codes` for counts by block."""

    source: PackedRows
    ordered: SlicedRows
    codes: Codes | None

    @property
    def slices(self) -> int:
        """Number of slices."""
        return self.ordered.slices

    @property
    def rows(self) -> None:
        """Sorted rows do not know their blocks: they cannot be resampled one by one."""
        return None

    @property
    def binned(self) -> bool:
        """Points are distinct scores."""
        return False

    @property
    def weighted(self) -> bool:
        """Rows count once each."""
        return False

    def point_state(self) -> dict[str, Segments]:
        """Distinct scores per slice with the weight of each class."""
        return self.ordered.point_state()

    def replicate_points(self, weights: Array) -> Iterator[dict[str, Segments]]:
        """See `rows`."""
        raise NotImplementedError

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Rows per class on coarse bins by block."""
        bins = len(self.source.coarse) + 1
        inner = self.source.bins(self.source.coarse) * 2 + self.source.positive
        step = max(1, DENSE_LIMIT // (blocks * bins * 2))
        for first in range(0, self.slices, step):
            last = min(first + step, self.slices)
            key, keep = self._places(first, last, blocks, bins * 2)
            yield first, last, count(key + _kept(inner, keep), None, (last - first, blocks, bins, 2))

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Rows, positives and sum of scores on fixed bins by block."""
        if self.source.block is None or binning.strategy == "quantile":
            yield from self.ordered.bin_counts(binning, blocks)
            return
        bin_of = self.source.bins(binning.uniform_edges())
        step = max(1, DENSE_LIMIT // (blocks * binning.bins * 3))
        for first in range(0, self.slices, step):
            last = min(first + step, self.slices)
            key, keep = self._places(first, last, blocks, binning.bins)
            key = key + _kept(bin_of, keep)
            shape = (last - first, blocks, binning.bins)
            channels = (
                count(key, None, shape),
                count(key[_kept(self.source.positive, keep)], None, shape),
                count(key, _kept(self.source.score, keep), shape),
            )
            yield first, last, np.stack(channels, axis=-1)

    def _places(
        self, first: int, last: int, blocks: int, inner: int
    ) -> tuple[Codes, NDArray[np.bool_] | None]:
        """Where the counts of each row's slice and block begin, and which rows belong to these slices."""
        assert self.source.block is not None
        if self.codes is None:
            return self.source.block.astype(np.int64) * inner, None
        keep = (self.codes >= first) & (self.codes < last)
        kept = None if keep.all() else keep
        code, block = _kept(self.codes, kept), _kept(self.source.block, kept)
        return ((code - first) * blocks + block) * inner, kept


def _kept(values: NDArray[Number], keep: NDArray[np.bool_] | None) -> NDArray[Number]:
    return values if keep is None else values[keep]
