"""What a run would do: files, columns, slices, cubes, passes and memory, found without aggregating anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.catalogue.ranking.base import QueryMetric
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.advice import advice
from plmetrics.engine.attributes import attribute_candidates
from plmetrics.engine.budget import memory_budget, sort_bytes
from plmetrics.engine.passes import BLOCK, needs_rows, rows_plan, sum_plans
from plmetrics.engine.prepare import prepare
from plmetrics.engine.search import search_plan
from plmetrics.engine.windows import compared_columns
from plmetrics.states.coarse import coarse_number
from plmetrics.states.scores import EXACT_REPLICATES
from plmetrics.suite.sections import BY_FOLD
from plmetrics.table.units import OWN_BLOCK_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from plmetrics.engine.prepare import Prepared
    from plmetrics.engine.request import Request

_IN_MEMORY = re.compile(r'fillcolor="0\.0 0\.3 1\.0"')
_LABEL = re.compile(r'label="((?:[^"\\]|\\.)*)"')
_NUMBER_BYTES = 8
_CHANNELS = 2


@dataclass(frozen=True, slots=True)
class Input:
    """What would be read. `pruned` is how many files `where` rules out by their folders, None if that is not known."""

    kind: str
    files: int
    bytes: int
    rows: int | None
    pruned: int | None
    columns: tuple[str, ...]
    columns_there: int


@dataclass(frozen=True, slots=True)
class SetSize:
    """A slice set: what it groups by, and how many slices it has, None where that stands in the data."""

    name: str
    by: tuple[str, ...]
    slices: int | None


@dataclass(frozen=True, slots=True)
class CubeSize:
    """A group of slice sets that one grouping serves. `entries` is the most rows its state can have."""

    sets: tuple[str, ...]
    keys: tuple[str, ...]
    cells: int
    blocks: int
    entries: int


@dataclass(frozen=True, slots=True)
class Pass:
    """A stage that reads or holds rows. `fallbacks` are the parts of its plans that would not stream."""

    stage: str
    does: str
    scans: str
    plans: int = 0
    aggregates: int = 0
    fallbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a run would do. Without a look at the data, what stands in it is None or empty."""

    name: str
    task: str
    source: Input
    models: int
    metrics: int
    sets: tuple[SetSize, ...]
    rows: int | None
    units: int | None
    blocks: int | None
    replicates: int | None
    estimates: int | None
    comparisons: int | None
    exact: bool | None
    cubes: tuple[CubeSize, ...]
    passes: tuple[Pass, ...]
    memory: dict[str, int]
    budget: int
    advice: tuple[str, ...]
    intervals: tuple[str, ...] = ()

    @property
    def streams(self) -> bool:
        """Whether no plan falls back to the in-memory engine."""
        return not any(part.fallbacks for part in self.passes)


def explain(request: Request, *, data: bool = True) -> Explanation:
    """What a run of a bound suite would do; `data` says whether to look at the data, as `prepare` does.

    Raises:
        DataError: there are no rows.
        ConfigError: there are too many slices, or the rows do not fit into memory and must.
    """
    prepared = prepare(request) if data else None
    sets = _sets(request, prepared)
    slices = None if prepared is None else sum(part.slices or 0 for part in sets)
    values = None if prepared is None else sum(map(_values(request), sets))
    blocks = None if prepared is None else _blocks(prepared)
    uncertainty = request.suite.uncertainty
    cubes = () if prepared is None else tuple(_cubes(prepared, blocks or 1))
    models = len(request.models) + len(request.suite.added)
    return Explanation(
        name=request.suite.name,
        task=request.suite.task,
        source=_input(request),
        models=models,
        metrics=len(request.suite.metrics),
        sets=sets,
        rows=None if prepared is None else prepared.request.pairs_read or prepared.rows.read,
        units=None if prepared is None else _units(prepared),
        blocks=blocks,
        replicates=None if uncertainty is None or not uncertainty.may_resample else uncertainty.replicates,
        intervals=() if uncertainty is None else uncertainty.names,
        estimates=None if values is None else values * models,
        comparisons=None if values is None else values * _compared(request),
        exact=prepared.exact if prepared is not None and needs_rows(prepared) else None,
        cubes=cubes,
        passes=tuple(_passes(request, prepared)),
        memory={} if prepared is None else _memory(prepared, cubes, blocks or 1),
        budget=memory_budget(request),
        advice=tuple(advice(request, prepared, slices or 0, values or 0, blocks)),
    )


def fallbacks(plan: pl.LazyFrame) -> list[str]:
    """The parts of a plan that collect all their input before they go on, instead of streaming.

    Polars marks them in the graph of the physical plan by their colour, and nowhere else.

    >>> import polars as pl
    >>> fallbacks(pl.LazyFrame({"x": [1.0]}).select(pl.col("x").sum()))
    []
    """
    graph = plan.show_graph(engine="streaming", plan_stage="physical", raw_output=True) or ""
    found = [line for line in graph.splitlines() if _IN_MEMORY.search(line)]
    return [match[1].replace("\\n", " ") if (match := _LABEL.search(line)) else line for line in found]


