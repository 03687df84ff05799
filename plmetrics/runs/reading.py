"""Reading of an ended run."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import AbsentDataError, DataError, Problem
from plmetrics.core.names import file_hint, is_suite_name
from plmetrics.core.results import FURTHER_COLUMNS, TABLES, ResultTables, in_schema, table_schema
from plmetrics.runs.documents import POINTER, Shape, misfit
from plmetrics.runs.documents import RECORD as RECORD_SHAPE
from plmetrics.runs.files import content_of, json_bytes, names_in, sizes_in, write_atomic
from plmetrics.runs.folder import LATEST, moment_of, table_file
from plmetrics.runs.record import SCHEMA_VERSION
from plmetrics.runs.work_folder import RECORD
from plmetrics.suite.model import Suite
from plmetrics.suite.problems import Findings
from plmetrics.suite.sections.basics import Compare
from plmetrics.suite.sections.uncertainty import Uncertainty
from plmetrics.table.files import shown_path

if TYPE_CHECKING:
    from datetime import datetime

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.across_runs.retained_replicates import RunReplicates
    from plmetrics.table.storage.places import Place

_KEYS = frozenset({"model", "slice_set", "slice", "metric", "gate", "verdict", "value", "status"})
_WHERE = "name a run folder, its run.json, or the folder of a suite's runs (the one with latest.json)"

REMOVED = "removed.json"
"""The file in a run folder that says which of its files were removed."""

_SHOWN = 200
_UNFINISHED = "it is still running, or was killed"


class RunFault(DataError):  # noqa: N818
    """Error of a path without a readable run, or of a run without results."""

    title = "the run cannot be read"


class AbsentRun(RunFault, AbsentDataError):  # noqa: N818
    """There is no such run, or it has not ended yet."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Run folder as read: its record, and its tables on request."""

    folder: Place
    record: dict[str, Any]

    @property
    def run_id(self) -> str:
        """The run's id."""
        return str(self.record.get("run_id", self.folder.name))

    def table(self, name: str) -> pl.DataFrame:
        """One result table; a failed run has none.

        Raises:
            RunFault: the table is absent, cannot be read, or is not as it was written.
        """
        # Records of earlier versions have no hash.
        expected = self.record.get("tables", {}).get(name, {}).get("sha256")
        return read_table(self.folder / table_file(name), expected, RECORD)

    def results(self) -> StoredResult:
        """All tables, in the columns of this version.

        Raises:
            RunFault: the run failed, or a table lacks what results cannot do without.
        """
        if self.record["status"] == "failed":
            raise _failure(self)
        listed, removed = self.record.get("tables", {}), self.record.get("removed", ())
        notes: list[str] = []
        if self.record.get("schema_version", 0) > SCHEMA_VERSION:
            version = self.record.get("versions", {}).get("plmetrics", "?")
            notes.append(
                f"{self.run_id} was written by a newer plmetrics ({version}): what is new is not shown"
            )
        if removed:
            notes.append(f"{self.run_id} is old: tables of it were removed, as its suite says")
        tables = {}
        for name, schema in TABLES.items():
            # An absent table had no rows, was removed, or is not known to the version that wrote the run.
            is_absent = name not in listed and (name != _NEVER_EMPTY or table_file(name) in removed)
            tables[name] = schema.to_frame() if is_absent else self._result_table(name, schema, notes)
        others = {name: self.table(name) for name in listed if name not in TABLES and name not in _RETAINED}
        return StoredResult(
            **tables,
            others=others,
            verdict=str(self.record.get("verdict", "none")),
            record=self.record,
            folder=self.folder,
            notes=tuple(notes),
        )

    def _result_table(self, name: str, schema: pl.Schema, notes: list[str]) -> pl.DataFrame:
        """Table in the columns of this version; differences of another version's are noted."""
        stored = self.table(name)
        missing = [column for column in schema if column not in {*stored.columns, *_DERIVED.get(name, ())}]
        if _KEYS & set(missing):
            message = f"{shown_path(self.folder / table_file(name))} has no column '{missing[0]}'"
            raise RunFault(Problem(message, hint="run the suite again with this version"))
        if missing:
            notes.append(f"{self.run_id}: the table {name} has no {', '.join(missing)} (another version)")
        further = [column for column in FURTHER_COLUMNS.get(name, ()) if column in stored.columns]
        table = in_schema(stored, pl.Schema({**schema, **table_schema(" ".join(further))}), strict=False)
        if name == "comparisons" and "reading" not in stored.columns:
            return _with_readings(table, self.record.get("suite", {}))
        return table


