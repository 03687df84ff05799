"""Sparse counts in storage: the gaps between nonzero ones, in the smallest type.

The counts of a slice lie in *slots*, block after block and place after place. A row holds a *piece* of those of one
slice: its first and last slot with a count, how many there are, their gaps (the first is 0) and the counts. Whole
numbers are unsigned integers of 1, 2 or 4 bytes, all of a piece of one size; others are 64-bit floats. The size follows
from the number of bytes. A piece without gaps holds a count for every slot from its first to its last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.states.state_format import CELL, Part

Slots = NDArray[np.int64]
Counts = NDArray[np.float64]
PieceColumns = dict[str, Slots | list[bytes]]

FIRST, LAST, ENTRIES, GAPS, COUNTS = "@first", "@last", "@entries", "@gaps", "@counts"
KEYS = "@keys"
"""The column that holds the blocks that scores are counted in."""

PIECES = pl.Schema(
    {
        CELL: pl.UInt32(),
        FIRST: pl.UInt64(),
        LAST: pl.UInt64(),
        ENTRIES: pl.UInt32(),
        GAPS: pl.Binary(),
        COUNTS: pl.Binary(),
    }
)
PIECE = 1 << 16
"""The most counts in a piece, and about as many as are decoded at a time."""

_LONG, _CLOSE = 1 << 12, 4
"""Pieces of so many slots of which so many times fewer have a count are written in full: they are added faster."""

_NONE = np.zeros(0, dtype=np.int64)
_SIZES = (1, 2, 4)
_MOST_WHOLE = 1 << 8 * _SIZES[-1]
_FLOAT = 8


def pieces(slots: Slots, counts: NDArray[np.generic], width: int, first: int = 0) -> pl.DataFrame:
    """Rows of some counts.

    `slots` ascend, and `first` is the number of the slice that begins with slot 0; a slice has `width`.

    >>> held = pieces(np.array([3, 5, 14]), np.array([1, 2, 300]), width=10)
    >>> held.select("@cell", "@first", "@last", "@entries").rows()
    [(0, 3, 5, 2), (1, 4, 4, 1)]
    """
    return piece_frame([piece_columns(slots, counts, width, first)])


def piece_frame(parts: Sequence[PieceColumns]) -> pl.DataFrame:
    """The rows of some columns of pieces, end to end."""
    columns: dict[str, Any] = {}
    for name, kind in PIECES.items():
        values = [part[name] for part in parts if part]
        columns[name] = (
            [*chain.from_iterable(values)] if kind == pl.Binary else np.concatenate([_NONE, *values])
        )
    return pl.DataFrame(columns, schema=PIECES)


def piece_columns(slots: Slots, counts: NDArray[np.generic], width: int, first: int = 0) -> PieceColumns:
    """Columns of the rows of some counts, none without counts; see `pieces`."""
    if not len(slots):
        return {}
    edges = np.arange(int(slots[-1]) // width + 2)
    bounds = np.searchsorted(slots, edges * width)
    parts = -(-np.diff(bounds) // PIECE)
    cell = np.repeat(edges[:-1], parts)
    within = np.arange(len(cell)) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = bounds[cell] + within * PIECE
    sizes = np.minimum(starts + PIECE, bounds[cell + 1]) - starts
    ends = slots[starts], slots[starts + sizes - 1]
    spans = ends[1] - ends[0] + 1
    full = (spans >= _LONG) & (spans <= _CLOSE * sizes)
    gaps = np.empty_like(slots)
    np.subtract(slots[1:], slots[:-1], out=gaps[1:])
    gaps[starts] = 0
    narrow = _narrow(counts)
    held_counts = _slice_bytes(narrow, starts, sizes)
    for piece in np.flatnonzero(full & (spans > sizes)).tolist():
        inside = slice(starts[piece], starts[piece] + sizes[piece])
        every = np.zeros(spans[piece], dtype=narrow.dtype)
        every[slots[inside] - ends[0][piece]] = narrow[inside]
        held_counts[piece] = every.tobytes()
    return {
        CELL: cell + first,
        FIRST: ends[0] - cell * width,
        LAST: ends[1] - cell * width,
        ENTRIES: np.where(full, spans, sizes),
        GAPS: _slice_bytes(_narrow(gaps), starts, np.where(full, 0, sizes)),
        COUNTS: held_counts,
    }


def pieces_of(counts: NDArray[np.generic], first: int = 0) -> tuple[pl.DataFrame, int | None]:
    """Table of counts of slices `[slice, ...]` numbered from `first`, and their total."""
    flat = counts.reshape(-1)
    return slot_pieces(*nonzero_slots(flat), max(flat.size // max(len(counts), 1), 1), first)


def slot_pieces(
    slots: Slots, counts: NDArray[np.generic], width: int, first: int = 0
) -> tuple[pl.DataFrame, int | None]:
    """Table of some counts, see `pieces`, and their total."""
    return pieces(slots, counts, width, first), integer_total(counts)


def nonzero_slots(flat: NDArray[np.generic]) -> tuple[Slots, NDArray[np.generic]]:
    """Slots of nonzero counts, and these."""
    slots = np.flatnonzero(flat != 0)
    return slots, flat[slots]


def integer_total(counts: NDArray[np.generic]) -> int | None:
    """Total of counts; None where not all are whole numbers of at most 4 bytes."""
    if not len(counts):
        return 0
    if float(counts.min()) < 0 or float(counts.max()) >= _MOST_WHOLE or not _are_integers(counts):
        return None
    return int(counts.sum(dtype=np.int64 if counts.dtype.kind in "iu" else None))


def total_of(totals: Sequence[int | None]) -> int | None:
    """Total of several counts; None where it is not known of one."""
    totals_present = [total for total in totals if total is not None]
    return sum(totals_present) if len(totals_present) == len(totals) else None


def summarise_part(part: Part, rows: pl.DataFrame, total: int | None) -> Part:
    """Part of rows, with the number of their counts, and its total."""
    return replace(part, entries=int(rows[ENTRIES].sum()), total=total)


def _narrow(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Numbers in as few bytes as hold them; floats where they are no whole numbers."""
    if float(values.min()) >= 0 and _are_integers(values):
        largest = float(values.max())
        for size in _SIZES:
            if largest < 1 << 8 * size:
                return values.astype(f"<u{size}")
    return values.astype(f"<f{_FLOAT}")


