"""The fourth stage by points: scores are read a range at a time, sorted, and kept as small counts.

A pass holds the scores of some models, or those of one in a range of scores, by class; the order of its rows in every
slice set becomes points, and the scores are dropped. Ranges follow each other from low to high, so that a slice's
points do, too. Counts by block, and on fixed bins, come from the grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.needs import Points
from plmetrics.core.threads import parallel_map
from plmetrics.engine.aggregate.row_plan import POSITIVE, cell_column, positive_column, rows_plan
from plmetrics.engine.memory.budget import compares_rests
from plmetrics.engine.order.encoding import SAMPLE_ROWS, chosen_rows, grid_steps
from plmetrics.engine.order.in_memory import models_in_order
from plmetrics.engine.order.on_grid import models_on_grids
from plmetrics.engine.step import Step
from plmetrics.engine.streaming import collected_batches, collected_frame
from plmetrics.states.scores.class_rows import ByCell
from plmetrics.states.scores.complement_points import SetOrder
from plmetrics.states.scores.ranges import SetPoints, SlicedPoints, add_range
from plmetrics.suite.tasks import BINNED_CURVES
from plmetrics.table.checks import valid_column
from plmetrics.table.predicted import score_column
from plmetrics.table.roles import WEIGHT
from plmetrics.table.slices import LOOKUP_CELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.engine.aggregate.aggregation import Aggregates
    from plmetrics.engine.prepared import Prepared
    from plmetrics.states.scores.coarse import Array, Codes
    from plmetrics.states.scores.ranges import RangePoints
    from plmetrics.states.scores.sliced_grid import SlicedGrid
    from plmetrics.states.scores.sorted import SlicedScores

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


@dataclass(frozen=True, slots=True)
class ModelPoints:
    """The points of a model by slice set: joined between positives, and each score, where these are read.

    `orders` are of the sets whose rests are asked for.
    """

    joined: dict[int, SetPoints]
    distinct: dict[int, SetPoints]
    orders: dict[int, SetOrder]

    @classmethod
    def empty(cls, prepared: Prepared) -> ModelPoints:
        """Without rows, for the sets that need them."""
        points = cls({}, {}, {})
        for index, slices in enumerate(prepared.slices):
            order, scores = _reads(prepared, slices.slice_set.name)
            if order:
                points.joined[index] = SetPoints(len(slices), scores=False)
            if scores:
                points.distinct[index] = SetPoints(len(slices), scores=True)
            if (order or scores) and compares_rests(prepared.request.suite, slices.slice_set.name):
                points.orders[index] = SetOrder(len(slices), scores=scores)
        return points

    def add(self, prepared: Prepared, by_cube: Sequence[Classes], cells: Sequence[Codes]) -> None:
        """The rows of a range, by the occupied cells of each cube."""
        work: list[tuple[RangePoints, Classes, Codes]] = []
        every: list[tuple[int, RangePoints]] = [
            *self.joined.items(),
            *self.distinct.items(),
            *self.orders.items(),
        ]
        for index, scores in every:
            slices = prepared.slices[index]
            number = prepared.cube_of(slices)
            code = prepared.cubes[number].slice_codes(slices, cells[number])
            work.append((scores, by_cube[number], code))
        add_range(work)


@dataclass(slots=True)
class _ClassRows:
    """The rows of one class in a pass, batch by batch: the cell of each in every cube, scores by model, and weights.

    `weights` is None where rows count once each.
    """

    weights: list[Array] | None
    ids: list[list[Ids]] = field(default_factory=list)
    scores: dict[str, list[Array]] = field(default_factory=dict)

    def by_cell(self, model: str, cube: int, cells: int) -> ByCell:
        """A model's scores by the cell of a cube."""
        sizes = np.zeros(cells, dtype=np.int64)
        for ids in self.ids:
            sizes += np.bincount(ids[cube], minlength=cells)
        offsets = np.append(0, np.cumsum(sizes))
        columns = [self.scores[model], *([] if self.weights is None else [self.weights])]
        at, out = offsets[:-1].copy(), [np.empty(offsets[-1]) for _ in columns]
        for number, ids in enumerate(self.ids):
            cell_sizes = np.bincount(ids[cube], minlength=cells)
            place = np.repeat(at - (np.cumsum(cell_sizes) - cell_sizes), cell_sizes)
            place += np.arange(len(place))
            order = np.argsort(ids[cube], kind="stable") if cube else slice(None)
            for values, parts in zip(out, columns, strict=True):
                values[place] = parts[number][order]
            at += cell_sizes
        return ByCell(out[0], offsets, None if self.weights is None else out[1])


