"""Scores counted on a grid, in place of sorted rows where these do not fit into memory.

Edges are constants of the run. Rows are small whole numbers here: the fine bin of a score and its class, the cell, the
block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from plmetrics.core.exact_sums import SplitSums
from plmetrics.core.threads import add_at
from plmetrics.states.scores.coarse import Array, Codes, coarse_number
from plmetrics.states.scores.roll_up import put_together
from plmetrics.states.scores.sorted_rows import Binning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

FINE_BINS = 20_000
BinKind = Literal["fine", "ends", "coarse", "joint"] | Binning
"""Kinds of bins; `ends` is none, but the lowest and the highest number of a slice.

`joint` are those of predictions by those of labels.
"""

UNBLOCKED: frozenset[str | Binning] = frozenset({"fine", "ends", "joint"})
"""The kinds that are counted of all blocks together."""
_LONG_RUN = 512
_ROOM_IN_32_BITS = 1 << 31


def shape(bins: BinKind, edges: Array, slices: int, channels: int = 2) -> tuple[int, int]:
    """Number of bins of a kind in a set of so many slices, and of channels in each.

    `edges` are those of the fine bins, `channels` what is counted in these: of two classes, or of two arms.
    """
    if isinstance(bins, Binning):
        return bins.bins, bins.channels
    if bins == "ends":
        return 1, 2
    return (len(edges) + 1 if bins == "fine" else coarse_number(slices)), channels


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Some rows of one model, in any order.

    `place` is twice the fine bin of a row, plus one for a positive. `score` is there where fixed bins or ends are to be
    counted, `outcome` where there are two arms; `across` is the place of the label where that is counted too.
    """

    place: NDArray[Any]
    weight: Array | None
    block: NDArray[Any] | None
    score: Array | None = None
    outcome: Array | None = None
    across: NDArray[Any] | None = None

    def take(self, index: NDArray[Any] | slice | None) -> PlacedRows:
        """Some of the rows, all of them without an index."""
        if index is None:
            return self
        others = (self.weight, self.block, self.score, self.outcome, self.across)
        return PlacedRows(self.place[index], *(None if part is None else part[index] for part in others))


@dataclass(frozen=True, slots=True)
class Members:
    """The slice or cell of some rows, in runs of rows that share one: `code` of each run, -1 for none."""

    code: NDArray[Any]
    starts: NDArray[Any]
    rows: int

    @classmethod
    def of(cls, code: NDArray[Any]) -> Members:
        """From the code of each row."""
        change = np.flatnonzero(code[1:] != code[:-1]) + 1
        starts = np.concatenate(([0], change)) if len(code) else change
        return cls(code[starts], starts.astype(np.min_scalar_type(len(code))), len(code))

    def named(self, names: Codes) -> Members:
        """Other codes: those that stand in `names` at the place of these."""
        return Members(names.take(self.code), self.starts, self.rows)

    def take(self, index: NDArray[Any] | None) -> Members:
        """Members of some of the rows; of all without an index."""
        return self if index is None else Members.of(self.each()[index])

    def each(self) -> Codes:
        """The code of each row."""
        return self.spread(self.code.astype(np.int64))

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """The value of each row, from those of the runs."""
        ends = np.append(self.starts[1:], self.rows)[: len(self.starts)].astype(np.int64)
        return np.repeat(values, ends - self.starts)

    def runs(self) -> Iterator[tuple[int, slice]]:
        """The runs, each with its rows."""
        starts = self.starts.tolist()
        for code, (first, last) in zip(self.code.tolist(), pairwise([*starts, self.rows]), strict=False):
            yield code, slice(first, last)


@dataclass(frozen=True, slots=True)
class Channel:
    """Addends of some rows to the counts from the `first` of a slice on: values, or ones, at their keys."""

    first: int
    key: NDArray[Any]
    values: Array | None

    def take(self, run: slice) -> Channel:
        """Addends of a run of the rows, as copies: views would hold the whole batch while they wait."""
        values = None if self.values is None else self.values[run].copy()
        return Channel(self.first, self.key[run].copy(), values)

    @classmethod
    def joined(cls, parts: Sequence[Channel]) -> Channel:
        """One channel of rows in parts."""
        key = np.concatenate([part.key for part in parts])
        values = [part.values for part in parts if part.values is not None]
        return cls(parts[0].first, key, np.concatenate(values) if values else None)


