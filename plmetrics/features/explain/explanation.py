"""Explanation of a run: its files, columns, slices, cubes, passes and memory, without aggregating anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from plmetrics.core.rowsql import compile_row
from plmetrics.engine.aggregate.aggregation import needs_rows
from plmetrics.engine.binding.columns_read import columns_read
from plmetrics.engine.memory.budget import budget_of
from plmetrics.engine.memory.run_memory import Sizes, block_number, expected_entries, foreseen, unit_number
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.engine.request import Request
from plmetrics.engine.run_plan import RunPlan
from plmetrics.features.explain.passes import Pass, memory_passes, passes
from plmetrics.features.explain.states import ShardSizes, StateSize, shard_sizes, state_size
from plmetrics.features.explain.verdict import Figures, Verdict, advice, verdict
from plmetrics.features.explain.work import Time, Work, expected_time, work_of
from plmetrics.features.protocol import Feature
from plmetrics.features.registry import feature_questions, features_of
from plmetrics.suite.model import Suite
from plmetrics.table.slices import SliceSet

__all__ = ["CubeSize", "Explanation", "Input", "Pass", "SetSize", "StateSize", "explain"]


@dataclass(frozen=True, slots=True)
class Input:
    """Input of a run. `pruned` is the number of files excluded by `where` on their folders, None if unknown."""

    kind: str
    files: int
    bytes: int
    rows: int | None
    pruned: int | None
    columns: tuple[str, ...]
    columns_there: int


@dataclass(frozen=True, slots=True)
class SetSize:
    """Slice set: its columns, and its number of slices, None if it depends on the data."""

    name: str
    by: tuple[str, ...]
    slices: int | None


@dataclass(frozen=True, slots=True)
class CubeSize:
    """Group of slice sets with one grouping. `entries` is the estimated number of rows of its state."""

    sets: tuple[str, ...]
    keys: tuple[str, ...]
    cells: int
    blocks: int
    entries: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a run. Facts of the data are None or empty where they were not looked up.

    `memory` is about how many bytes the large things take, and `peak` of the stage that takes most, beside what
    Python and Polars take at the start. `state` is what `plmetrics state` would write, `work` what `time` is told from,
    `shards` what the table is when its files are counted as units, and `verdict` what follows from all that.
    """

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
    memory: Mapping[str, int]
    peak: int | None
    budget: int
    advice: tuple[str, ...]
    intervals: tuple[str, ...] = ()
    state: StateSize | None = None
    work: tuple[Work, ...] = ()
    time: Time | None = None
    shards: ShardSizes | None = None
    verdict: Verdict | None = None

    @property
    def streams(self) -> bool:
        """Whether no plan falls back to the in-memory engine."""
        return not any(part.fallbacks for part in self.passes)


def explain(request: Request, *, data: bool = True) -> Explanation:
    """Explanation of a run of a bound suite; `data` says whether to look at the data, as `prepare` does.

    Raises:
        DataError: there are no rows.
        ConfigError: there are too many slices, or the rows do not fit into memory and must.
    """
    plan = prepare(request, features=feature_questions(request, {})) if data else None
    sets = _sets(request.view.sets, plan)
    slices = None if plan is None else sum(part.slices or 0 for part in sets)
    values = None if plan is None else sum(map(_values(request.suite), sets))
    blocks = None if plan is None else block_number(plan)
    uncertainty = request.suite.uncertainty
    cubes = () if plan is None else tuple(_cubes(plan, blocks or 1))
    models = len(request.models)
    source = _input(request)
    estimates = None if values is None else values * models
    comparisons = None if values is None else values * _comparison_count(request)
    scans = passes(request, plan)
    memory, work, sizes = None, [], None
    if plan is not None:
        sizes = Sizes.of(plan)
        memory = foreseen(plan, sizes)
        work = work_of(plan, scans, sizes, source.columns, (estimates or 0) + (comparisons or 0))
    state = state_size(request, plan, sizes)
    shards = shard_sizes(request, state)
    budget, time, judged = budget_of(request.suite), expected_time(work, tuple(_other_work(request))), None
    if plan is not None and memory is not None:
        units = 0 if shards is None or state.needs_rows else shards.units
        judged = verdict(Figures(memory.peak, budget, memory_passes(plan), time, units))
    return Explanation(
        name=request.suite.name,
        task=request.suite.task,
        source=source,
        models=models,
        metrics=len(request.suite.metrics),
        sets=sets,
        rows=None if plan is None else plan.rows.pairs or plan.rows.read,
        units=None if plan is None else unit_number(plan),
        blocks=blocks,
        replicates=None if uncertainty is None or not uncertainty.may_resample else uncertainty.replicates,
        intervals=() if uncertainty is None else uncertainty.names,
        estimates=estimates,
        comparisons=comparisons,
        exact=plan.exact if plan is not None and needs_rows(plan) else None,
        cubes=cubes,
        passes=tuple(scans),
        memory={} if memory is None else dict(memory.parts),
        peak=None if memory is None else memory.peak,
        budget=budget,
        advice=tuple(advice(request, plan, slices or 0, values or 0, blocks)),
        state=state,
        work=tuple(work),
        time=time if work else None,
        shards=shards,
        verdict=judged,
    )


