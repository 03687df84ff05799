"""The memory budget, and the choice between sorting the rows and counting them on a grid for ordered metrics.

Rows are sorted in one of two ways. *Rows* holds them all, of every model. *Points* reads the scores of some models, or
a range of the scores of one, sorts these, and keeps small counts, or sums of weights: it serves what needs no more than
these, and reads the files as often as memory asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from plmetrics.catalogue.composite_metrics import refused_subject
from plmetrics.catalogue.metric import Metric, leaves
from plmetrics.catalogue.needs import Bins
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.engine.memory.machine import machine_memory
from plmetrics.states.scores.coarse import replicates_rows

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request, TableView
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

POINT_ROWS = 1_000_000
"""Fewer rows are simply held: reading them again costs more than it brings."""

_READ_TWICE = 4
"""Up to so many times as many are held where they are counted in bins: a grid would read them once more than points."""

LIBRARIES = 250_000_000
"""Bytes that Python, what it loads and the batches of a scan take, however little is asked of a run."""

_SHARE = 0.6
_COUNTED, _POINTS_SHARE = 3, 2
_LEAST_SHARE = 2
_SCORE, _LABEL, _WEIGHT, _BLOCK, _CELL = 8, 1, 8, 8, 4
_COPIES = 3.0
"""A sort and a regrouping hold a model's columns a few times over."""

_COPIES_OF_VALUES, _COPIES_OF_CLASSES = 5.2, 6.3
"""The same of other numbers of each row, such as errors, and of numbers that have classes of their own: each slice set
has its distinct ones beside what adds up along them. With intervals rows were seen to take 139 and 185 bytes each."""

_ARMS = 200
"""Bytes a row of two arms beside that: of each score the weight and outcome of both arms, and what adds up along it."""

_MOST_RANGES = 64
_PARTS_SHARE = 2
"""Rows that are held a part at a time may take half of the room: the rest is for what is made of them."""

_WAITING = 64
"""Bytes a row, beside those of predictions, that wait in a shared scan for the slowest of its plans (about)."""

_STEP, _STEPS_IN_GB = 100_000_000, 10
_MEGA, _GIGA = 10**6, 10**9


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """Plan for sorting the rows of ordered metrics, and its cost.

    `way` is `rows`, `points` (see the module) or `grid`, which counts instead of sorting. A pass holds so many `orders`
    of the rows at a time, each read in `ranges`; the files are read in so many `passes`, beyond those of a grid.
    `bytes` are about how much memory it takes; of a grid, what it may take.
    """

    way: Literal["rows", "points", "grid"]
    orders: int
    ranges: int
    passes: int
    bytes: int


def budget_of(suite: Suite) -> int:
    """Memory budget of a run of a suite in bytes, libraries included."""
    return machine_budget() if suite.memory is None else suite.memory


def machine_budget() -> int:
    """Default memory budget in bytes: a share of the machine's memory, or of what a container may take of it."""
    return int(_SHARE * machine_memory())


def merging_room(suite: Suite) -> int:
    """Bytes of the budget for the sums and counts of merged states: reading and writing take about as much."""
    return working_memory(suite) // _COUNTED


def working_memory(suite: Suite) -> int:
    """Bytes of the budget for rows and counts: a minimal part of it if libraries alone would take more.

    >>> from types import SimpleNamespace
    >>> [working_memory(SimpleNamespace(memory=size)) for size in (10**9, 10**8)]
    [750000000, 50000000]
    """
    return _room(budget_of(suite))


