"""Counts of few rows in many slices: those that are not 0, in place of an array of all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.states.scores.grid.grid_tally import GridTally

if TYPE_CHECKING:
    from plmetrics.states.scores.grid.placed_rows import Channel, Members, PlacedRows

Shape = tuple[int, int, int, int]


class SlotCounts:
    """Counts of a `shape` `[slice, block, bin, channel]`: the `slots` of those above 0, ascending, and their `values`.

    >>> counts = SlotCounts((2, 1, 2, 2), np.array([5, 1, 5]), np.array([1.0, 1.0, 2.0]))
    >>> counts.slots.tolist(), counts.values.tolist(), counts.dense(1, 2).tolist()
    ([1, 5], [1.0, 3.0], [[[[0.0, 3.0], [0.0, 0.0]]]])
    """

    def __init__(self, shape: Shape, slots: Codes, values: Array) -> None:
        """Add up the values of each slot."""
        self.shape = shape
        self.width = math.prod(shape[1:])
        every, place = np.unique(slots, return_inverse=True)
        totals = np.bincount(place, values, len(every)).astype(np.float64, copy=False)
        self.slots, self.values = every[totals > 0], totals[totals > 0]

    def dense(self, first: int, last: int) -> Array:
        """All counts of some slices."""
        out = np.zeros((last - first) * self.width)
        low, high = np.searchsorted(self.slots, [first * self.width, last * self.width])
        out[self.slots[low:high] - first * self.width] = self.values[low:high]
        return out.reshape(-1, *self.shape[1:])

    def rolled_up(self, code: Codes, slices: int) -> SlotCounts:
        """The counts of slices from those of cells; `code` is the slice of each cell, -1 for none."""
        cell, within = np.divmod(self.slots, self.width)
        member = code[cell]
        inside = member >= 0
        slots = member[inside] * self.width + within[inside]
        _, blocks, bins, channels = self.shape
        return SlotCounts((slices, blocks, bins, channels), slots, self.values[inside])


class SlotTally(GridTally):
    """Counts of few rows on fine bins, or on coarse ones by a table `[slice, fine bin]`; they are in `slot_counts`."""

    def __init__(self, first: int, shape: Shape, coarse: NDArray[np.uint16] | None = None) -> None:
        super().__init__(first, np.broadcast_to(np.zeros(1, dtype=np.bool_), shape))
        self._shape = shape
        self._coarse = coarse
        self._slots: list[Codes] = [np.zeros(0, dtype=np.int64)]
        self._values: list[Array] = [np.zeros(0)]

    def add(self, rows: PlacedRows, members: Members) -> None:
        """Note where some rows count."""
        self._add_slices(rows, members)

    def finish(self) -> None:
        """Add up the rows."""
        self.slot_counts = SlotCounts(self._shape, np.concatenate(self._slots), np.concatenate(self._values))
        self._slots, self._values = [], []

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:
        if self._coarse is None:
            return rows.place
        place: NDArray[Any] = 2 * self._coarse[number, rows.place >> 1] + (rows.place & 1)
        return place

    def _add_at(self, place: int, size: int, channel: Channel) -> None:  # noqa: ARG002
        self._slots.append(channel.key.astype(np.int64) + (place + channel.first))
        self._values.append(np.ones(len(channel.key)) if channel.values is None else channel.values)