_NEVER_EMPTY = "metrics"

_DERIVED = {"comparisons": ("reading", "statistic"), "decomposition": ("bound", "sampling_error")}
"""Columns by table that earlier versions did not write: readings are made anew, the others had nothing to say then."""

_RETAINED = ("replicates", "units")
"""Tables that are no results, but pair the run with others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult(ResultTables):
    """Results of a run as written. `notes` are on differences of another version's."""

    verdict: str
    record: Mapping[str, Any]
    folder: Place
    notes: tuple[str, ...] = ()

    @property
    def replicates(self) -> RunReplicates | None:
        """Replicates for pairs with another run, None without any.

        Raises:
            RunFault: they cannot be read.
        """
        from plmetrics.inference.across_runs.retained_replicates import RunReplicates

        facts = self.record.get("tables", {}).get("replicates")
        if facts is None:
            return None
        run = StoredRun(self.folder, dict(self.record))
        return RunReplicates(run.table("replicates"), run.table("units"), facts)

    @property
    def suite(self) -> Suite:
        """Suite as far as reports need it: unchecked, and without unknown metrics."""
        content = self.record.get("suite", {})
        uncertainty, compare = content.get("uncertainty"), content.get("compare")
        sections: dict[str, Any] = {
            "uncertainty": Uncertainty.model_construct(**uncertainty) if uncertainty is not None else None,
            "compare": Compare.model_construct(**compare) if compare is not None else None,
        }
        name, task = self.record.get("name", self.folder.name), content.get("task", "binary")
        metrics = _metrics(task, content.get("metrics", ()))
        return Suite.model_construct(name=name, task=task, metrics=metrics, **sections)


def read_table(path: Place, expected: str | None, source: str) -> pl.DataFrame:
    """A result table, whose SHA-256 is `expected` by `source`; None if that does not say it.

    Raises:
        RunFault: the table is absent, cannot be read, or is not as it was written.
    """
    try:
        content = content_of(path)
        if expected is not None and hashlib.sha256(content).hexdigest() != expected:
            raise RunFault(Problem(f"{shown_path(path)} is damaged: it does not fit its hash in {source}"))
        return pl.read_parquet(io.BytesIO(content))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).strip().split("\n")[0]
        raise RunFault(Problem(f"{shown_path(path)} cannot be read: {reason}")) from error


def open_run(path: Place) -> StoredRun:
    """Read a run by its folder or its run.json, or the latest run of a suite's folder.

    A folder whose tables are not all there, of the size its record says, is refused.

    Raises:
        AbsentRun: there is no such folder, or no run in it has ended.
        RunFault: it is not a run that has ended.
    """
    folder = path.parent if path.name in {RECORD, LATEST} else path
    if folder.is_file():
        raise RunFault(Problem(f"{folder} is a file, not a run folder", hint=_WHERE))
    if not folder.is_dir():
        siblings = names_in(folder.parent) if folder.parent.is_dir() else ()
        raise AbsentRun(Problem(f"{folder}: no such folder", hint=file_hint(folder.name, siblings) or _WHERE))
    if path.name != RECORD and (folder / LATEST).is_file():
        folder = latest_folder(folder / LATEST)
    if not (folder / RECORD).is_file():
        names = names_in(folder) if folder.is_dir() else []
        if any(name.startswith(".") and name.endswith(".partial") for name in names):
            raise AbsentRun(Problem(f"{folder}: no run in it has ended", hint=_UNFINISHED))
        raise RunFault(
            Problem(f"{folder} is not a run folder: it has no {RECORD}", hint=_suites_in(folder, names))
        )
    record = read_record(folder)
    sizes = sizes_in(folder)
    for name, facts in record.get("tables", {}).items():
        if sizes.get(table_file(name)) != facts["bytes"]:
            table = shown_path(folder / table_file(name))
            raise RunFault(Problem(f"{table} is absent or not as it was written"))
    return StoredRun(folder, record)


def latest_folder(pointer: Place) -> Place:
    """Run folder beside latest.json, by its name there; it may have been removed.

    Raises:
        RunFault: it names none.
    """
    content = _json(pointer)
    _check(pointer, content, POINTER)
    name = str(content["folder"])
    if not is_suite_name(name):
        raise RunFault(Problem(f"{pointer} names no run beside it: {name[:_SHOWN]!r}"))
    return pointer.parent / name


