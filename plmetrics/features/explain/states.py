"""Sizes of states, and of a table as units of files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.engine.aggregate.aggregation import needs_rows
from plmetrics.engine.order.orderings import Ordering, run_orderings
from plmetrics.engine.order.score_bins import bin_kinds, by_quantile
from plmetrics.features.explain.work import costs
from plmetrics.features.stored.support import resamples_totals, support_problems
from plmetrics.states.scores.coarse import coarse_number
from plmetrics.states.scores.grid.grid_tally import FINE_BINS, UNBLOCKED, BinKind
from plmetrics.states.scores.sliced_scores import Binning

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.core.errors import Problem
    from plmetrics.engine.memory.run_memory import Sizes
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan

_NUMBER = 8
_KEY, _CUT = 2.0, 2.2
_GAP, _COUNT, _FULL_COUNT, _FRACTION = 0.9, 0.2, 0.3, 7.0
"""Bytes of a gap, of a count, of one among those that are written in full, zeros with them, and of a sum of weights."""

_FULL = 4
"""Counts of which at least one slot in so many has one are written in full."""

_HEAD, _SOURCE, _COLUMN, _PART = 2000, 120, 400, 160
"""Bytes of what a state says of itself, and of each column of the source, column of its table, and part of that."""

_OF_SCORES = 8
"""Columns that only scores fill."""
_MEGA = 1e6


@dataclass(frozen=True, slots=True)
class StateSize:
    """Size of a state: the number of its metrics, and the estimated rows of parquet and bytes.

    `needs_rows` are what a state does not hold, as place and reason: `state` refuses the suite until they are left out.
    Without a look at the data sizes are None; `scores` are the bytes that counts of scores take. What drift counts is
    not in them; `drift` says whether it does.
    """

    kept: int
    needs_rows: tuple[tuple[str, str], ...]
    rows: int | None
    bytes: int | None
    drift: bool = False
    scores: int | None = None


@dataclass(frozen=True, slots=True)
class _CountSize:
    """Estimated size of the counts of one slice set, of one model and on one kind of bins."""

    rows: int
    bytes: float


def state_size(request: Request, plan: RunPlan | None, sizes: Sizes | None) -> StateSize:
    """Size of the state of a bound suite; `plan` and `sizes` are None without a look at the data."""
    problems = support_problems(request.suite, request.source)
    refused = {problem.path[1] for problem in problems if problem.path[:1] == ("metrics",)}
    metrics = len(request.suite.metrics) - len(refused)
    named = {_place(request.suite.metrics, problem): problem.message for problem in reversed(problems)}
    reasons = tuple(reversed(named.items()))
    if plan is None or sizes is None:
        return StateSize(metrics, reasons, None, None)
    schemas = [
        pl.Schema({name: kind for schema in of_cube for name, kind in schema.items()})
        for of_cube in sizes.sums
    ]
    rows, size = _sums(plan, schemas, sizes.entries)
    counts = [*_scores(plan, sizes.blocks), *_bins(plan)]
    of_scores = sum(counted.bytes for counted in counts)
    rows, size = rows + sum(counted.rows for counted in counts), size + of_scores
    parts = 3 * len(plan.cubes) + len(counts)
    size += _units(plan) * _NUMBER
    columns = {name for schema in schemas for name in schema}
    number = len(columns) + 2 + _OF_SCORES * needs_rows(plan)
    size += _HEAD + _SOURCE * len(request.view.schema) + _COLUMN * number + _PART * parts
    drift = "drift" in request.suite.sections
    return StateSize(metrics, reasons, rows, int(size), drift, int(of_scores))


def _place(metrics: Sequence[Metric], problem: Problem) -> str:
    """Place of a problem in a suite: of a metric its text."""
    match problem.path:
        case ("metrics", int(index)):
            return metrics[index].text
        case path:
            return ".".join(str(key) for key in path)


def _sums(plan: RunPlan, schemas: Sequence[pl.Schema], entries: Sequence[int]) -> tuple[int, float]:
    """Rows and bytes of the sums, and of the cells they are of."""
    rows, size = 0, 0.0
    for cube, schema, number in zip(plan.cubes, schemas, entries, strict=True):
        floats = sum(kind.is_float() for kind in schema.values())
        each = math.log2(1 + plan.rows.read / max(number, 1)) / 8
        size += number * (floats * _NUMBER + (len(schema) - floats) * min(each, _NUMBER) + _KEY)
        rows += number + min(cube.cells, number)
    return rows + sum(map(len, plan.slices)), size


def _units(plan: RunPlan) -> int:
    """Number of hashes of units, or of queries, in a state."""
    blocks = plan.blocks
    if blocks is None or blocks.units is None or plan.request.unit_rows:
        return 0
    listed = blocks.modulus is None or resamples_totals(plan.request.suite)
    return int(blocks.units.sum()) if listed else 0


def _scores(plan: RunPlan, blocks: int) -> Iterator[_CountSize]:
    """Counts of each ordering of rows by set and kind of bins, and the grids."""
    if not needs_rows(plan):
        return
    fine = min(FINE_BINS, plan.rows.read)
    for ordering in run_orderings(plan):
        wanted = bin_kinds(plan, ordering)
        kinds = [bins for bins in wanted if bins != "ends" and not by_quantile(bins)]
        yield _CountSize(2, fine * _NUMBER)
        for slices in plan.slices:
            size, in_set = len(slices), plan.set_size(slices)
            if "coarse" in kinds:
                yield _CountSize(size, size * coarse_number(in_set) * _CUT)
            for bins in kinds:
                places = _places(bins, fine, in_set, ordering)
                yield _counts(plan, size, places, 1 if bins in UNBLOCKED else blocks, bins)


def _bins(plan: RunPlan) -> Iterator[_CountSize]:
    """Sums by bins for curves."""
    if not plan.request.suite.bin_curves:
        return
    from plmetrics.engine.aggregate.bin_values import table_sizes

    for rows, columns in table_sizes(plan):
        yield _CountSize(rows, rows * columns * _NUMBER)


def _places(bins: BinKind, fine: int, slices: int, ordering: Ordering) -> int:
    if isinstance(bins, Binning):
        return bins.bins * bins.channels
    if ordering.across is not None and bins != "fine":
        from plmetrics.states.joint_counts import joint_bins, joint_shape

        fine = min(fine, joint_bins(areas=ordering.of_areas))
        return math.prod(joint_shape(bins, fine, fine, areas=ordering.of_areas))
    return 2 * (fine if bins == "fine" else coarse_number(slices))


def _counts(plan: RunPlan, slices: int, places: int, blocks: int, bins: BinKind) -> _CountSize:
    """The counts of a set: each row of a slice falls into any of the places."""
    width = places * blocks
    rows = plan.rows.read / max(slices, 1)
    occupied = -width * math.expm1(-rows / width)
    full = occupied * _FULL >= width
    fractions = (isinstance(bins, Binning) and bins.scores) or plan.request.suite.has_weights
    each = _FRACTION if fractions else (_FULL_COUNT if full else _COUNT)
    return _CountSize(slices, slices * (width * each if full else occupied * (_GAP + each)))


@dataclass(frozen=True, slots=True)
class ShardSizes:
    """Units of a table.

    Attributes:
        unit: what one is, `file` or `folder`.
        units: how many there are.
        largest: bytes of the largest.
        states: about how many bytes the states of all take, at most; None where a state cannot hold the suite.
        write: processor seconds of writing these, None with `states`.
        merge: processor seconds of reading and adding them.
    """

    unit: str
    units: int
    largest: int
    states: int | None
    write: float | None = None
    merge: float | None = None


def shard_sizes(request: Request, state: StateSize) -> ShardSizes | None:
    """The units of a suite's table; None where its rows are not in files. A unit's state is as large as one of all."""
    files = request.source.files
    if not files:
        return None
    section = request.suite.sections.get("engine")
    unit = getattr(section, "unit", "file")
    sizes: dict[str, int] = {}
    for file in files:
        name = file.path
        place = name.rpartition("/")[0] if unit == "folder" else name
        sizes[place] = sizes.get(place, 0) + file.size
    number, largest = len(sizes), max(sizes.values())
    if state.bytes is None or state.needs_rows:
        return ShardSizes(unit, number, largest, None)
    total = state.bytes * number
    write = total / _MEGA * costs().seconds["megabytes of states written"]
    merge = adding_seconds(number, state.bytes, state.scores or 0)
    return ShardSizes(unit, number, largest, total, write, merge)


def adding_seconds(states: int, size: float, scores: float) -> float:
    """Processor seconds for reading and adding states of some bytes each, with some of them counts of scores."""
    seconds = costs().seconds
    sums = (size - scores) / _MEGA * seconds["megabytes of sums merged"]
    return states * (seconds["states merged"] + sums + scores / _MEGA * seconds["megabytes of scores merged"])