def _other_work(request: Request) -> Iterator[str]:
    """Work of a run outside the estimate of its time."""
    for feature in features_of(request.suite):
        if type(feature).prepare is not Feature.prepare or any(feature.steps(request)):
            yield feature.key
    suite = request.suite
    if suite.compare is not None:
        yield from (test.test for test in suite.compare.tests)
    if suite.calibrate:
        yield "calibrate"


def _input(request: Request) -> Input:
    source = request.source
    return Input(
        kind=source.kind,
        files=len(source.files),
        bytes=source.bytes,
        rows=source.rows,
        pruned=_pruned_files(request),
        columns=columns_read(request),
        columns_there=len(source.schema),
    )


def _pruned_files(request: Request) -> int | None:
    """Number of files skipped by the scan, as `where` reads the columns in their folders alone."""
    condition, reader = request.suite.data.where, request.source.reader
    if condition is None or reader is None:
        return 0 if request.source.files else None
    partitions = reader.partitions
    row = compile_row(condition)
    if not row.columns or not set(row.columns) <= set(partitions.schema):
        return None
    return partitions.values.height - partitions.values.filter(row.expr).height


def _sets(sets: Sequence[SliceSet], plan: RunPlan | None) -> tuple[SetSize, ...]:
    """Slice sets, with possibly overlapping sets of one name as one."""
    by: dict[str, dict[str, None]] = {}
    sizes: dict[str, int | None] = {}
    for part in sets:
        by.setdefault(part.name, {}).update(dict.fromkeys(key.label for key in part.keys))
        sizes[part.name] = None if part.keys else 1
    if plan is not None:
        sizes = dict.fromkeys(sizes, 0)
        for each in plan.slices:
            sizes[each.slice_set.name] = (sizes[each.slice_set.name] or 0) + len(each)
    return tuple(SetSize(name, tuple(labels), sizes[name]) for name, labels in by.items())


def _values(suite: Suite) -> Callable[[SetSize], int]:
    """Number of values of a model in a slice set."""

    def of(part: SetSize) -> int:
        return (part.slices or 0) * len(suite.metrics_in(part.name)) + len(suite.over(part.name))

    return of


def _comparison_count(request: Request) -> int:
    """Number of comparisons of models per value; further ones of gates are in no table."""
    compare = request.suite.compare
    if compare is None:
        return 0
    return len(compare.pairs_of(request.models)) * len(compare.scales)


def _cubes(plan: RunPlan, blocks: int) -> list[CubeSize]:
    return [
        CubeSize(
            sets=tuple(dict.fromkeys(part.slice_set.name for part in cube.sets)),
            keys=tuple(code.key.label for code in cube.codes),
            cells=cube.cells,
            blocks=blocks,
            entries=expected_entries(plan, cube, blocks),
        )
        for cube in plan.cubes
    ]