def _room(budget: int) -> int:
    return max(budget - LIBRARIES, budget // _LEAST_SHARE)


def round_up(size: int) -> str:
    """A size as a suite may say it, rounded up.

    >>> round_up(710_000_000), round_up(7_310_000_000)
    ('800MB', '7.4GB')
    """
    hundreds = math.ceil(size / _STEP)
    return f"{hundreds}00MB" if hundreds < _STEPS_IN_GB else f"{hundreds / _STEPS_IN_GB:g}GB"


def counting_room(suite: Suite, *, beside_points: bool = False) -> int:
    """Bytes for the counts of one pass: batches of rows take about as much, kept counts and rows the rest.

    With `beside_points` those of exact values are held meanwhile.
    """
    return working_memory(suite) // (_COUNTED + int(beside_points))


def order_plan(request: Request, rows: int, cubes: int, slices: int = 1) -> OrderPlan:
    """The plan of a bound suite for ordering so many rows, as `prepare` and `explain` use it.

    `cubes` are groups of slice sets, `slices` the most slices of a set: replicates of many small ones are made from
    sorted rows.

    Raises:
        ConfigError: rows must be sorted, and do not fit; or they cannot be, and a metric needs it.
    """
    exact = request.suite.exact
    budget = working_memory(request.suite)
    orders = _orders(request)
    grid = OrderPlan("grid", orders, 1, 0, counting_room(request.suite))
    if exact is False:
        refuse_rows(request.suite.metrics, "allow exact")
        return grid
    in_memory = OrderPlan("rows", orders, 1, 0, sort_bytes(request, rows, cubes))
    fits = in_memory.bytes <= budget
    enough = rows if fits else max(rows, POINT_ROWS)
    sorts = request.areas_alone or (rows <= _READ_TWICE * POINT_ROWS and _counts_bins(request))
    sorts = fits and (sorts or not _orders_classes(request))
    sorts = sorts or (fits and _replicates_rows(request.suite, rows, slices))
    asked = exact or _orders_classes(request)
    if asked and not sorts and by_points(request, enough):
        plan = _points_plan(request, rows, cubes, budget)
        if plan is not None and (exact or plan.ranges == 1):
            return plan
    if fits:
        return in_memory
    if exact and (request.scores or request.ranks or request.suite.row_curves):
        least = in_memory.bytes
        if by_points(request, max(rows, POINT_ROWS)):
            least = min(least, _least_by_points(request, rows, cubes))
        raise _no_room(least, budget_of(request.suite))
    if exact is None:
        refuse_rows(request.suite.metrics, f"raise memory to {round_up(in_memory.bytes + LIBRARIES)}")
        return grid
    return in_memory


def _no_room(needed: int, budget: int) -> ConfigError:
    least = needed + LIBRARIES
    sizes = f"about {size_text(least)} for the sorted rows, the memory budget is {size_text(budget)}"
    hint = f"leave exact out for values with a bound, or raise memory to {round_up(least)}"
    return ConfigError(Problem(f"exact: true needs {sizes}", ("exact",), hint))


def size_text(size: int) -> str:
    """A size for people to read."""
    return f"{size / _GIGA:.1f} GB" if size >= _GIGA else f"{size / _MEGA:.3g} MB"


def by_points(request: Request, rows: int) -> bool:
    """Whether points of the scores, and counts by block on a grid, suffice for all ordered metrics and curves."""
    suite = request.suite
    if rows < POINT_ROWS or not _orders(request) or request.ranks:
        return False
    if any(curve.strategy == "count" for curve in suite.curves):
        return False
    return not (_replicates_rows(suite, rows, 1) or any(need.rows_in_order for need in request.orders))


def _orders(request: Request) -> int:
    """Number of orderings of the rows: by the scores of each model, and by its other numbers."""
    return len(request.models) * (int(request.orders_scores) + len(request.values))


def _orders_classes(request: Request) -> bool:
    """Whether rows of two classes are ordered by scores and nothing else: points are then the quickest way, too."""
    return not request.values and request.view.roles.treatment is None


def _counts_bins(request: Request) -> bool:
    """Whether rows of weight 1 are counted in bins, without a sort of rows in memory."""
    return request.counts_bins and request.suite.uncertainty is None and not request.suite.has_weights


def _replicates_rows(suite: Suite, rows: int, slices: int) -> bool:
    uncertainty = suite.uncertainty
    return uncertainty is not None and replicates_rows(rows, uncertainty.replicates, slices)


def _points_plan(request: Request, rows: int, cubes: int, budget: int) -> OrderPlan | None:
    """As many orderings at a time as fit, or one in as few ranges as fit; None where even small ones do not."""
    from plmetrics.engine.memory.points import bytes_in_hand, points_bytes

    rows *= request.width
    fixed = rows * points_bytes(request)
    room = budget // _POINTS_SHARE
    number = _orders(request)
    most = 1 if request.suite.per_model or request.width > 1 else number
    for together in range(most, 0, -1):
        needed = rows * bytes_in_hand(request, together, cubes) + fixed * together
        if needed <= room:
            return OrderPlan("points", together, 1, math.ceil(number / together), needed)
    each = rows * bytes_in_hand(request, 1, cubes)
    if room <= fixed or each > (room - fixed) * _MOST_RANGES:
        return None
    ranges = math.ceil(each / (room - fixed))
    return OrderPlan("points", 1, ranges, number * ranges, each // ranges + fixed)


def _least_by_points(request: Request, rows: int, cubes: int) -> int:
    """Least working memory for an ordering in the maximal number of ranges."""
    from plmetrics.engine.memory.points import bytes_in_hand, points_bytes

    rows *= request.width
    in_hand = rows * bytes_in_hand(request, 1, cubes) // _MOST_RANGES
    return _POINTS_SHARE * (rows * points_bytes(request) + in_hand + 1)


def sort_bytes(request: Request, rows: int, cubes: int) -> int:
    """Estimated memory of sorted rows: all models' scores once, one model's columns a few times."""
    suite = request.suite
    columns = _LABEL + _CELL * cubes
    columns += _WEIGHT if suite.has_weights else 0
    columns += _BLOCK if suite.uncertainty is not None else 0
    widths = [value.width for value in request.values]
    orders = int(request.orders_scores or bool(request.ranks)) + sum(widths)
    columns += _SCORE if request.ranks else 0
    arms = _ARMS * int(request.view.roles.treatment is not None)
    by_class = any(value.positive is not None for value in request.values)
    copies = _COPIES_OF_CLASSES if by_class else _COPIES_OF_VALUES if widths else _COPIES
    copies *= request.width
    return int(rows * (len(request.models) * orders * _SCORE + columns + copies * (_SCORE + columns) + arms))


def sorts_in_memory(request: Request, rows: int, cubes: int) -> bool:
    """Whether ordered metrics are exact in this run; see `order_plan`."""
    return order_plan(request, rows, cubes).way != "grid"


def waiting_bytes(view: TableView) -> int:
    """Estimated upper bound of memory for plans in one scan: fast plans read ahead of slow ones."""
    return _waiting_rows(view.source, sum(len(model.parts) for model in view.roles.models.values()))


def _waiting_rows(source: Source, numbers: int) -> int:
    return source.bytes if source.rows is None else source.rows * (_WAITING + _SCORE * numbers)


def separates_scans(view: TableView) -> bool:
    """Whether each plan scans the rows by itself, since a shared scan may take more than half of the room."""
    return waiting_bytes(view) > working_memory(view.suite) // _PARTS_SHARE


def separates_table(source: Source, numbers: int) -> bool:
    """The same of plans without a suite, over so many numbers of each row."""
    return _waiting_rows(source, numbers) > _room(machine_budget()) // _PARTS_SHARE


def rows_that_fit(suite: Suite, columns: int) -> int:
    """Number of rows with room in memory, by the numbers of each, copies included."""
    return working_memory(suite) // (columns * _SCORE)


def _number_to_hold(view: TableView, rows: pl.LazyFrame, columns: int, most: int | None) -> Question[int]:
    """Number of rows to hold; an upper bound where it fits in memory, so that no count is needed."""
    most = view.source.rows if most is None else most
    if most is not None and most * columns * _SCORE <= working_memory(view.suite):
        return most
    (counted,) = yield [rows.select(pl.len())]
    return int(counted.item())


def refuse_to_hold(
    view: TableView, rows: pl.LazyFrame, columns: int, what: str, *place: str | int
) -> Question[None]:
    """Refuse rows beyond the memory budget; counts them only if estimates leave that open.

    A row takes about so many `columns` of numbers meanwhile, copies of a sort among them. A message begins with `what`.

    Raises:
        ConfigError: they do not fit.
    """
    number = yield from _number_to_hold(view, rows, columns, None)
    if (needed := number * columns * _SCORE) > working_memory(view.suite):
        raise _no_room_to_hold(budget_of(view.suite), number, needed + LIBRARIES, what, place)


def passes_to_hold(
    view: TableView, rows: pl.LazyFrame, columns: int, what: str, *place: str | int, most: int | None = None
) -> Question[int]:
    """Number of passes, with a part of the rows in memory in each, of small results; 1 if all fit.

    Arguments are those of `refuse_to_hold`, and the most rows there are, those of the table by default.

    Raises:
        ConfigError: more passes would be needed than are made.
    """
    number = yield from _number_to_hold(view, rows, columns, most)
    passes = passes_of_rows(view.suite, number, columns)
    if passes > _MOST_RANGES:
        least = number * columns * _SCORE * _PARTS_SHARE // _MOST_RANGES + LIBRARIES
        raise _no_room_to_hold(budget_of(view.suite), number, least, what, place)
    return passes


def passes_of_rows(suite: Suite, rows: int, columns: int) -> int:
    """Number of passes for a number of rows and of numbers each, with a part in memory at a time."""
    needed, room = rows * columns * _SCORE, working_memory(suite)
    return 1 if needed <= room else math.ceil(needed * _PARTS_SHARE / room)


def _no_room_to_hold(
    budget: int, rows: int, least: int, what: str, place: tuple[str | int, ...]
) -> ConfigError:
    sizes = f"about {size_text(least)}, the memory budget is {size_text(budget)}"
    hint = f"raise memory to {round_up(least)}, or narrow the rows with data: {{where: ...}}"
    return ConfigError(Problem(f"{what} holds {rows:,} rows in memory: {sizes}", place, hint))


def refuse_rows(metrics: Sequence[Metric], remedy: str) -> None:
    """Refuse metrics beyond a grid of scores.

    `remedy` is what would let the rows be sorted.

    Raises:
        ConfigError: there are some.
    """
    problems = []
    for index, metric in enumerate(metrics):
        leaf = next((leaf for leaf in leaves(metric) if leaf.needs.rows_in_order), None)
        if leaf is not None:
            subject = refused_subject(metric, leaf)
            msg = f"{subject} needs the sorted rows, which exact: false or the memory budget rules out"
            choice = isinstance(leaf.needs, Bins) and leaf.needs.optional
            hint = f"use strategy=uniform, or {remedy}" if choice else remedy
            problems.append(Problem(msg, ("metrics", index), hint))
    if problems:
        raise ConfigError(problems)
