"""The rows of one class, or of one arm: by the cells of a cube, in ascending order, and at the points of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Flags
from plmetrics.core.threads import batches
from plmetrics.states.scores.exact.sorting import sort, sort_with_weights

Codes = NDArray[np.integer[Any]]

_FEW = 1000

_PASS = 1 << 20
"""So many rows are sorted in a pass at least, slice by slice."""

_ROOM = 1 << 19
"""So many weights are drawn at a time: they stay near the processor."""


@dataclass(frozen=True, slots=True)
class ByCell:
    """The scores of one class, those of a cell together, the cells' boundaries, and weights if rows carry them.

    Rows of an arm have an outcome, too, times their weight.
    """

    score: Array
    offsets: Codes
    weight: Array | None = None
    outcome: Array | None = None

    def of_cells(self, cells: Codes) -> tuple[Array, Array | None, Array | None]:
        """New arrays of the scores of some cells, of their weights and of their outcomes."""
        places = self._places(cells)
        weight = None if self.weight is None else _take(self.weight, places)
        outcome = None if self.outcome is None else _take(self.outcome, places)
        return _take(self.score, places), weight, outcome

    def _places(self, cells: Codes) -> list[slice] | Codes:
        """Positions of the rows of some cells: as runs, or one by one where runs are many."""
        if len(cells) == 0:
            return []
        low, high = self.offsets[cells], self.offsets[cells + 1]
        starts = np.flatnonzero(np.append(True, low[1:] != high[:-1]))
        low, high = low[starts], high[np.append(starts[1:], len(cells)) - 1]
        if len(low) <= _FEW:
            return [slice(first, last) for first, last in zip(low.tolist(), high.tolist(), strict=True)]
        sizes = high - low
        before = np.cumsum(sizes) - sizes
        places: Codes = np.arange(sizes.sum()) + np.repeat(low - before, sizes)
        return places


def _take(values: Array, places: list[slice] | Codes) -> Array:
    if isinstance(places, list):
        return np.concatenate([np.zeros(0), *(values[place] for place in places)])
    return values[places]


@dataclass(frozen=True, slots=True)
class Ascending:
    """Rows of one class, ascending by score; `weight` is None where each counts once, `outcome` of two classes."""

    score: Array
    weight: Array | None = None
    outcome: Array | None = None

    @classmethod
    def of(cls, score: Array, weight: Array | None, outcome: Array | None = None) -> Ascending:
        """Class rows from rows in any order, possibly sorted in place.

        Among equal scores weights and outcomes ascend, so that the order of the rows does not show in their sums.
        """
        numbers = [column for column in (weight, outcome) if column is not None]
        if not numbers:
            sort(score, _PASS)
            return cls(score)
        if len(numbers) > 1:
            order = np.lexsort((*numbers[::-1], score))
            return cls(score[order], *(column[order] for column in numbers))
        score, number = sort_with_weights(score, numbers[0])
        return cls(score, number) if outcome is None else cls(score, None, number)

    def part(self, low: int, high: int) -> Ascending:
        """Consecutive rows."""
        return self.take(slice(low, high))

    def take(self, places: slice | Codes | Flags) -> Ascending:
        """Some of the rows, in the same ascending order."""
        weight, outcome = (
            None if column is None else column[places] for column in (self.weight, self.outcome)
        )
        return Ascending(self.score[places], weight, outcome)

    def masses(self, bounds: Codes) -> NDArray[Any]:
        """Weight of the rows between neighbouring bounds; the outer ones enclose all rows."""
        return np.diff(bounds) if self.weight is None else _sums_between(self.weight, bounds)

    def outcomes(self, bounds: Codes) -> Array | None:
        """Sums of the outcomes between neighbouring bounds; None for two classes."""
        return None if self.outcome is None else _sums_between(self.outcome, bounds)


def _sums_between(values: Array, bounds: Codes) -> Array:
    out = np.zeros(len(bounds) - 1)
    occupied = np.flatnonzero(bounds[1:] > bounds[:-1])
    if len(occupied):
        out[occupied] = np.add.reduceat(values, bounds[occupied])
    return out


@dataclass(frozen=True, slots=True)
class ClassMembers:
    """The rows of one class by point.

    `block` is that of the first row of each point, -1 where there is none, and `weight` its weight, None where every
    row counts once. Most points have a single row, whose drawn weight is just looked up. The others' further rows are
    `blocks` and `weights`, from `starts` on those of the points `shared`.
    """

    block: NDArray[np.int64]
    weight: Array | None
    blocks: Codes
    weights: Array | None
    starts: NDArray[np.int64]
    shared: NDArray[np.int64]

    @classmethod
    def of(cls, block: Codes, weight: Array | None, point: NDArray[np.int64], points: int) -> ClassMembers:
        """From the block and weight of each row, and its point, ascending."""
        first = np.diff(point, prepend=-1) != 0
        firsts, weights = np.full(points, -1, dtype=np.int64), None
        firsts[point[first]] = block[first]
        if weight is not None:
            weights = np.zeros(points)
            weights[point[first]] = weight[first]
        further = point.compress(~first)
        starts = np.flatnonzero(np.diff(further, prepend=-1))
        more = None if weight is None else weight.compress(~first)
        return cls(firsts, weights, block.compress(~first), more, starts, further[starts])

    def draws(self, weights: Array) -> Array:
        """Drawn weight at each point `[replicate, point]`, from that of each block `[replicate, block]`.

        >>> rows = ClassMembers.of(np.array([0, 1, 1]), None, np.array([0, 2, 2]), 4)
        >>> rows.draws(np.array([[2.0, 1.0], [0.0, 3.0]]))
        array([[2., 0., 2., 0.],
               [0., 0., 6., 0.]])
        """
        none = np.zeros((len(weights), 1))
        out = np.concatenate([weights, none], axis=1).take(self.block, axis=1)
        if self.weight is not None:
            out *= self.weight
        if len(self.starts):
            each = weights.take(self.blocks, axis=1)
            if self.weights is not None:
                each *= self.weights
            out[:, self.shared] += np.add.reduceat(each, self.starts, axis=1)
        return out


def in_parts(weights: Array, size: int) -> list[Array]:
    """Some replicates at a time, where each takes room for so many numbers."""
    return batches(weights, max(1, _ROOM // max(1, size)))
