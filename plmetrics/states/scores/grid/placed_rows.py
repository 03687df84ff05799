"""Rows of one model as places on a grid, in runs of equal slices, and their summands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes


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
    """Slice or cell of some rows, in runs of equal ones: `code` of each run, -1 for none."""

    code: NDArray[Any]
    starts: NDArray[Any]
    rows: int

    @classmethod
    def of(cls, code: NDArray[Any]) -> Members:
        """From the code of each row."""
        change = np.flatnonzero(code[1:] != code[:-1]) + 1
        starts = np.concatenate(([0], change)) if len(code) else change
        return cls(code[starts], starts.astype(np.min_scalar_type(len(code))), len(code))

    def translate(self, names: Codes) -> Members:
        """Translated codes: their entries in `names`."""
        return Members(names.take(self.code), self.starts, self.rows)

    def take(self, index: NDArray[Any] | None) -> Members:
        """Members of some of the rows; of all without an index."""
        return self if index is None else Members.of(self.row_codes()[index])

    def row_codes(self) -> Codes:
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
        """Addends of a run of the rows."""
        return Channel(self.first, self.key[run], None if self.values is None else self.values[run])

    def empty(self, rows: int) -> Channel:
        """Room for so many rows of the same kind."""
        values = None if self.values is None else np.empty(rows, dtype=self.values.dtype)
        return Channel(self.first, np.empty(rows, dtype=self.key.dtype), values)

    def write(self, first: int, rows: Channel) -> None:
        """Copy rows into this room, from a place on."""
        last = first + len(rows.key)
        self.key[first:last] = rows.key
        if self.values is not None:
            self.values[first:last] = rows.values


class WaitingRows:
    """Room for rows of one slice, by channel, until they are counted together."""

    def __init__(self, channels: Sequence[Channel], room: int) -> None:
        self._room = room
        self._rows = 0
        self._channels = [channel.empty(room) for channel in channels]

    def add(self, channels: Sequence[Channel], run: slice) -> bool:
        """Copy a run of rows; whether there was room for it."""
        first, self._rows = self._rows, self._rows + run.stop - run.start
        if self._rows > self._room:
            self._rows = first
            return False
        for target, channel in zip(self._channels, channels, strict=True):
            target.write(first, channel.take(run))
        return True

    def take(self) -> list[Channel]:
        """Remove the waiting rows and give them."""
        rows, self._rows = slice(self._rows), 0
        return [channel.take(rows) for channel in self._channels]