def _input(request: Request) -> Input:
    source = request.source
    return Input(
        kind=source.kind,
        files=len(source.files),
        bytes=sum(file.size for file in source.files),
        rows=source.rows,
        pruned=_pruned(request),
        columns=_columns(request),
        columns_there=len(source.schema),
    )


def _columns(request: Request) -> tuple[str, ...]:
    """The raw columns that the run reads, in the order of the table."""
    suite, roles = request.suite, request.roles
    named = {
        roles.label,
        *(name for model in roles.models.values() for name in model.columns.values()),
        *roles.columns,
    }
    named |= {name for key in roles.keys for name in key.expression.meta.root_names()}
    named |= {name for name in (roles.weight, roles.treatment) if name is not None}
    if suite.find_slices is not None:
        named |= set(suite.find_slices.columns)
    if suite.drift is not None:
        named |= set(suite.drift.columns)
    if suite.uncertainty is not None and suite.columns.unit is not None:
        named.add(suite.columns.unit)
    if request.where is not None:
        named |= set(request.where.meta.root_names())
    for spec in suite.calibrate:
        named |= (
            {str(suite.columns.fold)} if spec.fit_on == BY_FOLD else set(compile_row(spec.fit_on).columns)
        )
    return tuple(name for name in request.schema if name in named)


def _pruned(request: Request) -> int | None:
    """How many files the scan skips since `where` speaks of nothing but the columns in their folders."""
    condition, reader = request.suite.data.where, request.source.reader
    if condition is None or reader is None:
        return 0 if request.source.files else None
    partitions = reader.partitions
    row = compile_row(condition)
    if not row.columns or not set(row.columns) <= set(partitions.schema):
        return None
    return partitions.values.height - partitions.values.filter(row.expr).height


def _sets(request: Request, prepared: Prepared | None) -> tuple[SetSize, ...]:
    """Sets of one name, the slices of which may overlap, are one."""
    by: dict[str, dict[str, None]] = {}
    sizes: dict[str, int | None] = {}
    for part in request.sets:
        by.setdefault(part.name, {}).update(dict.fromkeys(key.label for key in part.keys))
        sizes[part.name] = None if part.keys else 1
    if prepared is not None:
        sizes = dict.fromkeys(sizes, 0)
        for each in prepared.slices:
            sizes[each.slice_set.name] = (sizes[each.slice_set.name] or 0) + len(each)
    return tuple(SetSize(name, tuple(labels), sizes[name]) for name, labels in by.items())


def _values(request: Request) -> Callable[[SetSize], int]:
    """How many values a model gets in a slice set."""

    def of(part: SetSize) -> int:
        return (part.slices or 0) * len(request.suite.listed(part.name)) + len(request.suite.over(part.name))

    return of


def _compared(request: Request) -> int:
    """How many comparisons of models a value has; what gates compare besides is in no table."""
    compare = request.suite.compare
    if compare is None:
        return 0
    return len(compare.pairs_of((*request.models, *request.suite.added))) * len(compare.scales)


def _units(prepared: Prepared) -> int | None:
    """How many units are resampled; None without intervals."""
    blocks, rows = prepared.blocks, prepared.rows
    if blocks is None:
        return None
    return rows.read - rows.zero_weight if blocks.units is None else int(blocks.units.sum())


def _blocks(prepared: Prepared) -> int | None:
    if prepared.blocks is None:
        return None
    if prepared.blocks.keys is not None:
        return len(prepared.blocks.keys)
    return prepared.blocks.modulus or min(_units(prepared) or 0, OWN_BLOCK_LIMIT)


def _cubes(prepared: Prepared, blocks: int) -> list[CubeSize]:
    return [
        CubeSize(
            sets=tuple(dict.fromkeys(part.slice_set.name for part in cube.sets)),
            keys=tuple(code.key.label for code in cube.codes),
            cells=cube.cells,
            blocks=blocks,
            entries=min(cube.cells * blocks, prepared.rows.read),
        )
        for cube in prepared.cubes
    ]


