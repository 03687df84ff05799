"""Sums of rows by bins of their numbers, in the scan of the other sums: a table for each model and slice set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.engine.aggregate.bin_rows import BinRows
from plmetrics.engine.aggregate.bin_values import bin_values, bins_of, key_number, run_tables, table_jobs
from plmetrics.engine.aggregate.totals import cells_of
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
from plmetrics.states.state_format import CELL
from plmetrics.table.prediction_columns import plain_column
from plmetrics.table.slices import Cube

if TYPE_CHECKING:
    from plmetrics.engine.aggregate.bin_values import Job
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.bin_sums import Name
    from plmetrics.table.slices import Slices


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


def bin_totals(plan: RunPlan, sums: BinSums) -> BinSums:
    """Bin tables with running totals in place of sums."""
    frames = {name: plan.addition.totals(frame) for name, frame in sums.frames.items()}
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
    bins = bins_of(plan.bin_edges, model, key)
    place = number.map_batches(
        lambda numbers: pl.Series(bins.places(numbers.to_numpy())),
        return_dtype=pl.UInt16,
        is_elementwise=True,
    )
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
