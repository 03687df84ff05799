"""Sums of rows by place, a whole number from 0 on, batch by batch: dense arrays, or a sparse frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import TypeGuard

import numpy as np
import polars as pl

from plmetrics.core.segments import Values
from plmetrics.core.threads import add_at, parallel_map, steps
from plmetrics.states.bin_sums import ROWS

PLACE = "@place"
_STEP_ROWS = 1 << 18
_WORD_BITS = 63
_FLAGS_A_BYTE = 8


class BinTally:
    """The number of rows and the sums of some columns by place, and by block where `keys` have one beside it.

    Arrays have an entry for each of `size` places; without a size only places that occur take memory. Sums of `whole`
    numbers are modulo 2^64.
    """

    def __init__(
        self,
        columns: Iterable[str],
        whole: Iterable[str] = (),
        size: int | None = None,
        keys: Sequence[str] = (PLACE,),
    ) -> None:
        dtypes = dict.fromkeys(columns, np.float64) | dict.fromkeys((ROWS, *whole), np.int64)
        self._dense = size is not None
        self._keys = keys
        self._sums = {name: np.zeros(size or 0, dtype=dtype) for name, dtype in dtypes.items()}
        none = {name: np.zeros(0, np.uint64) for name in keys}
        self._frames = [] if self._dense else [pl.DataFrame(none | self._sums)]

    @property
    def columns(self) -> list[str]:
        """Columns of sums beside the number of rows."""
        return [name for name in self._sums if name != ROWS]

    def add(self, keys: Mapping[str, Values], values: Mapping[str, Values | pl.Series]) -> None:
        """Add rows of some keys."""
        if self._dense:
            self._add_dense(keys[PLACE], values)
            return
        ones = np.ones(len(keys[PLACE]), dtype=np.int64)
        rows = pl.DataFrame(
            {name: keys[name].astype(np.uint64) for name in self._keys} | {ROWS: ones, **values}
        )
        self._frames.append(self._sum(rows.select(self._frames[0].columns)))
        first, *others = self._frames
        if sum(other.height for other in others) > first.height:
            self._frames = [self._sum(pl.concat(self._frames))]

    def frame(self) -> pl.DataFrame:
        """Nonempty places, each with its sums."""
        if not self._dense:
            return self._sum(pl.concat(self._frames))
        place = np.flatnonzero(self._sums[ROWS])
        return pl.DataFrame({PLACE: place, **{name: column[place] for name, column in self._sums.items()}})

    def _sum(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.group_by(self._keys).agg(pl.exclude(self._keys).sum())

    def _add_dense(self, place: Values, values: Mapping[str, Values | pl.Series]) -> None:
        """Add rows: numbers column by column, Booleans several at a time."""
        rows = np.zeros(len(self._sums[ROWS]), dtype=np.int64)
        _add(rows, place, None)
        self._sums[ROWS] += rows
        flags = {name: column for name, column in values.items() if _is_boolean(column)}
        jobs = [partial(_add, self._sums[name], place, values[name]) for name in values if name not in flags]
        mixed = []
        for name, flag in flags.items():
            if flag.all(ignore_nulls=False):
                self._sums[name] += rows
            elif flag.any():
                mixed.append(name)
        bits = int(rows.max(initial=1)).bit_length()
        for low, high in steps(0, len(mixed), max(1, min(_FLAGS_A_BYTE, _WORD_BITS // bits))):
            sums = [self._sums[name] for name in mixed[low:high]]
            jobs.append(partial(_add_flags, sums, place, [flags[name] for name in mixed[low:high]], bits))
        parallel_map(methodcaller("__call__"), jobs)


def _is_boolean(column: Values | pl.Series) -> TypeGuard[pl.Series]:
    return isinstance(column, pl.Series) and column.dtype == pl.Boolean


def _add_flags(sums: Sequence[Values], place: Values, flags: Sequence[pl.Series], bits: int) -> None:
    """Add Booleans at places: their counts lie side by side in one word, each in bits enough for a place's rows."""
    numbers = np.arange(len(flags))
    shifts = bits * numbers
    word_of_code = (np.arange(1 << len(flags))[:, None] >> numbers & 1) @ (1 << shifts)
    words = np.zeros(len(sums[0]), dtype=np.int64)
    for low, high in steps(0, len(place), _STEP_ROWS):
        code = np.zeros(high - low, dtype=np.uint8)
        for number, flag in enumerate(flags):
            code |= _numbers(flag[low:high]).view(np.uint8) << np.uint8(number)
        add_at(words, place[low:high], word_of_code.take(code))
    for counts, shift in zip(sums, shifts, strict=True):
        np.add(counts, (words >> shift) & ((1 << bits) - 1), out=counts)


def _add(sums: Values, place: Values, values: Values | pl.Series | None) -> None:
    """Add values, or ones, at places."""
    for some, numbers in _few_rows(place, values):
        if len(sums) == 1:
            sums += len(some) if numbers is None else numbers.sum(dtype=sums.dtype)
        else:
            add_at(sums, some, numbers)


def _few_rows(place: Values, values: Values | pl.Series | None) -> Iterator[tuple[Values, Values | None]]:
    """Places and values in pieces small enough for the processor's cache; a null is 0."""
    first = 0
    for part in values.get_chunks() if isinstance(values, pl.Series) else [values]:
        numbers = _numbers(part) if isinstance(part, pl.Series) else part
        size = len(place) if numbers is None else len(numbers)
        for low, high in steps(0, size, _STEP_ROWS):
            yield place[first + low : first + high], None if numbers is None else numbers[low:high]
        first += size


def _numbers(column: pl.Series) -> Values:
    """The values of a column as an array; a null is 0."""
    return (column.fill_null(strategy="zero") if column.null_count() else column).to_numpy()