class GridTally:
    """Counts `[slice, block, bin, channel]` of the slices, or cells, from `first` on.

    Keys of rows of one slice wait until there are as many of them as counts: then they are counted by one pass over
    both. `finish` counts what still waits. With an `exponent` what rows weigh is added so that their order does not
    show: no value is further from 0 than about 2 to that power. Totals are in parts then, the `digits`, which add.
    """

    _by_slice: ClassVar[bool] = False
    """Whether bins differ from slice to slice."""

    def __init__(self, first: int, counts: NDArray[Any], exponent: int | None = None) -> None:
        self.first = first
        self.counts = counts
        self.digits: tuple[NDArray[Any], ...] = (counts,)
        self._exponent = exponent
        self._parts = None if exponent is None else SplitSums(counts, exponent)
        self._waiting: dict[int, list[list[Channel]]] = {}
        self._rows_waiting: dict[int, int] = {}
        self._size = self._patience = math.prod(counts.shape[1:])
        self._width = math.prod(counts.shape[2:])

    def add(self, rows: PlacedRows, members: Members) -> None:
        """Count some rows: run by run where runs are long, for one slice at a time is fewer steps a row."""
        if rows.weight is not None or members.rows < _LONG_RUN * len(members.code):
            self._add_mixed(rows, members)
            return
        inside = range(self.first, self.first + len(self.counts))
        runs = [(code - self.first, run) for code, run in members.runs() if code in inside]
        if runs:
            first, last = runs[0][1].start, runs[-1][1].stop
            runs = [(member, slice(run.start - first, run.stop - first)) for member, run in runs]
            self._add_runs(rows.take(slice(first, last)), runs)

    def finish(self) -> None:
        """Count the rows that still wait."""
        for member in list(self._waiting):
            self._count_waiting(member)
        if self._parts is not None:
            self.digits = self._parts.digits()

    def totals(self) -> NDArray[Any]:
        """The counts, put together where they are in parts."""
        return put_together(self.digits, self._exponent)

    def _add_runs(self, rows: PlacedRows, runs: Sequence[tuple[int, slice]]) -> None:
        """Count rows of one slice after another, now or later."""
        channels = list(self._channels(rows, self._keys(rows, self._places(rows, runs), self._size)))
        for member, run in runs:
            self._waiting.setdefault(member, []).append([channel.take(run) for channel in channels])
            waiting = self._rows_waiting.get(member, 0) + run.stop - run.start
            self._rows_waiting[member] = waiting
            if waiting >= self._patience:
                self._count_waiting(member)

    def _count_waiting(self, member: int) -> None:
        self._rows_waiting[member] = 0
        for parts in zip(*self._waiting.pop(member), strict=True):
            self._add_at(member * self._size, self._size, Channel.joined(parts))

    def _add_mixed(self, rows: PlacedRows, members: Members) -> None:
        """Count rows of several slices: among the counts from the first of these to the last."""
        code = members.code.astype(np.int64) - self.first
        inside = (code >= 0) & (code < len(self.counts))
        if not inside.any():
            return
        lowest, highest = int(code[inside].min()), int(code[inside].max())
        number = members.spread(code)
        if not inside.all():
            index = np.flatnonzero(members.spread(inside))
            number, rows = number[index], rows.take(index)
        room = (highest + 1 - lowest) * self._size
        key = self._keys(rows, self._place(rows, number), room)
        key += ((number - lowest) * self._size).astype(key.dtype, copy=False)
        for channel in self._channels(rows, key):
            self._add_at(lowest * self._size, room, channel)

    def _keys(self, rows: PlacedRows, place: NDArray[Any], room: int) -> NDArray[Any]:
        """Index of each row's count in its slice, from that in its block, in a type with room for so many."""
        kind = np.int32 if room < _ROOM_IN_32_BITS else np.int64
        if rows.block is None or self.counts.shape[1] == 1:
            return place.astype(kind)
        key: NDArray[Any] = np.multiply(rows.block, self._width, dtype=kind)
        key += place.astype(kind, copy=False)
        return key

    def _places(self, rows: PlacedRows, runs: Sequence[tuple[int, slice]]) -> NDArray[Any]:
        """Bins of rows of one slice after another; any bin for rows between the runs."""
        if not self._by_slice:
            return self._place(rows, 0)
        places = np.zeros(len(rows.place), dtype=np.int32)
        for member, run in runs:
            places[run] = self._place(rows.take(run), member)
        return places

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:  # noqa: ARG002
        """Bin of each row; `number` is the slice of each among those here, or that of all."""
        return rows.place

    def _channels(self, rows: PlacedRows, key: NDArray[Any]) -> Iterator[Channel]:
        """Addends of the rows to their slice, given the places where they count."""
        yield Channel(0, key, rows.weight)

    def _add_at(self, place: int, size: int, channel: Channel) -> None:
        """Add a channel to so many of the counts, from a place on."""
        pairs: Iterable[tuple[NDArray[Any], Array | None]] = [(self.counts, channel.values)]
        if channel.values is not None and self._parts is not None:
            pairs = self._parts.cut(channel.values)
        for counts, part in pairs:
            add_at(counts.reshape(-1)[place + channel.first : place + size], channel.key, part)


def zero_counts(size: tuple[int, ...], dtype: type, spare: NDArray[Any] | None = None) -> NDArray[Any]:
    """Zeros, in memory that is spare if that is alike: new memory costs more than counting in it."""
    if spare is None or spare.shape != size or spare.dtype != dtype:
        spare = np.empty(size, dtype=dtype)  # in large pages where it is large; `zeros` has small ones
    spare.fill(0)
    return spare
