"""Counts most of which are 0, as they are kept: the gaps between those that are not, in as few bytes as they need.

The counts of a slice lie in *slots*, block after block and place after place. A row holds a *piece* of those of one
slice: its first and last slot with a count, how many there are, their gaps (the first is 0) and the counts. Whole
numbers are unsigned integers of 1, 2 or 4 bytes, all of a piece of one size; others are 64-bit floats. The size follows
from the number of bytes. A piece without gaps holds a count for every slot from its first to its last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.states.saved import CELL, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Slots = NDArray[np.int64]
    Counts = NDArray[np.float64]

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

_SIZES = (1, 2, 4)
_FLOAT = 8


def pieces(slots: Slots, counts: NDArray[np.generic], width: int, first: int = 0) -> pl.DataFrame:
    """The rows that hold some counts.

    Args:
        slots: where counts are that are not 0, ascending.
        counts: these.
        width: the number of slots of a slice.
        first: the number of the slice that begins with slot 0.

    >>> held = pieces(np.array([3, 5, 14]), np.array([1, 2, 300]), width=10)
    >>> held.select("@cell", "@first", "@last", "@entries").rows()
    [(0, 3, 5, 2), (1, 4, 4, 1)]
    """
    if not len(slots):
        return pl.DataFrame(schema=PIECES)
    held = np.arange(int(slots[-1]) // width + 2)
    bounds = np.searchsorted(slots, held * width)
    parts = -(-np.diff(bounds) // PIECE)
    cell = np.repeat(held[:-1], parts)
    within = np.arange(len(cell)) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = bounds[cell] + within * PIECE
    sizes = np.minimum(starts + PIECE, bounds[cell + 1]) - starts
    ends = slots[starts], slots[starts + sizes - 1]
    spans = ends[1] - ends[0] + 1
    full = (spans >= _LONG) & (spans <= _CLOSE * sizes)
    gaps = np.diff(slots, prepend=slots[0])
    gaps[starts] = 0
    if full.any():
        counts = _filled(slots, counts, starts, np.where(full, spans, sizes), full)
    held_counts = np.where(full, spans, sizes)
    return pl.DataFrame(
        {
            CELL: cell + first,
            FIRST: ends[0] - cell * width,
            LAST: ends[1] - cell * width,
            ENTRIES: held_counts,
            GAPS: _cut(_narrow(gaps), starts, np.where(full, 0, sizes)),
            COUNTS: _cut(_narrow(counts), np.cumsum(held_counts) - held_counts, held_counts),
        },
        schema=PIECES,
    )


def _filled(
    slots: Slots, counts: NDArray[np.generic], starts: Slots, sizes: Slots, full: NDArray[np.bool_]
) -> NDArray[np.generic]:
    """The counts with those that are 0 in pieces that are written in full; `sizes` are those of the pieces then."""
    out = np.zeros(int(sizes.sum()), dtype=counts.dtype)
    lengths = np.diff(starts, append=len(slots))
    to = np.cumsum(sizes) - sizes
    place = np.arange(len(slots)) + np.repeat(to - starts, lengths)
    inside = np.repeat(full, lengths)
    place[inside] = (slots + np.repeat(to - slots[starts], lengths))[inside]
    out[place] = counts
    return out


def pieces_of(counts: NDArray[np.generic], first: int = 0) -> pl.DataFrame:
    """The rows that hold counts of slices `[slice, ...]`, the first of which has a number."""
    flat = counts.reshape(-1)
    return pieces(*held_in(flat), max(flat.size // max(len(counts), 1), 1), first)


def held_in(flat: NDArray[np.generic]) -> tuple[Slots, NDArray[np.generic]]:
    """The slots whose counts are not 0, and these."""
    slots = np.flatnonzero(flat != 0)
    return slots, flat[slots]


def counted(part: Part, rows: pl.DataFrame) -> Part:
    """The part that rows are of, with how many counts they hold, and what these come to."""
    total: int | None = 0
    for run in _runs(rows, 0, None):
        whole = run.counts.dtype.kind == "u"
        total = total + int(run.counts.sum()) if whole and total is not None else None
    return replace(part, entries=int(rows[ENTRIES].sum()), total=total)


def _narrow(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """The same numbers in as few bytes as hold them; floats where they are no whole numbers."""
    whole = values.dtype.kind in "iu" or bool((values == np.rint(values)).all())
    if whole and float(values.min()) >= 0:
        largest = float(values.max())
        for size in _SIZES:
            if largest < 1 << 8 * size:
                return values.astype(f"<u{size}")
    return values.astype(f"<f{_FLOAT}")


def _cut(values: NDArray[np.generic], starts: Slots, sizes: Slots) -> list[bytes]:
    held = memoryview(values.tobytes())
    lows, highs = starts * values.itemsize, (starts + sizes) * values.itemsize
    return [bytes(held[low:high]) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]


def entries(
    rows: pl.DataFrame, width: int, slices: Slots | None = None
) -> Iterator[tuple[Slots, NDArray[np.generic]]]:
    """The slots and counts that some rows hold, a few at a time; the array of slots is the same one again and again.

    Args:
        rows: of one part.
        width: the number of slots of a slice.
        slices: the number by which each slice goes now; as they are numbered if not given.
    """
    for run in _runs(rows, width, slices):
        yield from run.decoded()


def _runs(rows: pl.DataFrame, width: int, slices: Slots | None) -> Iterator[_Run]:
    """The rows whose numbers take the same number of bytes, together."""
    cell = rows[CELL].to_numpy()
    base = (cell if slices is None else slices[cell]).astype(np.int64) * width
    held = rows[ENTRIES].to_numpy().astype(np.int64)
    sizes = np.column_stack([rows[name].bin.size().to_numpy() // held for name in (GAPS, COUNTS)])
    changes = np.flatnonzero((np.diff(sizes, axis=0) != 0).any(axis=1)) + 1
    for low, high in pairwise([0, *changes.tolist(), rows.height]):
        if low < high:
            yield _Run.of(rows[low:high], base[low:high], held[low:high], *sizes[low].tolist())


@dataclass(frozen=True, slots=True)
class _Run:
    """Pieces whose numbers take the same number of bytes, end to end; the first and last slot of each.

    `gaps` is None where each piece has a count for every slot.
    """

    first: Slots
    last: Slots
    ends: Slots
    gaps: NDArray[np.generic] | None
    counts: NDArray[np.generic]

    @classmethod
    def of(cls, rows: pl.DataFrame, base: Slots, held: Slots, gap: int, count: int) -> _Run:
        return cls(
            rows[FIRST].to_numpy().astype(np.int64) + base,
            rows[LAST].to_numpy().astype(np.int64) + base,
            np.cumsum(held),
            _joined(rows[GAPS], gap) if gap else None,
            _joined(rows[COUNTS], count),
        )

    def decoded(self) -> Iterator[tuple[Slots, NDArray[np.generic]]]:
        """Some pieces at a time, so that what is made of them stays in the processor's cache."""
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


def _joined(values: pl.Series, size: int) -> NDArray[np.generic]:
    """The numbers of some pieces, end to end."""
    held: NDArray[np.generic] = np.frombuffer(
        b"".join(values), dtype=f"<f{size}" if size == _FLOAT else f"<u{size}"
    )
    return held
