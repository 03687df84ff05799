"""States added one after another: each is read once, and the next one while one is added.

Counts of scores are added into a dense array where that is small enough, else entry by entry. Both give the same. An
array is as large as all there could be, and the fastest by far where much of that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.hashing import block_numbers
from plmetrics.core.threads import ahead, parallel_map
from plmetrics.features.stored.alignment import AlignedStates, MergedBlocks, StateReference
from plmetrics.features.stored.capture import blocks_in, write_blocks
from plmetrics.features.stored.cube_sums import CubeSums, cube_sums
from plmetrics.features.stored.grids import ENDS, joined_ends, write_ends
from plmetrics.features.stored.sparse_counts import (
    KEYS,
    PIECES,
    PieceRows,
    integer_total,
    nonzero_slots,
    piece_columns,
    piece_frame,
    summarise_part,
    total_of,
)
from plmetrics.states.scores.grid.grid_tally import UNBLOCKED
from plmetrics.states.state_format import Builder, Part

Slots = NDArray[np.int64]

_SPARE = 8
_FEW = 1 << 22
_NEAR = 1 << 18
"""So many slots, or about so many counts, are written at a time: they stay near the processor."""

_TOGETHER = 1 << 22
"""About so many counts become rows of a frame together: each frame takes as long as some thousands of them."""
_KINDS = (np.uint8, np.uint16, np.uint32)


def add_parts(
    builder: Builder,
    groups: Sequence[tuple[int, ...]],
    layouts: Sequence[AlignedStates],
    blocks: MergedBlocks,
    room: int,
) -> None:
    """Add the parts with the sums and the counts of all states.

    `builder` has the cells and slices of all states; those of each group of sets are its first parts. Half of `room` is
    for sums, half for counts; without that only those that some state has are added.
    """
    sums = _sums(groups, layouts, blocks, room // 2)
    slices = {part.sets[0]: number for number, part in enumerate(builder.parts) if part.kind == "slices"}
    scores = list(_scores(builder, slices, layouts, blocks, room // 2))
    ends: dict[tuple[int, str], pl.DataFrame] = {}
    for group in layouts:
        names = dict.fromkeys(name for sums_of_state in sums for name in sums_of_state.read_in(group))
        if scores and group.head.number("blocks") is not None:
            names |= dict.fromkeys([*PIECES, KEYS])
        if group.head.numbers("ends"):
            names |= dict.fromkeys(ENDS)
        tables = ahead(partial(StateReference.read, names=list(names)), group.states)
        for state, table in zip(group.states, tables, strict=True):
            parallel_map(lambda job: job(), list(_jobs(group, state, table, sums, scores)))
            _join_ends(ends, group, state, table, slices)
    for sums_of_state in sums:
        builder.add(Part("sums", sums_of_state.sets), sums_of_state.rows(layouts[0].head.constants))
    if scores:
        write_blocks(builder, blocks.keys)
    for part, rows in parallel_map(lambda counts: counts.write(), scores):
        builder.add(part, rows)
    write_ends(builder, dict(sorted(ends.items())))


def _sums(
    groups: Sequence[tuple[int, ...]], layouts: Sequence[AlignedStates], blocks: MergedBlocks, room: int
) -> list[CubeSums]:
    """Accumulators of sums: the cells of each group of sets are a part, in their order."""
    sums = []
    for number, sets in enumerate(groups):
        sums.append(cube_sums(sets, number, layouts, blocks, room))
        room -= sums[-1].bytes
    return sums


def _join_ends(
    ends: dict[tuple[int, str], pl.DataFrame],
    group: AlignedStates,
    state: StateReference,
    table: pl.DataFrame,
    slices: Mapping[int, int],
) -> None:
    """Join the ends of a state with those of the ones before."""
    for place, part in state.head.numbers("ends").items():
        key, numbers = (part.sets[0], part.model), group.numbers[slices[part.sets[0]]]
        there = ends.get(key, pl.DataFrame(schema=ENDS))
        ends[key] = joined_ends(there, state.rows(table, place).select(list(ENDS)), numbers)


def _scores(
    builder: Builder,
    slices: Mapping[int, int],
    layouts: Sequence[AlignedStates],
    blocks: MergedBlocks,
    room: int,
) -> Iterator[ScoreCounts]:
    """Accumulators of counts: of each ordering, slice set and kind of bins of any state.

    `slices` is the number of the part that tells the slices of a set apart.
    """
    parts: dict[tuple[str, tuple[int, ...], str, str], list[Part]] = {}
    for group in layouts:
        for state in group.states:
            for part in state.head.numbers("scores").values():
                parts.setdefault(part.name, []).append(part)
    for same in parts.values():
        part = next((part for part in same if part.rows), same[0])
        number = slices[part.sets[0]]
        keys = blocks.keys[:1] if part.bins in UNBLOCKED else blocks.keys
        there = builder.parts[number].rows
        form, size = form_of(same, there * len(keys) * part.size[0] * part.size[1], room)
        room -= size
        yield ScoreCounts(part, there, number, keys, blocks.modulus, form)


def _jobs(
    group: AlignedStates,
    state: StateReference,
    table: pl.DataFrame,
    sums: Sequence[CubeSums],
    scores: Sequence[ScoreCounts],
) -> Iterator[Callable[[], None]]:
    """Tasks on the table of a state; no two add to the same."""
    for sums_of_state in sums:
        yield partial(sums_of_state.add, group, state.rows(table, group.sums_of(sums_of_state.sets[0])))
    number = state.head.number("blocks")
    if not scores or number is None:
        return
    keys = blocks_in(state.rows(table, number))
    starts = np.cumsum([0, *(part.rows for part in state.head.parts)])
    places = {part.name: place for place, part in state.head.numbers("scores").items()}
    first, last = starts[min(places.values())], starts[max(places.values()) + 1]
    rows = PieceRows.of(table[first:last])
    for counts in scores:
        place = places.get(counts.part.name)
        if place is not None:
            part = rows.part(starts[place] - first, starts[place + 1] - first)
            yield partial(counts.add, group, part, keys)


@dataclass(slots=True)
class Dense:
    """A number for each slot there is, in as few bytes as hold it; `most` is about the largest."""

    flat: NDArray[np.generic]
    most: int = 0

    def add(self, slots: Slots, counts: NDArray[np.generic], *, distinct: bool) -> None:
        """Add counts to those in some slots, possibly repeated if they are not distinct."""
        if self.flat.dtype.kind == "u":
            self.most += int(counts.max() if distinct else counts.sum())
            larger = _count_type(self.most)
            if larger.itemsize > self.flat.itemsize:
                self.flat = self.flat.astype(larger)
        first, last = int(slots[0]), int(slots[-1])
        if distinct and last - first + 1 == len(slots) and (np.diff(slots) == 1).all():
            part = self.flat[first : last + 1]
            np.add(part, counts, out=part, casting="unsafe")
        else:
            np.add.at(self.flat, slots, counts.astype(self.flat.dtype))

    def nonzero(self, slices: int, width: int) -> Iterator[tuple[int, Slots, NDArray[np.generic]]]:
        """Slots of nonzero counts, ascending, and these: of some consecutive slices at a time.

        `width` is the number of slots of a slice.

        Yields:
            The first slice, slots from that on, and counts.
        """
        step = max(1, _NEAR // max(width, 1))
        for first in range(0, slices, step):
            yield first, *nonzero_slots(self.flat[first * width : (first + step) * width])


def _count_type(most: int) -> np.dtype[Any]:
    """Smallest type for a number; those of floats are whole up to 2^53."""
    return np.dtype(next((kind for kind in _KINDS if most <= np.iinfo(kind).max), np.float64))


@dataclass(slots=True)
class Sparse:
    """Slots of nonzero counts, with these: sparse rows, each of more than twice the size of the next.

    What was added since, ascending, waits to become one.
    """

    sums: list[Any] = field(default_factory=list)
    waiting: list[tuple[Slots, NDArray[np.generic]]] = field(default_factory=list)

    def add(self, slots: Slots, counts: NDArray[np.generic], *, distinct: bool) -> None:  # noqa: ARG002
        """Add counts to those in some slots, as `Dense` does."""
        if self.waiting and slots[0] <= self.waiting[-1][0][-1]:
            self._settle()
        self.waiting.append((slots.copy(), counts))

    def nonzero(self, slices: int, width: int) -> Iterator[tuple[int, Slots, NDArray[np.generic]]]:
        """Slots of nonzero counts, as those of `Dense`."""
        self._settle()
        total = sum(reversed(self.sums[:-1]), self.sums[-1])
        slots, counts = total.indices, total.data
        step = max(1, slices * _NEAR // max(len(slots), 1))
        for first in range(0, slices, step):
            low, high = np.searchsorted(slots, (first * width, (first + step) * width))
            present = counts[low:high] != 0
            yield first, slots[low:high][present] - first * width, counts[low:high][present]

    def _settle(self) -> None:
        """Put waiting counts in a row, and merge rows until each is short beside the one before."""
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
        """Add the counts of a state. `rows` are those of this part, `blocks` the blocks of its counts."""
        number = np.zeros(1, dtype=np.int64)
        if self.part.bins not in UNBLOCKED:
            folded = blocks if self.modulus is None else blocks % np.uint64(self.modulus)
            number = block_numbers(folded, self.keys).astype(np.int64)
        distinct = len(number) == len(self.keys) and bool((np.diff(number) == 1).all())
        places = self.part.size[0] * self.part.size[1]
        for slots, counts in rows.in_blocks(places, number, len(self.keys), group.numbers[self.number]):
            self.sums.add(slots, counts, distinct=distinct)

    def write(self) -> tuple[Part, pl.DataFrame]:
        """The part with the counts of all states, and its rows."""
        width = len(self.keys) * self.part.size[0] * self.part.size[1]
        frames, together, totals = [pl.DataFrame(schema=PIECES)], [], []
        size = 0
        for first, slots, counts in self.sums.nonzero(self.slices, width):
            together.append(piece_columns(slots, counts, width, first))
            totals.append(integer_total(counts))
            size += len(slots)
            if size > _TOGETHER:
                frames.append(piece_frame(together))
                together, size = [], 0
        rows = pl.concat([*frames, piece_frame(together)])
        return summarise_part(self.part, rows, total_of(totals)), rows


def form_of(parts: Sequence[Part], slots: int, room: int) -> tuple[Dense | Sparse, int]:
    """Storage for sums of counts of several states, and its size in bytes.

    `slots` is how many there may be, `room` bytes for dense arrays.
    """
    total, entries = total_of([part.total for part in parts]), sum(part.entries for part in parts)
    size = slots * (np.dtype(np.float64) if total is None else _count_type(total)).itemsize
    if size > room or slots > max(_SPARE * entries, _FEW):
        return Sparse(), 0
    return Dense(np.zeros(slots, dtype=np.float64 if total is None else _KINDS[0])), size
