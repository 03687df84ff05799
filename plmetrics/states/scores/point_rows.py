"""Replicates of slices of rows without weights, in arrays of many slices and replicates at once.

The drawn rows of a class at each point are a sparse product: the blocks of its rows times the draws of each block.
Points are added up one after another, slices and replicates of a point next to each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.ops import Counts
from plmetrics.core.threads import steps
from plmetrics.states.scores.sorted_rows import CLASSES, SlicedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from plmetrics.states.scores.coarse import Codes

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
    def of(cls, rows: SlicedRows, member: NDArray[np.bool_], places: Codes, points: int) -> _ClassRows:
        """From the place of each row among `points` places of each slice."""
        from scipy.sparse import csr_array

        assert rows.ordered.block is not None
        place, block = places.compress(member), rows.ordered.block.compress(member)
        if rows.slices > 1:
            order = np.argsort(place, kind="stable")
            place, block = place[order], block[order]
        ends = np.searchsorted(place, np.arange(points * rows.slices + 1))
        shape = (points * rows.slices, int(block.max(initial=0)) + 1)
        ones = np.ones(len(block), dtype=np.int16)
        most = int(np.bincount(block).max(initial=0))
        return cls(csr_array((ones, block, ends), shape=shape), rows.slices, most)

    def running(self, draws: BlockDraws) -> NDArray[np.signedinteger]:
        """Running totals of the drawn rows along the points, `[point, slice, replicate]`."""
        largest = min(draws.most * len(self.blocks.data), draws.total * self.most)
        kind = next(kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max)
        counts: NDArray[Any] = draws.counts[: self.blocks.shape[1]].astype(kind, copy=False)
        points = self.blocks.shape[0] // max(1, self.slices)
        totals: NDArray[Any] = self.blocks @ counts
        totals = totals.reshape(points, self.slices, counts.shape[1])
        _add_up(totals)
        return totals


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
    def of(cls, rows: SlicedRows) -> PointRows:
        """Points are those of exact replicates: neighbouring scores without positives are one."""
        starts = rows.replicate_starts()
        bounds = np.searchsorted(starts, rows.offsets)
        sizes = np.diff(bounds)
        rank = np.arange(len(starts)) - np.repeat(bounds[:-1], sizes)
        rank = np.repeat(rank, np.diff(starts, append=len(rows.ordered.score)))
        return cls.at(rows, rank, int(sizes.max(initial=0)))

    @classmethod
    def at(cls, rows: SlicedRows, point: Codes, points: int) -> PointRows:
        """Rows at so many points of their slice, by the number of each."""
        place = point * rows.slices + rows.code(0, rows.slices)
        members = (~rows.ordered.positive, rows.ordered.positive)
        negatives, positives = (_ClassRows.of(rows, member, place, points) for member in members)
        return cls((negatives, positives))

    def replicate_points(self, draws: BlockDraws) -> Iterator[dict[str, Counts]]:
        """Points `[replicate, slice, point]`, a few replicates at a time."""
        totals = [rows.running(draws) for rows in self.classes]
        points, slices, replicates = totals[0].shape
        size = max(1, points * slices)
        step = max(1, _ROOM // size, min(_LEAST_REPLICATES, _LONG_ROOM // size))
        for first, last in steps(0, replicates, step):
            yield {
                name: Counts.of(of_class[..., first:last].astype(np.float64).transpose(2, 1, 0))
                for name, of_class in zip(CLASSES, totals, strict=True)
            }


def slice_groups(rows: SlicedRows) -> list[tuple[Codes, PointRows]]:
    """Slice groups for joint replicates, with their numbers: short ones of about a length, each long one alone."""
    sizes = np.diff(rows.offsets)
    order = np.argsort(sizes, kind="stable")
    ascending = sizes[order]
    groups: list[tuple[Codes, PointRows]] = []
    first = 0
    for last in range(1, len(order) + 1):
        if last == len(order) or (last + 1 - first) * ascending[last] > SIZE:
            groups.append((order[first:last], PointRows.of(rows.part(order[first:last]))))
            first = last
    return groups or [(order, PointRows.of(rows))]
