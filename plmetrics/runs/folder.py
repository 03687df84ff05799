"""The run folder: hidden while it is being written, renamed into sight as the last act.

`<directory>/<name>/.<run id>.partial/` holds run.json with `status: running` from the start. `publish` and
`fail` end it as `<directory>/<name>/<run id>/`, and point `<directory>/<name>/latest.json` to it. A run that
was killed leaves only the hidden folder.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import shutil
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from plmetrics.core.errors import ConfigError, EnvironmentFault, Problem
from plmetrics.core.names import is_path
from plmetrics.core.results import TABLES
from plmetrics.runs.exit_policy import ExitPolicy
from plmetrics.runs.failure import (
    attach_folder,
    failure_of,
    os_message,
    problem_entry,
)
from plmetrics.runs.files import (
    check_local,
    environment_faults,
    is_old,
    json_bytes,
    lock_folder,
    make_directory,
    remove_temporary,
    sync_directory,
    write_atomic,
)
from plmetrics.runs.readme import README, readme_text
from plmetrics.runs.record import SCHEMA_VERSION, build, versions
from plmetrics.suite.problems import message_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    import polars as pl

    from plmetrics.core.results import RunRecord
    from plmetrics.runs.outcome import Outcome, SuiteFile

    Documents = Callable[["RunFolder", Outcome | None], Mapping[str, bytes]]
    """Further files by name, made of the final record and the result, None of a run that failed."""

RECORD = "run.json"
LATEST = "latest.json"
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}", re.ASCII)
"""The name of a run: when it began, and a number that tells it from others of that second."""

_LONGEST_NAME = 150


class RunFolder:
    """One run's folder, from `start` to `publish` or `fail`.

    As a context manager it ends every way out: an exception, an interrupt or a panic of the engine becomes a
    failed record, and goes on.

    Attributes:
        run_id: the run's id.
        record: what run.json says.
        ended: whether the folder is in sight.
        documents: makes the files that stand in it however the run ends.
    """

    documents: Documents | None = None

    def __init__(self, home: Path, run_id: str, exits: ExitPolicy, facts: Mapping[str, Any]) -> None:
        self.run_id = run_id
        self.record: dict[str, Any] = {}
        self.ended = False
        self.exits = exits
        self._facts = facts
        self._home = home
        self._work = work_folder(home, run_id)
        self._lock = lock_folder(self._work)
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()

    @classmethod
    def start(
        cls,
        directory: Path,
        name: str,
        exits: ExitPolicy | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> RunFolder:
        """Create the hidden folder, with a record that says who is running.

        Args:
            directory: that of the runs of suites.
            name: the suite's.
            exits: says which exit codes are recorded.
            facts: where the run comes from, for its records.

        Raises:
            ConfigError: `name` cannot be the name of a folder.
            EnvironmentFault: the system refuses.
        """
        check_name(name)
        home = directory / name
        with environment_faults("the run folder cannot be created"):
            make_directory(home)
            _clean(home)
            run = cls(home, _claim(home), exits or ExitPolicy(), facts or {"host": socket.gethostname()})
            try:
                run._write_record(
                    {"name": name, "status": "running", "pid": os.getpid(), "versions": versions()}
                )
            except BaseException:
                shutil.rmtree(run._work, ignore_errors=True)
                run._unlock()
                raise
        return run

    @property
    def path(self) -> Path:
        """Where the run stands once it has ended."""
        return self._home / self.run_id

    def publish(self, result: Outcome, files: Mapping[str, bytes] | None = None) -> RunRecord:
        """Write the tables and the final record, and bring the folder into sight.

        Args:
            result: what is written.
            files: by name the content of others that stand beside the tables.

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
            if result.kept is not None:
                extra = {name: self._write_table(name, frame) for name, frame in result.kept.tables.items()}
                tables |= {name: facts | result.kept.facts for name, facts in extra.items()}
            for name, content in (files or {}).items():
                write_atomic(self._work / name, content)
            exit_code = self.exits.of_result(result.verdict, result.gates)
            outcome = {"status": "complete", "exit_code": exit_code, "tables": tables}
            self._write_record(build(result.suite, result.verdict, result.record) | outcome)
            self._write_documents(result)
            self._write_readme(result.gates, tuple(files or ()))
            self._end()
        return cast("RunRecord", self.record)

    def note(self, warnings: Sequence[str]) -> RunRecord:
        """Add warnings to the record of a run that was published."""
        if warnings:
            self.record["warnings"] = [*self.record.get("warnings", ()), *warnings]
            with suppress(OSError):
                write_atomic(self.path / RECORD, json_bytes(self.record))
        return cast("RunRecord", self.record)

    def fail(self, exit_code: int, message: str, problems: Sequence[Problem] = (), error: str = "") -> Path:
        """Remove the tables, write the failed record alone, and bring the folder into sight.

        Raises:
            EnvironmentFault: the system refuses.
        """
        with environment_faults("the failed run cannot be recorded"):
            for file in self._work.iterdir():
                if file.name != RECORD:
                    file.unlink()
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
        shutil.rmtree(self._work, ignore_errors=True)
        self.ended = True
        self._unlock()

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
            self._unlock()

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
        content = buffer.getvalue()
        write_atomic(self._work / table_file(name), content)
        digest = hashlib.sha256(content).hexdigest()
        return {"rows": frame.height, "bytes": len(content), "sha256": digest}

    def _write_documents(self, result: Outcome | None) -> None:
        for name, content in (self.documents(self, result) if self.documents else {}).items():
            write_atomic(self._work / name, content)

    def _write_record(self, body: Mapping[str, Any]) -> None:
        times: dict[str, Any] = {"started": _stamp(self._started)}
        if body["status"] != "running":
            times["finished"] = _stamp(datetime.now(UTC))
            times["seconds"] = round(time.monotonic() - self._clock, 3)
        head = {"schema_version": SCHEMA_VERSION, "run_id": self.run_id}
        first = {key: body[key] for key in ("name", "status", "exit_code", "verdict") if key in body}
        self.record = {**head, **first, **times, **body, **self._facts}
        write_atomic(self._work / RECORD, json_bytes(self.record))

    def _write_readme(self, gates: pl.DataFrame | None, files: Sequence[str] = ()) -> None:
        write_atomic(self._work / README, readme_text(self.record, gates, files).encode())

    def _end(self) -> None:
        os.replace(self._work, self.path)  # noqa: PTH105
        self.ended = True
        self._unlock()
        warnings = []
        for step, words in ((self._sync, "its folder cannot be synced"), (self._point, f"not in {LATEST}")):
            try:
                step()
            except OSError as error:
                warnings.append(f"the run is in {self.path}, but {words}: {os_message(error)}")
        if warnings:
            self.record["warnings"] = [*self.record.get("warnings", ()), *warnings]

    def _sync(self) -> None:
        sync_directory(self._home)

    def _point(self) -> None:
        """Let latest.json name this run, unless one that ended meanwhile is named there."""
        with suppress(OSError, ValueError, AttributeError, TypeError, RecursionError):
            finished = json.loads((self._home / LATEST).read_bytes()).get("finished")
            if self.record["finished"] < finished <= _stamp(datetime.now(UTC)):
                return
        keys = ("schema_version", "run_id", "status", "exit_code", "verdict", "finished")
        pointer = {key: self.record.get(key) for key in keys} | {"folder": self.run_id}
        write_atomic(self._home / LATEST, json_bytes(pointer))

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def work_folder(home: Path, run_id: str) -> Path:
    """Where a run that has not ended works."""
    return home / f".{run_id}.partial"


