"""The rests of a slice set: for each of its slices, all rows that are not in it.

Sums of a rest are those of all other slices and of the rows outside the set, added: nothing is taken off a total, so
that what is 0 stays 0 and nothing is lost to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from plmetrics.states.sums import SlicedSums

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RestSums:
    """The sums of the rest of each slice. `held` are those of the rows of no slice, and then of each slice.

    `compared` says whether slices are compared with their rests; else only what is held is read.
    """

    held: SlicedSums
    compared: bool = True

    @property
    def slices(self) -> int:
        """How many slices there are, and rests."""
        return self.held.slices - 1

    def by_block(self, first: int, last: int) -> dict[str, Array]:
        """Dense `[slice, block]` sums of the rests of the slices from `first` up to `last`."""
        own = self.held.by_block(first + 1, last + 1)
        before, after = self._outside(first + 1, last + 1)
        return {name: _others(part, before[name] + after[name]) for name, part in own.items()}

    def _outside(self, first: int, last: int) -> tuple[dict[str, Array], dict[str, Array]]:
        """Sums by block of what lies before and after a range."""
        low, high = np.searchsorted(self.held.code, [first, last])
        return self._summed(slice(0, low)), self._summed(slice(high, None))

    def _summed(self, part: slice) -> dict[str, Array]:
        block = self.held.block[part]
        return {
            name: np.bincount(block, weights=column[part], minlength=self.held.blocks).astype(np.float64)
            for name, column in self.held.columns.items()
        }


def _others(part: Array, outside: Array) -> Array:
    """For each row of `[slice, block]` the sum of all other rows, and of `[block]` outside."""
    below, above = np.zeros_like(part), np.zeros_like(part)
    np.cumsum(part[:-1], axis=0, out=below[1:])
    above[:-1] = np.cumsum(part[:0:-1], axis=0)[::-1]
    return below + above + outside


@dataclass(frozen=True, slots=True)
class RestScores:
    """The scores of one rest, as ordered metrics read them: those of a slice set of one slice.

    `number` is how many rests there are: together they are resampled row by row only where all their rows are few.
    """

    own: Any
    number: int

    @property
    def rows(self) -> int | None:
        """Number of rows that are to be resampled for all rests."""
        rows: int | None = self.own.rows
        return None if rows is None else rows * self.number

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


def rest_codes(codes: Codes, number: int) -> Codes:
    """The code of each row in the rest of a slice, 0 or -1, from its code in the set; -1 is no slice."""
    return np.where(codes == number, np.int64(-1), np.int64(0))