def _passes(request: Request, prepared: Prepared | None) -> list[Pass]:
    families = ", ".join(
        f"{len(metrics)} {word} ({family})"
        for family, metrics in (("sums", request.sums), ("scores", request.scores))
        if metrics
        for word in ["metric" if len(metrics) == 1 else "metrics"]
    )
    if prepared is None:
        return [Pass("aggregate", families, "1")]
    found = _looked_up(request)
    several = {"thresholds", "calibrators", "the baseline"}
    scans = "0" if not found else "1" if several.isdisjoint(found) else "2 or more"
    passes = [Pass("prepare", ", ".join(found) or "nothing to find", scans)]
    if prepared.request.pairs_read is not None:
        passes.append(_rank(prepared))
    if request.suite.leakage is not None:
        passes.append(_leakage(request))
    plans = [plan for group in sum_plans(prepared) for plan in group]
    aggregates = sum(_aggregates(plan, prepared) for plan in plans)
    stuck = [label for plan in plans for label in fallbacks(plan)]
    passes.append(Pass("aggregate", families, "1", len(plans), aggregates, tuple(stuck)))
    if request.suite.drift is not None:
        passes.append(Pass("drift", compared_columns(request.suite), "2"))
    if needs_rows(prepared):
        plan = rows_plan(prepared)
        passes.append(_order(prepared, tuple(fallbacks(plan))))
    if request.suite.find_slices is not None and request.suite.data.long is None:
        passes.append(_search(request))
    return passes


def _search(request: Request) -> Pass:
    """The search for slices: one look at its columns, then the groupings that serve all crossings."""
    plan = search_plan(request.suite, request.source)
    groups = sum(map(plan.groups, plan.groupings))
    does = (
        f"up to {plan.slices:,} slices of {len(plan.columns)} columns, "
        f"{len(plan.groupings)} groupings of {groups:,} cells and blocks"
    )
    return Pass("search", does, str(1 + len(plan.passes())), fallbacks=tuple(fallbacks(plan.rows())))


def _leakage(request: Request) -> Pass:
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
    return Pass("leakage", does, "1" if not columns else "2 or more")


def _rank(prepared: Prepared) -> Pass:
    """Rows of a ranking become queries."""
    request = prepared.request
    values = [
        value for metric in request.sums if isinstance(metric, QueryMetric) for value in metric.query_values
    ]
    orders = len({value.ties for value in values} - {None})
    sorts = len(request.models) * orders
    return Pass("rank", f"{sorts} {'sort' if sorts == 1 else 'sorts'} in memory, {orders} a model", "1")


def _order(prepared: Prepared, stuck: tuple[str, ...]) -> Pass:
    request = prepared.request
    if prepared.exact:
        orders = int(request.orders_scores) + len(request.values)
        sorts = f"{len(request.models) * orders} sorts in memory, {orders} a model"
        return Pass("order", sorts if orders else "rows for curves", "with aggregate", 1, 0, stuck)
    blocks = "" if prepared.blocks is None else ", then by block in as many parts as memory asks for"
    return Pass("order", f"counts on a grid: edges, fine bins{blocks}", "2 or more", 1, 0, stuck)


def _looked_up(request: Request) -> list[str]:
    named = [
        part.name for part in request.sets if part.keys and not part.is_predicate and not part.is_derived
    ]
    named += ["folds"] if any(part.is_derived for part in request.sets) else []
    found = [f"values of {', '.join(named)}"] if named else []
    if request.suite.uncertainty is not None and not request.unit_rows:
        found.append("units")
    if request.source.rows is None or request.where is not None:
        found.append("number of rows")
    if any(metric.centres() for metric in request.sums):
        found.append("centres")
    if any(metric.chosen_threshold is not None for metric in request.leaves):
        found.append("thresholds")
    if request.suite.calibrate:
        found.append("calibrators")
    if request.suite.baseline:
        found.append("the baseline")
    return found


def _aggregates(plan: pl.LazyFrame, prepared: Prepared) -> int:
    keys = {BLOCK, *(name for cube in prepared.cubes for name in cube.columns)}
    return sum(name not in keys for name in plan.collect_schema())


def _memory(prepared: Prepared, cubes: Sequence[CubeSize], blocks: int) -> dict[str, int]:
    """About how many bytes the large things of a run take."""
    request = prepared.request
    held: dict[str, int] = {}
    groups = sum_plans(prepared)
    columns = [sum(_aggregates(plan, prepared) for plan in group) for group in groups]
    entries = [cube.entries for cube in cubes]
    held["sums"] = sum(n * k * _NUMBER_BYTES for n, k in zip(entries, columns, strict=True))
    uncertainty = request.suite.uncertainty
    if uncertainty is not None and uncertainty.may_resample:
        held["replicate weights"] = uncertainty.replicates * blocks * _NUMBER_BYTES
    if needs_rows(prepared):
        rows = prepared.rows.read
        if prepared.exact:
            held["sorted rows"] = sort_bytes(request, rows, len(cubes))
        if uncertainty is not None and rows * uncertainty.replicates > EXACT_REPLICATES:
            held["scores by block"] = min(_binned(prepared, blocks), memory_budget(request) // 2)
    return held


def _binned(prepared: Prepared, blocks: int) -> int:
    sizes = [len(part) for part in prepared.slices]
    return max(n * blocks * coarse_number(n) * _CHANNELS * _NUMBER_BYTES for n in sizes)
