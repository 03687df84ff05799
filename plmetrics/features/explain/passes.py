"""The passes of a run: reads of the files by stage, with columns and purpose, as the steps of the run declare them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from plmetrics.engine.aggregate.aggregation import families, needs_rows, sum_bins, sums_scan
from plmetrics.engine.aggregate.cell_sums import sums_with_counts
from plmetrics.engine.aggregate.paired_rows import paired_step, reads_paired_rows
from plmetrics.engine.inquiry import Question, Step, first_plans
from plmetrics.engine.memory.run_memory import count_sums
from plmetrics.engine.order.by_ranges import order_steps
from plmetrics.engine.request import Request
from plmetrics.engine.run_plan import RunPlan
from plmetrics.features.registry import counting, features_of, rounding
from plmetrics.table.slices import Cube


@dataclass(frozen=True, slots=True)
class Pass:
    """Reads of a stage of a run.

    Attributes:
        stage: its name.
        does: what it is for.
        scans: how often it reads the files; of two tables, the one that is read more often.
        at_least: whether what it finds, or the memory budget, may make it read them more often.
        columns: how many columns its widest scan reads.
        rows: how many rows a scan reads, None where that is not known.
        plans: how many plans make its sums.
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


def passes(request: Request, plan: RunPlan | None) -> list[Pass]:
    """The passes of a run of a bound suite, in order; without a look at the data only the certain ones."""
    if plan is None:
        return [Pass("aggregate", families(request), 1, rows=request.source.rows)]
    by_stage: dict[str, list[Step]] = {}
    for step in _steps(request, plan):
        by_stage.setdefault(step.stage, []).append(step)
    rows = _row_count(request, plan)
    return [_pass(steps, plan.cubes, rows) for steps in by_stage.values()]


