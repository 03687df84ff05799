"""The passes of a run: how often each stage reads the files, what of them, and what for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.catalogue.ranking.base import QueryMetric
from plmetrics.engine.aggregate.aggregation import needs_rows, sum_plans
from plmetrics.engine.aggregate.paired_rows import reads_paired_rows
from plmetrics.engine.aggregate.row_plan import BLOCK, rows_plan
from plmetrics.engine.aggregate.totals import moments, summed_in
from plmetrics.engine.prepare.preparation import constant_plans
from plmetrics.engine.prepare.slices import settling_scans
from plmetrics.engine.prepare.thresholds import threshold_plans, threshold_scans
from plmetrics.engine.prepare.units import counts_by_batch
from plmetrics.engine.step import Step
from plmetrics.engine.streaming import columns_read, fallbacks, scans
from plmetrics.features.registry import features_of
from plmetrics.suite.sections.basics import BY_FOLD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from plmetrics.engine.prepared import Prepared
    from plmetrics.engine.request import Request


def passes(request: Request, prepared: Prepared | None) -> list[Step]:
    """The passes of a run of a bound suite, in order; without a look at the data only what is sure.

    Args:
        request: the suite as it was bound.
        prepared: what a look at the data found.
    """
    if prepared is None:
        return [Step("aggregate", _families(request), 1, rows=request.source.rows)]
    return list(_passes(request, prepared))


def sums_made(plan: pl.LazyFrame, prepared: Prepared) -> int:
    """How many sums and counts a plan makes beside its keys."""
    keys = {BLOCK, *(name for cube in prepared.cubes for name in cube.columns)}
    return sum(name not in keys for name in plan.collect_schema())


def _passes(request: Request, prepared: Prepared) -> Iterator[Step]:
    rows = _rows_read(request, prepared)
    yield _prepare(request, prepared, rows)
    if prepared.request.pairs_read is not None:
        yield _rank(request, prepared, rows)
    yield from _of_features(request, rows, "aggregate")
    yield _aggregate(prepared, rows)
    if needs_rows(prepared):
        yield _order(prepared, rows)
    yield from _of_features(request, rows, "order")
    if reads_paired_rows(prepared):
        yield Step("tests", "rows that tests rank", _of_files(prepared), rows=rows)
    yield from _of_features(request, rows, "tests")


def _of_features(request: Request, rows: int | None, after: str) -> Iterator[Step]:
    """The passes of the features that run after a stage."""
    for one in features_of(request.suite):
        if one.after == after:
            yield from one.steps(request, rows)


def _of_files(prepared: Prepared) -> int:
    """One scan; none where the rows are in memory by then."""
    return int(bool(scans([prepared.table.frame])))


def _rows_read(request: Request, prepared: Prepared) -> int | None:
    """How many rows one scan reads: those of the files, or those that are evaluated if nothing leaves any out."""
    if request.source.rows is not None:
        return request.source.rows
    narrowed = request.where is not None or request.suite.calibrate or request.suite.data.long
    return None if narrowed else prepared.request.pairs_read or prepared.rows.read


def _families(request: Request) -> str:
    return ", ".join(
        f"{len(metrics)} {word} ({family})"
        for family, metrics in (("sums", request.sums), ("scores", request.scores))
        if metrics
        for word in ["metric" if len(metrics) == 1 else "metrics"]
    )


def _prepare(request: Request, prepared: Prepared, rows: int | None) -> Step:
    """The look-ups one after another, then those that are made together."""
    made = prepared.request
    plans = list(constant_plans(made, prepared.table, centres=not made.suite.reproducible).values())
    in_files = _of_files(prepared) or made.pairs_read is not None
    before = sum(_looks_before(request, prepared.rows.read)) * int(in_files)
    after = threshold_scans(made) * _of_files(prepared)
    if made.suite.reproducible and made.pairs_read is None:
        after += 2 * int(any(metric.centres() for metric in made.sums)) + 1
    after += int(counts_by_batch(made)) * _of_files(prepared)
    found = ", ".join(_looked_up(request)) or "nothing to find"
    number = before + scans(plans) + after
    columns = max(map(columns_read, (plans, threshold_plans(made))))
    return Step("prepare", found, number, columns=columns, rows=rows if number else None)


def _looks_before(request: Request, rows: int) -> Iterator[int]:
    """Scans of what must be known before the next is looked for."""
    suite = request.suite
    if suite.data.long is not None:
        yield 1
    if suite.task == "multiclass" and not request.roles.classes:
        yield 1
    if suite.calibrate:
        conditions = {spec.fit_on for spec in suite.calibrate}
        yield len(conditions) + int(conditions != {BY_FOLD})
    if suite.baseline and suite.task not in {"ranking", "uplift"}:
        yield 1
    if suite.task != "ranking":
        yield settling_scans(request, rows)


def _looked_up(request: Request) -> Iterator[str]:
    sets = [part for part in request.sets if part.keys and not part.is_predicate and not part.is_derived]
    if sets:
        yield f"values of {', '.join(dict.fromkeys(part.name for part in sets))}"
    if any(part.is_derived for part in request.sets):
        yield "folds"
    if request.suite.uncertainty is not None and not request.unit_rows:
        yield "units"
    if request.source.rows is None or request.where is not None:
        yield "number of rows"
    if any(metric.centres() for metric in request.sums):
        yield "centres"
    if any(metric.chosen_threshold is not None for metric in request.leaves):
        yield "thresholds"
    if request.suite.calibrate:
        yield "calibrators"
    if request.suite.baseline:
        yield "the baseline"
    if request.suite.reproducible:
        yield "sizes of what is added"


def _rank(bound: Request, prepared: Prepared, rows: int | None) -> Step:
    """Rows of a ranking become queries."""
    request = prepared.request
    values = [
        value for metric in request.sums if isinstance(metric, QueryMetric) for value in metric.query_values
    ]
    orders = len({value.ties for value in values} - {None})
    sorts = len(request.models) * orders
    does = f"{sorts} {'sort' if sorts == 1 else 'sorts'} in memory, {orders} a model"
    counted = bound.source.rows is None
    return Step("rank", does, scans([bound.raw]) + int(counted), rows=rows)


def _aggregate(prepared: Prepared, rows: int | None) -> Step:
    plans = [plan for group in sum_plans(prepared) for plan in group]
    together = [*plans, rows_plan(prepared)] if _brings_rows(prepared) else plans
    number = scans(together)
    recentres = any(moments(prepared, summed_in(prepared, cube)) for cube in prepared.cubes)
    return Step(
        "aggregate",
        _families(prepared.request),
        number,
        at_least=recentres and number > 0,
        columns=columns_read(together),
        rows=rows if number else None,
        plans=len(plans),
        aggregates=sum(sums_made(plan, prepared) for plan in plans),
        fallbacks=_stuck(plans),
    )


def _brings_rows(prepared: Prepared) -> bool:
    """Whether the rows of ordered metrics come with the sums."""
    return needs_rows(prepared) and prepared.exact and prepared.order.way == "rows"


def _stuck(plans: Sequence[pl.LazyFrame]) -> tuple[str, ...]:
    return tuple(label for plan in plans for label in fallbacks(plan))


def _order(prepared: Prepared, rows: int | None) -> Step:
    request, order = prepared.request, prepared.order
    plan = rows_plan(prepared)
    stuck = tuple(fallbacks(plan))
    if _brings_rows(prepared):
        orders = int(request.orders_scores) + len(request.values)
        sorts = len(request.models) * orders
        does = f"{sorts} {'sort' if sorts == 1 else 'sorts'} in memory, {orders} a model"
        does = f"{does}; rows come with the sums" if orders else "rows for curves"
        return Step("order", does, 0, plans=1, fallbacks=stuck)
    blocks = prepared.blocks is not None
    grid = f"counts on a grid: edges, fine bins{', then by block' if blocks else ''}"
    number, parts = 2, [grid]
    if prepared.exact:
        ranges = f" in {order.ranges} ranges of its scores" if order.ranges > 1 else ""
        by_model = f"sorts {order.models} of {len(request.models)} models at a time{ranges}"
        number = 2 * int(blocks) + order.passes + (len(request.models) if order.ranges > 1 else 0)
        parts = [by_model, grid] if blocks else [by_model]
    columns = columns_read([plan])
    return Step("order", "; ".join(parts), number, blocks, columns, rows, plans=1, fallbacks=stuck)
