"""Results from states, equal to those of one run over all their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from plmetrics.api.context import RunContext, feature_files
from plmetrics.api.entry_point import entry_point
from plmetrics.api.gates import comparisons_with_tests, gate_history, rows_of_tests
from plmetrics.api.pipeline import (
    estimate,
    infer,
    masses_entry,
    recorded_rows,
    result_of_tables,
    with_additions,
)
from plmetrics.api.stopwatch import Progress, Stopwatch
from plmetrics.core.errors import CallError, ConfigError, Problem, call_errors
from plmetrics.core.results import TABLES, RecordedFile, RecordedInterval, RunRecord
from plmetrics.core.threads import parallel_map
from plmetrics.engine.memory.budget import budget_of, merging_room
from plmetrics.engine.memory.settings import memory_settings
from plmetrics.features.protocol import Outputs, Run
from plmetrics.features.registry import features_of
from plmetrics.features.stored.state_files import ENDING, StateFault, damage_errors, state_files, write_state
from plmetrics.features.stored.stored_state import file_places, stored_state, suite_of
from plmetrics.runs.files import place_of
from plmetrics.runs.folder import RunFolder
from plmetrics.states.state_format import SavedState, State
from plmetrics.table.files import shown_path, stamp_of
from plmetrics.table.stamps import watch_stamps

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

    from plmetrics.api.result import Result
    from plmetrics.features.shards.coverage import UnitCoverage
    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.features.stored.restoration import RestoredRun
    from plmetrics.runs.history.earlier_runs import EarlierRuns
    from plmetrics.runs.outcome import ExitPolicy
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place

    Counts = Callable[[EarlierRuns], Mapping[str, object]]


@entry_point
def merge(
    *states: State | str | PathLike[str],
    output: str | PathLike[str] | None = None,
    state: str | PathLike[str] | None = None,
    allow_overlap: bool = False,
    interval: str | None = None,
    allow_missing: bool = False,
    plan: str | PathLike[str] | None = None,
    least_coverage: float = 1.0,
    progress: Progress | None = None,
    exits: ExitPolicy | None = None,
) -> Result:
    """Merge states into the results of all their rows, as of one run over them.

    States are added one after another, in arrays that take a third of the suite's memory budget at most; what has no
    room there is put in order instead, which takes longer and gives the same.

    Args:
        states: states, their files, or folders of such files; also in an object store, such as s3://bucket/states.
        output: a folder for the run folder; none is written if not given.
        state: a file that ends in `.state`, a folder, or an address: the merged state is written there, to be merged in
            its turn.
        allow_overlap: whether a file or state may be there twice; its rows then count twice.
        interval: the span of time whose intervals are merged, such as "2026-03-01/2026-04-01" or "2026-03"; the one
            thing to merge is then the folder of a suite's runs.
        allow_missing: whether intervals of that span, or planned units, may be missing; what is missing is a warning
            then, and where units are a gate fails.
        plan: the plan of the units that states are of, where it does not lie beside them.
        least_coverage: the share of the rows with which that gate passes.
        progress: called with the name of each stage as it begins.
        exits: which exit code is recorded, where more than failed gates is to fail the run.

    Returns:
        The result; `record` names the states.

    Raises:
        AbsentDataError: intervals are missing.
        UnitsMissingError: planned units are missing.
        ConfigError: the states are of different suites or were made with different constants, or gates are to fail that
            states of intervals do not have.
        DataError: a state is absent, damaged or of another version, or two share rows.
        EnvironmentFault: something cannot be written.
    """
    from plmetrics.features.stored.compatibility import check_complete
    from plmetrics.table.storage.copies import local_copies

    watch = Stopwatch(progress)
    missing: list[str] = []
    if interval is not None:
        states, missing = _interval_states(states, interval, exits, allow_missing=allow_missing)
    coverage = None
    with local_copies(states, ENDING) as (copies, addresses):
        sources = list(_all_states(copies))
        stamps = {str(source): stamp_of(source) for source in sources if isinstance(source, Path)}
        with damage_errors(map(shown_path, stamps)), watch_stamps(stamps, "merged", StateFault):
            with watch.stage("read"):
                stored = [reference.at(addresses) for reference in parallel_map(stored_state, sources)]
                if not stored:
                    hint = "name state files, or a folder of them"
                    raise CallError(Problem("there are no states to merge", hint=hint))
                check_complete(stored)
                of_units = any(reference.head.plan is not None for reference in stored)
                if plan is not None and not of_units:
                    msg = "none of these states is of a plan's unit"
                    raise CallError(Problem(msg, ("plan",), "leave plan out"))
                if of_units:
                    from plmetrics.features.shards.coverage import planned_states

                    file = None if plan is None else place_of(plan)
                    stored, coverage = planned_states(
                        stored, file, least_coverage, allow_missing=allow_missing
                    )
                _check_sum(stored, allow_overlap=allow_overlap or interval is not None)
            merged = _Sum.of(stored, watch)
    if state is not None:
        with watch.stage("write"):
            head = merged.total.head
            unit_plan = coverage.head() if coverage is not None and coverage.missing else head.plan
            write_state(state, replace(head, plan=unit_plan), merged.total.table)
    return merged.publish(None if output is None else place_of(output), missing, coverage, exits)


def result_of_units(
    places: Sequence[str],
    coverage: UnitCoverage,
    watch: Stopwatch,
    home: Place | None,
    counts: Counts | None = None,
    source: Source | None = None,
) -> Result:
    """The result of the states of a plan's units, which are the rows of `source`, where it can be read here.

    `home` is the folder of a suite's runs, if it has one; `counts` gives what features judge them against.

    Raises:
        DataError: no row of any unit is positive, and the labels are others.
    """
    with watch.stage("read"):
        stored = parallel_map(stored_state, [place_of(place) for place in places])
        _check_sum(stored, allow_overlap=True)
    return replace(_Sum.of(stored, watch), source=source).with_earlier_runs(home, coverage, counts)


def merged_result(
    stored: Sequence[StateReference], interval: RecordedInterval, suite: Suite | None = None
) -> Result:
    """Result of additive states without common rows; comparisons call it by its interval.

    `suite` is that of the comparisons, whose decompositions need denominators.
    """
    total = replace(_Sum.of(stored, Stopwatch(None)), is_part=True)
    result = total.result(RunContext(), suite=suite)
    return replace(
        result, record=cast("RunRecord", {**result.record, "interval": interval, "run_id": interval["key"]})
    )


def _interval_states(
    states: Sequence[State | str | PathLike[str]],
    interval: str,
    exits: ExitPolicy | None,
    *,
    allow_missing: bool,
) -> tuple[tuple[Place, ...], list[str]]:
    """States of the intervals of a span, and in words the missing ones."""
    from plmetrics.features.nights.span import states_of_intervals

    if exits is not None and exits.fail_on:
        msg = "states of intervals have no gates: --fail-on would have no effect on their sum"
        hint = "gates judge each interval as it is evaluated: plmetrics backfill --fail-on, plmetrics history"
        raise CallError(Problem(msg, hint=hint))
    with call_errors("interval"):
        return states_of_intervals(states, interval, allow_missing=allow_missing)


def _check_sum(stored: Sequence[StateReference], *, allow_overlap: bool) -> None:
    """Whether states can be added; those without rows have no part in it."""
    from plmetrics.features.stored.compatibility import check_compatible, check_disjoint_rows

    full = [reference for reference in stored if reference.head.parts]
    check_compatible(full or stored)
    check_disjoint_rows(full, allow_overlap=allow_overlap)


def _all_states(states: Sequence[object]) -> Iterator[State | Path]:
    """The states, with the files in folders."""
    for item in states:
        if isinstance(item, State):
            yield item
        elif isinstance(item, (str, Path)):
            yield from state_files([Path(item)])
        else:
            msg = f"a state is a plm.State, a file or a folder of such files, not a {type(item).__name__}"
            raise ConfigError(
                Problem(
                    msg, hint="several are written one after another: plm.merge(a, b), plm.merge(*states)"
                )
            )


@dataclass(frozen=True, slots=True)
class _Sum:
    """Sum of some states, with their suite, and the table of their rows where it is at hand.

    It is a part of the rows where others may have slices that the suite refers to.
    """

    suite: Suite
    total: SavedState
    stored: Sequence[StateReference]
    watch: Stopwatch
    source: Source | None = None
    is_part: bool = False

    @classmethod
    def of(cls, stored: Sequence[StateReference], watch: Stopwatch) -> _Sum:
        """Add states, at least one."""
        from plmetrics.features.stored.merging import merge_states
        from plmetrics.features.stored.support import resamples_totals

        suite = suite_of(stored[0].head)
        with watch.stage("merge"), memory_settings(budget_of(suite)):
            total = merge_states(stored, totals=resamples_totals(suite), room=merging_room(suite))
            return cls(suite, total, stored, watch)

    def publish(
        self,
        output: Place | None,
        words: Sequence[str],
        coverage: UnitCoverage | None,
        exits: ExitPolicy | None,
    ) -> Result:
        """The result, in a run folder where one is asked for; `words` are further warnings."""
        if output is None:
            result = self.with_earlier_runs(None, coverage)
            result.record["warnings"] += words
            return result
        with RunFolder.start(output, self.suite.name, exits) as folder:
            result = self.with_earlier_runs(output / self.suite.name, coverage)
            result.record["warnings"] += words
            record = folder.publish(result, feature_files(result))
        return replace(result, folder=folder.path, record=record)

    def with_earlier_runs(
        self, home: Place | None, coverage: UnitCoverage | None, counts: Counts | None = None
    ) -> Result:
        """Result with earlier runs for its gates and counts for its features."""
        from plmetrics.runs.history.earlier_runs import EarlierRuns

        runs = EarlierRuns.of(self.suite, self.total.head.files, home)
        references = _counts(self.suite, runs) if counts is None else counts(runs)
        context = RunContext(history=gate_history(self.suite.gates, runs), counts=references)
        result = self.result(context, coverage)
        result.record.update(runs.added_to(result.record))
        return result

    def result(
        self, context: RunContext, coverage: UnitCoverage | None = None, *, suite: Suite | None = None
    ) -> Result:
        """Result estimated from the sums alone, with the denominators of the suite's decomposition."""
        from plmetrics.diagnostics.value_warnings import coarse_p_values
        from plmetrics.features.stored.restoration import restore

        places = file_places(self.stored)
        with self.watch.stage("intervals"), damage_errors(places):
            run = restore(self.suite, self.total, is_part=self.is_part)
        if self.source is not None and self.suite.positive is not None:
            from plmetrics.engine.bad_rows import refuse_absent_positive
            from plmetrics.engine.binding.bind import bind

            refuse_absent_positive(bind(self.suite, self.source).view, run.aggregates.sums[0].columns)
        arithmetic = run.aggregates.arithmetic
        with self.watch.stage("intervals"), arithmetic(), damage_errors(places):
            analysis, ordered, curves = estimate(run.plan, run.aggregates, run.scores)
            tables, replicates, analysis = infer(analysis, ordered, context)
        with self.watch.stage("tests"), arithmetic():
            rows = rows_of_tests(run.plan)
            tables["comparisons"] = comparisons_with_tests(tables, analysis, rows, ordered)
        source, counts = run.plan.view.source, context.counts
        restored = Run(source, run.plan, counts, analysis=analysis, state=self.total)
        with arithmetic(), damage_errors(places):
            outputs = [
                feature.run(restored)
                for feature in features_of(self.suite)
                if feature.of_sums or feature.key in counts
            ]
        record = with_additions(self._record(run, tables["metrics"]), outputs, RunContext())
        record.update(masses_entry(analysis, suite or self.suite))
        record["warnings"] += coarse_p_values(self.suite, tables["comparisons"])
        if coverage is not None:
            record["warnings"] += coverage.words()
        if coverage is not None and coverage.missing:
            outputs.append(Outputs({}, coverage.gates()))
            record = cast("RunRecord", {**record, "unit_coverage": coverage.head()})
        every = {name: schema.to_frame() for name, schema in TABLES.items()} | tables | {"curves": curves}
        return result_of_tables(run.plan.request.suite, every, replicates, outputs, record)

    def _record(self, run: RestoredRun, metrics: pl.DataFrame) -> RunRecord:
        from plmetrics.diagnostics.run_warnings import state_warnings
        from plmetrics.engine.prepare.slices import slice_warnings

        head, plan, sums = self.total.head, run.plan, run.aggregates
        of_slices = slice_warnings(plan.view.sets)
        gaps = [feature.merge_gap(plan.request.suite) for feature in features_of(plan.request.suite)]
        warnings = [
            *(text for text in head.warnings if text not in of_slices),
            *(f"{gap.message}: {gap.hint}" for gap in gaps if gap is not None),
            *plan.warnings,
            *state_warnings(plan, sums, metrics),
        ]
        return {
            "constants": plan.constants(int(sums.units.sum())),
            "files": [
                RecordedFile(path=file["path"], bytes=file["bytes"], rows=file["rows"], digest=file["digest"])
                for file in head.files
            ],
            "states": [
                {"path": state.place, "content": state.content, "rows": state.head.rows["read"]}
                for state in self.stored
            ],
            "rows": recorded_rows(plan, sums),
            "timings": dict(self.watch.seconds),
            "warnings": list(dict.fromkeys(warnings)),
        }


def _counts(suite: Suite, runs: EarlierRuns) -> dict[str, object]:
    """References of merged states for features, by key."""
    opened = {feature.key: feature.merged_counts(suite, runs) for feature in features_of(suite)}
    return {key: counts for key, counts in opened.items() if counts is not None}
