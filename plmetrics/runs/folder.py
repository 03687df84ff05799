"""The run folder: hidden while it is being written, brought into sight as the last act.

`<directory>/<name>/.<run id>.partial/` holds run.json with `status: running` from the start. `publish` and
`fail` end it as `<directory>/<name>/<run id>/`, and point `<directory>/<name>/latest.json` to it. A run that
was killed leaves the hidden folder.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, cast

from plmetrics.core.errors import ConfigError, EnvironmentFault, Problem, os_message
from plmetrics.core.names import SUITE_NAMES, is_address, is_path, is_suite_name
from plmetrics.core.results import TABLES, RunRecord
from plmetrics.runs.failure import attach_folder, failure_of, problem_entry
from plmetrics.runs.files import (
    environment_faults,
    json_bytes,
    place_of,
    sync_directory,
    update,
    write_atomic,
)
from plmetrics.runs.outcome import ExitPolicy
from plmetrics.runs.readme import README, readme_text
from plmetrics.runs.record import SCHEMA_VERSION, build, versions
from plmetrics.runs.work_folder import RECORD, WorkFolder, begin
from plmetrics.suite.problems import message_text

if TYPE_CHECKING:
    from types import TracebackType

    import polars as pl

    from plmetrics.runs.outcome import Outcome
    from plmetrics.table.storage.places import Place

    Documents = Callable[["RunFolder", Outcome | None], Mapping[str, bytes]]
    """Further files by name, made of the final record and the result, None of a run that failed."""

LATEST = "latest.json"
UNDELIVERED = "undelivered"
"""Numbers of undelivered messages in run.json."""


class FileFacts(TypedDict):
    """The size of a file, and its SHA-256."""

    bytes: int
    sha256: str


class RunFolder:
    """One run's folder, from `start` to `publish` or `fail`.

    As a context manager it ends every way out: an exception, an interrupt or a panic of the engine becomes a
    failed record, and goes on.

    Attributes:
        run_id: the run's id.
        record: what run.json says.
        ended: whether the folder is in sight.
        files: the size and SHA-256 of each file that was written, by name.
        documents: makes the files that stand in it however the run ends.
    """

    documents: Documents | None = None

    def __init__(self, work: WorkFolder, exits: ExitPolicy, facts: Mapping[str, Any]) -> None:
        self.run_id = work.path.name
        self.record: dict[str, Any] = {}
        self.ended = False
        self.files: dict[str, FileFacts] = {}
        self.exits = exits
        self._facts = facts
        self._home = work.path.parent
        self._work = work
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()

    @classmethod
    def start(
        cls,
        directory: Place,
        name: str,
        exits: ExitPolicy | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> RunFolder:
        """Create the hidden folder, with a record of the running process.

        `exits` says which exit codes are recorded, `facts` where the run comes from.

        Raises:
            ConfigError: `name` cannot be the name of a folder.
            EnvironmentFault: the system refuses.
        """
        check_name(name)
        with environment_faults("the run folder cannot be created"):
            work = begin(directory / name)
            run = cls(work, exits or ExitPolicy(), facts or {"host": socket.gethostname()})
            try:
                body = {"name": name, "status": "running", "pid": os.getpid(), "versions": versions()}
                work.announce(run._record_bytes(body))
            except BaseException:
                work.discard()
                raise
        return run

    @property
    def path(self) -> Place:
        """Path of the run folder after its end."""
        return self._work.path

    def publish(self, result: Outcome, files: Mapping[str, bytes] | None = None) -> RunRecord:
        """Write the tables and the final record, and bring the folder into sight.

        `files` are others that stand beside the tables, by name.

        Returns:
            The record, as it stands in run.json.

        Raises:
            EnvironmentFault: the system refuses; the folder is then still hidden. What goes wrong once it is in
                sight is a warning.
        """
        with environment_faults("the results cannot be written"):
            tables = {
                name: self._write_table(name, table)
                for name, table in result.tables.items()
                if name not in TABLES or not table.is_empty()
            }
            if result.replicates is not None:
                extra = {
                    name: self._write_table(name, frame) for name, frame in result.replicates.tables.items()
                }
                tables |= {name: facts | result.replicates.facts for name, facts in extra.items()}
            for name, content in (files or {}).items():
                self._write(name, content)
            exit_code = self.exits.of_result(result.verdict, result.gates)
            outcome = {"status": "complete", "exit_code": exit_code, "tables": tables}
            self._write_record(build(result.suite, result.verdict, result.record) | outcome)
            self._write_documents(result)
            self._write_readme(result.gates, tuple(files or ()))
            self._end()
        return cast("RunRecord", self.record)

    def note(self, undelivered: Mapping[int, str]) -> RunRecord:
        """Add undelivered messages, by number with a warning each, to the record of an ended run."""
        if undelivered and self.ended:
            self.record["warnings"] = [*self.record.get("warnings", ()), *undelivered.values()]
            self.record[UNDELIVERED] = list(undelivered)
            content = json_bytes(self.record)
            with suppress(OSError, EnvironmentFault):
                write_atomic(self.path / RECORD, content)
                self.files[RECORD] = _facts_of(content)
        return cast("RunRecord", self.record)

    def fail(self, exit_code: int, message: str, problems: Sequence[Problem] = (), error: str = "") -> Place:
        """Remove the tables, write the failed record alone, and bring the folder into sight."""
        with environment_faults("the failed run cannot be recorded"):
            self._work.clear()
            self.files = {}
            outcome = {"status": "failed", "exit_code": exit_code, "error": error, "message": message}
            entries = [problem_entry(problem) for problem in problems]
            self._write_record(
                {"name": self._home.name, **outcome, "problems": entries, "versions": versions()}
            )
            # The error on its way out matters more than one of a document about it.
            with suppress(Exception):
                self._write_documents(None)
            self._write_readme(None)
            self._end()
        return self.path

    def discard(self) -> None:
        """Remove the hidden folder: there is nothing to write."""
        self._work.discard()
        self.ended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.ended:
            return
        try:
            self._record_failure(error)
        finally:
            self._work.release()

    def _record_failure(self, error: BaseException | None) -> None:
        failure = self.exits.of_failure(failure_of(error or RuntimeError("the run ended without results")))
        # The error on its way out matters more than one of the record about it.
        with suppress(EnvironmentFault):
            folder = self.fail(failure.exit_code, failure.message, failure.problems, failure.error)
            if error is not None:
                attach_folder(error, folder)

    def _write_table(self, name: str, frame: pl.DataFrame) -> dict[str, int | str]:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        facts = self._write(table_file(name), buffer.getvalue())
        return {"rows": frame.height, "bytes": facts["bytes"], "sha256": facts["sha256"]}

    def _write(self, name: str, content: bytes) -> FileFacts:
        self._work.write(name, content)
        self.files[name] = _facts_of(content)
        return self.files[name]

    def _write_documents(self, result: Outcome | None) -> None:
        for name, content in (self.documents(self, result) if self.documents else {}).items():
            self._write(name, content)

    def _write_record(self, body: Mapping[str, Any]) -> None:
        self._write(RECORD, self._record_bytes(body))

    def _record_bytes(self, body: Mapping[str, Any]) -> bytes:
        times: dict[str, Any] = {"started": moment_text(self._started)}
        if body["status"] != "running":
            times["finished"] = moment_text(datetime.now(UTC))
            times["seconds"] = round(time.monotonic() - self._clock, 3)
        head = {"schema_version": SCHEMA_VERSION, "run_id": self.run_id}
        first = {key: body[key] for key in ("name", "status", "exit_code", "verdict") if key in body}
        self.record = {**head, **first, **times, **body, **self._facts}
        return json_bytes(self.record)

    def _write_readme(self, gates: pl.DataFrame | None, files: Sequence[str] = ()) -> None:
        self._write(README, readme_text(self.record, gates, files).encode())

    def _end(self) -> None:
        self._work.reveal()
        self.ended = True
        warnings = []
        for step, words in ((self._sync, "its folder cannot be synced"), (self._point, f"not in {LATEST}")):
            try:
                step()
            except (OSError, EnvironmentFault) as error:
                reason = os_message(error) if isinstance(error, OSError) else error.problems[0].message
                warnings.append(f"the run is in {self.path}, but {words}: {reason}")
        if warnings:
            self.record["warnings"] = [*self.record.get("warnings", ()), *warnings]

    def _sync(self) -> None:
        if isinstance(self._home, Path):
            sync_directory(self._home)

    def _point(self) -> None:
        """Point latest.json to this run, unless it names one with a later end."""

        def pointing(before: bytes | None) -> bytes | None:
            with suppress(ValueError, AttributeError, TypeError, RecursionError):
                finished = json.loads(before or b"").get("finished")
                if self.record["finished"] < finished <= moment_text(datetime.now(UTC)):
                    return None
            return pointer_bytes(self.record)

        update(self._home / LATEST, pointing)


def pointer_bytes(record: Mapping[str, Any]) -> bytes:
    """Content of latest.json for the run of a record."""
    keys = ("schema_version", "run_id", "status", "exit_code", "verdict", "finished")
    return json_bytes({key: record.get(key) for key in keys} | {"folder": record["run_id"]})


def table_file(name: str) -> str:
    """The file of a result table."""
    return f"{name}.parquet"


def check_name(name: str) -> None:
    """Check that a text can be the name of a suite, and so the plain name of one folder.

    Raises:
        ConfigError: located at `name`.
    """
    if not is_suite_name(name):
        message = f"the name {name!r} cannot be the name of a folder"
        raise ConfigError(Problem(message, path=("name",), hint=SUITE_NAMES))


def resolve_output(folder: Path, directory: str, name: str, override: str | Path | None = None) -> Place:
    """`directory`, relative to the suite's `folder` and under it with links followed, or `override`.

    Either may be the address of a bucket.

    Raises:
        ConfigError: the directory leads out of the suite's folder, or the name is refused.
        EnvironmentFault: a file stands where a directory must be.
    """
    check_name(name)
    path = ("output", "directory") if override is None else ()
    if is_address(str(directory if override is None else override)):
        return place_of(directory if override is None else override, path=path)
    chosen = (folder / _home(directory)) if override is None else _home(override)
    if not is_path(str(chosen)):
        raise ConfigError(
            Problem(f"{message_text(str(override or directory))} cannot be the name of a directory", path)
        )
    standing = next(place for place in (chosen / name, *(chosen / name).parents) if place.exists())
    if not standing.is_dir():
        subject = "" if override is None else "--output: "
        hint = "name another directory, or move the file away"
        raise EnvironmentFault(Problem(f"{subject}{standing} is a file, not a directory", path, hint))
    if override is not None:
        return chosen
    root = folder.resolve()
    for place in (chosen.resolve(), (chosen / name).resolve()):
        if not place.is_relative_to(root):
            hint = "name a directory under the suite's folder, or use --output, which may point anywhere"
            message = f"the directory {directory!r} leads out of the suite's folder, to {place}"
            raise ConfigError(Problem(message, path=path, hint=hint))
    return chosen.resolve()


def _home(path: str | Path) -> Path:
    """Path with the home directory for `~`, if there is one."""
    with suppress(RuntimeError):
        return Path(path).expanduser()
    return Path(path)


def _facts_of(content: bytes) -> FileFacts:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def moment_text(moment: datetime) -> str:
    """A moment as records write it, to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_of(text: str) -> datetime:
    """Moment of a text in a record, in UTC; without a zone it is meant so.

    Raises:
        ValueError: it says no moment.
    """
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
