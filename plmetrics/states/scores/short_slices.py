"""Replicates of short slices, side by side, in arrays of many slices and replicates at once.

Rows of a class lie rank by rank, those of the same rank of all slices next to each other. Their drawn numbers are added
up rank after rank, and the running totals at the points are read off these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.ops import Counts
from plmetrics.states.scores.sorted_rows import CLASSES, SlicedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array, Codes

SIZE = 1 << 12
"""Slices lie side by side in room for so many rows: shorter ones are filled up to the longest."""

_ROOM = 1 << 20
"""So many running totals are added at a time."""


@dataclass(frozen=True, slots=True)
class _RankedRows:
    """Ranked rows of a class: the block of each `[rank, slice]`, -1 for none, and the number up to each point.

    `ends` are these numbers `[point, slice]`; those of a slice of few points are filled up with its last one.
    """

    block: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, rows: SlicedRows, member: NDArray[np.bool_], starts: Codes) -> _RankedRows:
        """Class members among some rows with points from `starts` on."""
        assert rows.ordered.block is not None
        running = np.append(0, np.cumsum(member))
        before = running[rows.offsets]
        block = _side_by_side(rows.ordered.block[member], before, np.full(rows.slices, -1))
        bounds = np.searchsorted(starts, rows.offsets)
        ends = running[np.append(starts, len(member))[1:]] - np.repeat(before[:-1], np.diff(bounds))
        return cls(block, _side_by_side(ends, bounds, np.diff(before)))

    def drawn(self, weights: NDArray[Any]) -> Counts:
        """The drawn numbers at each point `[replicate, slice, point]`, from those of each block `[block, replicate]`.

        The last block is drawn in no replicate.
        """
        ranks, slices = self.block.shape
        totals = np.empty((ranks + 1, slices, weights.shape[1]), dtype=weights.dtype)
        totals[0] = 0
        weights.take(self.block, axis=0, out=totals[1:], mode="wrap")
        for rank in range(ranks):
            totals[rank + 1] += totals[rank]
        places = self.ends * slices + np.arange(slices)
        running = totals.reshape(-1, weights.shape[1]).take(places, axis=0)
        return Counts.of(running.astype(np.float64).transpose())


def _side_by_side(values: NDArray[Any], bounds: Codes, rest: Codes) -> NDArray[np.int64]:
    """Values of slice after slice as `[place, slice]`; short slices are padded with their value of `rest`."""
    sizes = np.diff(bounds)
    out = np.empty((int(sizes.max(initial=0)), len(sizes)), dtype=np.int64)
    out[:] = rest
    out[np.arange(len(values)) - np.repeat(bounds[:-1], sizes), np.repeat(np.arange(len(sizes)), sizes)] = (
        values
    )
    return out


@dataclass(frozen=True, slots=True)
class ShortSlices:
    """Short slices of rows of weight 1, without scores: classes are ranked."""

    classes: tuple[_RankedRows, _RankedRows]

    @classmethod
    def of(cls, rows: SlicedRows) -> ShortSlices:
        """Points are those of exact replicates: neighbouring scores without positives are one."""
        positive, starts = rows.ordered.positive, rows.replicate_starts()
        return cls((_RankedRows.of(rows, ~positive, starts), _RankedRows.of(rows, positive, starts)))

    def replicate_points(self, weights: Array, *, scores: bool = False) -> Iterator[dict[str, Counts]]:
        """Points `[replicate, slice, point]` under whole weights of blocks, a few replicates at a time."""
        assert not scores
        ranks = max(rows.block.size for rows in self.classes)
        step = max(1, _ROOM // max(1, ranks))
        drawn = np.append(weights.T, np.zeros((1, len(weights))), axis=0)
        small = drawn.max(initial=0.0) * max(len(rows.block) for rows in self.classes) < 1 << 15
        drawn = drawn.astype(np.int16 if small else np.int64)
        for first in range(0, len(weights), step):
            part = np.ascontiguousarray(drawn[:, first : first + step])
            yield {name: rows.drawn(part) for name, rows in zip(CLASSES, self.classes, strict=True)}


def slice_groups(rows: SlicedRows) -> list[tuple[Codes, ShortSlices | SlicedRows]]:
    """Slice groups for joint replicates, with their numbers: short ones of about a length, and all others."""
    sizes = np.diff(rows.offsets)
    order = np.argsort(sizes, kind="stable")
    ascending = sizes[order]
    long = int(np.searchsorted(ascending, SIZE, side="right"))
    groups: list[tuple[Codes, ShortSlices | SlicedRows]] = []
    first = 0
    for last in range(1, long + 1):
        if last == long or (last + 1 - first) * ascending[last] > SIZE:
            groups.append((order[first:last], ShortSlices.of(rows.part(order[first:last]))))
            first = last
    if long < len(order) or not groups:
        groups.append((order[long:], rows.part(order[long:])))
    return groups