def _are_integers(values: NDArray[np.generic]) -> bool:
    return values.dtype.kind in "iu" or bool((values == np.rint(values)).all())


def _slice_bytes(values: NDArray[np.generic], starts: Slots, sizes: Slots) -> list[bytes]:
    buffer = values.data.cast("B")
    lows, highs = starts * values.itemsize, (starts + sizes) * values.itemsize
    return [bytes(buffer[low:high]) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class PieceRows:
    """The rows of one part or of several, column by column: `[row]`. They are read of a table once.

    `sizes` are the bytes that a gap and a count of each take: `[row, 2]`.
    """

    cell: Slots
    first: Slots
    last: Slots
    lengths: Slots
    sizes: Slots
    gaps: list[bytes]
    counts: list[bytes]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> PieceRows:
        """Counts from rows, all of one kind of part."""
        cell, first, last, sizes = (
            rows[name].to_numpy().astype(np.int64) for name in (CELL, FIRST, LAST, ENTRIES)
        )
        gaps, counts = rows[GAPS].to_list(), rows[COUNTS].to_list()
        lengths = [
            np.fromiter(map(len, column), dtype=np.int64, count=len(column)) for column in (gaps, counts)
        ]
        return cls(cell, first, last, sizes, np.column_stack(lengths) // sizes[:, None], gaps, counts)

    def part(self, low: int, high: int) -> PieceRows:
        """The rows from one up to another."""
        span = slice(low, high)
        numbers = self.cell[span], self.first[span], self.last[span], self.lengths[span], self.sizes[span]
        return PieceRows(*numbers, self.gaps[span], self.counts[span])

    def entries(self, width: int, slices: Slots | None = None) -> Iterator[tuple[Slots, NDArray[np.generic]]]:
        """Slots and counts, a few at a time; the array of slots is reused.

        Slices go by the numbers `slices`; as they are numbered if not given.
        """
        base = (self.cell if slices is None else slices[self.cell]) * width
        changes = np.flatnonzero((self.sizes[1:] != self.sizes[:-1]).any(axis=1)) + 1
        for low, high in pairwise([0, *changes.tolist(), len(base)]):
            if low < high:
                yield from _Run.of(self.part(low, high), base[low:high]).pieces()

    def in_blocks(
        self, places: int, blocks: Slots, number: int, slices: Slots
    ) -> Iterator[tuple[Slots, NDArray[np.generic]]]:
        """Slots and counts, as by `entries`, in renumbered blocks and slices.

        `places` is how many counts a slice and block has; blocks and slices go by new numbers, and there are `number`
        blocks.
        """
        entries = self.entries(len(blocks) * places, slices)
        if len(blocks) == number and (np.diff(blocks) == 1).all():
            yield from entries
            return
        for slots, counts in entries:
            slice_, within = np.divmod(slots, len(blocks) * places)
            block, place = np.divmod(within, places)
            yield (slice_ * number + blocks[block]) * places + place, counts


@dataclass(frozen=True, slots=True)
class _Run:
    """Pieces with numbers of equal bytes, end to end; the first and last slot of each.

    `gaps` is None where each piece has a count for every slot.
    """

    first: Slots
    last: Slots
    ends: Slots
    gaps: NDArray[np.generic] | None
    counts: NDArray[np.generic]

    @classmethod
    def of(cls, rows: PieceRows, base: Slots) -> _Run:
        gap, count = rows.sizes[0].tolist()
        return cls(
            rows.first + base,
            rows.last + base,
            np.cumsum(rows.lengths),
            _concatenate(rows.gaps, gap) if gap else None,
            _concatenate(rows.counts, count),
        )

    def pieces(self) -> Iterator[tuple[Slots, NDArray[np.generic]]]:
        """Decoded pieces, some at a time, so that derived arrays stay in the processor's cache."""
        if self.gaps is None:
            for first, last, end in zip(
                self.first.tolist(), self.last.tolist(), self.ends.tolist(), strict=True
            ):
                yield np.arange(first, last + 1), self.counts[end - (last + 1 - first) : end]
            return
        buffer = np.empty(max(PIECE, int(np.diff(self.ends, prepend=0).max())), dtype=np.int64)
        low = 0
        while low < len(self.ends):
            start = int(self.ends[low - 1]) if low else 0
            high = max(int(np.searchsorted(self.ends, start + PIECE, side="right")), low + 1)
            stop = int(self.ends[high - 1])
            slots = buffer[: stop - start]
            slots[:] = self.gaps[start:stop]
            starts = np.append(0, self.ends[low : high - 1] - start)
            slots[starts] = self.first[low:high] - np.append(0, self.last[low : high - 1])
            np.cumsum(slots, out=slots)
            yield slots, self.counts[start:stop]
            low = high


def _concatenate(values: list[bytes], size: int) -> NDArray[np.generic]:
    """The numbers of some pieces, end to end."""
    content: NDArray[np.generic] = np.frombuffer(
        b"".join(values), dtype=f"<f{size}" if size == _FLOAT else f"<u{size}"
    )
    return content
