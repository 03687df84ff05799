"""Sums of rows by bins of their numbers, in the scan of the other sums: a table for each model and slice set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from plmetrics.core.hashing import block_key
from plmetrics.engine.aggregate.row_plan import BLOCK as ROW_BLOCK
from plmetrics.engine.aggregate.totals import cells_of
from plmetrics.engine.prepare.bin_edges import number_of
from plmetrics.states.bin_sums import (
    BINS,
    BY_QUERY,
    KEYS,
    LOW,
    QUERY,
    ROWS,
    SQUARED_WEIGHT,
    WEIGHT,
    BinSums,
    add_frames,
    centre_of,
    edges_of,
    end_expressions,
    sum_name,
)
from plmetrics.states.bin_tables import ARM_SUMS, SQUARE, tables_of
from plmetrics.states.queries import QUERY_NAME
from plmetrics.states.stored import BLOCK, CELL
from plmetrics.table.checks import valid_column
from plmetrics.table.roles import UNIT, plain_column
from plmetrics.table.slices import Cube

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.prepared import Prepared
    from plmetrics.states.bin_sums import Name
    from plmetrics.states.bin_tables import BinTable
    from plmetrics.states.sums import Rows
    from plmetrics.table.slices import Slices

Job = tuple[str, "BinTable", int, int, "Slices"]


def bin_sums(prepared: Prepared) -> Question[BinSums]:
    """The tables of all curves that are drawn from them."""
    jobs = list(_jobs(prepared))
    frames = (yield [_plan(prepared, *job[:2], job[-1]) for job in jobs]) if jobs else []
    parts: dict[Name, list[pl.DataFrame]] = {}
    for (model, table, number, first, slices), frame in zip(jobs, frames, strict=True):
        cube = _cube(prepared, slices)
        codes = cube.slice_codes(slices, cells_of(cube, frame))
        rows = frame.drop(cube.columns).rename({ROW_BLOCK: BLOCK}, strict=False)
        cell = pl.Series(CELL, codes + first)
        rows = (
            rows.with_columns(cell).filter(pl.Series(codes >= 0)).with_columns(pl.col(CELL).cast(pl.UInt32))
        )
        keys = [name for name in KEYS if name in rows.columns]
        others = [name for name in rows.columns if name not in keys]
        parts.setdefault((model, table.name, number), []).append(rows.select(*keys, *others))
    return BinSums(
        {table.name: table for table in run_tables(prepared)},
        {name: add_frames(each) for name, each in parts.items()},
        prepared.bin_edges,
    )


def run_tables(prepared: Prepared) -> tuple[BinTable, ...]:
    """The tables of a run."""
    curves = (curve.curve for curve in prepared.request.suite.bin_curves)
    return tables_of(curves, blocks=prepared.blocks is not None)


def bin_totals(prepared: Prepared, sums: BinSums) -> BinSums:
    """The tables with totals in the place of what was added to have them."""
    frames = {name: prepared.addition.totals(frame) for name, frame in sums.frames.items()}
    return BinSums(sums.tables, frames, sums.edges)


def set_places(prepared: Prepared) -> Iterator[tuple[int, int, Slices]]:
    """The slices of a run, with the number of their set and that of the first of them in it."""
    offset: dict[int, int] = {}
    for slices in prepared.slices:
        number = prepared.number_of(slices)
        yield number, offset.get(number, 0), slices
        offset[number] = offset.get(number, 0) + len(slices)


def bin_values(prepared: Prepared, model: str, table: BinTable) -> dict[str, pl.Expr]:
    """What each row adds to the sums of a table, by column."""
    row = prepared.row_of(model)
    values: dict[str, pl.Expr] = {}
    if row.weight is not None:
        values = {WEIGHT: row.weight, SQUARED_WEIGHT: row.weight * row.weight}
    for name in table.sums:
        value = _value(prepared, model, row, name)
        values[name] = value if row.weight is None else value * row.weight
    return {sum_name(model, table.name, name): value.cast(pl.Float64) for name, value in values.items()}


def _value(prepared: Prepared, model: str, row: Rows, name: str) -> pl.Expr:
    if name in ARM_SUMS:
        arm = row.treated if name.startswith("treated") else ~row.treated
        return arm.cast(pl.Float64) if name == "treated" else pl.when(arm).then(row.label).otherwise(0.0)
    number = name.removesuffix(SQUARE)
    value = number_of(row, number, prepared.request.suite) - centre_of(prepared.bin_edges, model, number)
    return value * value if name.endswith(SQUARE) else value


def table_sizes(prepared: Prepared) -> Iterator[tuple[int, int]]:
    """Of each table at most how many rows it has, and its columns: no more rows than there are, or bins in slices."""
    rows, classes = prepared.rows.read, len(prepared.request.classes)
    for model, table, _, _, slices in _jobs(prepared):
        places = len(slices)
        for key in table.keys:
            places *= classes if key.endswith("class") else len(edges_of(prepared.bin_edges, model, key)) + 1
        yield min(rows, places if not table.blocks else rows), len(table.keys) + len(table.sums) + 2


def _jobs(prepared: Prepared) -> Iterator[Job]:
    """Which tables there are, of which models and slices."""
    suite = prepared.request.suite
    drawn: dict[str, set[str]] = {}
    for curve in suite.bin_curves:
        for table in tables_of([curve.curve], blocks=True):
            drawn.setdefault(table.name, {"overall"}).update(curve.slices)
    baseline = None if suite.compare is None else suite.compare.baseline
    for number, first, slices in set_places(prepared):
        for model in prepared.request.models:
            for table in run_tables(prepared):
                if slices.slice_set.name in drawn[table.name] and not (table.queries and model == baseline):
                    yield model, table, number, first, slices


def _cube(prepared: Prepared, slices: Slices) -> Cube:
    """The keys of one slice set alone."""
    cube = prepared.cubes[prepared.cube_of(slices)]
    codes = {code.key.column: code for code in cube.codes}
    return Cube(tuple(codes[column] for column in slices.slice_set.columns), (slices,))


def _plan(prepared: Prepared, model: str, table: BinTable, slices: Slices) -> pl.LazyFrame:
    """The sums of a table by the keys of a slice set, its bins and the blocks."""
    frame, columns = prepared.table.frame, _cube(prepared, slices).columns
    if table.queries:
        return _query_plan(prepared, model, table, frame, columns)
    if prepared.request.suite.apart:
        frame = frame.filter(pl.col(valid_column(model)))
    row, values = prepared.row_of(model), bin_values(prepared, model, table)
    bins = {BINS[place]: _bin(prepared, model, row, key) for place, key in enumerate(table.keys)}
    keys = [*map(pl.col, [*columns, *bins])]
    if table.blocks and prepared.blocks is not None:
        keys.append(block_key(pl.col(UNIT), prepared.blocks.modulus).alias(ROW_BLOCK))
    sums: Sequence[pl.Expr] = prepared.addition.sums({name: pl.col(name) for name in values})
    return frame.with_columns(**bins, **values).group_by(keys).agg(pl.len().cast(pl.Int64).alias(ROWS), *sums)


def _query_plan(
    prepared: Prepared, model: str, table: BinTable, frame: pl.LazyFrame, columns: Sequence[str]
) -> pl.LazyFrame:
    """The queries in which both models take part, by name where they are few; else with those at the ends of bins."""
    row, key = prepared.row_of(model), table.keys[0]
    number, name = number_of(row, key, prepared.request.suite), pl.col(plain_column(QUERY_NAME))
    made = {BINS[0]: _bin(prepared, model, row, key), LOW: number, QUERY: name.cast(pl.String)}
    values = bin_values(prepared, model, table)
    frame = frame.filter(number.is_finite()).with_columns(**made, **values)
    keys, few = [*columns, BINS[0]], f"{model}|{BY_QUERY}" in prepared.bin_edges
    sums = prepared.addition.sums({name: pl.col(name) for name in values})
    ends = [] if few else end_expressions(LOW, LOW, QUERY, QUERY)
    keys += [QUERY] if few else []
    return frame.group_by(keys).agg(pl.len().cast(pl.Int64).alias(ROWS), *sums, *ends)


def _bin(prepared: Prepared, model: str, row: Rows, key: str) -> pl.Expr:
    """The bin of each row: the first whose upper edge is not below its number; bins of histograms hold their lower."""
    number, _, kind = key.partition(" ")
    value = number_of(row, number, prepared.request.suite)
    if kind == "class":
        return value.cast(pl.UInt32, strict=False)
    edges, histogram = edges_of(prepared.bin_edges, model, key), kind == "histogram"
    inner = edges[1:-1] if histogram else edges
    side: Literal["left", "right"] = "right" if histogram else "left"

    def places(values: pl.Series) -> pl.Series:
        return pl.Series(np.searchsorted(inner, values.to_numpy(), side=side).astype(np.uint32))

    return value.cast(pl.Float64).map_batches(places, return_dtype=pl.UInt32, is_elementwise=True)
