"""The fourth stage by points: numbers to order by are read a range at a time, sorted, and reduced to counts.

A pass holds some orderings of the rows, or one in a range: the scores of a model, the probabilities of a class, or
another number of each row, by class or by arm. Their order in every slice set becomes points, and the rows are dropped.
Ranges follow each other from low to high, so that a slice's points do, too. Counts by block, and on fixed bins, come
from the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.needs import Bins, OrderedRows, Points, Quantiles
from plmetrics.core.ops import Codes
from plmetrics.core.threads import batches
from plmetrics.engine.inquiry import Step
from plmetrics.engine.order.encoding import grid_steps
from plmetrics.engine.order.grid_scores import models_on_grids
from plmetrics.engine.order.in_memory import models_in_order
from plmetrics.engine.order.orderings import Ordering, run_orderings
from plmetrics.engine.order.range_reader import Limits, RangeReader, numbers_sample, range_plan
from plmetrics.engine.order.score_bins import drawn_from, key_of
from plmetrics.engine.streaming import collected_frame
from plmetrics.states.scores.exact.complement_points import SetOrder
from plmetrics.states.scores.exact.ranges import RangePoints, SetPoints, SlicedPoints, add_range
from plmetrics.suite.tasks import BINNED_CURVES

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.aggregate.aggregation import Aggregates
    from plmetrics.engine.aggregate.cell_sums import CellSums
    from plmetrics.engine.order.range_reader import Classes
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.scores.grid.sliced_grid import SlicedGrid
    from plmetrics.states.scores.sliced_scores import SlicedScores
    from plmetrics.table.slices import Slices


@dataclass(frozen=True, slots=True)
class OrderPoints:
    """The points of an ordering by slice set: joined between positives, and each score, where these are read.

    `orders` are of the sets whose complements are asked for.
    """

    joined: dict[int, SetPoints]
    distinct: dict[int, SetPoints]
    orders: dict[int, SetOrder]

    @classmethod
    def empty(cls, plan: RunPlan, ordering: Ordering) -> OrderPoints:
        """Points without rows, for the sets in need of them. Of arms every score is a point, read or not."""
        points, arms = cls({}, {}, {}), ordering.arms
        for index, slices in enumerate(plan.slices):
            order, scores = _reads(plan.request, slices.slice_set.name, ordering)
            if order and not (arms and scores):
                points.joined[index] = SetPoints(len(slices), scores=False, arms=arms)
            if scores:
                points.distinct[index] = SetPoints(len(slices), scores=True, arms=arms)
            if (order or scores) and plan.request.has_complements(slices.slice_set.name):
                points.orders[index] = SetOrder(len(slices), scores=scores, arms=arms)
        return points

    def clear(self) -> None:
        """Drop all points: a reader may still hold this while the next ones are made."""
        for points in (*self.joined.values(), *self.distinct.values()):
            points.clear()
        for order in self.orders.values():
            order.clear()

    def add(self, plan: RunPlan, by_cube: Sequence[Classes], cells: Sequence[Codes]) -> None:
        """The rows of a range, by the occupied cells of each cube."""
        work: list[tuple[RangePoints, Classes, Codes]] = []
        every: list[tuple[int, RangePoints]] = [
            *self.joined.items(),
            *self.distinct.items(),
            *self.orders.items(),
        ]
        for index, scores in every:
            slices = plan.slices[index]
            number = plan.cube_of(slices)
            code = plan.cubes[number].slice_codes(slices, cells[number])
            work.append((scores, by_cube[number], code))
        add_range(work)


def order_steps(plan: RunPlan, sums: CellSums | None) -> Iterator[Step]:
    """Scans of `models_to_order`, with those of `sums` they yield; none if the rows came with the sums."""
    request, order = plan.request, plan.order
    if plan.exact and order.way == "rows":
        yield Step("order", does=_in_memory(request))
        return
    if plan.exact:
        if _needing_points(plan, run_orderings(plan)):
            yield Step("order", does=_sorting(plan))
        for together in _groups(plan):
            if not (read := _needing_points(plan, together)):
                continue
            if order.ranges > 1:
                yield Step("order", (numbers_sample(plan, read[0]),))
            yield Step("order", (range_plan(plan, read, Limits()),), times=order.ranges)
    if not plan.exact or _counts_on_grid(plan.request):
        yield from grid_steps(plan, sums)


def _in_memory(request: Request) -> str:
    """Description of results from rows in memory: bins alone need a look-up, and no sort."""
    orders = int(request.orders_scores) + len(request.values)
    if not orders:
        return "rows for curves"
    bins = request.suite.uncertainty is None and not request.suite.has_weights
    bins = bins and all(isinstance(need, Bins) and not need.rows_in_order for need in request.orders)
    curves = request.suite.row_curves
    bins = bins and all(curve.curve in BINNED_CURVES and curve.strategy == "width" for curve in curves)
    count = len(request.models) * orders
    words = ("column in bins", "columns in bins") if bins else ("sort", "sorts")
    return f"{count} {words[count != 1]} in memory, {orders} a model; rows come with the sums"


def _sorting(plan: RunPlan) -> str:
    """Description of a sorting pass."""
    order, every = plan.order, run_orderings(plan)
    of_scores = all(ordering.value is None for ordering in every)
    what, of = ("models", "its scores") if of_scores else ("orders", "what it orders")
    ranges = f" in {order.ranges} ranges of {of}" if order.ranges > 1 else ""
    return f"sorts {order.orders} of {len(every)} {what} at a time{ranges}"


def _groups(plan: RunPlan) -> list[tuple[Ordering, ...]]:
    return batches(run_orderings(plan), plan.order.orders)


def models_to_order(
    plan: RunPlan, aggregated: Aggregates
) -> Iterator[tuple[str, str | None, Callable[[int], SlicedScores]]]:
    """Each model's scores as the run orders them: sorted rows, points, or a grid; see `models_in_order`."""
    if not plan.exact:
        return models_on_grids(plan, aggregated)
    if plan.order.way == "points":
        return models_by_points(plan, aggregated)
    return models_in_order(plan, aggregated)


