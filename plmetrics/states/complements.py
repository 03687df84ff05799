"""Complements of a slice set: for each of its slices, all other rows.

Sums of a complement are those of all other slices and of the rows outside the set, added: nothing is taken off a
total, so that what is 0 stays 0 and nothing is lost to rounding. Where slices have centres of their own, moments of all
complements are about one, and those of a complement that lies far from it about its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plmetrics.core.ops import Array, Codes
from plmetrics.states.moments import about_common_centre, distant
from plmetrics.states.sums import SlicedSums, sum_by_place


@dataclass(frozen=True, slots=True)
class ComplementSums:
    """The sums of the rest of each slice. `sums` are those of the rows of no slice, and then of each slice.

    `compared` says whether slices are compared with their complements; else only what is held is read.
    """

    sums: SlicedSums
    compared: bool = True

    @property
    def slices(self) -> int:
        """Number of slices, and of complements."""
        return self.sums.slices - 1

    def by_block(self, first: int, last: int) -> dict[str, Array]:
        """Dense `[slice, block]` sums of the complements of the slices from `first` up to `last`."""
        if not self.sums.centres.differ:
            return _sums_of_complements(self.sums, first, last)
        return self._recentre(first, last)[0]

    def replicate_columns(self, first: int, last: int) -> dict[str, Array]:
        """Replicates `[replicate, complement]` of columns without sums by block."""
        return {
            name: _complement_sums(column[:, 1:].T, column[:, 0]).T[:, first:last]
            for name, column in self.sums.replicates.items()
        }

    def centred_at(self, first: int, last: int) -> dict[str, Array]:
        """`[slice]` centres of these complements, by name."""
        if not self.sums.centres.differ:
            return self.sums.centred_at(first + 1, last + 1)
        return self._recentre(first, last)[1]

    def _recentre(self, first: int, last: int) -> tuple[dict[str, Array], dict[str, Array]]:
        """Sums by block, with moments moved to common centres where those of slices differ."""
        slice_sums = self.sums
        origins = slice_sums.centres.take(slice_sums.code)
        columns, centres = about_common_centre(slice_sums.columns, origins, np.zeros_like(slice_sums.code), 1)
        sums = _sums_of_complements(replace(slice_sums, columns=columns, centres=centres), first, last)
        at = {name: np.full(last - first, float(np.ravel(center)[0])) for name, center in centres.at.items()}
        totals = {name: column.sum(axis=1) for name, column in sums.items()}
        distances = distant(totals, centres.moments)
        for place in np.flatnonzero(np.any(list(distances.values()), axis=0)):
            others = slice_sums.code != first + 1 + place
            apart = {name: column[others] for name, column in slice_sums.columns.items()}
            alone = np.zeros(int(others.sum()), dtype=np.int64)
            apart, centres = about_common_centre(apart, origins.take(others), alone, 1)
            for name, center in centres.at.items():
                at[name][place] = float(np.ravel(center)[0])
            for name in sums:
                sums[name][place] = sum_by_place(slice_sums.block[others], apart[name], slice_sums.blocks)
        return sums, at


def _sums_of_complements(sums: SlicedSums, first: int, last: int) -> dict[str, Array]:
    """Sums of complements by block, of additive columns."""
    by_block = sums.by_block(first + 1, last + 1)
    low, high = np.searchsorted(sums.code, [first + 1, last + 1])
    out = {}
    for name, part in by_block.items():
        column = sums.columns[name]
        before, after = (
            sum_by_place(sums.block[outside], column[outside], sums.blocks)
            for outside in (slice(0, low), slice(high, None))
        )
        out[name] = _complement_sums(part, before + after)
    return out


def _complement_sums(part: Array, outside: Array) -> Array:
    """For each row of `[slice, block]` the sum of all other rows, and of `[block]` outside."""
    below, above = np.zeros_like(part), np.zeros_like(part)
    np.cumsum(part[:-1], axis=0, out=below[1:])
    above[:-1] = np.cumsum(part[:0:-1], axis=0)[::-1]
    return below + above + outside


@dataclass(frozen=True, slots=True)
class ComplementScores:
    """The scores of one complement, as ordered metrics read them: those of a slice set of one slice.

    `number` is that of all complements: they are resampled row by row only where all their rows together are few.
    """

    scores: Any
    number: int

    @property
    def rows(self) -> int | None:
        """Number of rows to resample for all complements."""
        rows: int | None = self.scores.rows
        return None if rows is None else rows * self.number

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scores, name)


def complement_codes(codes: Codes, number: int) -> Codes:
    """The code of each row in the rest of a slice, 0 or -1, from its code in the set; -1 is no slice."""
    return np.where(codes == number, np.int64(-1), np.int64(0))
