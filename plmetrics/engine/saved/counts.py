"""The counts of scores of several states added: into a dense array where that is small enough, else entry by entry.

Both give the same. An array is as large as all there could be, and the fastest by far where much of that is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from plmetrics.engine.rows import block_numbers
from plmetrics.states.sparse import entries, held_in, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from plmetrics.engine.saved.merging import Alike
    from plmetrics.states.saved import Part

    Slots = NDArray[np.int64]

MOST_BYTES = 1 << 31
"""The most memory for dense arrays."""

_SPARE = 8
_FEW = 1 << 22
_WAITING = 1 << 22
_WHOLE = 1 << 32


@dataclass(frozen=True, slots=True)
class Wanted:
    """A part with the counts of a model, a slice set and a kind of bins, in all states.

    `slices` is how many there are in all states, `place` the number of the part that tells them apart. `entries` is
    how many counts the states hold together, `total` what these come to where they are whole numbers.
    """

    part: Part
    slices: int
    place: int
    entries: int
    total: int | None

    def blocks(self, keys: NDArray[np.uint64]) -> int:
        """In how many blocks it counts: fine bins are not counted by block."""
        return 1 if self.part.bins == "fine" else len(keys)

    @property
    def places(self) -> int:
        """The number of counts in a slice and block."""
        return self.part.size[0] * self.part.size[1]


def wanted(parts: Sequence[Part], slices: int, place: int) -> Wanted:
    """What some states hold of one kind, from their parts."""
    totals = [part.total for part in parts if part.total is not None]
    total = sum(totals) if len(totals) == len(parts) else None
    return Wanted(parts[0], slices, place, sum(part.entries for part in parts), total)


class Held(Protocol):
    """Counts that grow."""

    def add(self, slots: Slots, counts: NDArray[np.generic], *, ascending: bool) -> None:
        """Add counts to those in some slots, of which one may be there several times if they are not ascending."""

    def entries(self) -> tuple[Slots, NDArray[np.generic]]:
        """The slots whose counts are not 0, ascending, and these."""


@dataclass(slots=True)
class Dense:
    """A number for each slot there is."""

    flat: NDArray[np.generic]

    def add(self, slots: Slots, counts: NDArray[np.generic], *, ascending: bool) -> None:
        """Add counts to those in some slots."""
        first, last = int(slots[0]), int(slots[-1])
        if ascending and last - first + 1 == len(slots):
            part = self.flat[first : last + 1]
            np.add(part, counts, out=part, casting="unsafe")
        else:
            np.add.at(self.flat, slots, counts.astype(self.flat.dtype))

    def entries(self) -> tuple[Slots, NDArray[np.generic]]:
        """The slots whose counts are not 0."""
        return held_in(self.flat)


@dataclass(slots=True)
class Sparse:
    """The slots that have counts: those put in order, and what came since."""

    waiting: list[tuple[Slots, NDArray[np.float64]]] = field(default_factory=list)
    held: int = 0
    size: int = 0

    def add(self, slots: Slots, counts: NDArray[np.generic], *, ascending: bool) -> None:  # noqa: ARG002
        """Add counts to those in some slots."""
        self.waiting.append((slots.copy(), counts.astype(np.float64)))
        self.size += len(slots)
        if self.size > 2 * self.held + _WAITING:
            self._settle()

    def entries(self) -> tuple[Slots, NDArray[np.generic]]:
        """The slots whose counts are not 0."""
        if not self.waiting:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        self._settle()
        slots, counts = self.waiting[0]
        return slots[counts != 0], counts[counts != 0]

    def _settle(self) -> None:
        """Put all in order, each slot once."""
        slots = np.concatenate([slots for slots, _ in self.waiting])
        counts = np.concatenate([counts for _, counts in self.waiting])
        order = np.argsort(slots, kind="stable")
        slots = slots[order]
        starts = np.flatnonzero(np.diff(slots, prepend=-1))
        self.waiting = [(slots[starts], np.add.reduceat(counts[order], starts))]
        self.held = self.size = len(starts)


@dataclass(frozen=True, slots=True)
class Counting:
    """The counts of one part, as states are added one after another."""

    wanted: Wanted
    keys: NDArray[np.uint64]
    modulus: int | None
    held: Held

    def add(self, group: Alike, rows: pl.DataFrame, blocks: NDArray[np.uint64]) -> None:
        """Add the counts of a state.

        Args:
            group: those whose slices have the same numbers.
            rows: of the state, those of this part.
            blocks: the blocks that it counts in.
        """
        moved = group.numbers[self.wanted.place]
        number = self._number(blocks)
        places, same = self.wanted.places, len(number) == self.wanted.blocks(self.keys)
        width, to = len(number) * places, self.wanted.blocks(self.keys) * places
        if same and (np.diff(number) == 1).all():
            ascending = bool((np.diff(moved) > 0).all())
            for slots, counts in entries(rows, width, moved):
                self.held.add(slots, counts, ascending=ascending)
            return
        for slots, counts in entries(rows, width, moved):
            cell, within = np.divmod(slots, width)
            block, place = np.divmod(within, places)
            self.held.add(cell * to + number[block] * places + place, counts, ascending=False)

    def _number(self, blocks: NDArray[np.uint64]) -> Slots:
        """The number by which each block of a state goes in all."""
        if self.wanted.part.bins == "fine":
            return np.zeros(1, dtype=np.int64)
        folded = blocks if self.modulus is None else blocks % np.uint64(self.modulus)
        return block_numbers(folded, self.keys).astype(np.int64)

    def rows(self) -> pl.DataFrame:
        """The counts of all states."""
        slots, counts = self.held.entries()
        return pieces(slots, counts, self.wanted.blocks(self.keys) * self.wanted.places)


def countings(parts: Sequence[Wanted], keys: NDArray[np.uint64], modulus: int | None) -> Iterator[Counting]:
    """Where the counts of each part are added."""
    room = MOST_BYTES
    for one in parts:
        cells = one.slices * one.blocks(keys) * one.places
        kind = np.dtype(np.float64 if one.total is None or one.total >= _WHOLE else np.uint32)
        held: Held = Sparse()
        if cells * kind.itemsize <= room and cells <= max(_SPARE * one.entries, _FEW):
            room -= cells * kind.itemsize
            held = Dense(np.zeros(cells, dtype=kind))
        yield Counting(one, keys, modulus, held)
