"""The counts of scores of several states added: into dense arrays where these are small enough, else by a grouped sum.

Both give the same. Arrays are as large as all there could be, and the fastest by far where much of that is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.threads import each
from plmetrics.engine.rows import block_numbers
from plmetrics.engine.saved.capture import as_lists
from plmetrics.states.saved import BLOCKS, CELL, LISTS, PART, PLACES, SUMS, Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.engine.saved.merging import Alike
    from plmetrics.engine.saved.units import MergedBlocks

_TO, _NEW = "@to", "@new"
MOST_BYTES = 1 << 31
"""The most memory for dense arrays."""

_SPARE = 8
_FEW = 1 << 22


@dataclass(frozen=True, slots=True)
class Wanted:
    """A part with the counts of a model, a slice set and a kind of bins, in all states.

    `slices` is how many there are in all states, `place` the number of the part that tells them apart.
    """

    part: Part
    slices: int
    place: int

    def cells(self, blocks: int) -> int:
        """How many numbers a dense array has."""
        return self.slices * self.blocks(blocks) * self.part.size[0] * self.part.size[1]

    def blocks(self, blocks: int) -> int:
        """In how many blocks it counts: fine bins are not counted by block."""
        return 1 if self.part.bins == "fine" else blocks


def added(wanted: Sequence[Wanted], alike: Sequence[Alike], blocks: MergedBlocks) -> Iterator[pl.DataFrame]:
    """The counts of each part in all states, as lists by slice, in the order they are asked for."""
    keys = blocks.keys()
    entries = sum(part.entries for group in alike for part in group.head.numbers("scores").values()) * max(
        len(group.states) for group in alike
    )
    cells = 0 if keys is None else sum(one.cells(len(keys)) for one in wanted)
    if keys is None or cells * 8 > MOST_BYTES or cells > max(_SPARE * entries, _FEW):
        yield from grouped(wanted, alike, blocks)
        return
    yield from dense(wanted, alike, keys, blocks)


def grouped(wanted: Sequence[Wanted], alike: Sequence[Alike], blocks: MergedBlocks) -> Iterator[pl.DataFrame]:
    """The counts by one grouped sum over all entries."""
    frames = []
    for group in alike:
        moves = []
        for to, one in enumerate(wanted):
            number = group.head.number(*one.part.name)
            if number is not None:
                codes = pl.lit(number, dtype=pl.UInt16).alias(PART), pl.lit(to, dtype=pl.UInt16).alias(_TO)
                moves.append(group.moved[one.place].with_columns(codes))
        if moves:
            rows = group.rows().select(PART, CELL, *LISTS).join(pl.concat(moves).lazy(), on=[PART, CELL])
            frames.append(rows.select(_TO, pl.col(_NEW).alias(CELL), *LISTS))
    long = pl.concat(frames).explode(*LISTS).with_columns(blocks.folded(BLOCKS))
    keys = [_TO, CELL, BLOCKS, PLACES]
    found = long.group_by(keys).agg(pl.col(SUMS).sum()).filter(pl.col(SUMS) != 0).sort(keys).collect()
    lists = found.group_by(_TO, CELL, maintain_order=True).agg(BLOCKS, PLACES, SUMS)
    for to in range(len(wanted)):
        yield lists.filter(pl.col(_TO) == to).drop(_TO)


def dense(
    wanted: Sequence[Wanted], alike: Sequence[Alike], keys: NDArray[np.uint64], blocks: MergedBlocks
) -> Iterator[pl.DataFrame]:
    """The counts by adding each state's entries where they belong in one array a part.

    Rows lie part after part, and those of scores together.
    """
    counts = [np.zeros(one.cells(len(keys))) for one in wanted]
    for group in alike:
        numbers = {group.head.number(*one.part.name): to for to, one in enumerate(wanted)}
        ways = [
            _Way(counts[to], number, one, _numbers(group.moved[one.place]), keys, blocks.modulus)
            for number, to in numbers.items()
            if number is not None and (one := wanted[to])
        ]
        known = list(group.head.numbers("scores")) or [0]
        for state in group.states:
            held = group.rows_of([state]).select(PART, CELL, *LISTS).collect()
            first, last = np.searchsorted(held[PART].to_numpy(), [known[0], known[-1] + 1]).tolist()
            entries = _Entries.of(held[first:last])
            each(entries.add, ways)
    for one, flat in zip(wanted, counts, strict=True):
        shape = (one.slices, one.blocks(len(keys)), *one.part.size)
        yield as_lists(flat.reshape(shape), keys if one.part.bins != "fine" else np.zeros(1, np.uint64), 0)


def _numbers(moved: pl.DataFrame) -> NDArray[np.int64]:
    """The new number of each old one."""
    return moved.sort(CELL)[_NEW].to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Way:
    """Where the counts of a part go: the array, the part's number in a state, and the new numbers of its slices."""

    flat: NDArray[np.float64]
    number: int
    wanted: Wanted
    slices: NDArray[np.int64]
    keys: NDArray[np.uint64]
    modulus: int | None


@dataclass(frozen=True, slots=True)
class _Entries:
    """The counts of a state, list after list: part and slice of each list, where it begins, and what the lists hold."""

    part: NDArray[np.uint16]
    cell: NDArray[np.uint32]
    starts: NDArray[np.int64]
    blocks: NDArray[np.uint64]
    places: NDArray[np.uint32]
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> _Entries:
        """The entries of the rows of a table."""
        lengths = rows[SUMS].list.len().to_numpy().astype(np.int64)
        lists = [rows[name].explode().to_numpy() for name in (BLOCKS, PLACES, SUMS)]
        starts = np.append(0, np.cumsum(lengths))
        return cls(rows[PART].to_numpy(), rows[CELL].to_numpy(), starts, *lists)

    def add(self, way: _Way) -> None:
        """Add the counts of one part where they belong."""
        first, last = np.searchsorted(self.part, [way.number, way.number + 1]).tolist()
        here = slice(self.starts[first], self.starts[last])
        places = way.wanted.part.size[0] * way.wanted.part.size[1]
        width = places * way.wanted.blocks(len(way.keys))
        place = np.repeat(way.slices[self.cell[first:last]] * width, np.diff(self.starts[first : last + 1]))
        place += self.places[here]
        if way.wanted.part.bins != "fine":
            block = self.blocks[here]
            block = block if way.modulus is None else block % np.uint64(way.modulus)
            place += block_numbers(block, way.keys).astype(np.int64) * places
        np.add.at(way.flat, place, self.sums[here])
