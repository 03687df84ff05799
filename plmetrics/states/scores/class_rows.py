"""The rows of one class, or of one arm: by the cells of a cube, as a pass brings them, and in ascending order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.states.scores.sorting import sort_with_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array, Codes

_FEW = 1000


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
        """Where the rows of some cells are: the runs, or each where runs are many."""
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
        """From rows in any order, which may be sorted in place.

        Among equal scores weights and outcomes ascend, so that the order of the rows does not show in their sums.
        """
        numbers = [column for column in (weight, outcome) if column is not None]
        if not numbers:
            score.sort()
            return cls(score)
        if len(numbers) > 1:
            order = np.lexsort((*numbers[::-1], score))
            return cls(score[order], *(column[order] for column in numbers))
        score, number = sort_with_weights(score, numbers[0])
        return cls(score, number) if outcome is None else cls(score, None, number)

    def part(self, low: int, high: int) -> Ascending:
        """Consecutive rows."""
        return self.take(slice(low, high))

    def take(self, places: slice | Codes | NDArray[np.bool_]) -> Ascending:
        """Some of the rows, which ascend as these do."""
        weight, outcome = (
            None if column is None else column[places] for column in (self.weight, self.outcome)
        )
        return Ascending(self.score[places], weight, outcome)

    def masses(self, bounds: Codes) -> NDArray[Any]:
        """Weight of the rows that lie between neighbouring bounds, of which the outer ones hold all rows."""
        return np.diff(bounds) if self.weight is None else _sums_between(self.weight, bounds)

    def outcomes(self, bounds: Codes) -> Array | None:
        """The same of outcomes, None of two classes."""
        return None if self.outcome is None else _sums_between(self.outcome, bounds)


def _sums_between(values: Array, bounds: Codes) -> Array:
    out = np.zeros(len(bounds) - 1)
    occupied = np.flatnonzero(bounds[1:] > bounds[:-1])
    if len(occupied):
        out[occupied] = np.add.reduceat(values, bounds[occupied])
    return out
