"""Documents and deliveries of a suite, checked before the run begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from plmetrics.core.errors import EnvironmentFault, PlmetricsError, Problem, errors_at, needs_extra
from plmetrics.core.names import SuitePath, function_of
from plmetrics.exports.protocol import EndedRun, Target, output_path
from plmetrics.runs.failure import attach_folder
from plmetrics.runs.files import environment_faults, write_atomic
from plmetrics.runs.record import suite_content
from plmetrics.table.files import shown_path

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.runs.folder import RunFolder
    from plmetrics.runs.outcome import Outcome
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.storage.places import Place

_AGAIN = "once it can be written, run the suite again: results of the same interval are replaced"
TARGETS = {
    "database": ("plmetrics.exports.database:database_target", "writing to a database"),
    "delta": ("plmetrics.exports.delta_tables:delta_target", "writing Delta tables"),
    "mlflow": ("plmetrics.exports.mlflow_run:mlflow_target", "logging to MLflow"),
}
"""By key in `output`, which is the extra that it takes, what makes a target of it. They are written in this order."""


@dataclass(frozen=True, slots=True)
class Exports:
    """The exports of a suite.

    Attributes:
        loaded: the suite.
        names: the documents in its run folders.
        copies: documents that are written to fixed paths as well, with their places in the suite.
        targets: by key where else results are written.
    """

    loaded: LoadedSuite
    names: tuple[str, ...]
    copies: tuple[tuple[str, Path, SuitePath], ...]
    targets: Mapping[str, Target]

    def documents(self, folder: RunFolder, result: Outcome | None) -> dict[str, bytes]:
        """The files in a run folder, by name, from its final record."""
        run = self._run(folder.path, folder.record, result)
        return {DOCUMENTS[name].file: DOCUMENTS[name].content(run) for name in self.names}

    def deliver(self, folder: Place, record: Mapping[str, Any], result: Outcome) -> None:
        """Write every delivery, even after a failure of another. Existing ones stay.

        Raises:
            EnvironmentFault: what is not written, and why. The run folder is there.
        """
        run = self._run(folder, record, result)
        problems = list(self._copy(run))
        for key, target in self.targets.items():
            try:
                target.write(run)
            except EnvironmentFault as fault:
                problems += [
                    _delivery_problem(run, target.description, ("output", key), problem)
                    for problem in fault.problems
                ]
        if problems:
            error = self.loaded.locate(EnvironmentFault(problems))
            attach_folder(error, run.folder)
            raise error

    @contextmanager
    def watch(self, folder: RunFolder) -> Iterator[None]:
        """Let a run folder hold the documents however the run ends; those of a failure go to their fixed paths, too."""
        folder.documents = self.documents
        try:
            yield
        except BaseException:
            # The error on its way out matters more than one of a document about it.
            with suppress(Exception):
                if folder.record.get("status") == "failed":
                    list(self._copy(self._run(folder.path, folder.record, None)))
            raise

    def _copy(self, run: EndedRun) -> Iterator[Problem]:
        for name, path, place in self.copies:
            try:
                with environment_faults("it cannot be written"):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    if not DOCUMENTS[name].stays(path, run):
                        write_atomic(path, DOCUMENTS[name].content(run))
            except EnvironmentFault as fault:
                yield from (
                    _delivery_problem(run, shown_path(path), place, problem) for problem in fault.problems
                )

    def _run(self, folder: Place, record: Mapping[str, Any], result: Outcome | None) -> EndedRun:
        suite = self.loaded.suite
        return EndedRun(
            name=suite.name,
            base=self.loaded.folder,
            folder=folder,
            record=record,
            suite=suite_content(suite),
            result=result,
        )


def exports_of(loaded: LoadedSuite) -> Exports:
    """Exports of a suite.

    Raises:
        ConfigError: a path or an address is wrong, with its place in the suite's file.
        EnvironmentFault: an extra is not installed.
    """
    try:
        return _exports_of(loaded)
    except PlmetricsError as error:
        raise loaded.locate(error) from error


def _exports_of(loaded: LoadedSuite) -> Exports:
    output = loaded.suite.output
    names, copies = [], []
    for index, entry in enumerate(output.also):
        for name, path in ({entry: None} if isinstance(entry, str) else entry).items():
            names.append(name)
            if path is not None:
                place = ("output", "also", index, name)
                copies.append((name, output_path(loaded, path, place), place))
    targets = {}
    for key, (function, purpose) in TARGETS.items():
        value: Any = getattr(output, key)
        if value is not None:
            with errors_at("output", key):
                with needs_extra(key, purpose):
                    target_of = function_of(function)
                targets[key] = cast("Target", target_of(loaded, value))
    return Exports(loaded, tuple(dict.fromkeys(names)), tuple(copies), targets)


def _delivery_problem(run: EndedRun, target: str, path: SuitePath, problem: Problem) -> Problem:
    message = (
        f"the results are in {shown_path(run.folder)} (verdict {run.verdict}), but not in {target}: "
        f"{problem.message}"
    )
    return replace(problem, message=message, path=path, hint=problem.hint or _AGAIN)


@dataclass(frozen=True, slots=True)
class ExportDocument:
    """Document about a run, failed or not: its file in the run folder, and its writer.

    `later` tells whether a text at a fixed path is of a later interval than a run, for documents about the present.
    """

    file: str
    function: str
    later: str | None = None

    def content(self, run: EndedRun) -> bytes:
        """The document of a run."""
        return str(function_of(self.function)(run)).encode()

    def stays(self, path: Path, run: EndedRun) -> bool:
        """Whether the file at a fixed path is to stay."""
        if self.later is None or not path.is_file():
            return False
        return bool(function_of(self.later)(path.read_text("utf-8", errors="replace"), run))


DOCUMENTS = {
    "junit": ExportDocument("junit.xml", "plmetrics.exports.junit:junit_text"),
    "openmetrics": ExportDocument(
        "metrics.prom",
        "plmetrics.exports.openmetrics:openmetrics_text",
        "plmetrics.exports.openmetrics:is_of_later",
    ),
    "markdown": ExportDocument("summary.md", "plmetrics.exports.markdown:markdown_text"),
    "openlineage": ExportDocument("openlineage.ndjson", "plmetrics.exports.openlineage:openlineage_text"),
}
"""By name in `output.also`."""
