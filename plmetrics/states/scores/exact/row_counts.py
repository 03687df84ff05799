"""Counts of rows by slice, block, point and class, kept as the rows themselves: made dense a few slices at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.states.scores.coarse import DENSE_LIMIT, is_sparse


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Counts `[slice, block, point, class]` as rows, slice after slice: place, block and weight of each.

    A place is twice the point, and 1 more for a positive; `weight` is None where every row counts once.
    """

    place: NDArray[np.integer[Any]]
    block: NDArray[np.int32]
    weight: Array | None
    offsets: Codes
    points: int

    def __getitem__(self, slices: slice) -> RowCounts:
        offsets = self.offsets[slices.start : slices.stop + 1]
        rows = slice(offsets[0], offsets[-1])
        weight = None if self.weight is None else self.weight[rows]
        return RowCounts(self.place[rows], self.block[rows], weight, offsets - offsets[0], self.points)

    @property
    def slices(self) -> int:
        """Number of slices."""
        return len(self.offsets) - 1

    @property
    def code(self) -> Codes:
        """The slice of each row."""
        return np.repeat(np.arange(self.slices), np.diff(self.offsets))

    def is_sparse(self, blocks: int) -> bool:
        """Whether the rows are drawn faster than their counts, most of which are 0; rows of weights never are."""
        return self.weight is None and is_sparse(len(self.place), self.slices, blocks)

    def dense(self, blocks: int) -> NDArray[Any]:
        """The counts."""
        key = self.block.astype(np.int64)
        if self.slices > 1:
            key += self.code * blocks
        key = key * (self.points * 2) + self.place
        return count(key, self.weight, (self.slices, blocks, self.points, 2))

    def dense_parts(self, blocks: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """The counts of a few slices at a time, with the first of them and the one after the last."""
        step = max(1, DENSE_LIMIT // (blocks * self.points * 2))
        for first in range(0, self.slices, step):
            last = min(first + step, self.slices)
            yield first, last, self[first:last].dense(blocks)

    def total(self) -> NDArray[Any]:
        """The counts of all blocks together `[slice, point, class]`."""
        key = self.code * (self.points * 2) + self.place
        return count(key, self.weight, (self.slices, self.points, 2))

    def masses(self, blocks: int) -> NDArray[Any]:
        """The counts of all points together `[slice, block, class]`."""
        key = (self.code * blocks + self.block) * 2 + (self.place & 1)
        return count(key, self.weight, (self.slices, blocks, 2))


def count(key: Codes, weight: Array | None, shape: tuple[int, ...]) -> NDArray[Any]:
    """Rows, or sums of weights, by integer key, as a dense array."""
    return np.bincount(key, weights=weight, minlength=int(np.prod(shape))).reshape(shape)
