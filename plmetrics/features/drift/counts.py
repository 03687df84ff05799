"""Counts of two windows by value, the input of all drift measures.

What is kept of a column is a plain frame that adds: rows, weight and offsets by window, slice cell and place. A place
is a value, or the lower edge of a bin where a column has too many values for the memory budget; offsets are then how
far the values of a bin lie above its edge, so that means and variances stay exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.exact_sums import Addition
from plmetrics.core.quantiles import averaged_inverse
from plmetrics.core.threads import ahead
from plmetrics.engine.aggregate.bin_values import NumberBins
from plmetrics.engine.bad_rows import bad_values
from plmetrics.engine.inquiry import Question, frames_by_name, gather
from plmetrics.engine.memory.budget import working_memory
from plmetrics.engine.prepare.slices import key_codes, list_slices, resolve_keys, slice_plans
from plmetrics.engine.request import Request, TableView
from plmetrics.features.drift.column_counts import ColumnCounts, DriftCounts
from plmetrics.features.drift.slice_counts import BLOCK, KEY, PLACE, WIDTH, recentre, roll_up_windows
from plmetrics.features.drift.subjects import Subject
from plmetrics.features.drift.windows import (
    BAD,
    VALUE,
    WINDOW,
    Windows,
    drift_windows,
    in_reference,
    no_current_rows,
    no_reference_rows,
    reference_of,
)
from plmetrics.states.scores.exact.sorting import sort_with_weights
from plmetrics.table.prediction_columns import WEIGHT
from plmetrics.table.slices import Cube, Slices, plan_cubes
from plmetrics.table.source import Source

FINE_BINS = 4096
"""Bins of a column that has too many values: half of them between quantiles of each window."""

MOST_CATEGORIES = 10_000
"""A column of texts with more values is not compared value by value: an id is new in every row."""

EXACT_VALUES = 2_100_000
"""A column with more different values, by an estimate some per cents off, is on bins unless `exact: true`."""

SAMPLE_ROWS = 400_000
MAX_CELLS = 1_000_000
_ROW_BYTES = 150
_WAITING = 4
"""Rows that wait for their turn take this part of what they take while they are put in order."""

_SHARE = 0.25
_REFERENCE = ("drift", "reference")


@dataclass(frozen=True, slots=True)
class WindowsCounting:
    """Counting of both windows: columns by slice cells."""

    windows: Windows
    sets: tuple[Slices, ...]
    cubes: tuple[Cube, ...]
    columns: tuple[_Column, ...]
    facts: pl.DataFrame

    @property
    def bytes(self) -> int:
        """Estimated memory of the counts of all columns, with one of them being sorted while another one is read."""
        values, rows = _values(self.facts, len(self.columns)), int(self.facts["rows"].sum())
        cells = self.windows.cells(self.cubes)
        ordered = [_bytes(column.places(values[column.number]), rows, cells) for column in self.columns]
        waiting = [column.waiting(needed) for column, needed in zip(self.columns, ordered, strict=True)]
        return sum(waiting) + sum(sorted(ordered)[-2:])

    @classmethod
    def prepare(cls, request: Request, view: TableView) -> Question[WindowsCounting]:
        """Question for the constants: slices, number of distinct values of each column, and edges of bins.

        `view` is of the rows as they are in the data.
        """
        keys = yield from resolve_keys(view)
        windows, in_rows = drift_windows(request, view.with_keys(keys)), reference_of(request) is None
        sources = [windows.view.source] if in_rows else [windows.view.source, windows.reference.source]
        estimates = not _fits_in_memory(windows, sources)
        values = yield from frames_by_name(_look_ups(windows, estimates=estimates))
        _require_rows(windows.reference.where, values["facts"], in_rows=in_rows)
        slices = list_slices(windows.view, values)
        cubes = plan_cubes(slices.slices, key_codes(windows.view.roles, slices), 1, MAX_CELLS)
        columns = yield from _columns(windows, values["facts"], cubes)
        columns = yield from gather(*(column.with_addition(windows) for column in columns))
        return cls(windows, slices.slices, tuple(cubes), columns, values["facts"])

    def count(self) -> Question[DriftCounts]:
        """Counts of both windows: a plan for each column and cube, and one for the rows of ungrouped columns."""
        grouped = [column for column in self.columns if not column.scattered]
        plans = [plan for column in grouped for plan in column.plans(self.windows, self.cubes)]
        counted = list((yield [*self._rows(), *plans]))
        _require_sound_reference(self.windows.reference, self.facts)
        return DriftCounts(self.sets, self._in_turn(counted), self.windows.has_weights)

    def _rows(self) -> list[pl.LazyFrame]:
        """Plan of the rows of ungrouped columns: keys by cube, weights and values."""
        values = [column.value for column in self.columns if column.scattered]
        if not values:
            return []
        keys = [
            _key(cube).cast(_key_type(cube.cells)).alias(f"{KEY}{place}")
            for place, cube in enumerate(self.cubes)
        ]
        weight = [pl.col(WEIGHT)] if self.windows.has_weights else []
        return [self.windows.frame.select(*keys, *self.windows.block, *weight, *values)]

    def _in_turn(self, counted: list[pl.DataFrame]) -> Iterator[tuple[ColumnCounts, ...]]:
        """The counts of each column, cut by slice; frames are taken off the list, and values off the rows."""
        counted.reverse()
        rows = counted.pop() if any(column.scattered for column in self.columns) else pl.DataFrame()

        def counts_of(column: _Column) -> tuple[ColumnCounts, ...]:
            if column.scattered:
                place = rows.drop_in_place(f"{VALUE}{column.number}").alias(PLACE)
                frames = [self._row_counts(rows, cube, place) for cube in range(len(self.cubes))]
            else:
                frames = [column.by_place(counted.pop()) for _ in self.cubes]
            return ColumnCounts.of_sets(
                column.subject,
                self.sets,
                [
                    (column.with_width(counts), units)
                    for counts, units in roll_up_windows(self.sets, self.cubes, frames)
                ],
                weighted=self.windows.has_weights,
                binned=column.edges is not None,
                too_many=column.too_many,
            )

        return ahead(counts_of, self.columns)

    def _row_counts(self, rows: pl.DataFrame, cube: int, place: pl.Series) -> pl.DataFrame:
        """Rows with their places as the counts of a cube; where none has a weight, each counts as 1."""
        block = [rows[BLOCK]] if BLOCK in rows.columns else []
        columns = [rows[f"{KEY}{cube}"].alias(KEY), place, *block]
        if self.windows.has_weights:
            columns += [
                pl.repeat(1, rows.height, dtype=pl.Int64, eager=True).alias("rows"),
                rows[WEIGHT].alias("weight"),
            ]
        return pl.DataFrame(columns)


def _fits_in_memory(windows: Windows, sources: Sequence[Source]) -> bool:
    """Whether the files have few enough rows for counts of all numbers by value, however many are distinct."""
    sizes = [source.rows for source in sources]
    if windows.view.suite.exact is False or None in sizes:
        return False
    rows = sum(filter(None, sizes))
    numbers = {number: rows for number, subject in enumerate(windows.subjects) if subject.of_numbers}
    return len(list(_columns_by_value(windows, numbers, rows, [1] * len(windows.sets)))) == len(numbers)


def _look_ups(windows: Windows, *, estimates: bool) -> dict[str, pl.LazyFrame]:
    """Plans of the constants: rows and values of each window, and the slices of either.

    With `estimates` also how many different values columns of numbers have, and their range.
    """
    facts = [pl.len().cast(pl.Int64).alias("rows"), pl.col(BAD).sum().cast(pl.Int64).alias("bad")]
    for number, subject in enumerate(windows.subjects):
        if subject.of_numbers and not estimates:
            continue
        value = pl.col(f"{VALUE}{number}")
        facts.append(value.approx_n_unique().cast(pl.Int64).alias(f"{number}|values"))
        if subject.of_numbers:
            facts += [value.min().alias(f"{number}|least"), value.max().alias(f"{number}|most")]
    plans = {"facts": windows.frame.group_by(WINDOW).agg(facts)}
    return plans | slice_plans(windows.view, windows.frame)


def _require_rows(where: pl.Expr | None, facts: pl.DataFrame, *, in_rows: bool) -> None:
    """Both windows have rows."""
    rows = dict(facts.select(WINDOW, "rows").iter_rows())
    path = ("drift", "where") if in_rows else _REFERENCE
    if not rows.get(0):
        hint = "none is left of it after where, weights and missing values" if where is not None else None
        raise no_reference_rows(path, hint)
    if not rows.get(1):
        raise no_current_rows(path, "narrow drift's where, or name another table as reference")


def _require_sound_reference(reference: TableView, facts: pl.DataFrame) -> None:
    """The rows of the reference are sound."""
    rows, bad = facts.filter(pl.col(WINDOW) == 0).select("rows", "bad").row(0)
    if bad:
        raise in_reference(bad_values(reference, reference.table().checks, rows))


@dataclass(frozen=True, slots=True)
class _Column:
    """Counting of one column: by value, or on bins between `edges`; columns of `too_many` values have one place.

    `scattered` values, most of which occur once, are not worth grouping: they are sorted later all the same.
    """

    number: int
    subject: Subject
    edges: NDArray[np.float64] | None = None
    too_many: bool = False
    scattered: bool = False
    addition: Addition = field(default_factory=Addition)

    @property
    def value(self) -> pl.Expr:
        """The value of a row."""
        return pl.col(f"{VALUE}{self.number}")

    def _summands(self, *, weighted: bool) -> dict[str, pl.Expr]:
        """Terms of each row in the sums of the counts."""
        if self.scattered:
            return {}
        apart = self.value - self.centre
        terms = {} if self.edges is None else {"offset": apart, "square": apart**2}
        if not weighted:
            return terms
        weight = pl.col(WEIGHT)
        return {"weight": weight} | {name: weight * term for name, term in terms.items()}

    def places(self, values: int) -> int:
        """Number of places for the counts of a number of distinct values in both windows."""
        if self.too_many:
            return 1
        return values if self.edges is None else len(self.edges)

    def waiting(self, needed: int) -> int:
        """Memory of its counts before their turn, from their size during the sort."""
        return needed // _WAITING if self.scattered else needed

    def with_addition(self, windows: Windows) -> Question[_Column]:
        """Column with the way it is added up."""
        summands = self._summands(weighted=windows.has_weights)
        addition = yield from windows.view.arithmetic.addition(windows.frame, summands)
        return replace(self, addition=addition)

    def plans(self, windows: Windows, cubes: Sequence[Cube]) -> list[pl.LazyFrame]:
        """One plan per cube: a streaming group-by of cell, window and place; without weights they are the rows."""
        summands = self._summands(weighted=windows.has_weights)
        sums = [self.addition.total(name, part).alias(name) for name, part in summands.items()]
        rows = pl.len().cast(pl.Int64).alias("rows")
        weight = [] if windows.has_weights else [pl.col("rows").cast(pl.Float64).alias("weight")]
        place = self._place(self.value).alias(PLACE)
        return [
            windows.frame.group_by(_key(cube).alias(KEY), place, *windows.block)
            .agg(rows, *sums)
            .with_columns(weight)
            for cube in cubes
        ]

    @property
    def centre(self) -> float:
        """Centre of sums of values: near them, against cancellation."""
        return 0.0 if self.edges is None else float(self.edges[len(self.edges) // 2])

    def _place(self, value: pl.Expr) -> pl.Expr:
        """The value, or the number of the edge at or below it."""
        if self.too_many:
            return pl.when(value.is_not_null()).then(pl.lit("any"))
        if self.edges is None:
            return value
        bins = NumberBins(np.append(self.edges, np.inf), histogram=True)
        return pl.when(value.is_not_null()).then(bins.expression(value))

    def by_place(self, counted: pl.DataFrame) -> pl.DataFrame:
        """Counts of a plan, by place."""
        return counted if self.edges is None else recentre(counted, self.edges, self.centre)

    def with_width(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Counts of the slices of a set, with the width of bins; the last edge is the largest value."""
        if self.edges is None:
            return counts
        place = counts["place"].fill_null(np.inf).to_numpy()
        ends = np.append(self.edges, self.edges[-1:])
        end = ends[np.minimum(np.searchsorted(self.edges, place, side="right"), len(self.edges))]
        apart = pl.col("offset_0") + pl.col("offset_1") > 0
        width = pl.when(apart).then(pl.Series(end) - pl.col("place")).otherwise(0.0)
        return counts.with_columns(width.alias(WIDTH))


