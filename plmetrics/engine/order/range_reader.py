"""Reads the numbers to order by, a range at a time: by class or arm, and by the cells of each cube."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array
from plmetrics.core.threads import parallel_map
from plmetrics.engine.aggregate.row_plan import HAS_LABEL, cell_column, rows_plan
from plmetrics.engine.order.encoding import SAMPLE_ROWS, chosen_rows
from plmetrics.engine.streaming import collected_batches
from plmetrics.states.scores.exact.class_rows import ByCell
from plmetrics.table.checks import scored_column, valid_column
from plmetrics.table.prediction_columns import LABEL
from plmetrics.table.slices import LOOKUP_CELLS

if TYPE_CHECKING:
    from plmetrics.engine.aggregate.aggregation import Aggregates
    from plmetrics.engine.order.orderings import Ordering
    from plmetrics.engine.run_plan import RunPlan

    Classes = tuple[ByCell, ByCell]
    Ids = NDArray[np.unsignedinteger]

BATCH_ROWS = 1_000_000
STEP_ROWS = 1 << 17
"""So many rows are put in the order of their cells while they are in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A range of scores: above `low`, and up to `high`; None for no end."""

    low: float | None = None
    high: float | None = None

    def holds(self, column: str) -> pl.Expr:
        """Whether a score lies in it."""
        above = pl.lit(value=True) if self.low is None else pl.col(column) > self.low
        return above if self.high is None else above & (pl.col(column) <= self.high)


@dataclass(slots=True)
class _ClassRows:
    """The rows of one class in a pass, batch by batch: the cell of each in every cube, and their numbers by name.

    `columns` are those beside what rows are ordered by: weights, where they carry them, and outcomes of an arm.
    """

    columns: tuple[str, ...]
    ids: list[list[Ids]] = field(default_factory=list)
    numbers: dict[str, list[Array]] = field(default_factory=dict)

    def by_cell(self, ordering: str, cube: int, cells: int) -> ByCell:
        """The rows of an ordering by the cell of a cube."""
        sizes = np.zeros(cells, dtype=np.int64)
        for ids in self.ids:
            sizes += np.bincount(ids[cube], minlength=cells)
        offsets = np.append(0, np.cumsum(sizes))
        columns = [self.numbers[name] for name in (ordering, *self.columns)]
        at, out = offsets[:-1].copy(), [np.empty(offsets[-1]) for _ in columns]
        for number, ids in enumerate(self.ids):
            cell_sizes = np.bincount(ids[cube], minlength=cells)
            place = np.repeat(at - (np.cumsum(cell_sizes) - cell_sizes), cell_sizes)
            place += np.arange(len(place))
            order = np.argsort(ids[cube], kind="stable") if cube else slice(None)
            for values, parts in zip(out, columns, strict=True):
                values[place] = parts[number][order]
            at += cell_sizes
        score, *others = out
        by_name = dict(zip(self.columns, others, strict=True))
        return ByCell(score, offsets, by_name.get(_WEIGHT), by_name.get(_OUTCOME))


_WEIGHT, _OUTCOME = "@weight", "@outcome"


class RangeReader:
    """Reader of ordering numbers, by class and cell."""

    def __init__(self, plan: RunPlan, aggregated: Aggregates) -> None:
        self._plan = plan
        self.cells = [np.unique(state.cell) for state in aggregated.sums]
        self._ids = [self._numbers(number) for number in range(len(self.cells))]

    def read(self, orderings: Sequence[Ordering], limits: Limits) -> Iterator[tuple[Ordering, list[Classes]]]:
        """Rows of each ordering in a range, by the occupied cells of each cube; a range is for a single one."""
        rows: dict[str, tuple[_ClassRows, _ClassRows]] = {}
        for ordering in orderings:
            columns = _further_columns(ordering)
            rows.setdefault(_population(ordering), (_ClassRows(columns), _ClassRows(columns)))
        step = max(STEP_ROWS, 4 * max(map(len, self.cells)))
        for frame in collected_batches(range_plan(self._plan, orderings, limits), BATCH_ROWS):
            for piece in frame.iter_slices(step):
                self._add(rows, orderings, piece)
        for ordering in orderings:
            classes = rows[_population(ordering)]
            work = [(part, cube) for cube in range(len(self.cells)) for part in classes]
            pieces = parallel_map(partial(self._by_cell, ordering.name), work)
            by_cube = list(zip(pieces[::2], pieces[1::2], strict=True))
            for part in classes:
                part.numbers.pop(ordering.name)
            if ordering.value is not None:
                rows.pop(_population(ordering))
            yield ordering, by_cube

    def _by_cell(self, ordering: str, work: tuple[_ClassRows, int]) -> ByCell:
        rows, cube = work
        return rows.by_cell(ordering, cube, len(self.cells[cube]))

    def _add(
        self,
        rows: dict[str, tuple[_ClassRows, _ClassRows]],
        orderings: Sequence[Ordering],
        frame: pl.DataFrame,
    ) -> None:
        """Take up a batch, its rows in the order of the first cube's cells."""
        ids = [self._of_rows(number, frame) for number in range(len(self.cells))]
        for population, classes in rows.items():
            same_population = [ordering for ordering in orderings if _population(ordering) == population]
            positive, present = same_population[0].positives(frame), same_population[0].members(frame)
            numbers = {ordering.name: frame[ordering.column].to_numpy() for ordering in same_population}
            numbers |= _further_numbers(same_population[0], frame)
            sides = (~positive, positive) if present is None else (present & ~positive, present & positive)
            for target, member in zip(classes, sides, strict=True):
                index = np.flatnonzero(member)
                if len(self.cells[0]) > 1:
                    index = index[np.argsort(ids[0][index], kind="stable")]
                target.ids.append([part[index] for part in ids])
                for name, values in numbers.items():
                    target.numbers.setdefault(name, []).append(values[index])

    def _of_rows(self, number: int, frame: pl.DataFrame) -> Ids:
        """The place of each row's cell among the occupied ones."""
        table = self._ids[number]
        if table is None:
            return np.zeros(frame.height, dtype=np.uint8)
        cell = frame[cell_column(number)].to_numpy()
        if len(table):
            return table.take(cell)
        cells = self.cells[number]
        return np.searchsorted(cells, cell).astype(np.min_scalar_type(len(cells)))

    def _numbers(self, number: int) -> Ids | None:
        """A table of those places; None where all rows are in one cell, empty where it would be too long."""
        cube, cells = self._plan.cubes[number], self.cells[number]
        if not cube.codes:
            return None
        dtype = np.min_scalar_type(len(cells))
        if cube.cells > LOOKUP_CELLS:
            return np.zeros(0, dtype=dtype)
        table = np.zeros(cube.cells, dtype=dtype)
        table[cells] = np.arange(len(cells))
        return table


