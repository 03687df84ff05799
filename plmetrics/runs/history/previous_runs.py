"""Earlier runs of a suite: references, gates that count, and choices made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from plmetrics.core.errors import DataError, EnvironmentFault, PlmetricsError
from plmetrics.runs.failure import SKIPPED
from plmetrics.runs.files import content_of, json_bytes, modified_below, update, write_atomic
from plmetrics.runs.folder import LATEST, UNDELIVERED, pointer_bytes
from plmetrics.runs.history.data import RunData, data_of
from plmetrics.runs.reading import (
    RunFault,
    StoredResult,
    StoredRun,
    ended_at,
    latest_folder,
    open_run,
    read_record,
)
from plmetrics.runs.work_folder import RECORD, RUN_ID

if TYPE_CHECKING:
    from plmetrics.table.storage.places import Place

T = TypeVar("T")
_Entry: TypeAlias = "tuple[datetime, Place, StoredRun | RunFault]"

ANY = "any"
"""Any run with results may be a reference; else those whose gates failed may not."""

_CLOCKS = timedelta(minutes=5)
"""How far the clocks of machines that share a folder may be apart."""
DELIVERED = "delivered.json"
"""The file in a run folder that says which messages arrived only when they were sent again."""
MANY = 5
"""So many earlier choices make a remark."""
_READ = 50
_CHOICES = ("models", "calibrate", "metrics")


@dataclass(frozen=True, slots=True)
class Reference(Generic[T]):
    """Reference as read, None without one; and later unsuitable runs, with reasons.

    `lack` is the error of the last run that has nothing to compare with, where there is one.
    """

    value: T | None
    run_id: str | None
    passed_over: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    lack: DataError | None = None

    @property
    def rejections(self) -> list[dict[str, str]]:
        """Rejected runs, for run.json."""
        return [{"run": run_id, "reason": reason} for run_id, reason in self.passed_over]


def reference_run(
    home: Place,
    data: RunData,
    choice: str,
    reader: Callable[[StoredRun], T],
    check: Callable[[StoredRun], None] | None = None,
) -> Reference[T]:
    """Last complete run fit as a reference: of other data, and by default without failure.

    `home` need not exist; `check` raises a DataError where a run has no such thing.
    """
    rejections: list[tuple[str, str]] = []
    warnings: list[str] = []
    lack: DataError | None = None
    for run in complete_runs(home, warnings):
        try:
            if check is not None:
                check(run)
        except DataError as error:
            lack = lack or error
            rejections.append((run.run_id, "it has nothing to compare with"))
            continue
        if data_of(run.record).same_as(data):
            rejections.append((run.run_id, "the same data"))
        elif choice != ANY and run.record.get("verdict") == "fail":
            rejections.append((run.run_id, "its gates failed"))
        else:
            try:
                return Reference(reader(run), run.run_id, tuple(rejections), tuple(warnings))
            except DataError as error:
                warnings.append(_unread(error))
                rejections.append((run.run_id, "it cannot be read"))
    return Reference(None, None, tuple(rejections), tuple(warnings), lack)


def distinct_results(home: Place, data: RunData, most: int) -> tuple[list[StoredResult], list[str]]:
    """The results of the last complete runs, one for all runs of the same data, and none for those of `data`.

    `home` need not exist.

    Returns:
        At most so many results, the latest first, and in words what does not count.
    """
    results: list[StoredResult] = []
    warnings: list[str] = []
    datasets = [data]
    runs = complete_runs(home, warnings)
    while len(results) < most and (run := next(runs, None)) is not None:
        files = data_of(run.record)
        if any(files.same_as(other) for other in datasets):
            continue
        try:
            results.append(results_of(run))
        except DataError as error:
            warnings.append(_unread(error))
            continue
        datasets.append(files)
    return results, warnings


def results_of(run: StoredRun) -> StoredResult:
    """Results of a run with only its record read."""
    return open_run(run.folder / RECORD).results()


def last_results(path: Place) -> StoredResult:
    """The results of a run; of a folder of runs those of the last complete one, with a note if a later one has none."""
    pointer = path if path.name == LATEST else path / LATEST
    folder = latest_folder(pointer) if pointer.is_file() else path
    if folder.is_dir() or folder == path:
        run = open_run(path)
        if run.record["status"] != "failed" or run.folder in (path, path.parent):
            return run.results()
        fault = f"failed with exit code {run.record.get('exit_code')}"
    else:
        fault = "was removed"
    last = next(complete_runs(pointer.parent, []), None)
    if last is None:
        return open_run(path).results()
    note = f"the latest run, {folder.name}, {fault}: these are the results of {last.run_id}"
    results = results_of(last)
    return replace(results, notes=(*results.notes, note))


@dataclass(frozen=True, slots=True)
class PreviousStatus:
    """Status of the run before: its verdict, or `error`; None where there is none.

    `undelivered` are the numbers of its messages that did not arrive.
    """

    status: str | None = None
    undelivered: tuple[int, ...] = ()


def previous_status(home: Place) -> PreviousStatus:
    """Status of the latest run in a folder.

    A run that was skipped for want of data has no say: then the last one that was not.
    """
    with suppress(OSError, ValueError, AttributeError, RecursionError, EnvironmentFault):
        record = json.loads((home / LATEST).read_bytes())
        if record.get("exit_code") == SKIPPED:
            attempts = (run.record for run in _attempts(home, []))
            record = next((each for each in attempts if each.get("exit_code") != SKIPPED), None)
        if record is not None:
            status = "error" if record.get("status") == "failed" else str(record.get("verdict"))
            return PreviousStatus(status, delivery_failures(home, str(record.get("run_id"))))
    return PreviousStatus()


def delivery_failures(home: Place, run: str) -> tuple[int, ...]:
    """Numbers of the messages of a run that did not arrive, nor when they were sent again."""
    with suppress(OSError, PlmetricsError):
        undelivered = read_record(home / run).get(UNDELIVERED, ())
        return tuple(number for number in undelivered if number not in _deliveries(home / run))
    return ()


def note_deliveries(home: Place, run: str, numbers: Sequence[int]) -> None:
    """Note messages of an ended run that arrived later, beside its record, which nobody writes again."""
    with suppress(OSError, EnvironmentFault):
        content = json_bytes({"messages": sorted({*numbers, *_deliveries(home / run)})})
        write_atomic(home / run / DELIVERED, content)


def _deliveries(folder: Place) -> frozenset[int]:
    """Numbers of the messages of a run that arrived when they were sent again."""
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        return frozenset(json.loads(content_of(folder / DELIVERED))["messages"])
    return frozenset()


def restore_latest(home: Place, record: Mapping[str, Any]) -> bool:
    """Point latest.json back to a complete run, where it names a later failure about the same interval, or none.

    Returns whether it did.
    """
    with suppress(OSError, PlmetricsError):
        seen = (home / LATEST).read_bytes()
        failure = read_record(latest_folder(home / LATEST))
        if failure["status"] == "failed" and failure.get("interval") in (None, record["interval"]):
            update(home / LATEST, lambda before: pointer_bytes(record) if before == seen else None)
            return True
    return False


def complete_runs(home: Place, warnings: list[str]) -> Iterator[StoredRun]:
    """Complete runs in a folder, latest end first.

    A folder counts whose name is its record's run id, so that no copy does. A run from the future does not count.
    `home` need not exist; `warnings` takes what does not count, as it is come by.
    """
    return (run for run in _attempts(home, warnings) if run.record["status"] == "complete")


def _attempts(home: Place, warnings: list[str]) -> Iterator[StoredRun]:
    """Runs in a folder, failed ones among them, latest end first."""
    latest = datetime.now(UTC) + _CLOCKS
    # Words about a folder are the same however it is named.
    for ended, folder, run in _last_first(home.resolve()):
        if isinstance(run, RunFault):
            warnings.append(_unread(run))
        elif ended > latest:
            warnings.append(
                f"the run {folder.name} does not count yet: by its record it ended at {ended:%Y-%m-%d %H:%M}Z, "
                "which is still to come; some clock is wrong"
            )
        else:
            yield run


def _last_first(home: Place) -> Iterator[_Entry]:
    """Runs in the order of their ends, those with an unreadable record by the time in their name.

    Of a long history only what is asked for is read: no run ended after its record was written.
    """
    times = modified_below(home, RUN_ID, RECORD)
    bounds = [(_latest_end(name, time), name) for name, time in times.items()]
    queue: list[tuple[float, int, _Entry]] = []
    for number, (bound, name) in enumerate(sorted(bounds, reverse=True)):
        while queue and -queue[0][0] >= bound:
            yield heappop(queue)[2]
        entry = _entry(home / name)
        if entry is not None:
            heappush(queue, (-entry[0].timestamp(), number, entry))
    while queue:
        yield heappop(queue)[2]


def _latest_end(name: str, modified: float) -> float:
    """Latest possible end of a run by the clocks."""
    return max(modified, _start(name).timestamp()) + _CLOCKS.total_seconds()


def _entry(folder: Place) -> _Entry | None:
    """A run with the time it ended at; None where its folder does not have its name."""
    try:
        record = read_record(folder)
    except RunFault as fault:
        return _start(folder.name), folder, fault
    return (ended_at(record), folder, StoredRun(folder, record)) if record["run_id"] == folder.name else None


def _start(run_id: str) -> datetime:
    """Start of a run by its name, long ago for a name without a time."""
    try:
        return datetime.strptime(run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def _unread(error: DataError) -> str:
    return f"an earlier run does not count: {error.problems[0].message}"


def repetition_warnings(home: Place, record: Mapping[str, Any]) -> list[str]:
    """A remark where the last runs in a folder evaluated the same rows with many other models or metrics.

    There is none of a run whose choice was made before, and none of runs in a bucket, each of which is a request.
    Source: Dwork et al. (2015), The reusable holdout, Science 349(6248).
    """
    if not isinstance(home, Path) or not home.is_dir():
        return []
    data, choice = data_of(record), _choice(record)
    choices: list[str] = []
    with suppress(EnvironmentFault):  # a remark costs no run
        for run in islice(complete_runs(home, []), _READ):
            if data_of(run.record).same_as(data):
                choices.append(_choice(run.record))
                if choices[-1] == choice:
                    # It was made before: most often by the last run, and no other is read.
                    return []
    if len(set(choices)) < MANY:
        return []
    return [
        f"the same rows were evaluated in {len(choices)} earlier runs, with {len(set(choices))} other choices of "
        "models and metrics: the best of many choices looks better than it is; keep rows aside for the last one"
    ]


def _choice(record: Mapping[str, Any]) -> str:
    """Choice of a run's data, as a text."""
    suite = record.get("suite") or {}
    return json.dumps({key: suite.get(key) for key in _CHOICES}, sort_keys=True)