def _suites_in(folder: Place, names: Iterable[str]) -> str:
    homes = (folder / name for name in sorted(names))
    suites = [str(shown_path(home)) for home in islice((h for h in homes if (h / LATEST).is_file()), 3)]
    return f"it holds runs of suites: name {' or '.join(suites)}" if suites else _WHERE


def read_record(folder: Place) -> dict[str, Any]:
    """Record of an ended run, without its tables.

    Raises:
        RunFault: it cannot be read, is none, or the run has not ended.
    """
    record = _json(folder / RECORD)
    removed = removed_files(folder)
    if removed and isinstance(record.get("tables"), dict):
        tables = record["tables"].items()
        record["tables"] = {name: facts for name, facts in tables if table_file(name) not in removed}
        record["removed"] = sorted(removed)
    if record.get("status") not in ("complete", "failed") or folder.name.endswith(".partial"):
        raise RunFault(Problem(f"{shown_path(folder)} is not a run that has ended", hint=_UNFINISHED))
    _check(folder / RECORD, record, RECORD_SHAPE)
    try:
        ended_at(record)
    except (ValueError, OverflowError) as error:
        msg = f"{shown_path(folder / RECORD)} is not as plmetrics writes it: finished is no time"
        raise RunFault(Problem(msg)) from error
    return record


def removed_files(folder: Place) -> frozenset[str]:
    """Removed files of a run folder, or those about to be."""
    try:
        names = json.loads(content_of(folder / REMOVED))["files"]
        return frozenset(name for name in names if isinstance(name, str) and "/" not in name)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return frozenset()


def write_removed_files(folder: Place, names: Iterable[str]) -> None:
    """Record in a run folder the files about to be removed: from then on it is read without them."""
    write_atomic(folder / REMOVED, json_bytes({"files": sorted({*names, *removed_files(folder)})}))


def ended_at(record: Mapping[str, Any]) -> datetime:
    """End time of a run by its record.

    Raises:
        ValueError: it says no such moment.
    """
    return moment_of(record["finished"])


def _check(path: Place, content: Mapping[str, Any], shape: Shape) -> None:
    words = misfit(content, shape)
    if words is not None:
        raise RunFault(Problem(f"{shown_path(path)} is not as plmetrics writes it: {words[:_SHOWN]}"))


def _failure(run: StoredRun) -> RunFault:
    code, message = run.record.get("exit_code"), run.record.get("message", "")
    lines = []
    for problem in run.record.get("problems", ()):
        place = f"{problem['where']}: " if problem.get("where") else ""
        lines += [
            f"{place}{problem['message']}",
            *([f"    {problem['hint']}"] if problem.get("hint") else []),
        ]
    hint = "\n    ".join(lines) or message
    return RunFault(Problem(f"{run.folder} has no results: the run failed with exit code {code}", hint=hint))


def _with_readings(comparisons: pl.DataFrame, suite: Mapping[str, Any]) -> pl.DataFrame:
    """Comparisons with readings, by the record's content of the suite."""
    from plmetrics.inference.comparisons.readings import with_readings

    metrics = _metrics(suite.get("task", "binary"), suite.get("metrics", ()))
    level = (suite.get("uncertainty") or {}).get("level")
    return with_readings(comparisons, {metric.text: metric.direction for metric in metrics}, level)


def _metrics(task: str, texts: Sequence[Any]) -> tuple[Metric, ...]:
    """The metrics of a record; where one of them is not known any more, the others of the catalogue."""
    from plmetrics.suite.sections.metrics import MetricReader

    together = MetricReader(task, Findings()).read_list(list(texts)).metrics
    if together is not None:
        return together
    reader = MetricReader(task, Findings())
    single = (reader.read(text, ()) for text in texts if isinstance(text, str))
    return tuple(metric for metric in single if metric is not None)


def _json(path: Place) -> dict[str, Any]:
    try:
        content = json.loads(content_of(path).decode())
    except (OSError, ValueError, RecursionError) as error:
        raise RunFault(Problem(f"{shown_path(path)} cannot be read: {error}")) from error
    if not isinstance(content, dict):
        raise RunFault(Problem(f"{shown_path(path)} is not a record of a run"))
    return content
