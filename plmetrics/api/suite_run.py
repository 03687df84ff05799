"""Runs of a suite's file: the evaluation, and its run folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from plmetrics.api.context import RunContext, check_distributable, feature_files
from plmetrics.api.pipeline import evaluate_suite
from plmetrics.api.stopwatch import Progress, Stopwatch
from plmetrics.api.suite_files import (
    error_places,
    open_rows,
    output_directory,
    without_values,
    without_variables,
)
from plmetrics.core.errors import EnvironmentFault, PlmetricsError

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.api.result import Result
    from plmetrics.core.results import RecordedInterval, RunRecord
    from plmetrics.exports.notification import Message
    from plmetrics.exports.plan import Exports
    from plmetrics.runs.folder import FileFacts, RunFolder
    from plmetrics.runs.history.previous_runs import PreviousStatus
    from plmetrics.runs.outcome import ExitPolicy
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.storage.places import Place

REPORT = "report.html"


def open_suite(
    path: Path,
    set: Mapping[str, object],  # noqa: A002
    output: str | Path | None,
) -> tuple[LoadedSuite, Place]:
    """Suite from its file, and the directory of its runs; a refusal is recorded there.

    Raises:
        ConfigError: the suite is wrong.
        EnvironmentFault: a file cannot be read, or an extra is not installed.
    """
    from plmetrics.suite.yaml.load import load_suite

    try:
        loaded = load_suite(path, set)
        directory = output_directory(loaded, output)
        suite_exports(loaded)
        if {"engine", "interval"} <= loaded.suite.sections.keys():
            with error_places(loaded):
                check_distributable(loaded.suite)
    except PlmetricsError as error:
        from plmetrics.runs.failure import attach_folder
        from plmetrics.runs.refusal import record_refusal

        refusal = record_refusal(path, error, output, set)
        if refusal is not None:
            attach_folder(error, refusal)
        raise
    return loaded, directory


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run beside its suite.

    `progress` is called with the name of each stage as it begins, `exits` says which exit code is recorded where more
    than failed gates is to fail the run. `labels` are the caller's, `command` is the command line, if any.
    """

    progress: Progress | None = None
    exits: ExitPolicy | None = None
    labels: Mapping[str, str] | None = None
    command: Sequence[str] | None = None


class Evaluation:
    """The evaluation of a suite's file: of all rows of its table."""

    def __init__(self, loaded: LoadedSuite, home: Place, options: RunOptions) -> None:
        self.loaded = loaded
        self.home = home
        self.options = options

    def result(self) -> Result | None:
        """The result; None where there is nothing to do."""
        suite, base = self.loaded.suite, self.loaded.folder
        source = open_rows(self.loaded)
        context = RunContext.of(suite, source, base=base, home=self.home)
        return evaluate_suite(suite, source, self.options.progress, context)

    def files(self, result: Result) -> dict[str, bytes]:
        """The files of the run folder beside its tables, by name."""
        return feature_files(result)

    @property
    def recorded_interval(self) -> RecordedInterval | None:
        """Evaluated interval, as run.json names it; None without one."""
        return None

    @property
    def interval_text(self) -> str:
        """Key of the recorded interval, empty without one."""
        return "" if self.recorded_interval is None else self.recorded_interval["key"]

    @cached_property
    def exports(self) -> Exports | None:
        """Exports of the suite beside its tables and elsewhere; see `suite_exports`."""
        return suite_exports(self.loaded)

    def previous_status(self) -> PreviousStatus:
        """Status of the run before. Asked before the run begins."""
        from plmetrics.runs.history.previous_runs import previous_status

        return previous_status(self.home)

    def repetitions(self, result: Result) -> list[str]:
        """Remark on many evaluations of the same rows; runs of an interval count once."""
        if self.recorded_interval is not None:
            return []
        from plmetrics.runs.history.data import condition_identity
        from plmetrics.runs.history.previous_runs import repetition_warnings
        from plmetrics.runs.record import suite_of_run

        facts = {"suite": suite_of_run(result), "files": result.record.get("files", ())}
        return repetition_warnings(self.home, facts | {"where_identity": condition_identity(result.suite)})

    def commit(self, result: Result, files: Mapping[str, FileFacts]) -> None:
        """Actions once the run folder is in sight, with the size and SHA-256 of each of its files."""


