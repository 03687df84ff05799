"""Units counted with little memory: their hashes, batch by batch, each kept once.

Units that are whole numbers close together are marked among all numbers of their span. Of others a hash table takes
well over a hundred bytes a unit while it grows on several threads; sorted arrays take 8, and a few times that while
they are merged. Where there is no room for all of them, they are counted in ranges of their hashes, each by a scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.hashing import OWN_BLOCK_LIMIT
from plmetrics.core.ops import Codes
from plmetrics.core.segments import run_starts
from plmetrics.engine.memory.budget import working_memory
from plmetrics.engine.request import TableView, unit_column
from plmetrics.engine.run_plan import Blocks
from plmetrics.engine.streaming import batch_sink, collected_batches
from plmetrics.states.scores.exact.sorting import sort
from plmetrics.table.prediction_columns import UNIT

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.suite.model import Suite

    Hashes = NDArray[np.uint64]

_IN_TABLE = 150
"""Bytes a unit in a hash table, at most."""

_SHARE = 4
_IN_MERGE = 48
"""Bytes a unit while arrays are merged: those that wait, all together, and each once."""

_BATCH_ROWS = 1_000_000
_LEAST_ROWS = 1 << 16
_BATCH_BYTES = 64
_LINE = 20
"""Bytes of a file that a row takes, at least, where rows were not counted."""

_WORD = 1 << 64
_LAST = _WORD - 1

_MARKED_ROWS = 1_000_000
_NUMBERS_A_ROW = 4
"""Whole numbers are marked in tables of so many rows, where their span has at most so many numbers a row."""


def counts_by_batch(view: TableView) -> bool:
    """Whether units are counted by scans of their own, for a hash table of as many as there are rows may be large."""
    if view.suite.uncertainty is None or unit_column(view.suite) is None:
        return False
    rows = view.source.rows
    if rows is None:
        rows = view.source.bytes // _LINE
    return rows * _IN_TABLE * _SHARE > working_memory(view.suite)


class NumberSet:
    """Different whole numbers, a mark for each number from the lowest to the highest; `wide` if there are too many.

    >>> numbers = NumberSet(most=10)
    >>> for values in ([7, 5], [None, 9], [3]):
    ...     numbers.add(pl.DataFrame({"u": values}))
    >>> numbers.wide, numbers.values().tolist()
    (False, [3, 5, 7, 9])
    """

    def __init__(self, most: int) -> None:
        self.wide = False
        self._most = most
        self._first = 0
        self._marks = np.zeros(0, dtype=np.bool_)

    def add(self, batch: pl.DataFrame) -> None:
        """Mark the numbers of the only column of a batch."""
        values = batch.to_series().drop_nulls().to_numpy()
        values = values.astype(np.uint64 if values.dtype == np.uint64 else np.int64, copy=False)
        if self.wide or not len(values):
            return
        first, end = int(values.min()), int(values.max()) + 1
        if len(self._marks):
            first, end = min(first, self._first), max(end, self._first + len(self._marks))
        if end - first > self._most:
            self.wide = True
            return
        if end - first > len(self._marks):
            marks = np.zeros(end - first, dtype=np.bool_)
            marks[self._first - first :][: len(self._marks)] = self._marks
            self._first, self._marks = first, marks
        self._marks[values - values.dtype.type(self._first)] = True

    def values(self) -> Codes:
        """The numbers, ascending, as the bits of an unsigned one where they are large."""
        places = np.flatnonzero(self._marks).view(np.uint64)
        return (places + np.uint64(self._first % _WORD)).view(np.int64)


def unit_numbers(view: TableView) -> NumberSet | None:
    """A set for the units of many rows, where these are whole numbers; None where they are not.

    A table of queries has the hashes of its units alone.
    """
    name, rows, hashed = unit_column(view.suite), view.source.rows, view.roles.unit
    if hashed is None or name not in hashed.meta.root_names() or rows is None or rows < _MARKED_ROWS:
        return None
    if not view.schema[name].is_integer():
        return None
    most = min(rows * _NUMBERS_A_ROW, working_memory(view.suite) // _SHARE)
    return None if view.schema[name] in {pl.Int128, pl.UInt128} else NumberSet(most)


def different_units(view: TableView, units: Callable[[pl.Expr], pl.LazyFrame]) -> Question[Hashes | None]:
    """The hashes of different units, in any order; None where they are to be counted batch by batch.

    `units` gives the rows' units, as an expression of the prediction table says them.
    """
    name, hashed = unit_column(view.suite), view.roles.unit
    assert name is not None
    assert hashed is not None
    numbers = unit_numbers(view)
    if numbers is not None:
        yield [batch_sink(units(pl.col(name)), _BATCH_ROWS, numbers.add)]
        if not numbers.wide:
            values = pl.Series(name, numbers.values())
            values = values.reinterpret(signed=False) if view.schema[name] == pl.UInt64 else values
            return values.to_frame().select(hashed).to_series().to_numpy()
    if counts_by_batch(view):
        return None
    (frame,) = yield [units(hashed).unique()]
    return frame.to_series().drop_nulls().to_numpy()


def unit_blocks(units: Hashes, modulus: int) -> Blocks:
    """Blocks of distinct units: each is a block of its own, unless they are too many."""
    if len(units) <= OWN_BLOCK_LIMIT:
        keys = np.sort(units)
        return Blocks(None, keys, np.ones(len(keys), dtype=np.int64), keys)
    counts, digests = np.zeros(modulus, dtype=np.int64), np.zeros(modulus, dtype=np.uint64)
    _add(counts, digests, units)
    return _count_blocks(counts, digests)


def counted_units(suite: Suite, rows: pl.LazyFrame, modulus: int) -> Blocks:
    """Blocks of the units of rows, counted batch by batch. Rows without a unit are skipped."""
    room = working_memory(suite) // _SHARE
    size = min(_BATCH_ROWS, max(_LEAST_ROWS, room // _BATCH_BYTES))
    most = max(OWN_BLOCK_LIMIT + 1, room // _IN_MERGE)
    counts, digests = np.zeros(modulus, dtype=np.int64), np.zeros(modulus, dtype=np.uint64)
    first = 0
    while first <= _LAST:
        plan = rows.filter(pl.col(UNIT) >= pl.lit(first, dtype=pl.UInt64))
        batches = collected_batches(plan, size)
        hashes, last = distinct((frame[UNIT].to_numpy() for frame in batches), most)
        if first == 0 and last == _LAST and len(hashes) <= OWN_BLOCK_LIMIT:
            return unit_blocks(hashes, modulus)
        _add(counts, digests, hashes)
        first = last + 1
    return _count_blocks(counts, digests)


def _count_blocks(counts: Codes, digests: Hashes) -> Blocks:
    """Number of nonempty blocks, and the sum of their hashes modulo 2^64."""
    blocks = np.flatnonzero(counts)
    return Blocks(len(counts), blocks.astype(np.uint64), counts[blocks], digests[blocks])


def distinct(batches: Iterable[Hashes], most: int) -> tuple[Hashes, int]:
    """Sorted distinct numbers of some batches, and the upper limit of those retained: the lowest of too many.

    >>> found, last = distinct([np.array([5, 2, 5], np.uint64), np.array([2, 9], np.uint64)], most=3)
    >>> found.tolist(), last == 2**64 - 1
    ([2, 5, 9], True)
    """
    hashes, last = np.zeros(0, dtype=np.uint64), _LAST
    waiting: list[Hashes] = []
    for batch in batches:
        waiting.append(_once(batch[batch <= last]))
        if sum(map(len, waiting)) >= max(len(hashes), OWN_BLOCK_LIMIT):
            hashes, waiting = _once(np.concatenate([hashes, *waiting])), []
            if len(hashes) > most:
                hashes = hashes[: most // 2].copy()
                last = int(hashes[-1])
    hashes = _once(np.concatenate([hashes, *waiting]))
    return hashes[: np.searchsorted(hashes, np.uint64(last), side="right")], last


def _once(values: Hashes) -> Hashes:
    """Sort new values in place, and drop earlier ones and duplicates."""
    sort(values)
    return values[run_starts(values)]


def _add(counts: Codes, digests: Hashes, hashes: Hashes) -> None:
    """Count some units in their blocks."""
    for first in range(0, len(hashes), _BATCH_ROWS):
        part = hashes[first : first + _BATCH_ROWS]
        block = (part % np.uint64(len(counts))).astype(np.int64)
        counts += np.bincount(block, minlength=len(counts))
        np.add.at(digests, block, part)
