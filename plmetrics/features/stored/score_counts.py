"""The counts of scores of several states added: into a dense array where that is small enough, else entry by entry.

Both give the same. An array is as large as all there could be, and the fastest by far where much of that is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from plmetrics.engine.order.in_memory import block_numbers
from plmetrics.features.stored.sparse_counts import PIECES, counted, held_in, pieces, total_of, whole_total

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.features.stored.alignment import Alike
    from plmetrics.features.stored.sparse_counts import PieceRows
    from plmetrics.states.stored import Part

    Slots = NDArray[np.int64]

_SPARE = 8
_FEW = 1 << 22
_WAITING = 1 << 22
_NEAR = 1 << 18
"""So many slots, or about so many counts, are written at a time: they stay near the processor."""

_KINDS = (np.uint8, np.uint16, np.uint32)
_BITS = 63


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
    total = total_of([part.total for part in parts])
    return Wanted(parts[0], slices, place, sum(part.entries for part in parts), total)


class Held(Protocol):
    """Counts that grow."""

    def add(self, slots: Slots, counts: NDArray[np.generic], *, distinct: bool) -> None:
        """Add counts to those in some slots, of which one may be there several times if they are not distinct."""

    def some(self, slices: int, width: int) -> Iterator[tuple[int, Slots, NDArray[np.generic]]]:
        """The slots whose counts are not 0, ascending, and these: of some slices at a time, which lie near.

        Args:
            slices: how many there are.
            width: the number of slots of a slice.

        Yields:
            The first slice, slots from that on, and counts.
        """


@dataclass(slots=True)
class Dense:
    """A number for each slot there is, in as few bytes as hold it; `most` is about the largest."""

    flat: NDArray[np.generic]
    most: int = 0

    def add(self, slots: Slots, counts: NDArray[np.generic], *, distinct: bool) -> None:
        """Add counts to those in some slots."""
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
        """The slots whose counts are not 0."""
        step = max(1, _NEAR // max(width, 1))
        for first in range(0, slices, step):
            yield first, *held_in(self.flat[first * width : (first + step) * width])


def _held_by(most: int) -> np.dtype[Any]:
    """The smallest kind of numbers that holds one; those of floats are whole up to 2^53."""
    found = next((kind for kind in _KINDS if most <= np.iinfo(kind).max), np.float64)
    return np.dtype(found)


@dataclass(slots=True)
class Sparse:
    """The slots that have counts, each in one number with its count: those put in order, and what came since.

    A count has so many `bits`; all counts together have no more.
    """

    bits: int
    waiting: list[Slots] = field(default_factory=list)
    held: int = 0
    size: int = 0

    def add(self, slots: Slots, counts: NDArray[np.generic], *, distinct: bool) -> None:  # noqa: ARG002
        """Add counts to those in some slots."""
        packed = slots << self.bits
        packed |= counts.astype(np.int64)
        self.waiting.append(packed)
        self.size += len(slots)
        if self.size > 2 * self.held + _WAITING:
            self.waiting = [self._joined(self._in_order())]
            self.held = self.size = len(self.waiting[0])

    def some(self, slices: int, width: int) -> Iterator[tuple[int, Slots, NDArray[np.generic]]]:
        """The slots whose counts are not 0."""
        every = self._in_order()
        step = max(1, slices * _NEAR // max(len(every), 1))
        firsts = np.arange(0, slices, step)
        bounds = [*np.searchsorted(every, (firsts * width) << self.bits).tolist(), len(every)]
        for first, (low, high) in zip(firsts.tolist(), pairwise(bounds), strict=True):
            packed = self._joined(every[low:high])
            counts = packed & self._counts
            if not counts.all():
                packed, counts = packed[counts != 0], counts[counts != 0]
            packed >>= self.bits
            packed -= first * width
            yield first, packed, counts

    @property
    def _counts(self) -> np.int64:
        return np.int64((1 << self.bits) - 1)

    def _in_order(self) -> Slots:
        """All there are: what is in order already is only merged."""
        every = np.concatenate([np.zeros(0, dtype=np.int64), *self.waiting])
        self.waiting = []
        every.sort(kind="stable")
        return every

    def _joined(self, packed: Slots) -> Slots:
        """Each slot once."""
        slots = packed >> self.bits
        new = np.ones(len(packed), dtype=np.bool_)
        np.not_equal(slots[1:], slots[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        slots = slots[starts]
        slots <<= self.bits
        if len(starts):
            slots |= np.add.reduceat(packed & self._counts, starts)
        return slots


@dataclass(slots=True)
class Fractions:
    """The slots that have counts that are no whole numbers: those put in order, and what came since."""

    waiting: list[tuple[Slots, NDArray[np.float64]]] = field(default_factory=list)
    held: int = 0
    size: int = 0

    def add(self, slots: Slots, counts: NDArray[np.generic], *, distinct: bool) -> None:  # noqa: ARG002
        """Add counts to those in some slots."""
        self.waiting.append((slots.copy(), counts.astype(np.float64)))
        self.size += len(slots)
        if self.size > 2 * self.held + _WAITING:
            self._settle()

    def some(self, slices: int, width: int) -> Iterator[tuple[int, Slots, NDArray[np.generic]]]:  # noqa: ARG002
        """The slots whose counts are not 0."""
        if self.waiting:
            self._settle()
            slots, counts = self.waiting[0]
            yield 0, slots[counts != 0], counts[counts != 0]

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

    def add(self, group: Alike, rows: PieceRows, blocks: NDArray[np.uint64]) -> None:
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
            for slots, counts in rows.entries(width, moved):
                self.held.add(slots, counts, distinct=True)
            return
        for slots, counts in rows.entries(width, moved):
            cell, within = np.divmod(slots, width)
            block, place = np.divmod(within, places)
            self.held.add(cell * to + number[block] * places + place, counts, distinct=False)

    def _number(self, blocks: NDArray[np.uint64]) -> Slots:
        """The number by which each block of a state goes in all."""
        if self.wanted.part.bins == "fine":
            return np.zeros(1, dtype=np.int64)
        folded = blocks if self.modulus is None else blocks % np.uint64(self.modulus)
        return block_numbers(folded, self.keys).astype(np.int64)

    def written(self) -> tuple[Part, pl.DataFrame]:
        """The part with the counts of all states, and its rows."""
        width = self.wanted.blocks(self.keys) * self.wanted.places
        frames, totals = [pl.DataFrame(schema=PIECES)], []
        for first, slots, counts in self.held.some(self.wanted.slices, width):
            frames.append(pieces(slots, counts, width, first))
            totals.append(whole_total(counts))
        rows = pl.concat(frames)
        return counted(self.wanted.part, rows, total_of(totals)), rows


def countings(
    parts: Sequence[Wanted], keys: NDArray[np.uint64], modulus: int | None, room: int
) -> Iterator[Counting]:
    """Where the counts of each part are added; there is room for so many bytes in dense arrays."""
    for one in parts:
        cells = one.slices * one.blocks(keys) * one.places
        size = np.dtype(np.float64 if one.total is None else _held_by(one.total)).itemsize
        if cells * size <= room and cells <= max(_SPARE * one.entries, _FEW):
            room -= cells * size
            flat = np.zeros(cells, dtype=np.float64 if one.total is None else _KINDS[0])
            yield Counting(one, keys, modulus, Dense(flat))
        else:
            yield Counting(one, keys, modulus, _sparse(cells, one.total))


def _sparse(cells: int, total: int | None) -> Sparse | Fractions:
    """Where counts of some of many slots are added."""
    if total is None or cells.bit_length() + total.bit_length() > _BITS:
        return Fractions()
    return Sparse(total.bit_length())