def _key(cube: Cube) -> pl.Expr:
    """The key of each row in a cube, see `KEY`."""
    return 2 * cube.cell() + pl.col(WINDOW)


def _key_type(cells: int) -> type[pl.DataType]:
    """Smallest integer type for the keys of a cube's cells."""
    return pl.UInt8 if 2 * cells <= 1 << 8 else pl.UInt32 if 2 * cells <= 1 << 32 else pl.Int64


def _columns(windows: Windows, facts: pl.DataFrame, cubes: Sequence[Cube]) -> Question[tuple[_Column, ...]]:
    """By value as far as the memory budget goes, the columns with the fewest values first; the rest on bins."""
    rows, cells = int(facts["rows"].sum()), windows.cells(cubes)
    sizes = dict(enumerate(_values(facts, len(windows.subjects))))
    numbers = {number: size for number, size in sizes.items() if windows.subjects[number].of_numbers}
    by_value = _columns_by_value(windows, numbers, rows, cells, exact=windows.view.suite.exact)
    columns = {column.number: column for column in by_value}
    for number in sizes.keys() - numbers.keys():
        too_many = sizes[number] > MOST_CATEGORIES
        columns[number] = _Column(number, windows.subjects[number], too_many=too_many)
    binned = [number for number in numbers if number not in columns]
    edges = (yield from _edges(windows, facts, binned)) if binned else {}
    columns |= {number: _Column(number, windows.subjects[number], edges[number]) for number in binned}
    return tuple(columns[number] for number in sorted(columns))