def table_file(name: str) -> str:
    """The file of a result table."""
    return f"{name}.parquet"


def check_name(name: str) -> None:
    """Refuse a suite name that is not the plain name of one folder.

    Raises:
        ConfigError: located at `name`.
    """
    separators = any(character in '/\\:*?"<>|' or not character.isprintable() for character in name)
    too_long = len(name.encode(errors="replace")) > _LONGEST_NAME
    if not name or name.startswith(".") or name != name.strip() or separators or too_long:
        hint = f"use letters, digits, blanks, '-' and '_', at most {_LONGEST_NAME} bytes, no dot in front"
        message = f"the name {name!r} cannot be the name of a folder"
        raise ConfigError(Problem(message, path=("name",), hint=hint))


def output_directory(loaded: SuiteFile, override: str | Path | None = None) -> Path:
    """The directory for the runs of a suite: its own choice, or `override`, which may point anywhere.

    Raises:
        ConfigError: located in the suite's file; see `resolve_output`.
        EnvironmentFault: likewise.
    """
    suite = loaded.suite
    try:
        return resolve_output(loaded.folder, suite.output.directory, suite.name, override)
    except (ConfigError, EnvironmentFault) as error:
        raise loaded.locate(error) from error


def resolve_output(folder: Path, directory: str, name: str, override: str | Path | None = None) -> Path:
    """`directory`, relative to the suite's `folder` and under it with links followed, or `override`.

    Raises:
        ConfigError: the directory leads out of the suite's folder, or the name is refused.
        EnvironmentFault: a file stands where a directory must be.
    """
    check_name(name)
    path = ("output", "directory") if override is None else ()
    check_local(directory if override is None else override, path)
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
    """A path in which `~` stands for the home directory, if there is one."""
    with suppress(RuntimeError):
        return Path(path).expanduser()
    return Path(path)


def _clean(home: Path) -> None:
    """Remove what killed runs left, once it is a day old: a run that is still at work holds the lock of its folder."""
    names = [name for name in os.listdir(home) if name.startswith(".")]  # noqa: PTH208
    remove_temporary(home, names)
    for name in names:
        if not name.endswith(".partial"):
            continue
        work = home / name
        with suppress(OSError):
            if not RUN_ID.fullmatch(name[1 : -len(".partial")]) or not is_old(work):
                continue
            lock = lock_folder(work)
            if lock is not None:
                shutil.rmtree(work, ignore_errors=True)
                os.close(lock)


def _claim(home: Path) -> str:
    while True:
        run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        if (home / run_id).exists():
            continue
        with suppress(FileExistsError):
            work_folder(home, run_id).mkdir()
            return run_id


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
