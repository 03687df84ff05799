"""The evaluation of one interval of a growing table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.api.context import RunContext, data_files, table_of
from plmetrics.api.merging import merged_result
from plmetrics.api.nights.checks import check_interval_states
from plmetrics.api.nights.data_stamps import data_stamps, tables_digest
from plmetrics.api.pipeline import evaluate_suite
from plmetrics.api.stopwatch import Stopwatch
from plmetrics.api.suite_files import redact_head
from plmetrics.api.suite_run import Evaluation, Messenger, RunOptions, deliver, with_report, write_run
from plmetrics.core.errors import AbsentDataError, ConfigError, Problem
from plmetrics.features.nights.interval_section import IntervalSection, adds_states, decomposes_scores
from plmetrics.features.nights.manifests import Acceptance, Manifest, Manifests, digest_of_value
from plmetrics.features.nights.references import EarlierIntervals, runs_behind
from plmetrics.features.nights.row_condition import (
    Maturity,
    conjunction,
    or_no_time,
    partition_condition,
    rows_condition,
    rows_without_time,
)
from plmetrics.runs.failure import verdict_exit_code
from plmetrics.runs.history.comparability import run_name
from plmetrics.runs.history.data import RunData
from plmetrics.runs.history.previous_runs import (
    PreviousStatus,
    delivery_failures,
    note_deliveries,
    restore_latest,
)
from plmetrics.runs.record import fingerprint_with_values
from plmetrics.runs.work_folder import RECORD

if TYPE_CHECKING:
    from plmetrics.api.result import Result
    from plmetrics.core.results import RecordedFile, RecordedInterval
    from plmetrics.features.nights.calendar import Interval
    from plmetrics.features.nights.states import IntervalState
    from plmetrics.runs.folder import FileFacts
    from plmetrics.runs.outcome import Outcome
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place


def section_of(loaded: LoadedSuite) -> IntervalSection:
    """Section of a suite's intervals.

    Raises:
        ConfigError: it has none.
    """
    section = IntervalSection.find(loaded.suite)
    if section is None:
        msg = f"{loaded.file} has no intervals"
        hint = "add interval: {partition: day, every: 1d}, or {column: scored_at}"
        raise ConfigError(Problem(msg, hint=hint))
    return section


def evaluate_night(evaluation: IntervalEvaluation) -> Result:
    """Result of one interval, evaluated and written, or the existing one; see `backfill.evaluate_interval`."""
    result = write_run(evaluation)
    if result is None:
        result = evaluation.stored_result()
        result = with_report(evaluation, with_warnings(result, _recover(evaluation, result)))
        deliver(evaluation, result)
        words = (
            f"{evaluation.interval} was evaluated already, of the same files, suite and references; "
            "--force does it again"
        )
        accepted = None if evaluation.current is None else evaluation.current.accepted
        if accepted is not None:
            reason = f"{accepted.by} accepted it because {accepted.because!r}"
            words += f"; {reason}: its verdict stays, and --next goes on after it"
        result = with_warnings(result, [words])
    return result


def with_warnings(result: Result, warnings: Sequence[str]) -> Result:
    """Result with more warnings."""
    return replace(result, record={**result.record, "warnings": [*result.warnings, *warnings]})


def _recover(evaluation: IntervalEvaluation, result: Result) -> list[str]:
    """Let the existing result be the latest one again after a try that failed, and tell of it; undelivered messages.

    Otherwise messages of the result that did not arrive are sent again.
    """
    assert result.folder is not None
    home, run, messenger = evaluation.home, result.folder.name, Messenger.of(evaluation)
    failed = restore_latest(home, result.record) and messenger.previous.status == "error"
    asked = range(1, len(evaluation.loaded.suite.notify) + 1)
    again = [] if failed else [number for number in delivery_failures(home, run) if number in asked]
    if not failed and not again:
        return []
    undelivered = messenger.tell_of_result(result, result.record, result.folder, again)
    arrived = [number for number in again if number not in undelivered]
    if arrived:
        note_deliveries(home, run, arrived)
    return [*undelivered.values(), *(f"notification {number} is delivered now" for number in arrived)]


class IntervalEvaluation(Evaluation):
    """Evaluation of the rows of one interval, with a manifest once its run folder is in sight.

    With `for_data` a result stays unless its files changed, labels are due, or it reads one of the `superseded` runs:
    whatever became of the suite. Evaluations of a backfill share the `band_values` of earlier intervals.
    """

    def __init__(
        self,
        loaded: LoadedSuite,
        directory: Place,
        interval: Interval,
        options: RunOptions | None = None,
        *,
        force: bool = False,
        for_data: bool = False,
        superseded: Collection[str] = (),
        band_values: dict[tuple[str, str], pl.DataFrame] | None = None,
    ) -> None:
        super().__init__(loaded, directory / loaded.suite.name, options or RunOptions())
        self.interval = interval
        self.section = section_of(loaded)
        self.manifests = Manifests(self.home)
        self.current = self.manifests.current(interval.key)
        self.as_of = datetime.now(UTC)
        self._maturity = Maturity.of(loaded.suite.labels, interval.end, self.as_of)
        self._force = force
        self._for_data = for_data
        self._superseded = frozenset(superseded)
        self._band_values = {} if band_values is None else band_values
        self._accepted: Acceptance | None = None
        self._state: bytes | None = None
        self._stamps: dict[str, str] = {}
        self._candidates = ""
        self._runs: EarlierIntervals | None = None

    @property
    def recorded_interval(self) -> RecordedInterval:
        """Entry of the interval in run.json, also where the run fails."""
        return {
            "key": self.interval.key,
            "start": self.interval.start.isoformat(),
            "end": self.interval.end.isoformat(),
            "timezone": self.section.timezone,
        }

    def previous_status(self) -> PreviousStatus:
        """Verdict of the superseded result, or of the interval before; `error` after a failed run."""
        last = super().previous_status()
        if last.status == "error":
            return last
        before = self.section.calendar.containing(self.interval.start - timedelta(microseconds=1))
        manifest = self.current or self.manifests.current(before.key)
        if manifest is None:
            return last
        return PreviousStatus(manifest.verdict, delivery_failures(self.home, manifest.run))

    def result(self) -> Result | None:
        """Result; None for an existing one of the same files, suite and references.

        Raises:
            AbsentDataError: there are no rows of the interval yet.
        """
        try:
            return self._result()
        except AbsentDataError as error:
            raise AbsentDataError([self._without_condition(problem) for problem in error.problems]) from error

    def _without_condition(self, problem: Problem) -> Problem:
        """Problem with the interval in place of its generated condition."""
        if problem.path != ("data", "where"):
            return problem
        where = self.loaded.suite.data.where
        words = f"there are no rows of {self.interval}" + ("" if where is None else f" where {where}")
        return replace(problem, message=words, path=("interval",))

    def _result(self) -> Result | None:
        suite = self.loaded.suite
        check_interval_states(suite)
        source = self._open()
        where = conjunction(suite.data.where, rows_condition(self.section, self.interval, source.schema))
        files = data_files(source)
        self._stamps = {
            "fingerprint": fingerprint_with_values(suite),
            **data_stamps(suite, self.section, source, where, files),
        }
        if self._for_data and self._stays():
            return None
        runs = self._runs = self._earlier(files)
        self._stamps["tables"] = tables_digest(suite, self.loaded.folder)
        self._candidates = digest_of_value(runs.candidates())
        # Of the same candidates the references are the same: none of their files needs to be read.
        same = self.current is not None and self.current.candidates == self._candidates
        if same and not self._force and not self._differing() and self._is_complete():
            return None
        context = RunContext.of(
            suite, source, base=self.loaded.folder, home=self.home, runs=runs, files=files
        )
        self._stamps["references"] = digest_of_value([runs.record, runs.history])
        if not self._force and self._is_current(runs):
            return None
        context = replace(context, where=where, interval=self.recorded_interval, as_of=self.as_of)
        result = evaluate_suite(suite, source, self.options.progress, context)
        result.record["warnings"] += rows_without_time(self.section, self.interval, source, suite.data.where)
        if adds_states(suite):
            state = self._count(source, where, result)
            result.record["warnings"] += state.warnings
            if decomposes_scores(suite) and context.earlier is not None:
                result = self._with_score_changes(result, context.earlier, state, runs)
        return self._with_acceptance(result)

    def files(self, result: Result) -> dict[str, bytes]:
        """The files beside the tables: the counts of drift, and the state of the interval."""
        from plmetrics.features.nights.states import STATE

        files = super().files(result)
        return files if self._state is None else {**files, STATE: self._state}

    def commit(self, result: Result, files: Mapping[str, FileFacts]) -> None:
        """Write the manifest of the interval: from then on the result counts."""
        assert result.folder is not None
        manifest = Manifest(
            interval=self.interval.key,
            start=self.interval.start.isoformat(),
            end=self.interval.end.isoformat(),
            timezone=self.section.timezone,
            run=result.folder.name,
            verdict=result.verdict,
            exit_code=verdict_exit_code(result.verdict),
            rows=int(result.record["rows"]["read"]),
            files={f"{result.folder.name}/{name}": {**facts} for name, facts in sorted(files.items())},
            fingerprint=self._stamps["fingerprint"],
            data=self._stamps["data"],
            references=self._stamps["references"],
            times=self._stamps["times"],
            tables=self._stamps["tables"],
            candidates=self._candidates if self._runs is not None and self._runs.candidates_suffice else "",
            awaits_labels=self._maturity.awaits(result.metrics),
            lacks_labels=self._maturity.lacks(result.metrics),
            accepted=self._accepted,
        )
        self.manifests.commit(manifest)

    def stored_result(self) -> Result:
        """Existing result."""
        from plmetrics.api.loading import load

        assert self.current is not None
        return load(self.home / self.current.run / RECORD)

    def _open(self) -> Source:
        """Table, with only the folders of the interval listed; a database sends its rows alone.

        The column that says when rows are of may be a derived one.
        """
        suite, column = self.loaded.suite, self.section.column
        condition = partition_condition(self.section, self.interval)
        if suite.data.database is not None and column is not None and column not in suite.derive:
            sample = table_of(suite, suite.data.rows, self.loaded.folder, rows=False)
            condition = or_no_time(self.section, rows_condition(self.section, self.interval, sample.schema))
        where = suite.data.where if condition is None else conjunction(suite.data.where, condition)
        opened = suite.with_where(where)
        table = table_of(opened, opened.data.rows, self.loaded.folder)
        if column not in suite.derive:
            return table
        from plmetrics.engine.binding.row_expressions import derived_columns

        return derived_columns(suite.expressions, table)

    def _earlier(self, files: Sequence[RecordedFile]) -> EarlierIntervals:
        suite = self.loaded.suite
        return EarlierIntervals(
            RunData.of(files, suite.data.where),
            self.home,
            calendar=self.section.calendar,
            interval=self.interval,
            suite=suite,
            merge=merged_result,
            band_values=self._band_values,
        )

    def _is_complete(self) -> bool:
        """Whether there is a result of the interval, its files are whole, and no labels came due since."""
        current = self.current
        if current is None or not current.of(self.interval):
            return False
        if current.awaits_labels and self._maturity.due:
            return False
        if self.manifests.damage(current, thorough=True) is not None:
            return False
        return not (current.awaits_labels or current.lacks_labels) or self._adds_to_intervals(current)

    def _adds_to_intervals(self, manifest: Manifest) -> bool:
        """Whether the state of a result adds to those of intervals with labels."""
        from plmetrics.features.nights.states import lacks_constants

        suite = self.loaded.suite
        return not (adds_states(suite) and lacks_constants(self.home, manifest.run, suite))

    def _differing(self) -> list[str]:
        """Stamps with a difference between the existing result and a new one."""
        before = {key: getattr(self.current, key) for key in self._stamps}
        if not before["times"]:  # a manifest of an earlier version does not say when files were written
            before["times"] = self._stamps["times"]
        return [key for key, value in self._stamps.items() if before[key] != value]

    def _stays(self) -> bool:
        """Whether the existing result is that of its files, and reads no superseded run.

        Of the same suite references are looked up, to see whether they changed; another one has others anyway.
        """
        if not self._is_complete():
            return False
        differing = self._differing()
        if {"data", "times"}.intersection(differing):
            return False
        if not self._superseded:
            return True
        other_suite = "fingerprint" in differing
        return other_suite and self._superseded.isdisjoint(runs_behind(self.stored_result().record))

    def _is_current(self, runs: EarlierIntervals) -> bool:
        """Whether the existing result equals a new one, or would if its references still existed."""
        if not self._is_complete():
            return False
        differing = self._differing()
        if differing == ["references"]:
            return runs.lack_files_alone(self.stored_result().record)
        return not differing

    def _with_acceptance(self, result: Result) -> Result:
        """Result with the acceptance of the one before, or a warning of its absence."""
        from plmetrics.api.nights.acceptance import has_no_other_failure, has_same_values

        before = self.current
        if before is None or before.accepted is None:
            return result
        same = {"times", "references"}.issuperset(self._differing()) and self.manifests.damage(before) is None
        if same and not self._force:
            accepted = self.stored_result()
            # Files that were written again have the same rows where all values are the same.
            same = "times" not in self._differing() or has_same_values(accepted, result)
            self._accepted = before.accepted if same and has_no_other_failure(accepted, result) else None
        if self._accepted is not None or result.verdict != "fail":
            return result
        reason = f"{before.accepted.by} accepted {before.run} because {before.accepted.because!r}"
        words = f"{reason}, and not this result, which fails as well: accept it if it is to count"
        return with_warnings(result, [words])

    def _count(self, source: Source, where: str, result: Result) -> IntervalState:
        from plmetrics.features.nights.states import state_of_interval

        suite, watch = self.loaded.suite, Stopwatch(self.options.progress)
        redact = partial(redact_head, self.loaded)
        labelled = not (self._maturity.awaits(result.metrics) or self._maturity.lacks(result.metrics))
        state = state_of_interval(suite, source, where, self.home, watch.stage, redact, labelled=labelled)
        self._state = state.content
        return state

    def _with_score_changes(
        self, result: Result, earlier: Outcome, state: IntervalState, runs: EarlierIntervals
    ) -> Result:
        """The result with the effects of slices on changes of metrics of ordered scores."""
        from plmetrics.features.nights.score_changes import score_changes

        changes = score_changes(self.loaded.suite, state, runs.compared_runs(), run_name(earlier))
        return replace(result, decomposition=pl.concat([result.decomposition, changes]))