def _columns_by_value(
    windows: Windows, sizes: Mapping[int, int], rows: int, cells: Sequence[int], *, exact: bool | None = None
) -> Iterator[_Column]:
    """Columns of numbers with counts by value, as many as fit into memory, those with the fewest values first.

    `sizes` are the numbers of distinct values by column. `exact` decides for or against all but columns of few values.
    """
    room = _SHARE * working_memory(windows.view.suite)
    for number in sorted(sizes, key=lambda n: sizes[n]):
        needed = _bytes(sizes[number], rows, cells)
        fits = needed <= room and sizes[number] <= EXACT_VALUES
        if sizes[number] <= FINE_BINS or (fits if exact is None else exact):
            column = _Column(number, windows.subjects[number], scattered=2 * sizes[number] > rows)
            room -= column.waiting(needed)
            yield column


def _values(facts: pl.DataFrame, columns: int) -> list[int]:
    """Estimated number of distinct values of each column in both windows; an upper bound without an estimate."""
    names = (f"{number}|values" for number in range(columns))
    return [int(facts[name if name in facts.columns else "rows"].sum()) for name in names]


def _bytes(places: int, rows: int, cells: Sequence[int]) -> int:
    """Estimated memory of counts, from numbers of places and cells in cubes, while they are sorted."""
    return _ROW_BYTES * len(cells) * min(rows, 2 * places * sum(cells))


