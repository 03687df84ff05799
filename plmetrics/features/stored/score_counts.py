"""The counts of scores of several states added: into a dense array where that is small enough, else entry by entry.

Both give the same. An array is as large as all there could be, and the fastest by far where much of that is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.hashing import block_numbers
from plmetrics.features.stored.sparse_counts import (
    PIECES,
    held_in,
    pieces,
    summarise_part,
    total_of,
    whole_total,
)
from plmetrics.states.scores.grid import UNBLOCKED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.features.stored.alignment import AlignedStates
    from plmetrics.features.stored.sparse_counts import PieceRows
    from plmetrics.states.state_format import Part

    Slots = NDArray[np.int64]

_SPARE = 8
_FEW = 1 << 22
_NEAR = 1 << 18
"""So many slots, or about so many counts, are written at a time: they stay near the processor."""

_KINDS = (np.uint8, np.uint16, np.uint32)


@dataclass(slots=True)
class Dense:
    """A number for each slot there is, in as few bytes as hold it; `most` is about the largest."""

    flat: NDArray[np.generic]
    most: int = 0

    def add(self, slots: Slots, counts: NDArray[np.generic], *, distinct: bool) -> None:
        """Add counts to those in some slots, of which one may be there several times if they are not distinct."""
        if self.flat.dtype.kind == "u":
            self.most += int(counts.max() if distinct else counts.sum())
            larger = _held_by(self.most)
            if larger.itemsize > self.flat.itemsize:
                self.flat = self.flat.astype(larger)
        first, last = int(slots[0]), int(slots[-1])
        if distinct and last - first + 1 == len(slots) and (np.diff(slots) == 1).all():
            part = self.flat[first : last + 1]
            np.add(part, counts, out=part, casting="unsafe")
        else:
            np.add.at(self.flat, slots, counts.astype(self.flat.dtype))

    def some(self, slices: int, width: int) -> Iterator[tuple[int, Slots, NDArray[np.generic]]]:
        """The slots whose counts are not 0, ascending, and these: of some slices at a time, which lie near.

        `width` is the number of slots of a slice.

        Yields:
            The first slice, slots from that on, and counts.
        """
        step = max(1, _NEAR // max(width, 1))
        for first in range(0, slices, step):
            yield first, *held_in(self.flat[first * width : (first + step) * width])


def _held_by(most: int) -> np.dtype[Any]:
    """The smallest kind of numbers that holds one; those of floats are whole up to 2^53."""
    dtype = next((kind for kind in _KINDS if most <= np.iinfo(kind).max), np.float64)
    return np.dtype(dtype)


@dataclass(slots=True)
class Sparse:
    """The slots that have counts, with these: sparse rows each of which holds more than twice as many as the next.

    What was added since, ascending, waits to become one.
    """

    sums: list[Any] = field(default_factory=list)
    waiting: list[tuple[Slots, NDArray[np.generic]]] = field(default_factory=list)

    def add(self, slots: Slots, counts: NDArray[np.generic], *, distinct: bool) -> None:  # noqa: ARG002
        """Add counts to those in some slots, as `Dense` does."""
        if self.waiting and slots[0] <= self.waiting[-1][0][-1]:
            self._settle()
        self.waiting.append((slots.copy(), counts))

    def some(self, slices: int, width: int) -> Iterator[tuple[int, Slots, NDArray[np.generic]]]:
        """The slots whose counts are not 0, as those of `Dense`."""
        self._settle()
        total = sum(reversed(self.sums[:-1]), self.sums[-1])
        slots, counts = total.indices, total.data
        step = max(1, slices * _NEAR // max(len(slots), 1))
        for first in range(0, slices, step):
            low, high = np.searchsorted(slots, (first * width, (first + step) * width))
            present = counts[low:high] != 0
            yield first, slots[low:high][present] - first * width, counts[low:high][present]

    def _settle(self) -> None:
        """Put what waits in a row, and add rows until each is short beside the one before."""
        from scipy.sparse import csr_array

        slots = np.concatenate([np.zeros(0, dtype=np.int64), *(slots for slots, _ in self.waiting)])
        counts = np.concatenate([np.zeros(0), *(counts for _, counts in self.waiting)])
        self.waiting = []
        row = csr_array((counts, slots, np.array([0, len(slots)])), shape=(1, 1 << 62))
        row.sum_duplicates()
        while self.sums and self.sums[-1].nnz <= 2 * row.nnz:
            row = self.sums.pop() + row
        self.sums.append(row)


@dataclass(slots=True)
class ScoreCounts:
    """The counts of a model, a slice set and a kind of bins, as states are added one after another.

    `slices` is how many there are in all states, `number` that of the part that tells them apart. `keys` are the
    blocks, folded by `modulus`; fine bins are counted in one.
    """

    part: Part
    slices: int
    number: int
    keys: NDArray[np.uint64]
    modulus: int | None
    sums: Dense | Sparse

    def add(self, group: AlignedStates, rows: PieceRows, blocks: NDArray[np.uint64]) -> None:
        """Add the counts of a state. `rows` are those of this part, `blocks` those that it counts in."""
        number = np.zeros(1, dtype=np.int64)
        if self.part.bins not in UNBLOCKED:
            folded = blocks if self.modulus is None else blocks % np.uint64(self.modulus)
            number = block_numbers(folded, self.keys).astype(np.int64)
        distinct = len(number) == len(self.keys) and bool((np.diff(number) == 1).all())
        places = self.part.size[0] * self.part.size[1]
        for slots, counts in rows.in_blocks(places, number, len(self.keys), group.numbers[self.number]):
            self.sums.add(slots, counts, distinct=distinct)

    def written(self) -> tuple[Part, pl.DataFrame]:
        """The part with the counts of all states, and its rows."""
        width = len(self.keys) * self.part.size[0] * self.part.size[1]
        frames, totals = [pl.DataFrame(schema=PIECES)], []
        for first, slots, counts in self.sums.some(self.slices, width):
            frames.append(pieces(slots, counts, width, first))
            totals.append(whole_total(counts))
        rows = pl.concat(frames)
        return summarise_part(self.part, rows, total_of(totals)), rows


def form_of(parts: Sequence[Part], slots: int, room: int) -> tuple[Dense | Sparse, int]:
    """Room for counts of several states that are added, and how many bytes of it they take.

    `slots` is how many there may be, `room` bytes for dense arrays.
    """
    total, entries = total_of([part.total for part in parts]), sum(part.entries for part in parts)
    size = slots * (np.dtype(np.float64) if total is None else _held_by(total)).itemsize
    if size > room or slots > max(_SPARE * entries, _FEW):
        return Sparse(), 0
    return Dense(np.zeros(slots, dtype=np.float64 if total is None else _KINDS[0])), size
