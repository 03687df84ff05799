"""Sums by cell and block in arrays, added batch by batch: for rows that come in batches anyway, of few cells."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.hashing import block_numbers
from plmetrics.core.threads import parallel_map, steps
from plmetrics.engine.aggregate.aggregation import digests, needs_rows
from plmetrics.engine.aggregate.row_plan import BLOCK, cell_column
from plmetrics.engine.aggregate.totals import CELL, summed_in, totals
from plmetrics.engine.memory.budget import counting_room
from plmetrics.states.scores.grid import add_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.sums import Total

    Keys = NDArray[np.int32]
    Sums = NDArray[Any]

_ROWS_AN_ENTRY = 16
"""With fewer rows for each cell and block a grouping is quicker."""

_ROOM_SHARE = 4
_STEP_ROWS = 1 << 18
TERM = "@term|"
"""Before the names of columns of what rows add to sums."""

_BAD = "bad"
_ROWS = "@rows"


class BadRowsError(Exception):
    """Rows of a batch fail a check: nothing that is counted of them means anything."""


class CellSums:
    """The sums of each cube by cell and block. `columns` are what rows add, to be read with their cells and blocks."""

    def __init__(self, prepared: RunPlan, keys: NDArray[np.uint64], shared: Sequence[Total] = ()) -> None:
        """Without rows; `keys` are those of the blocks, ascending, and `shared` sums beside those of metrics."""
        self.block_keys = keys
        self._blocks = prepared.blocks is not None
        self._cubes = prepared.cubes
        every = [[*totals(prepared, summed_in(prepared, cube)), *shared] for cube in prepared.cubes]
        self._terms = {total.name: total.term for of_cube in every for total in of_cube}
        self.columns = [term.alias(_column(name)) for name, term in self._terms.items() if term is not None]
        schema = prepared.table.frame.select(self.columns).collect_schema()
        self._types = {_ROWS: pl.Boolean(), **{name: schema.get(_column(name)) for name in self._terms}}
        self._sums = [
            {name: self._zeros(name, cube.cells) for name in (_ROWS, *(total.name for total in of_cube))}
            for cube, of_cube in zip(prepared.cubes, every, strict=True)
        ]

    def _zeros(self, name: str, cells: int) -> Sums:
        kind = np.uint64 if self._types[name] == pl.UInt64 else np.float64
        return np.zeros(cells * len(self.block_keys), dtype=kind)

    @property
    def simple(self) -> bool:
        """Whether each sum is of numbers or words, or counts rows."""
        return all(kind in {pl.Boolean, pl.Float64, pl.UInt64} for kind in self._types.values())

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return sum(flat.nbytes for sums in self._sums for flat in sums.values())

    def take(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add a batch of rows; gives it without the columns that were there for that.

        Raises:
            BadRowsError: some fail a check.
        """
        if _BAD in self._terms and rows[_column(_BAD)].any():
            raise BadRowsError
        block = block_numbers(rows[BLOCK].to_numpy(), self.block_keys) if self._blocks else 0
        for number, (cube, sums) in enumerate(zip(self._cubes, self._sums, strict=True)):
            key = np.zeros(rows.height, dtype=np.int32)
            if cube.codes:
                np.multiply(
                    rows[cell_column(number)].to_numpy(), len(self.block_keys), out=key, casting="unsafe"
                )
            key += block
            parallel_map(partial(self._add, rows, key, sums), list(sums))
        return rows.drop(map(_column, self._terms))

    def _add(self, rows: pl.DataFrame, key: Keys, sums: Mapping[str, Sums], name: str) -> None:
        """Add what rows add to a sum at their keys."""
        flat, values = sums[name], None
        if name != _ROWS:
            values = rows[_column(name)].fill_null(strategy="zero").to_numpy()
        if len(flat) == 1:
            flat += len(key) if values is None else values.sum(dtype=flat.dtype)
            return
        for low, high in steps(0, len(key), _STEP_ROWS):
            weight = None if values is None else values[low:high].astype(flat.dtype, copy=False)
            add_at(flat, key[low:high], weight)

    @property
    def complete(self) -> bool:
        """Whether each block has rows."""
        rows = self._sums[0][_ROWS].reshape(-1, len(self.block_keys))
        return bool(rows.any(axis=0).all())

    def frames(self) -> list[pl.DataFrame]:
        """The sums of the entries that have rows, as a grouping gives them, with the cell in place of keys."""
        return [self._frame(sums) for sums in self._sums]

    def _frame(self, sums: Mapping[str, Sums]) -> pl.DataFrame:
        entries = np.flatnonzero(sums[_ROWS])
        columns: dict[str, NDArray[np.generic]] = {CELL: entries // len(self.block_keys)}
        if self._blocks:
            columns[BLOCK] = self.block_keys[entries % len(self.block_keys)]
        for name, flat in sums.items():
            if name != _ROWS:
                whole = self._types[name] == pl.Boolean
                columns[name] = flat[entries].astype(np.int64) if whole else flat[entries]
        return pl.DataFrame(columns)


def sums_beside_counts(prepared: RunPlan, *, digested: bool) -> CellSums | None:
    """Sums that are added where the same rows are counted on a grid.

    None where they are not, or do not tell each sum one by one, or cells are many. With `digested` digests of units are
    asked for.
    """
    request, blocks = prepared.request, prepared.blocks
    if prepared.exact or not needs_rows(prepared) or request.arithmetic.any_order:
        return None
    if any(prepared.centres.values()) or request.label_free_values or request.counts_every_row:
        return None
    if blocks is None:
        keys = np.zeros(1, dtype=np.uint64)
    elif blocks.keys is not None:
        keys = blocks.keys
    elif blocks.modulus is not None:
        keys = np.arange(blocks.modulus, dtype=np.uint64)
    else:
        return None
    entries = sum(cube.cells for cube in prepared.cubes) * len(keys)
    room = counting_room(request.suite) // _ROOM_SHARE
    if entries * _ROWS_AN_ENTRY > prepared.rows.read or entries > room:
        return None
    sums = CellSums(prepared, keys, digests(prepared) if digested else ())
    return sums if sums.simple and sums.bytes <= room else None


def _column(name: str) -> str:
    """The column of what rows add to a sum."""
    return f"{TERM}{name}"