def _edges(
    windows: Windows, facts: pl.DataFrame, numbers: Sequence[int]
) -> Question[dict[int, NDArray[np.float64]]]:
    """Edges between quantiles of every k-th row of each window, from the least value of both to the largest."""
    rows = dict(facts.select(WINDOW, "rows").iter_rows())
    names = [f"{VALUE}{number}" for number in numbers]
    plans = []
    for window, side in enumerate(windows.sides):
        step = max(1, rows[window] // SAMPLE_ROWS)
        plans.append(windows.view.arithmetic.sample(side.select(*names, WEIGHT), step, names))
    shares = np.arange(1, FINE_BINS // 2) / (FINE_BINS // 2)
    edges_of_columns: dict[int, list[Any]] = {
        number: [facts[f"{number}|{end}"].drop_nulls().to_numpy() for end in ("least", "most")]
        for number in numbers
    }
    for sample in (yield plans):
        for number, name in zip(numbers, names, strict=True):
            values = sample.select(name, WEIGHT).drop_nulls()
            if values.height:
                numbers_of_rows, weight = values[name], values[WEIGHT].to_numpy()
                if windows.has_weights:
                    ascending, weight = sort_with_weights(numbers_of_rows.to_numpy(), weight)
                else:
                    ascending = numbers_of_rows.sort().to_numpy()
                edges_of_columns[number].append(averaged_inverse(ascending, weight, shares))
    return {number: np.unique(np.concatenate(parts)) for number, parts in edges_of_columns.items()}
