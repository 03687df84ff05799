"""The evaluation of one interval of a growing table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.api.context import RunContext, data_files
from plmetrics.api.merging import merged_result
from plmetrics.api.pipeline import evaluate_suite
from plmetrics.api.stopwatch import Stopwatch
from plmetrics.api.suite_files import redact_head
from plmetrics.api.suite_run import Evaluation, RunOptions, deliver, write_run
from plmetrics.core.errors import CallError, ConfigError, DataError, Problem, call_errors
from plmetrics.features.nights.interval_section import adds_states, decomposes_scores, interval_section
from plmetrics.features.nights.manifests import Manifest, Manifests, digest_of_value, folder_facts
from plmetrics.features.nights.references import EarlierIntervals
from plmetrics.features.nights.row_condition import (
    conjunction,
    partition_condition,
    rows_condition,
    rows_without_time,
)
from plmetrics.runs.failure import verdict_exit_code
from plmetrics.runs.record import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plmetrics.api.result import Result
    from plmetrics.core.results import RecordedFile, RecordedInterval
    from plmetrics.features.nights.calendar import Interval
    from plmetrics.features.nights.interval_section import IntervalSection
    from plmetrics.features.nights.states import IntervalState
    from plmetrics.runs.outcome import Outcome
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.source import Source


def evaluate_interval(
    loaded: LoadedSuite,
    directory: Path,
    text: str | None,
    options: RunOptions | None = None,
    *,
    force: bool = False,
) -> Result:
    """Evaluate an interval of a suite, after earlier ones whose files changed, as far as the suite looks back.

    An interval whose result is there already, of the same files, suite and references, is not evaluated again.

    Args:
        loaded: the suite.
        directory: that of its runs.
        text: the interval.
        options: what is said of the run beside its suite.
        force: whether to evaluate it again all the same.

    Raises:
        ConfigError: the suite has no intervals, or the text names none.
        DataError: the data is not what the suite says.
        EnvironmentFault: something cannot be written.
    """
    section = section_of(loaded)
    if text is None:
        hint = "add --interval 2026-11-20, or --next for the first one without an accepted result"
        raise loaded.locate(CallError(Problem("which interval is to be evaluated?", ("interval",), hint)))
    with call_errors("interval"):
        interval = section.calendar.interval(text)
    words = list(_look_back(loaded, directory, section, interval, options))
    result = evaluate_night(loaded, directory, interval, options, force=force)
    return replace(result, record={**result.record, "warnings": [*result.warnings, *words]})


def section_of(loaded: LoadedSuite) -> IntervalSection:
    """What a suite says of its intervals.

    Raises:
        ConfigError: it has none.
    """
    section = interval_section(loaded.suite)
    if section is None:
        msg = f"{loaded.file} has no intervals"
        hint = "add interval: {partition: day, every: 1d}, or {column: scored_at}"
        raise ConfigError(Problem(msg, hint=hint))
    return section


def evaluate_night(
    loaded: LoadedSuite,
    directory: Path,
    interval: Interval,
    options: RunOptions | None = None,
    *,
    force: bool = False,
) -> Result:
    """Evaluate one interval, or load its result where that is there already; see `evaluate_interval`."""
    evaluation = IntervalEvaluation(loaded, directory, interval, options, force=force)
    result = write_run(loaded, directory, evaluation)
    if result is None:
        result = evaluation.stored_result()
        deliver(evaluation, result)
        words = f"{interval} was evaluated already, of the same files, suite and references; --force does it again"
        result = replace(result, record={**result.record, "warnings": [*result.warnings, words]})
    return result


def _look_back(
    loaded: LoadedSuite,
    directory: Path,
    section: IntervalSection,
    interval: Interval,
    options: RunOptions | None,
) -> list[str]:
    """Evaluate earlier intervals again whose files changed; in words what became of them."""
    if section.lookback is None:
        return []
    from plmetrics.core.durations import Duration

    words = []
    manifests = Manifests(directory / loaded.suite.name)
    for earlier in section.calendar.before(interval, Duration.of(section.lookback)):
        before = manifests.current(earlier.key)
        if before is None:
            continue
        try:
            result = evaluate_night(loaded, directory, earlier, options)
        except DataError as error:
            words.append(
                f"{earlier} could not be evaluated again, its result stays: {error.problems[0].message}"
            )
            continue
        if result.folder is not None and result.folder.name != before.run:
            rows = f"{before.rows:,} rows then, {result.record['rows']['read']:,} now"
            words.append(
                f"{earlier} was evaluated again ({rows}): {before.verdict} then, {result.verdict} now"
            )
    return words


class IntervalEvaluation(Evaluation):
    """The evaluation of the rows of one interval, which leaves a manifest once its run folder is in sight."""

    def __init__(
        self,
        loaded: LoadedSuite,
        directory: Path,
        interval: Interval,
        options: RunOptions | None = None,
        *,
        force: bool = False,
    ) -> None:
        super().__init__(loaded, directory / loaded.suite.name, options or RunOptions())
        self.interval = interval
        self.section = section_of(loaded)
        self.manifests = Manifests(self.home)
        self.current = self.manifests.current(interval.key)
        self.as_of = datetime.now(UTC)
        self._force = force
        self._state: bytes | None = None
        self._stamps: dict[str, str] = {}

    @property
    def recorded_interval(self) -> RecordedInterval:
        """What run.json says of the interval, also where the run fails."""
        return {
            "key": self.interval.key,
            "start": self.interval.start.isoformat(),
            "end": self.interval.end.isoformat(),
            "timezone": self.section.timezone,
        }

    def previous_status(self) -> str | None:
        """The verdict of what this result takes the place of, or of the interval before; `error` after a failed run."""
        last = super().previous_status()
        if last == "error":
            return last
        before = self.section.calendar.containing(self.interval.start - timedelta(microseconds=1))
        manifest = self.current or self.manifests.current(before.key)
        return last if manifest is None else manifest.verdict

    def result(self) -> Result | None:
        """The result; None where the one that is there is of the same files, suite and references."""
        suite = self.loaded.suite
        source = self._open()
        where = conjunction(suite.data.where, rows_condition(self.section, self.interval, source.schema))
        files = data_files(source)
        runs = self._earlier(files)
        context = RunContext.of(
            suite, source, base=self.loaded.folder, home=self.home, runs=runs, files=files
        )
        self._stamps = {
            "fingerprint": fingerprint(suite),
            "data": digest_of_value([_content(file) for file in files]),
            "references": digest_of_value([runs.record, runs.history]),
        }
        if not self._force and self._is_current(runs):
            return None
        context = replace(context, where=where, interval=self.recorded_interval, as_of=self.as_of)
        result = evaluate_suite(suite, source, self.options.progress, context)
        result.record["warnings"] += rows_without_time(self.section, source, suite.data.where)
        if adds_states(suite):
            state = self._count(source, where)
            if decomposes_scores(suite) and context.earlier is not None:
                result = self._with_score_changes(result, context.earlier, state, runs)
        return result

    def files(self, result: Result) -> dict[str, bytes]:
        """The files beside the tables: what drift counted, and the state of the interval."""
        from plmetrics.features.nights.states import STATE

        files = super().files(result)
        return files if self._state is None else {**files, STATE: self._state}

    def commit(self, result: Result) -> None:
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
            files=folder_facts(self.home, result.folder),
            fingerprint=self._stamps["fingerprint"],
            data=self._stamps["data"],
            references=self._stamps["references"],
            awaits_labels=not self._labels_are_due() and _lacks_labels(result),
        )
        self.manifests.commit(manifest)

    def stored_result(self) -> Result:
        """The result that is there."""
        from plmetrics.api.loading import load
        from plmetrics.runs.folder import RECORD

        assert self.current is not None
        return load(self.home / self.current.run / RECORD)

    def _open(self) -> Source:
        """The table, of whose folders only those of the interval are looked at."""
        from plmetrics.table.opening import open_source

        suite = self.loaded.suite
        condition = partition_condition(self.section, self.interval)
        where = suite.data.where if condition is None else conjunction(suite.data.where, condition)
        opened = suite.with_where(where)
        return open_source(opened.data.rows, self.loaded.folder, opened.reads_where, opened.optional_columns)

    def _earlier(self, files: Sequence[RecordedFile]) -> EarlierIntervals:
        from plmetrics.runs.history.data import Data

        suite = self.loaded.suite
        return EarlierIntervals(
            Data.of(files, suite.data.where),
            self.home,
            calendar=self.section.calendar,
            interval=self.interval,
            suite=suite,
            merge=merged_result,
        )

    def _is_current(self, runs: EarlierIntervals) -> bool:
        """Whether the result that is there is what would come out, or would if its references were still there."""
        current = self.current
        if current is None or not current.of(self.interval):
            return False
        if current.awaits_labels and self._labels_are_due():
            return False
        differing = [key for key, value in self._stamps.items() if getattr(current, key) != value]
        if self.manifests.damage(current, thorough=True) is not None:
            return False
        if differing == ["references"]:
            return runs.lack_files_alone(self.stored_result().record)
        return not differing

    def _labels_are_due(self) -> bool:
        """Whether rows without a label will not get one any more."""
        labels = self.loaded.suite.labels
        if labels is None:
            return True
        from plmetrics.suite.sections.labels import label_status

        return label_status(self.interval.end, labels.mature_after, self.as_of) == "unlabelled"

    def _count(self, source: Source, where: str) -> IntervalState:
        """Count the state of the interval."""
        from plmetrics.features.nights.states import state_of_interval

        suite, watch = self.loaded.suite, Stopwatch(self.options.progress)
        redact = partial(redact_head, self.loaded)
        state = state_of_interval(suite, source, where, self.home, watch.stage, redact)
        self._state = state.content
        return state

    def _with_score_changes(
        self, result: Result, earlier: Outcome, state: IntervalState, runs: EarlierIntervals
    ) -> Result:
        """The result with what slices did to changes of metrics of ordered scores."""
        from plmetrics.features.nights.score_changes import score_changes
        from plmetrics.runs.history.comparability import run_name

        changes = score_changes(
            self.loaded.suite, state, runs.reference_runs("compare.run"), run_name(earlier)
        )
        return replace(result, decomposition=pl.concat([result.decomposition, changes]))


def _lacks_labels(result: Result) -> bool:
    """Whether rows of a result have no label."""
    return any(result.record["rows"].get("unlabelled", {}).values())


def _content(file: RecordedFile) -> dict[str, object]:
    """What is known of a data file but where it lies."""
    return {key: value for key, value in file.items() if key != "folder"}