def _population(ordering: Ordering) -> str:
    """Key of orderings with equal rows and classes: the scores of models read together."""
    return "" if ordering.value is None else ordering.name


def _further_columns(ordering: Ordering) -> tuple[str, ...]:
    """Names of the numbers of each row beside its ordering number."""
    names = {_WEIGHT: ordering.weight is not None, _OUTCOME: ordering.arms}
    return tuple(name for name, has in names.items() if has)


def _further_numbers(ordering: Ordering, frame: pl.DataFrame) -> dict[str, Array]:
    """Weights of rows, and outcomes times weight."""
    out: dict[str, Array] = {}
    if ordering.weight is not None:
        out[_WEIGHT] = frame[ordering.weight].to_numpy()
    if ordering.arms:
        outcome = frame[LABEL].cast(pl.Float64).to_numpy()
        out[_OUTCOME] = outcome * out[_WEIGHT] if out else outcome
    return out


def range_plan(run_plan: RunPlan, orderings: Sequence[Ordering], limits: Limits) -> pl.LazyFrame:
    """Rows of some orderings in a range, with classes, cells and weights; a range is for a single ordering."""
    label_free = any(ordering.label_free for ordering in orderings)
    models = tuple(dict.fromkeys(ordering.model for ordering in orderings))
    plan = rows_plan(run_plan, models, unlabelled=label_free)
    if len(orderings) == 1:
        plan = orderings[0].flat(plan).filter(*_present(run_plan, orderings[0], limits))
    read = [name for ordering in orderings for name in ordering.columns]
    read += [cell_column(number) for number, cube in enumerate(run_plan.cubes) if cube.codes]
    if run_plan.request.suite.per_model:
        read += [scored_column(o.model) if o.label_free else valid_column(o.model) for o in orderings]
    if label_free:
        read.append(HAS_LABEL)
    return plan.select(*dict.fromkeys(read))


def _present(plan: RunPlan, ordering: Ordering, limits: Limits) -> Iterator[pl.Expr]:
    """Mask of the rows with a number in the range."""
    if plan.request.suite.per_model:
        yield pl.col(scored_column(ordering.model) if ordering.label_free else valid_column(ordering.model))
    if ordering.value is not None:
        yield pl.col(ordering.column).is_not_null()
    if limits != Limits():
        yield limits.holds(ordering.column)


def numbers_sample(plan: RunPlan, ordering: Ordering) -> pl.LazyFrame:
    """Sample of the numbers of an ordering."""
    rows = chosen_rows(plan, max(1, plan.rows.read // SAMPLE_ROWS))
    numbers = ordering.flat(rows.select(*ordering.expressions(plan)))
    return numbers.select(ordering.column).filter(pl.col(ordering.column).is_finite())
