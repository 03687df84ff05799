"""Sums by cell and block in arrays, added batch by batch: for streamed rows of few cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.threads import begin
from plmetrics.engine.aggregate.aggregation import digests, needs_rows
from plmetrics.engine.aggregate.bin_tally import PLACE, BinTally
from plmetrics.engine.aggregate.row_plan import BLOCK, cell_column
from plmetrics.engine.aggregate.totals import CELL, summed_in, totals
from plmetrics.engine.memory.budget import counting_room
from plmetrics.engine.run_plan import RunPlan
from plmetrics.engine.streaming import column_array
from plmetrics.states.sums import Total

_ROWS_AN_ENTRY = 16
"""With fewer rows for each cell and block a grouping is quicker."""

_ROOM_SHARE = 4
TERM = "@term|"
"""Before the names of columns of what rows add to sums."""

_BAD = "bad"


class BadRowsError(Exception):
    """Rows of a batch fail a check, so that its counts mean nothing."""


class CellSums:
    """Sums of each cube by cell and block. `columns` are the summands, read with cells and blocks."""

    def __init__(self, plan: RunPlan, keys: NDArray[np.uint64], shared: Sequence[Total] = ()) -> None:
        """Without rows; `keys` are those of the blocks, ascending, and `shared` sums beside those of metrics."""
        self.block_keys = keys
        self._blocks = plan.blocks is not None
        self._cubes = plan.cubes
        self._finish: Callable[[], None] = lambda: None
        every = [[*totals(plan, summed_in(plan, cube)), *shared] for cube in plan.cubes]
        self._names = [[total.name for total in of_cube] for of_cube in every]
        self._terms = {total.name: total.term for of_cube in every for total in of_cube}
        self.columns = [term.alias(_column(name)) for name, term in self._terms.items() if term is not None]
        schema = plan.table.frame.select(self.columns).collect_schema()
        self._types = {name: schema.get(_column(name)) for name in self._terms}

    @cached_property
    def _tallies(self) -> list[BinTally]:
        return [self._tally(names, cube.cells) for names, cube in zip(self._names, self._cubes, strict=True)]

    def _tally(self, names: Sequence[str], cells: int) -> BinTally:
        floats = [_column(name) for name in names if self._types[name] == pl.Float64]
        whole = [_column(name) for name in names if self._types[name] != pl.Float64]
        return BinTally(floats, whole, cells * len(self.block_keys))

    @property
    def simple(self) -> bool:
        """Whether each sum is of numbers or words, or counts rows."""
        return all(kind in {pl.Boolean, pl.Float64, pl.UInt64} for kind in self._types.values())

    @property
    def bytes(self) -> int:
        """Memory of the sums."""
        numbers = sum(
            cube.cells * (len(names) + 1) for cube, names in zip(self._cubes, self._names, strict=True)
        )
        return 8 * len(self.block_keys) * numbers

    def take(self, rows: pl.DataFrame, block: NDArray[np.integer] | None) -> pl.DataFrame:
        """Add a batch of rows of some blocks, by number, and give it without the columns of the summands.

        Raises:
            BadRowsError: some fail a check.
        """
        if _BAD in self._terms and rows[_column(_BAD)].any():
            raise BadRowsError
        self._finish()
        self._finish = begin(partial(self._add, rows, block))
        return rows.drop(map(_column, self._terms))

    def _add(self, rows: pl.DataFrame, block: NDArray[np.integer] | None) -> None:
        for number, (cube, tally) in enumerate(zip(self._cubes, self._tallies, strict=True)):
            place = np.zeros(rows.height, dtype=np.int32)
            if cube.codes:
                cells = column_array(rows[cell_column(number)], place.dtype)
                np.multiply(cells, len(self.block_keys), out=place)
            if block is not None:
                place += block
            tally.add({PLACE: place}, {name: rows[name] for name in tally.columns})

    def frames(self) -> list[pl.DataFrame] | None:
        """Sums of nonempty entries in the form of a group-by, with the cell in place of keys.

        None where a block has no rows: the run is about those that have.
        """
        self._finish()
        frames = [self._frame(tally.frame()) for tally in self._tallies]
        return None if self._blocks and frames[0][BLOCK].n_unique() < len(self.block_keys) else frames

    def _frame(self, sums: pl.DataFrame) -> pl.DataFrame:
        cell, block = np.divmod(sums[PLACE].to_numpy(), len(self.block_keys))
        keys = [pl.Series(CELL, cell)]
        keys += [pl.Series(BLOCK, self.block_keys[block])] if self._blocks else []
        names = [name.removeprefix(TERM) for name in sums.columns if name.startswith(TERM)]
        return sums.select(*keys, *map(self._total, names))

    def _total(self, name: str) -> pl.Expr:
        """A sum from its column in a tally, where words are whole numbers with a sign."""
        column = pl.col(_column(name)).alias(name)
        return column.reinterpret(signed=False) if self._types[name] == pl.UInt64 else column


def sums_with_counts(plan: RunPlan, *, digested: bool) -> CellSums | None:
    """Sums of rows to add in the same scan as counts on a grid.

    None where they are not, or do not tell each sum one by one, or cells are many. With `digested` digests of units are
    asked for.
    """
    request, blocks = plan.request, plan.blocks
    if plan.exact or not needs_rows(plan) or request.arithmetic.any_order:
        return None
    if any(plan.centres.values()) or request.label_free_values or request.counts_every_row:
        return None
    if blocks is None:
        keys = np.zeros(1, dtype=np.uint64)
    elif blocks.keys is not None:
        keys = blocks.keys
    elif blocks.modulus is not None:
        keys = np.arange(blocks.modulus, dtype=np.uint64)
    else:
        return None
    entries = sum(cube.cells for cube in plan.cubes) * len(keys)
    if entries * _ROWS_AN_ENTRY > plan.rows.read:
        return None
    sums = CellSums(plan, keys, digests(plan) if digested else ())
    return sums if sums.simple and sums.bytes <= counting_room(request.suite) // _ROOM_SHARE else None


def _column(name: str) -> str:
    """Summand column of a sum."""
    return f"{TERM}{name}"