class Reader:
    """Reads scores by class and cell."""

    def __init__(self, prepared: Prepared, aggregated: Aggregates) -> None:
        self._prepared = prepared
        self.cells = [np.unique(state.cell) for state in aggregated.sums]
        self._ids = [self._numbers(number) for number in range(len(self.cells))]

    def read(self, models: Sequence[str], limits: Limits) -> Iterator[tuple[str, list[Classes]]]:
        """Each model's scores in a range, by the occupied cells of each cube; a range is for a single model."""
        weighted = self._prepared.view.roles.weight_of(models[0]) is not None
        classes = (_ClassRows([] if weighted else None), _ClassRows([] if weighted else None))
        step = max(STEP_ROWS, 4 * max(map(len, self.cells)))
        plan = _scores_plan(self._prepared, models, limits)
        for frame in collected_batches(plan, BATCH_ROWS):
            for piece in frame.iter_slices(step):
                self._add(classes, models, piece)
        work = [(scores, cube) for cube in range(len(self.cells)) for scores in classes]
        for model in models:
            pieces = parallel_map(partial(self._by_cell, model), work)
            by_cube = list(zip(pieces[::2], pieces[1::2], strict=True))
            for scores in classes:
                scores.scores.pop(model)
            yield model, by_cube

    def _by_cell(self, model: str, work: tuple[_ClassRows, int]) -> ByCell:
        scores, cube = work
        return scores.by_cell(model, cube, len(self.cells[cube]))

    def _add(
        self, classes: tuple[_ClassRows, _ClassRows], models: Sequence[str], frame: pl.DataFrame
    ) -> None:
        """Take up a batch, its rows in the order of the first cube's cells."""
        ids = [self._of_rows(number, frame) for number in range(len(self.cells))]
        positive = frame[POSITIVE].to_numpy()
        scores = {model: frame[score_column(model)].to_numpy() for model in models}
        for target, member in zip(classes, (~positive, positive), strict=True):
            index = np.flatnonzero(member)
            if len(self.cells[0]) > 1:
                index = index[np.argsort(ids[0][index], kind="stable")]
            target.ids.append([part[index] for part in ids])
            if target.weights is not None:
                target.weights.append(frame[WEIGHT].to_numpy()[index])
            for model, score in scores.items():
                target.scores.setdefault(model, []).append(score[index])

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
        cube, cells = self._prepared.cubes[number], self.cells[number]
        if not cube.codes:
            return None
        dtype = np.min_scalar_type(len(cells))
        if cube.cells > LOOKUP_CELLS:
            return np.zeros(0, dtype=dtype)
        table = np.zeros(cube.cells, dtype=dtype)
        table[cells] = np.arange(len(cells))
        return table


def _scores_plan(prepared: Prepared, models: Sequence[str], limits: Limits) -> pl.LazyFrame:
    """The scores of some models in a range, with class, cells and weight; a range is for a single model."""
    plan = rows_plan(prepared, models)
    if prepared.request.suite.apart:
        plan = plan.filter(pl.col(valid_column(models[0])))
    if limits != Limits():
        plan = plan.filter(limits.holds(score_column(models[0])))
    cells = [cell_column(number) for number, cube in enumerate(prepared.cubes) if cube.codes]
    weight = prepared.view.roles.weight_of(models[0])
    weights = [] if weight is None else [pl.col(weight).alias(WEIGHT)]
    positive = pl.col(positive_column(prepared.view.roles, models[0])).alias(POSITIVE)
    return plan.select(positive, *map(score_column, models), *cells, *weights)


def order_steps(prepared: Prepared) -> Iterator[Step]:
    """The scans of `models_to_order`; none where the rows came with the sums."""
    request, order = prepared.request, prepared.order
    if prepared.exact and order.way == "rows":
        orders = int(request.orders_scores) + len(request.values)
        sorts = len(request.models) * orders
        does = f"{sorts} {'sort' if sorts == 1 else 'sorts'} in memory, {orders} a model; rows come with the sums"
        yield Step("order", does=does if orders else "rows for curves")
        return
    if prepared.exact and _reads_points(prepared):
        ranges = f" in {order.ranges} ranges of its scores" if order.ranges > 1 else ""
        does = f"sorts {order.models} of {len(request.models)} models at a time{ranges}"
        yield Step("order", does=does)
        for together in _model_groups(prepared):
            if order.ranges > 1:
                yield Step("order", (_sample_plan(prepared, together[0]),))
            yield Step("order", (_scores_plan(prepared, together, Limits()),), times=order.ranges)
    if not prepared.exact or _counts_on_grid(prepared):
        yield from grid_steps(prepared)