def models_by_points(
    plan: RunPlan, aggregated: Aggregates
) -> Iterator[tuple[str, str | None, Callable[[int], SlicedPoints]]]:
    """Points and counts of each model, as a function of the slice set; see `models_in_order`."""
    reader = RangeReader(plan, aggregated)
    counted = models_on_grids(plan, aggregated) if _counts_on_grid(plan.request) else None
    for together in _groups(plan):
        points = {ordering.name: OrderPoints.empty(plan, ordering) for ordering in together}
        if read := _needing_points(plan, together):
            for limits in _ranges(plan, read[0]):
                for ordering, by_cube in reader.read(read, limits):
                    points[ordering.name].add(plan, by_cube, reader.cells)
        for ordering in together:
            of_ordering = points.pop(ordering.name)
            yield ordering.model, ordering.key, _cutter(plan.slices, ordering, of_ordering, counted)
            of_ordering.clear()


def _cutter(
    slices: Sequence[Slices],
    ordering: Ordering,
    points: OrderPoints,
    counted: Iterator[tuple[str, str | None, Callable[..., SlicedGrid]]] | None,
) -> Callable[..., SlicedPoints]:
    """Function from the number of a slice set to its points; or to those of the complement of one slice alone."""
    of_grid = None if counted is None else next(counted)[2]
    weighted, arms = ordering.weight is not None, ordering.arms

    def cut(index: int, complement_of: int | None = None) -> SlicedPoints:
        grid = None if of_grid is None else of_grid(index, complement_of)
        joined, distinct = points.joined.get(index), points.distinct.get(index)
        if complement_of is None:
            return SlicedPoints(len(slices[index]), joined, distinct, grid, weighted, arms)
        order = points.orders.get(index)
        joined, distinct = (
            None
            if ordered is None or order is None
            else order.complement(complement_of, scores=ordered is distinct)
            for ordered in (joined, distinct)
        )
        return SlicedPoints(1, joined, distinct, grid, weighted, arms)

    return cut


def _reads(request: Request, name: str, ordering: Ordering) -> tuple[bool, bool]:
    """Whether the order of the rows of a set, and the numbers behind it are read."""
    suite = request.suite
    metrics = [
        metric
        for metric in suite.state_metrics(name)
        if isinstance(metric.needs, OrderedRows) and key_of(metric.needs) == ordering.key
    ]
    by_points = [metric for metric in metrics if isinstance(metric.needs, Points)]
    has_curves = any(
        curve.curve not in BINNED_CURVES and (name == "overall" or name in curve.slices)
        for curve in suite.row_curves
        if drawn_from(curve, ordering.key)
    )
    read = {metric: _reads_numbers(metric, ordering) for metric in by_points}
    quantiles = any(isinstance(metric.needs, Quantiles) for metric in metrics)
    return not all(read.values()), has_curves or quantiles or any(read.values())


def _reads_numbers(metric: Metric, ordering: Ordering) -> bool:
    """Whether a metric reads points of every number; arms are such points anyway, without stored numbers."""
    return metric.needs.scores or metric.finds_threshold if ordering.arms else metric.reads_points


def _needing_points(plan: RunPlan, together: Sequence[Ordering]) -> tuple[Ordering, ...]:
    """Orderings with points for a slice set, beyond bins."""
    names = [slices.slice_set.name for slices in plan.slices]
    return tuple(one for one in together if any(any(_reads(plan.request, name, one)) for name in names))


def _counts_on_grid(request: Request) -> bool:
    """Whether blocks or bins are counted beside points."""
    return request.suite.uncertainty is not None or request.counts_bins


def _ranges(plan: RunPlan, ordering: Ordering) -> Iterator[Limits]:
    """Ranges of a number with about equally many rows each, by a sample."""
    number = plan.order.ranges
    if number == 1:
        yield Limits()
        return
    sample = collected_frame(numbers_sample(plan, ordering)).to_series().cast(pl.Float64).sort().to_numpy()
    places = len(sample) * np.arange(1, number) // number
    edges = np.unique(sample[places]) if len(sample) else sample
    ends: list[float | None] = [None, *edges.tolist(), None]
    for low, high in pairwise(ends):
        yield Limits(low, high)
