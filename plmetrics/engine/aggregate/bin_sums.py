"""Sums of rows by bins of their numbers, in the scan of the other sums: a table for each model and slice set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.exact_sums import FIXED, LEFT, Addition
from plmetrics.core.ops import Codes
from plmetrics.core.threads import parallel_map
from plmetrics.engine.aggregate.bin_tally import PLACE, BinTally
from plmetrics.engine.aggregate.bin_values import (
    bin_values,
    bins_of,
    is_class,
    key_number,
    number_column,
    run_tables,
    table_jobs,
)
from plmetrics.engine.aggregate.row_plan import BLOCK as ROW_BLOCK
from plmetrics.engine.aggregate.row_plan import cell_column
from plmetrics.engine.aggregate.totals import cells_of
from plmetrics.engine.memory.budget import counting_room
from plmetrics.engine.streaming import batch_sink
from plmetrics.states.bin_sums import (
    BINS,
    BY_QUERY,
    KEYS,
    LOW,
    QUERY,
    ROWS,
    BinSums,
    add_frames,
    end_expressions,
)
from plmetrics.states.queries import QUERY_NAME
from plmetrics.states.state_format import BLOCK, CELL
from plmetrics.table.checks import valid_column
from plmetrics.table.prediction_columns import plain_column
from plmetrics.table.slices import LOOKUP_CELLS, Cube, Slices

if TYPE_CHECKING:
    from plmetrics.engine.aggregate.bin_values import Job
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.bin_sums import Name


_BATCH_ROWS, _LEAST_ROWS = 1_000_000, 1 << 16
_NUMBER = 8
_BATCH_COPIES = 4
"""A batch is there while the next ones are read, and with the bins of its rows."""
_SPARSE = 4
"""Arrays of more places than so many a row are a waste."""


def bin_sums(plan: RunPlan) -> Question[BinSums]:
    """Tables of all curves of sums by bins."""
    jobs = list(table_jobs(plan))
    queries = [job for job in jobs if job.table.queries]
    rows = BinRows(plan, [job for job in jobs if not job.table.queries])
    plans = [*(_query_plan(plan, job) for job in queries), *rows.plans()]
    frames = (yield plans) if plans else []
    sums = [(job, _by_slice(plan, job, frame)) for job, frame in zip(queries, frames, strict=False)]
    parts: dict[Name, list[pl.DataFrame]] = {}
    for job, frame in [*sums, *rows.frames()]:
        counted = frame.with_columns((pl.col(CELL) + job.first).cast(pl.UInt32))
        keys = [name for name in KEYS if name in counted.columns]
        others = [name for name in counted.columns if name not in keys]
        parts.setdefault((job.model, job.table.name, job.number), []).append(counted.select(*keys, *others))
    return BinSums(
        {table.name: table for table in run_tables(plan)},
        {name: add_frames(each) for name, each in parts.items()},
        plan.bin_edges,
    )


def bin_totals(addition: Addition, sums: BinSums) -> BinSums:
    """Bin tables with running totals in place of sums."""
    frames = {name: addition.totals(frame) for name, frame in sums.frames.items()}
    return BinSums(sums.tables, frames, sums.edges)


def _cube(plan: RunPlan, slices: Slices) -> Cube:
    """The keys of one slice set alone."""
    cube = plan.cubes[plan.cube_of(slices)]
    codes = {code.key.column: code for code in cube.codes}
    return Cube(tuple(codes[column] for column in slices.slice_set.columns), (slices,))


def _query_plan(plan: RunPlan, job: Job) -> pl.LazyFrame:
    """Queries of both models, by name if they are few; else with those at the ends of bins."""
    model, key = job.model, job.table.keys[0]
    number, name = key_number(plan, model, key), pl.col(plain_column(QUERY_NAME))
    place = bins_of(plan.bin_edges, model, key).expression(number)
    columns = {BINS[0]: place.cast(pl.UInt32), LOW: number, QUERY: name.cast(pl.String)}
    values = bin_values(plan, model, job.table)
    frame = plan.table.frame.filter(number.is_finite()).with_columns(**columns, **values)
    keys, by_query = [*_cube(plan, job.slices).columns, BINS[0]], f"{model}|{BY_QUERY}" in plan.bin_edges
    sums = plan.addition.sums({name: pl.col(name) for name in values})
    ends = [] if by_query else end_expressions(LOW, LOW, QUERY, QUERY)
    keys += [QUERY] if by_query else []
    return frame.group_by(keys).agg(pl.len().cast(pl.Int64).alias(ROWS), *sums, *ends)


def _by_slice(plan: RunPlan, job: Job, frame: pl.DataFrame) -> pl.DataFrame:
    """Sums by the keys of a slice set, by the number of a slice."""
    cube = _cube(plan, job.slices)
    codes = cube.slice_codes(job.slices, cells_of(cube, frame))
    return frame.drop(cube.columns).with_columns(pl.Series(CELL, codes)).filter(pl.Series(codes >= 0))


class BinRows:
    """Sums of some tables, each of one model and the slices of one set, and their scan."""

    def __init__(self, plan: RunPlan, jobs: Sequence[Job]) -> None:
        self._plan = plan
        self._jobs = jobs
        self._bins = {
            (job.model, key): bins_of(plan.bin_edges, job.model, key)
            for job in jobs
            for key in job.table.keys
            if not is_class(key)
        }
        self._values: dict[str, pl.Expr] = {}
        self._sources = self._distinct_values()
        self._shapes = [self._shape(job) for job in jobs]
        self._tallies = self._empty_tallies()
        self._codes: dict[tuple[int, int], Codes] = {}

    def plans(self) -> list[pl.LazyFrame]:
        """Scan, with batches added on arrival; none without tables."""
        if not self._jobs:
            return []
        rows = self._plan.table.frame.select(self._row_columns())
        width = _NUMBER * _BATCH_COPIES * len(rows.collect_schema())
        fit = counting_room(self._plan.request.suite) // width
        return [batch_sink(rows, min(_BATCH_ROWS, max(_LEAST_ROWS, fit)), self._add)]

    def frames(self) -> Iterator[tuple[Job, pl.DataFrame]]:
        """The sums of each table by slice, bins and block."""
        for job, shape, tally in zip(self._jobs, self._shapes, self._tallies, strict=True):
            frame, bins = tally.frame(), len(job.table.keys)
            names = [CELL, *BINS[:bins], BLOCK][: len(shape)]
            types = [pl.Int64, *[pl.UInt32] * bins, pl.UInt64][: len(shape)]
            places = np.unravel_index(frame[PLACE].to_numpy(), shape)
            keys = [
                pl.Series(name, place).cast(kind)
                for name, place, kind in zip(names, places, types, strict=True)
            ]
            yield job, frame.drop(PLACE).with_columns(keys)

    def _distinct_values(self) -> list[dict[str, str]]:
        """Row columns of the sums of each table, by name: tables of a model share them."""
        columns: dict[tuple[str, str], str] = {}
        sources = []
        for job in self._jobs:
            source = {}
            for name, value in bin_values(self._plan, job.model, job.table).items():
                column = columns.setdefault((job.model, name.rsplit("|", 1)[-1]), name)
                self._values.setdefault(column, value)
                source[name] = column
                if column in self._plan.addition.exact:
                    source |= {f"{kind}{name}": f"{kind}{column}" for kind in (FIXED, LEFT)}
            sources.append(source)
        return sources

    def _row_columns(self) -> list[pl.Expr]:
        """Unique numbers of rows to bin and to add, with their cells and blocks."""
        plan = self._plan
        numbers = {
            number_column(job.model, key): key_number(plan, job.model, key)
            for job in self._jobs
            for key in job.table.keys
        }
        values = {name: value.cast(pl.Float64) for name, value in self._values.items()}
        columns = [number.alias(name) for name, number in numbers.items()]
        columns += [part.fill_null(0) for part in plan.addition.parts(values)]
        for cube in dict.fromkeys(plan.cube_of(job.slices) for job in self._jobs):
            columns.append(plan.cubes[cube].cell().alias(cell_column(cube)))
        if plan.request.suite.per_model:
            columns += [
                pl.col(valid_column(model)) for model in dict.fromkeys(job.model for job in self._jobs)
            ]
        if plan.blocks is not None and any(job.table.blocks for job in self._jobs):
            columns.append(plan.blocks.of_unit.alias(ROW_BLOCK))
        return columns

    def _shape(self, job: Job) -> tuple[int, ...]:
        """Numbers of slices and bins, and of blocks if known."""
        classes = len(self._plan.request.classes)
        shape = [len(job.slices)]
        shape += [classes if is_class(key) else self._bins[job.model, key].size for key in job.table.keys]
        blocks = self._plan.blocks
        if job.table.blocks and blocks is not None and blocks.modulus is not None:
            shape.append(blocks.modulus)
        return tuple(shape)

    def _empty_tallies(self) -> list[BinTally]:
        """Tallies with arrays where these have room, the smallest first."""
        room = counting_room(self._plan.request.suite)
        tallies: dict[int, BinTally] = {}
        for place in sorted(range(len(self._jobs)), key=lambda place: math.prod(self._shapes[place])):
            size, names = math.prod(self._shapes[place]), self._sources[place]
            taken = size * _NUMBER * (1 + len(names))
            dense = (
                taken <= room
                and size <= _SPARSE * self._plan.rows.read
                and self._has_block_places(self._jobs[place])
            )
            room -= taken if dense else 0
            whole = [name for name in names if name.startswith((FIXED, LEFT))]
            keys = (PLACE,) if self._has_block_places(self._jobs[place]) else (PLACE, BLOCK)
            tallies[place] = BinTally(names, whole, size if dense else None, keys)
        return [tallies[place] for place in range(len(self._jobs))]

    def _has_block_places(self, job: Job) -> bool:
        """Whether places tell the block of a row, too."""
        return not job.table.blocks or len(self._shape(job)) > len(job.table.keys) + 1

    def _add(self, batch: pl.DataFrame) -> None:
        """Add the rows of a batch, model by model."""
        parallel_map(partial(self._add_model, batch), list(dict.fromkeys(job.model for job in self._jobs)))

    def _add_model(self, batch: pl.DataFrame, model: str) -> None:
        rows = batch.filter(pl.col(valid_column(model))) if self._plan.request.suite.per_model else batch
        bins = {
            key: numbers.places(rows[number_column(model, key)].to_numpy())
            for (of_model, key), numbers in self._bins.items()
            if of_model == model
        }
        for job, shape, source, tally in zip(
            self._jobs, self._shapes, self._sources, self._tallies, strict=True
        ):
            if job.model != model:
                continue
            codes = self._slice_codes(job, rows)
            place = codes.copy()
            for key, size in zip(job.table.keys, shape[1:], strict=False):
                place *= size
                place += rows[number_column(model, key)].to_numpy() if is_class(key) else bins[key]
            keys: dict[str, NDArray[np.int64 | np.uint64]] = {PLACE: place}
            if job.table.blocks:
                block = rows[ROW_BLOCK].to_numpy()
                if self._has_block_places(job):
                    place *= shape[-1]
                    place += block.astype(np.int64)
                else:
                    keys[BLOCK] = block
            members = None if codes.min(initial=0) >= 0 else np.flatnonzero(codes >= 0)
            values = {name: rows[column].to_numpy() for name, column in source.items()}
            if members is not None:
                keys, values = (
                    {name: part[members] for name, part in parts.items()} for parts in (keys, values)
                )
            tally.add(keys, values)

    def _slice_codes(self, job: Job, rows: pl.DataFrame) -> Codes:
        """The number of each row's slice in a set, -1 where it is in none."""
        number = self._plan.cube_of(job.slices)
        cube, cells = self._plan.cubes[number], rows[cell_column(number)].to_numpy()
        if cube.cells > LOOKUP_CELLS:
            return cube.slice_codes(job.slices, cells)
        if (job.number, job.first) not in self._codes:
            self._codes[job.number, job.first] = cube.slice_codes(job.slices, np.arange(cube.cells))
        codes: Codes = self._codes[job.number, job.first][cells]
        return codes