def _model_groups(prepared: Prepared) -> list[tuple[str, ...]]:
    """The models whose scores are read together."""
    models, number = prepared.request.models, prepared.order.models
    return [models[first : first + number] for first in range(0, len(models), number)]


def models_to_order(
    prepared: Prepared, aggregated: Aggregates
) -> Iterator[tuple[str, str | None, Callable[[int], SlicedScores]]]:
    """Each model's scores as the run orders them: sorted rows, points, or a grid; see `models_in_order`."""
    if not prepared.exact:
        return models_on_grids(prepared, aggregated)
    if prepared.order.way == "points":
        return models_by_points(prepared, aggregated)
    return models_in_order(prepared, aggregated)


def models_by_points(
    prepared: Prepared, aggregated: Aggregates
) -> Iterator[tuple[str, str | None, Callable[[int], SlicedPoints]]]:
    """Each model's points and counts, as a function that gives those of a slice set; see `models_in_order`."""
    reader, reads = Reader(prepared, aggregated), _reads_points(prepared)
    counted = models_on_grids(prepared, aggregated) if _counts_on_grid(prepared) else None
    for together in _model_groups(prepared):
        points = {model: ModelPoints.empty(prepared) for model in together}
        for limits in _ranges(prepared, together[0]) if reads else ():
            for model, by_cube in reader.read(together, limits):
                points[model].add(prepared, by_cube, reader.cells)
        for model in together:
            yield model, None, _cutter(prepared, model, points.pop(model), counted)


def _cutter(
    prepared: Prepared,
    model: str,
    points: ModelPoints,
    counted: Iterator[tuple[str, str | None, Callable[..., SlicedGrid]]] | None,
) -> Callable[..., SlicedPoints]:
    """What gives the points of a slice set, by its number; or of the rest of one slice, and that alone."""
    of_grid = None if counted is None else next(counted)[2]
    weighted = prepared.view.roles.weight_of(model) is not None

    def cut(index: int, rest_of: int | None = None) -> SlicedPoints:
        grid = None if of_grid is None else of_grid(index, rest_of)
        joined, distinct = points.joined.get(index), points.distinct.get(index)
        if rest_of is None:
            return SlicedPoints(len(prepared.slices[index]), joined, distinct, grid, weighted)
        order = points.orders.get(index)
        assert order is not None
        joined, distinct = (
            None if held is None else order.rest(rest_of, scores=held is distinct)
            for held in (joined, distinct)
        )
        return SlicedPoints(1, joined, distinct, grid, weighted)

    return cut


def _reads(prepared: Prepared, name: str) -> tuple[bool, bool]:
    """Whether the order of the scores of a set, and the scores themselves are read."""
    suite = prepared.request.suite
    metrics = [metric for metric in suite.needed(name) if isinstance(metric.needs, Points)]
    has_curves = any(
        curve.curve not in BINNED_CURVES and (name == "overall" or name in curve.slices)
        for curve in suite.row_curves
    )
    order = any(not metric.reads_points for metric in metrics)
    return order, has_curves or any(metric.reads_points for metric in metrics)


def _reads_points(prepared: Prepared) -> bool:
    """Whether a slice set asks for points, not only for bins."""
    return any(any(_reads(prepared, slices.slice_set.name)) for slices in prepared.slices)


def _counts_on_grid(prepared: Prepared) -> bool:
    """Whether blocks or bins are counted beside points."""
    request = prepared.request
    has_curves = any(curve.curve in BINNED_CURVES for curve in request.suite.curves)
    return request.suite.uncertainty is not None or bool(request.binnings) or has_curves


def _sample_plan(prepared: Prepared, model: str) -> pl.LazyFrame:
    """A few scores of a model."""
    column = score_column(model)
    rows = chosen_rows(prepared, max(1, prepared.rows.read // SAMPLE_ROWS))
    return rows.select(column).filter(pl.col(column).is_finite())


def _ranges(prepared: Prepared, model: str) -> Iterator[Limits]:
    """Ranges of a model's scores that hold about as many rows each, by a few of its rows."""
    number = prepared.order.ranges
    if number == 1:
        yield Limits()
        return
    sample = collected_frame(_sample_plan(prepared, model)).to_series().sort().to_numpy()
    places = len(sample) * np.arange(1, number) // number
    edges = np.unique(sample[places]) if len(sample) else sample
    ends: list[float | None] = [None, *edges.tolist(), None]
    for low, high in pairwise(ends):
        yield Limits(low, high)
