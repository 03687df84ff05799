"""Estimate of the work of a run by stage and kind from its sizes alone, and of its time.

A kind is counted in what its time grows with, such as rows times columns. Seconds of one processor for each were
measured by a benchmark on a machine that `costs.json` names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from plmetrics.core.threads import processors
from plmetrics.engine.aggregate.aggregation import needs_rows, sum_bins
from plmetrics.engine.inquiry import first_plans
from plmetrics.engine.order.orderings import orderings
from plmetrics.states.scores.coarse import EXACT_REPLICATES, coarse_number
from plmetrics.states.scores.grid.grid_tally import FINE_BINS

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.memory.run_memory import Sizes
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.features.explain.passes import Pass

LINES = frozenset({"csv", "ndjson"})
"""Formats of text, whose every byte is parsed."""
FILE = "costs.json"


@dataclass(frozen=True, slots=True)
class Work:
    """So much of a kind of work in a stage."""

    stage: str
    kind: str
    number: float


def work_of(
    plan: RunPlan, passes: Sequence[Pass], sizes: Sizes, columns: Sequence[str], estimates: int
) -> list[Work]:
    """The work of a run after its first stage, by stage and kind, without kinds of no work.

    `passes` is how often each stage reads the files, `sizes` are rows, entries of the sums, and blocks; `estimates` is
    how many values and differences there will be, without replicates.
    """
    parts = [
        Work("start", "run", 1.0),
        *_reading(plan.request, passes, columns),
        *_preparing(plan, sizes),
        *_sums(plan, sizes),
        _bins(plan),
        *_order(plan, sizes),
        *_resampling(plan, sizes),
        Work("intervals", "estimates", estimates),
        *(Work(stage, "stages", 1.0) for stage in dict.fromkeys(part.stage for part in passes)),
    ]
    totals: dict[tuple[str, str], float] = {}
    for part in parts:
        place = part.stage, part.kind
        totals[place] = totals.get(place, 0.0) + part.number
    return [Work(*place, number) for place, number in totals.items() if number]


def _reading(request: Request, passes: Sequence[Pass], columns: Sequence[str]) -> Iterator[Work]:
    """Cells of the files, numbers and texts; a pass reads as many texts of its columns as the run does of its own."""
    schema, source = request.view.schema, request.source
    texts = sum(not schema[name].is_numeric() for name in columns) / max(1, len(columns))
    size = source.bytes
    for part in passes:
        cells = part.scans * (part.rows or 0) * part.columns
        yield Work(part.stage, "cells of numbers", cells * (1 - texts))
        yield Work(part.stage, "cells of texts", cells * texts)
        if source.kind in LINES:
            yield Work(part.stage, "bytes of text files", part.scans * size)


def _preparing(plan: RunPlan, sizes: Sizes) -> Iterator[Work]:
    request = plan.request
    if plan.blocks is not None and not request.unit_rows:
        yield Work("prepare", "rows of units", sizes.rows)
    if plan.rows.pairs is not None:
        yield Work("prepare", "rows of queries", plan.rows.pairs * len(request.models))
    if request.chooses_thresholds:
        yield Work("prepare", "rows of thresholds", sizes.rows * len(request.models))
    if request.arithmetic.any_order:
        yield Work("prepare", "rows of exact sums", sizes.rows * len(request.models))


def _sums(run_plan: RunPlan, sizes: Sizes) -> Iterator[Work]:
    """Additions of each row to sums, and entries of these."""
    rows = run_plan.rows.read
    for cube, schemas, entries in zip(run_plan.cubes, sizes.sums, sizes.entries, strict=True):
        floats, counts = (sum(_number(schema, floats=kind) for schema in schemas) for kind in (True, False))
        keyed = bool(cube.columns) + (run_plan.blocks is not None)
        yield Work("aggregate", "rows by group", rows * keyed)
        yield Work("aggregate", "rows by sum", rows * floats)
        yield Work("aggregate", "rows by count", rows * counts)
        yield Work("aggregate", "entries of sums", entries * (floats + counts))
        if run_plan.request.arithmetic.any_order:
            yield Work("aggregate", "rows by exact sum", rows * counts)


def _bins(plan: RunPlan) -> Work:
    """Additions by bins for curves: a row by group for each table of a model and slice set."""
    return Work("aggregate", "rows by group", plan.rows.read * len(first_plans(sum_bins(plan))))


def _number(schema: pl.Schema, *, floats: bool) -> int:
    return sum(kind.is_float() == floats for kind in schema.values())


def _order(plan: RunPlan, sizes: Sizes) -> Iterator[Work]:
    """Work of ordering rows, or counting them on a grid, and of reading them."""
    request, order = plan.request, plan.order
    if request.ranks:
        yield Work("order", "rows of ranks", sizes.rows * len(request.models))
    if not needs_rows(plan):
        return
    resampled = request.suite.uncertainty is not None and request.suite.uncertainty.may_resample
    sets, slices = len(plan.slices), sum(map(len, plan.slices))
    for of, number in _orderings(request):
        ordered = sizes.rows * number
        if plan.exact:
            way = f"{of} in memory" if order.way == "rows" else f"{of} by points"
            yield Work("order", f"{way}, sorted", ordered)
            yield Work("order", f"{way}, by set", ordered * (sets - 1))
        if not plan.exact or (order.way == "points" and resampled):
            yield Work("order", f"{of} on a grid", ordered)
            yield Work("order", f"{of} on a grid, by slice", number * slices * FINE_BINS)
            if _counts_by_block(plan, sizes):
                yield Work("order", f"{of} on a grid, by block", ordered * sets)
    if plan.exact:
        metrics = len(request.models) * len(request.scores)
        yield Work("order", "ordered metrics", sizes.rows * sets * metrics)


def _orderings(request: Request) -> list[tuple[str, int]]:
    """Number of sorted values of each row: scores, and others such as errors."""
    scores = sum(ordering.value is None for ordering in orderings(request))
    return [("scores", scores), ("values", len(orderings(request)) - scores)]


def _counts_by_block(plan: RunPlan, sizes: Sizes) -> bool:
    uncertainty = plan.request.suite.uncertainty
    if uncertainty is None or not uncertainty.may_resample:
        return False
    return not plan.exact or sizes.rows * uncertainty.replicates > EXACT_REPLICATES


def _resampling(plan: RunPlan, sizes: Sizes) -> Iterator[Work]:
    """Work of the products of weights and counts by block, and of the values of metrics in every replicate."""
    request = plan.request
    uncertainty = request.suite.uncertainty
    if uncertainty is None or not uncertainty.may_resample:
        return
    replicates, models = uncertainty.replicates, len(request.models)
    slices = sum(map(len, plan.slices))
    weights = replicates * sizes.blocks
    yield Work("intervals", "weights", weights)
    columns = [sum(map(len, schemas)) for schemas in sizes.sums]
    sums = sum(len(part) * columns[plan.cube_of(part)] for part in plan.slices)
    yield Work("intervals", "products of sums", weights * sums)
    yield Work("intervals", "values of replicates", replicates * slices * models * len(request.leaves))
    if not needs_rows(plan):
        return
    bins = sum(len(part) * coarse_number(plan.set_size(part)) for part in plan.slices)
    for of, number in _orderings(request):
        if _counts_by_block(plan, sizes):
            yield Work("order", f"{of} by block, products", weights * bins * number)
            yield Work("order", f"{of} by block, replicates", replicates * bins * number)
        else:
            yield Work(
                "order", f"{of} of rows, replicates", replicates * sizes.rows * number * len(plan.slices)
            )


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured constants.

    Attributes:
        machine: where they were measured, as words.
        date: when.
        seconds: seconds of one processor for each kind of work, each time it is done.
        error: the median of the relative errors on suites that they were not fitted to, and the ninth of their deciles.
    """

    machine: str
    date: str
    seconds: Mapping[str, float]
    error: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Time:
    """Expected time of a run.

    Attributes:
        stages: seconds of one processor, by stage.
        processor: those of all stages.
        wall: seconds by the clock where all processors of this machine work at all times: it takes longer.
        processors: how many these are.
        source: where and when the constants were measured.
        omissions: what else the run does, which no constant was measured of.
    """

    stages: Mapping[str, float]
    processor: float
    wall: float
    processors: int
    source: str
    omissions: tuple[str, ...] = ()


@cache
def costs() -> Costs:
    """Constants of the package."""
    return Costs(**json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8")))


def expected_time(work: Iterable[Work], omissions: Sequence[str] = ()) -> Time:
    """Estimated time of some work; unmeasured work is named, as other work of a run."""
    rates = costs()
    stages: dict[str, float] = {}
    unmeasured: dict[str, None] = dict.fromkeys(omissions)
    for part in work:
        if part.kind not in rates.seconds:
            unmeasured[part.kind] = None
            continue
        stages[part.stage] = stages.get(part.stage, 0.0) + part.number * rates.seconds[part.kind]
    total = sum(stages.values())
    source = f"{rates.machine}, {rates.date}"
    return Time(stages, total, total / processors(), processors(), source, tuple(unmeasured))
