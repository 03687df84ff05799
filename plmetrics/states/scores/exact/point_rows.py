"""Replicates of slices of rows without weights, in arrays of many slices and replicates at once.

The drawn rows of a class at each point are a sparse product: the blocks of its rows times the draws of each block.
Points are added up one after another, slices and replicates of a point next to each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Codes, Counts, Flags
from plmetrics.core.threads import steps
from plmetrics.states.scores.exact.packed_rows import PackedSlices
from plmetrics.states.scores.exact.sorted_rows import SlicedRows
from plmetrics.states.scores.grid.sliced_grid import SlicedGrid
from plmetrics.states.scores.sliced_scores import CLASSES, SlicedScores

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from plmetrics.states.scores.exact.row_counts import RowCounts

SIZE = 1 << 12
"""Slices lie side by side in room for so many rows: shorter ones are filled up to the longest."""

_ROOM = 1 << 17
"""So many points of replicates go into formulas at a time; of long slices more, up to `_LEAST_REPLICATES` of each."""
_LONG_ROOM = 1 << 20
_LEAST_REPLICATES = 32
_REPLICATES = 512
"""At most so many replicates are drawn at a time, on any number of processors."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockDraws:
    """Draws of each block in some replicates, `[block, replicate]`.

    No block is drawn more than `most` times in a replicate, and all of them together no more than `total` times.
    """

    counts: NDArray[np.signedinteger]
    most: int
    total: int

    @classmethod
    def parts(cls, weights: NDArray[Any]) -> list[BlockDraws]:
        """Weights `[replicate, block]` that are whole numbers, in parts of about as many replicates."""
        most = int(np.max(weights, initial=0))
        total = int(np.max(weights.sum(axis=1), initial=0))
        kind = np.int16 if most <= np.iinfo(np.int16).max else np.int64
        number = max(1, -(-len(weights) // _REPLICATES))
        return [
            cls(np.ascontiguousarray(part.astype(kind).T), most, total)
            for part in np.array_split(weights, number)
        ]

    @classmethod
    def once(cls, blocks: int) -> BlockDraws:
        """Each block a single time, as one replicate."""
        return cls(np.ones((blocks, 1), dtype=np.int16), 1, blocks)


@dataclass(frozen=True, slots=True)
class _ClassRows:
    """Rows of a class: how many of each block are at a point of a slice, `[point x slice, block]`.

    `most` is the largest number of rows of a block.
    """

    blocks: csr_array
    slices: int
    most: int

    @classmethod
    def of(cls, counts: RowCounts, member: Flags, place: Codes) -> _ClassRows:
        """From the place of each row of the class: `point x slice`."""
        from scipy.sparse import csr_array

        block, size = counts.block.compress(member), counts.points * counts.slices
        place = place.compress(member)
        if np.any(place[1:] < place[:-1]):
            order = np.argsort(place.astype(np.min_scalar_type(size)), kind="stable")
            place, block = place[order], block[order]
        ends = np.searchsorted(place, np.arange(size + 1))
        ones = np.ones(len(block), dtype=np.int16)
        most = int(np.bincount(block).max(initial=0))
        shape = (size, int(block.max(initial=0)) + 1)
        return cls(csr_array((ones, block, ends), shape=shape), counts.slices, most)

    def running(self, draws: BlockDraws) -> NDArray[np.signedinteger]:
        """Running totals of the drawn rows along the points, `[point, slice, replicate]`."""
        counts: NDArray[Any] = draws.counts[: self.blocks.shape[1]]
        at_a_point = int(np.diff(self.blocks.indptr).max(initial=0))
        kind, summed = (self._kind(draws, rows) for rows in (at_a_point, len(self.blocks.data)))
        at_points = (self.blocks @ counts.astype(kind, copy=False)).astype(summed, copy=False)
        points = self.blocks.shape[0] // max(1, self.slices)
        totals: NDArray[Any] = at_points.reshape(points, self.slices, counts.shape[1])
        _add_up(totals)
        return totals

    def _kind(self, draws: BlockDraws, rows: int) -> type[np.signedinteger[Any]]:
        """The smallest type, and the fastest, for draws of any so many of the rows."""
        largest = min(draws.most * rows, draws.total * self.most)
        return next(kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max)


def _add_up(totals: NDArray[Any]) -> None:
    """Replace counts `[point, ...]` by their running totals.

    Runs of points are added up side by side, and each then moved by the total of those before: about twice the root of
    the points in steps, which threads do not wait for each other between.
    """
    size = max(1, math.isqrt(len(totals)))
    number = len(totals) // size
    runs = totals[: number * size].reshape(number, size, *totals.shape[1:])
    for place in range(1, size):
        runs[:, place] += runs[:, place - 1]
    for run in range(1, number):
        runs[run] += runs[run - 1, -1]
    for point in range(max(1, number * size), len(totals)):
        totals[point] += totals[point - 1]


@dataclass(frozen=True, slots=True)
class PointRows:
    """Rows of weight 1 at the points of some slices, without scores: points are ranked."""

    classes: tuple[_ClassRows, _ClassRows]

    @classmethod
    def of(cls, counts: RowCounts) -> PointRows:
        """From rows that count once each."""
        place = (counts.place >> 1).astype(np.int64) * counts.slices + counts.code
        positive = (counts.place & 1).astype(np.bool_)
        return cls((_ClassRows.of(counts, ~positive, place), _ClassRows.of(counts, positive, place)))

    @classmethod
    def exact(cls, rows: SlicedRows, *, scores: bool = False) -> PointRows:
        """At the points of exact replicates: neighbouring scores without positives are one, but not with `scores`."""
        starts = rows.starts() if scores else rows.replicate_starts()
        bounds = np.searchsorted(starts, rows.offsets)
        sizes = np.diff(bounds)
        rank = np.arange(len(starts)) - np.repeat(bounds[:-1], sizes)
        rank = np.repeat(rank, np.diff(starts, append=len(rows.ordered.score)))
        return cls.of(rows.at_points(rank, int(sizes.max(initial=0))))

    def replicate_points(self, draws: BlockDraws, *, single: bool = False) -> Iterator[dict[str, Counts]]:
        """Points `[replicate, slice, point]`, a few replicates at a time; in single precision C-contiguous."""
        totals = [rows.running(draws) for rows in self.classes]
        points, slices, replicates = totals[0].shape
        size = max(1, points * slices)
        step = max(1, _ROOM // size, min(_LEAST_REPLICATES, _LONG_ROOM // size))
        kind: type[np.floating[Any]] = np.float32 if single else np.float64
        order: Literal["C", "K"] = "C" if single else "K"
        for first, last in steps(0, replicates, step):
            yield {
                name: Counts.of(of_class[..., first:last].transpose(2, 1, 0).astype(kind, order=order))
                for name, of_class in zip(CLASSES, totals, strict=True)
            }


def block_counts(
    sliced: SlicedScores, blocks: int, *, dense: bool = False
) -> Iterable[tuple[int, int, NDArray[Any] | RowCounts]]:
    """The coarse counts of some slices at a time; all of them as rows where these are few, if not wanted dense."""
    if dense or not isinstance(sliced, (PackedSlices, SlicedRows, SlicedGrid)):
        return sliced.block_counts(blocks)
    rows = sliced.row_counts()
    if rows is None:
        return sliced.block_counts(blocks)
    return [(0, sliced.slices, rows)] if rows.is_sparse(blocks) else rows.dense_parts(blocks)


def slice_groups(rows: SlicedRows, *, scores: bool = False) -> list[tuple[Codes, PointRows]]:
    """Slice groups for joint replicates, with their numbers: short ones of about a length, each long one alone.

    With `scores` each of these is a point, as in `PointRows.exact`.
    """
    sizes = np.diff(rows.offsets)
    order = np.argsort(sizes, kind="stable")
    ascending = sizes[order]
    groups: list[tuple[Codes, PointRows]] = []
    first = 0
    for last in range(1, len(order) + 1):
        if last == len(order) or (last + 1 - first) * ascending[last] > SIZE:
            groups.append((order[first:last], PointRows.exact(rows.part(order[first:last]), scores=scores)))
            first = last
    return groups or [(order, PointRows.exact(rows, scores=scores))]
