"""The passes of a run: how often each stage reads the files, what of them, and what for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.catalogue.ranking.base import QueryMetric
from plmetrics.engine.attributes import attribute_candidates
from plmetrics.engine.paired import reads_paired_rows
from plmetrics.engine.passes import moments, needs_rows, sum_plans, summed_in
from plmetrics.engine.prepare import constant_plans
from plmetrics.engine.row_plan import BLOCK, rows_plan
from plmetrics.engine.search import search_plan
from plmetrics.engine.slicing import settling_scans
from plmetrics.engine.streaming import columns_read, fallbacks, scans
from plmetrics.engine.thresholds import threshold_plans, threshold_scans
from plmetrics.engine.unit_counts import counts_by_batch
from plmetrics.engine.windows import compared_columns, current_window, drift_windows
from plmetrics.suite.sections import BY_FOLD
from plmetrics.table.roles import prediction_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from plmetrics.engine.prepare import Prepared
    from plmetrics.engine.request import Request


@dataclass(frozen=True, slots=True)
class Pass:
    """A stage that reads or holds rows.

    Attributes:
        stage: its name.
        does: what it is for.
        scans: how often it reads the files; of two tables, the one that is read more often.
        at_least: whether what it finds, or the memory budget, may make it read them more often.
        columns: how many columns its widest scan reads; 0 where that was not found out.
        rows: how many rows a scan reads, None where that is not known.
        plans: how many plans it runs together.
        aggregates: how many sums these make.
        fallbacks: the parts of its plans that would not stream.
    """

    stage: str
    does: str
    scans: int
    at_least: bool = False
    columns: int = 0
    rows: int | None = None
    plans: int = 0
    aggregates: int = 0
    fallbacks: tuple[str, ...] = ()


def passes(request: Request, prepared: Prepared | None) -> list[Pass]:
    """The passes of a run of a bound suite, in order; without a look at the data only what is sure.

    Args:
        request: the suite as it was bound.
        prepared: what a look at the data found.
    """
    if prepared is None:
        return [Pass("aggregate", _families(request), 1, rows=request.source.rows)]
    return list(_passes(request, prepared))


def sums_made(plan: pl.LazyFrame, prepared: Prepared) -> int:
    """How many sums and counts a plan makes beside its keys."""
    keys = {BLOCK, *(name for cube in prepared.cubes for name in cube.columns)}
    return sum(name not in keys for name in plan.collect_schema())


def _passes(request: Request, prepared: Prepared) -> Iterator[Pass]:
    rows = _rows_read(request, prepared)
    yield _prepare(request, prepared, rows)
    if prepared.request.pairs_read is not None:
        yield _rank(request, prepared, rows)
    if request.suite.leakage is not None:
        yield _leakage(request, rows)
    yield _aggregate(prepared, rows)
    if request.suite.drift is not None:
        yield _drift(request, rows)
    if needs_rows(prepared):
        yield _order(prepared, rows)
    if reads_paired_rows(prepared):
        yield Pass("tests", "rows that tests rank", _of_files(prepared), rows=rows)
    if request.suite.find_slices is not None and request.suite.data.long is None:
        yield _search(request, rows)


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


def _prepare(request: Request, prepared: Prepared, rows: int | None) -> Pass:
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
    return Pass("prepare", found, number, columns=columns, rows=rows if number else None)


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


def _rank(bound: Request, prepared: Prepared, rows: int | None) -> Pass:
    """Rows of a ranking become queries."""
    request = prepared.request
    values = [
        value for metric in request.sums if isinstance(metric, QueryMetric) for value in metric.query_values
    ]
    orders = len({value.ties for value in values} - {None})
    sorts = len(request.models) * orders
    does = f"{sorts} {'sort' if sorts == 1 else 'sorts'} in memory, {orders} a model"
    counted = bound.source.rows is None
    return Pass("rank", does, scans([bound.raw]) + int(counted), rows=rows)


def _leakage(request: Request, rows: int | None) -> Pass:
    """Rows that were known before, and attributes that give the label away."""
    spec, columns = request.suite.leakage, attribute_candidates(request)
    assert spec is not None
    asked = {
        "keys": spec.keys,
        "times": spec.time,
        "duplicates": spec.duplicates,
        f"{len(columns)} {'attribute' if len(columns) == 1 else 'attributes'}": columns,
    }
    does = ", ".join(name for name, wanted in asked.items() if wanted)
    return Pass("leakage", does, 2 if columns else 1, at_least=True, rows=rows)


def _aggregate(prepared: Prepared, rows: int | None) -> Pass:
    plans = [plan for group in sum_plans(prepared) for plan in group]
    together = [*plans, rows_plan(prepared)] if _brings_rows(prepared) else plans
    folds = prepared.request.suite.cross_validation
    repeated = _of_files(prepared) * int(folds is not None and bool(folds.repeated))
    number = scans(together) + repeated
    recentres = any(moments(prepared, summed_in(prepared, cube)) for cube in prepared.cubes)
    return Pass(
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


def _drift(request: Request, rows: int | None) -> Pass:
    """A look at both windows, then their counts."""
    spec = request.suite.drift
    assert spec is not None
    counted = spec.is_counted
    frame = (current_window if counted else drift_windows)(request, request.suite.models).frame
    number = 2 * scans([frame])
    return Pass("drift", compared_columns(request.suite), number, at_least=True, rows=rows)


def _order(prepared: Prepared, rows: int | None) -> Pass:
    request, order = prepared.request, prepared.order
    plan = rows_plan(prepared)
    stuck = tuple(fallbacks(plan))
    if _brings_rows(prepared):
        orders = int(request.orders_scores) + len(request.values)
        sorts = len(request.models) * orders
        does = f"{sorts} {'sort' if sorts == 1 else 'sorts'} in memory, {orders} a model"
        does = f"{does}; rows come with the sums" if orders else "rows for curves"
        return Pass("order", does, 0, plans=1, fallbacks=stuck)
    blocks = prepared.blocks is not None
    grid = f"counts on a grid: edges, fine bins{', then by block' if blocks else ''}"
    number, parts = 2, [grid]
    if prepared.exact:
        ranges = f" in {order.ranges} ranges of its scores" if order.ranges > 1 else ""
        by_model = f"sorts {order.models} of {len(request.models)} models at a time{ranges}"
        number = 2 * int(blocks) + order.passes + (len(request.models) if order.ranges > 1 else 0)
        parts = [by_model, grid] if blocks else [by_model]
    columns = columns_read([plan])
    return Pass("order", "; ".join(parts), number, blocks, columns, rows, plans=1, fallbacks=stuck)


def _search(request: Request, rows: int | None) -> Pass:
    """The search for slices: one look at its columns, then the groupings that serve all crossings."""
    plan = search_plan(request.suite, request.source)
    groups = sum(map(plan.groups, plan.groupings))
    does = (
        f"up to {plan.slices:,} slices of {len(plan.columns)} columns, "
        f"{len(plan.groupings)} groupings of {groups:,} cells and blocks"
    )
    inner = plan.prepared.request
    constants = constant_plans(inner, prediction_table(inner.raw, inner.schema, inner.roles))
    number = scans(list(constants.values())) + 1 + len(plan.passes())
    return Pass("search", does, number, at_least=True, rows=rows, fallbacks=tuple(fallbacks(plan.rows())))