@dataclass(frozen=True, slots=True)
class Messenger:
    """Sender of a suite's messages: the evaluation, and the status of the run before it."""

    evaluation: Evaluation
    previous: PreviousStatus

    @classmethod
    def of(cls, evaluation: Evaluation) -> Messenger:
        """Context before the run, with the last run as the earlier one."""
        return cls(evaluation, evaluation.previous_status())

    @contextmanager
    def watch(self, folder: RunFolder) -> Iterator[None]:
        """Tell of an error on its way out."""
        try:
            yield
        except BaseException as error:
            folder.note(self.tell_of_failure(error))
            raise

    def tell_of_result(
        self, result: Result, record: RunRecord, folder: Place, again: Collection[int] = ()
    ) -> dict[int, str]:
        """Send the messages of a completed run, or those `again`; returns warnings of undelivered ones, by number."""
        from plmetrics.exports.notification import message_of_result
        from plmetrics.runs.outcome import ExitPolicy

        code, exits = record["exit_code"], self.evaluation.options.exits or ExitPolicy()
        name, path, interval = result.suite.name, self._path(folder), self.evaluation.interval_text
        return self._send(message_of_result(name, result, code, exits, path, interval), again)

    def tell_of_failure(self, error: BaseException) -> dict[int, str]:
        """Send the messages of a run with an error, unless it was interrupted; see `tell_of_result`."""
        from plmetrics.exports.notification import message_of_failure
        from plmetrics.runs.failure import attach_warnings, failure_of

        if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            return {}
        exits, suite = self.evaluation.options.exits, self.evaluation.loaded.suite
        failure = failure_of(error)
        failure = failure if exits is None else exits.of_failure(failure)
        message = message_of_failure(suite.name, failure, self.evaluation.interval_text)
        undelivered = self._send(replace(message, folder=self._path(message.folder)))
        attach_warnings(error, list(undelivered.values()))
        return undelivered

    def _send(self, message: Message, again: Collection[int] = ()) -> dict[int, str]:
        from plmetrics.exports.notification import notify

        loaded = self.evaluation.loaded
        return notify(loaded.suite.notify, message, self.previous, loaded.folder.resolve(), again)

    def _path(self, folder: Place | str) -> str:
        return self.evaluation.loaded.variables.text(str(folder))


def write_run(evaluation: Evaluation) -> Result | None:
    """Evaluate a suite and write its run folder; None, and no folder, where there is nothing to do.

    Raises:
        ConfigError: the suite does not fit the table.
        DataError: the data is not what the suite says.
        EnvironmentFault: the folder cannot be written; or it is there, and results are not where else the suite asks
            for them.
    """
    from plmetrics.runs.folder import RunFolder
    from plmetrics.runs.record import provenance

    loaded, options, exports = evaluation.loaded, evaluation.options, evaluation.exports
    with without_values(loaded):
        facts = provenance(loaded.file, loaded.variables, options.labels, options.command)
        if evaluation.recorded_interval is not None:
            facts["interval"] = evaluation.recorded_interval
        folder = RunFolder.start(evaluation.home.parent, loaded.suite.name, options.exits, facts)
    if loaded.suite.output.report:
        from plmetrics.report.charts.rendering import start_renderer

        start_renderer()
    messenger = Messenger.of(evaluation) if loaded.suite.notify else None
    messages = nullcontext() if messenger is None else messenger.watch(folder)
    watch = nullcontext() if exports is None else exports.watch(folder)
    with messages, watch, folder, without_values(loaded):
        with error_places(loaded):
            result = evaluation.result()
        if result is None:
            folder.discard()
            return None
        result.record["warnings"] += evaluation.repetitions(result)
        if loaded.defaults:
            result = replace(result, record={**result.record, "defaults": list(loaded.defaults)})
        result = without_variables(loaded, result)
        record = folder.publish(result, evaluation.files(result))
    if messenger is not None:
        record = folder.note(messenger.tell_of_result(result, record, folder.path))
    result = replace(result, folder=folder.path, record=record)
    evaluation.commit(result, folder.files)
    result = with_report(evaluation, result)
    deliver(evaluation, result)
    return result


def suite_exports(loaded: LoadedSuite) -> Exports | None:
    """Exports of a suite beside its tables and elsewhere; None without any.

    Raises:
        ConfigError: a path or an address is wrong.
        EnvironmentFault: an extra is not installed.
    """
    if not loaded.suite.output.exports:
        return None
    from plmetrics.exports.plan import exports_of

    with without_values(loaded):
        return exports_of(loaded)


def deliver(evaluation: Evaluation, result: Result) -> None:
    """Write the result of a complete run folder to the suite's other places, unless it is there.

    An error on the way has the warnings of the result, which nobody else shows.
    """
    exports = evaluation.exports
    if exports is None:
        return
    assert result.folder is not None
    try:
        with without_values(evaluation.loaded), Stopwatch(evaluation.options.progress).stage("deliver"):
            exports.deliver(result.folder, result.record, result)
    except EnvironmentFault as fault:
        from plmetrics.runs.failure import attach_warnings

        attach_warnings(fault, result.warnings)
        raise


def with_report(evaluation: Evaluation, result: Result) -> Result:
    """Write the report beside the tables, if it is asked for and absent; on failure a warning: the run ended well."""
    assert result.folder is not None
    if not evaluation.loaded.suite.output.report or (result.folder / REPORT).is_file():
        return result
    try:
        result.report(result.folder / REPORT)
    except EnvironmentFault as fault:
        reason = fault.problems[0].message
    except Exception as error:
        # The tables are written and the verdict stands, whatever happens to the page.
        reason = f"a fault of plmetrics: {error!r}"
    else:
        return result
    warnings = [*result.warnings, f"{REPORT} is not written: {reason}"]
    return replace(result, record={**result.record, "warnings": warnings})
