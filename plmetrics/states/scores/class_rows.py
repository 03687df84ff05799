"""The rows of one class: by the cells of a cube, as a pass brings them, and in ascending order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array, Codes

_FEW = 1000


@dataclass(frozen=True, slots=True)
class ByCell:
    """The scores of one class, those of a cell together, the cells' boundaries, and weights if rows carry them."""

    score: Array
    offsets: Codes
    weight: Array | None = None

    def of_cells(self, cells: Codes) -> tuple[Array, Array | None]:
        """New arrays of the scores of some cells, and of their weights."""
        places = self._places(cells)
        weight = None if self.weight is None else _take(self.weight, places)
        return _take(self.score, places), weight

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
    """Rows of one class, ascending by score; `weight` is None where each counts once."""

    score: Array
    weight: Array | None = None

    @classmethod
    def of(cls, score: Array, weight: Array | None) -> Ascending:
        """From rows in any order, which may be sorted in place.

        Among equal scores weights ascend, so that the order of the rows does not show in their sums.
        """
        if weight is None:
            score.sort()
            return cls(score)
        both = np.empty(len(score), dtype=np.complex128)
        both.real, both.imag = score, weight
        both.sort()
        return cls(both.real.copy(), both.imag.copy())

    def part(self, low: int, high: int) -> Ascending:
        """Consecutive rows."""
        return Ascending(self.score[low:high], None if self.weight is None else self.weight[low:high])

    def masses(self, bounds: Codes) -> NDArray[Any]:
        """What the rows weigh that lie between neighbouring bounds, of which the outer ones hold all rows."""
        if self.weight is None:
            return np.diff(bounds)
        out = np.zeros(len(bounds) - 1)
        occupied = np.flatnonzero(bounds[1:] > bounds[:-1])
        if len(occupied):
            out[occupied] = np.add.reduceat(self.weight, bounds[occupied])
        return out