def memory_passes(plan: RunPlan) -> int:
    """Number of passes for one purpose where rows do not fit into the memory budget at once; 1 where they do."""
    request, order = plan.request, plan.order
    counts = [getattr(counting, "passes", 1) for counting in plan.countings.values()]
    if needs_rows(plan) and order.way == "points":
        apart = request.suite.per_model
        counts.append(order.passes // len(request.models) if apart else order.passes)
    if plan.rows.pairs is not None:
        from plmetrics.engine.ranking.queries import ranking_passes

        counts.append(ranking_passes(request, plan.rows.pairs))
    return max(counts, default=1)


def _steps(request: Request, run_plan: RunPlan) -> Iterator[Step]:
    """Steps of the preparation, and those of the run to come."""
    yield Step("prepare", does=", ".join(_looked_up(request)) or "nothing to find")
    value_plans = () if run_plan.slice_sums is None else run_plan.slice_sums.plans
    scan = sums_scan(run_plan)[1]
    for step in run_plan.steps:
        further = tuple(plan for plan in step.plans if not any(plan is one for one in value_plans))
        yield step if len(further) == len(step.plans) else replace(step, plans=(*further, *scan.plans))
    if run_plan.rows.pairs is not None:
        yield Step("rank", does=_sorts(run_plan.request))
    yield from _of_features(request, "aggregate")
    sums = sums_with_counts(run_plan, digested=run_plan.request.suite.keeps_replicates)
    questions: list[Question[Any]] = [sum_bins(run_plan), counting(run_plan), rounding(run_plan)]
    others = tuple(plan for question in questions for plan in first_plans(question))
    if value_plans:
        yield replace(scan, times=0, does=f"{scan.does} with the values of slices")
    elif sums is None:
        yield replace(scan, plans=(*scan.plans, *others))
    if others and (value_plans or sums is not None):
        yield Step("aggregate", others)
    if needs_rows(run_plan):
        yield from order_steps(run_plan, sums)
    uncertainty = run_plan.request.suite.uncertainty
    if uncertainty is not None and uncertainty.thresholds == "resampled":
        from plmetrics.engine.order.threshold_replicates import threshold_steps

        yield from threshold_steps(run_plan)
    yield from _of_features(request, "order")
    if reads_paired_rows(run_plan):
        yield paired_step(run_plan)
    yield from _of_features(request, "tests")


def _pass(steps: Sequence[Step], cubes: Sequence[Cube], rows: int | None) -> Pass:
    """Reads of the steps of a stage together."""
    number = sum(step.times * _scans(step) for step in steps)
    sums = [plan for step in steps for plan in step.plans[: step.sums]]
    return Pass(
        steps[0].stage,
        "; ".join(step.does for step in steps if step.does),
        number,
        at_least=any(step.at_least for step in steps if number or not step.times),
        columns=max(count_columns(step.plans) for step in steps),
        rows=rows if number else None,
        plans=len(sums),
        aggregates=sum(count_sums(plan.collect_schema(), cubes) for plan in sums),
        fallbacks=tuple(label for step in steps for plan in step.plans for label in fallbacks(plan)),
    )


def _scans(step: Step) -> int:
    """Number of reads of the files in one run of a step."""
    return sum(scans([plan]) for plan in step.plans) if step.separate else scans(step.plans)


def _of_features(request: Request, after: str) -> Iterator[Step]:
    """Steps of the features after a stage."""
    for feature in features_of(request.suite):
        if feature.after == after:
            yield from feature.steps(request)


def _row_count(request: Request, plan: RunPlan) -> int | None:
    """Number of rows of one scan: those of the files, or those to evaluate if none are left out."""
    if request.source.rows is not None:
        return request.source.rows
    narrowed = request.view.where is not None or request.suite.calibrate or request.suite.data.long
    return None if narrowed else plan.rows.pairs or plan.rows.read


def _looked_up(request: Request) -> Iterator[str]:
    """Findings of the preparation, in words."""
    sets = [part for part in request.view.sets if part.keys and not part.is_predicate and not part.is_derived]
    if sets:
        yield f"values of {', '.join(dict.fromkeys(part.name for part in sets))}"
    if any(part.is_derived and part.crossing is None for part in request.view.sets):
        yield "folds"
    if request.suite.uncertainty is not None and not request.unit_rows:
        yield "units"
    if request.source.rows is None or request.view.where is not None:
        yield "number of rows"
    if isinstance(request.suite.positive, str):
        yield "labels near the positive one"
    if any(metric.centres() for metric in request.sums):
        yield "centres"
    if request.chooses_thresholds:
        yield "thresholds"
    if request.suite.calibrate:
        yield "calibrators"
    if request.suite.baseline:
        yield "the baseline"
    if request.suite.reproducible:
        yield "sizes of what is added"


def _sorts(request: Request) -> str:
    """Way from rows of a ranking to queries."""
    orders = len({value.ties for value in request.query_values} - {None})
    sorts = len(request.models) * orders
    return f"{sorts} {'sort' if sorts == 1 else 'sorts'} in memory, {orders} a model"


_IN_MEMORY = re.compile(r'fillcolor="0\.0 0\.3 1\.0"')
_LABEL = re.compile(r'label="((?:[^"\\]|\\.)*)"')
_COUNTED = "FAST COUNT"
"""A count of lines, which holds none of them."""

_FIRST_ROWS = r"\n\s*PROJECT [^\n]*\n\s*SLICE: Positive { offset: 0,"
_SCAN = re.compile(rf"(?:\w+ SCAN|FAST COUNT \(\w+\)) \[([^\],]*)[^\]]*\](?!{_FIRST_ROWS})")
_PROJECTED = re.compile(r"^\s*PROJECT (?:\*|(\d+))/(\d+) COLUMNS", re.MULTILINE)


def fallbacks(plan: pl.LazyFrame) -> list[str]:
    """Operators of a plan without a streaming form: they collect all their input first.

    Polars marks them in the graph of the physical plan by their colour, and nowhere else.

    >>> import polars as pl
    >>> fallbacks(pl.LazyFrame({"x": [1.0]}).select(pl.col("x").sum()))
    []
    """
    graph = plan.show_graph(engine="streaming", plan_stage="physical", raw_output=True) or ""
    lines = [line for line in graph.splitlines() if _IN_MEMORY.search(line) and _COUNTED not in line]
    return [match[1].replace("\\n", " ") if (match := _LABEL.search(line)) else line for line in lines]


def scans(plans: Sequence[pl.LazyFrame]) -> int:
    """Largest number of reads of a file when plans are collected together; 0 for frames in memory.

    A look at first rows alone is none. Plans of one table share a scan as far as Polars finds that they do.

    >>> import polars as pl
    >>> scans([pl.LazyFrame({"x": [1.0]})])
    0
    """
    of_files = [plan for plan in plans if _SCAN.search(_plan_text([plan]))]
    return max(Counter(_SCAN.findall(_plan_text(of_files))).values(), default=0)


def count_columns(plans: Sequence[pl.LazyFrame]) -> int:
    """Number of columns of the widest scan of some plans."""
    projections = _PROJECTED.findall(_plan_text(plans))
    return max((int(some or every) for some, every in projections), default=0)


def _plan_text(plans: Sequence[pl.LazyFrame]) -> str:
    return pl.explain_all(list(plans)) if plans else ""
