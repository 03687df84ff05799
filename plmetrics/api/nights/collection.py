"""Garbage collection of intervals: superseded and failed runs, and files older than `keep` allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.api.nights.night import section_of
from plmetrics.api.suite_run import open_suite
from plmetrics.core.durations import Duration
from plmetrics.core.errors import DataError
from plmetrics.features.nights.interval_section import Keep, adds_states
from plmetrics.features.nights.manifests import INTERVALS, Manifest, Manifests
from plmetrics.features.nights.reach import LookBack, reach_of, runs_by_id
from plmetrics.features.nights.states import CONSTANTS, STATE, constants_file, constants_of_states
from plmetrics.runs.files import (
    environment_faults,
    is_old,
    names_in,
    old_temporary_files,
    remove_folder,
    sizes_in,
)
from plmetrics.runs.folder import table_file
from plmetrics.runs.reading import read_record, removed_files, write_removed_files
from plmetrics.runs.work_folder import RECORD, RUN_ID

if TYPE_CHECKING:
    from plmetrics.features.nights.calendar import Calendar
    from plmetrics.suite.model import Suite
    from plmetrics.table.storage.places import Place

_HISTORY = frozenset({RECORD, table_file("metrics"), table_file("gates")})
"""Files that every accepted run has: its values and verdicts."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal: a folder or files of it, the reason, and its size in bytes."""

    path: Place
    files: tuple[str, ...]
    reason: str
    bytes: int


def collect_garbage(
    path: str | Path,
    *,
    output: str | Path | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    dry_run: bool = False,
) -> list[Removal]:
    """Remove files without a use for later intervals of a suite.

    These are runs of an interval that another run has superseded, failed runs that are a day old, files of runs older
    than `keep.runs`, states older than `keep.states`, and what killed processes left. The values and verdicts of an
    interval stay, and so does what references of the last interval, and of those that it looks back to, are read from.
    How old an interval is counts from the last one that has a result, not from the present.

    Args:
        path: the suite.
        output: folder that replaces `output.directory`.
        set: suite keys to replace, dotted.
        dry_run: whether nothing is removed.

    Returns:
        What was, or would be, removed.

    Raises:
        ConfigError: the suite is wrong, or has no intervals.
        EnvironmentFault: something cannot be removed.
    """
    loaded, directory = open_suite(Path(path), set or {}, output)
    calendar = section_of(loaded).calendar
    manifests = Manifests(directory / loaded.suite.name)
    current = manifests.current_of(manifests.interval_keys())
    pinned = runs_by_id(loaded.suite)
    removals = [*_idle_runs(manifests.home, {*pinned, *(manifest.run for manifest in current)})]
    reach = reach_of(loaded.suite, calendar, current)
    if reach is not None:
        ages = _ages(Keep.find(loaded.suite) or Keep(), calendar, current, reach)
        for manifest in current:
            removal = None if manifest.run in pinned else _old_files(manifests.home, manifest, ages)
            # Another run may have taken its place meanwhile.
            if removal is not None and (dry_run or _thin(manifests, manifest, removal)):
                removals.append(removal)
        gone = {f"{removal.path.name}/{name}" for removal in removals for name in removal.files}
        removals += _idle_files(manifests, loaded.suite, current, gone)
    if not dry_run:
        _remove(removals)
    return removals


def _ages(
    keep: Keep, calendar: Calendar, current: Sequence[Manifest], reach: LookBack
) -> dict[str, datetime | None]:
    """Moments before which states and whole runs are obsolete; None for an unlimited time."""
    newest = max(datetime.fromisoformat(manifest.end) for manifest in current)
    return {
        name: None if text is None else min(Duration.of(text).before(newest, calendar.zone), least)
        for name, text, least in (("runs", keep.runs, reach.folders), ("states", keep.states, reach.states))
    }


def _idle_runs(home: Place, used: set[str]) -> Iterator[Removal]:
    """Run folders outside manifests in force: of intervals with another run, failed ones when old."""
    names = names_in(home) if home.is_dir() else []
    for name in sorted(names):
        if not RUN_ID.fullmatch(name) or name in used:
            continue
        with suppress(FileNotFoundError, NotADirectoryError):  # another process removes it, or it is a file
            if is_old(home / name) and not _is_roll_up(home / name):
                files = tuple(sorted(names_in(home / name)))
                yield Removal(home / name, files, "superseded or failed", _size(home / name, files))


def _is_roll_up(folder: Place) -> bool:
    """Whether a run has results of no interval: of several merged ones, or of all rows."""
    with suppress(DataError):
        record = read_record(folder)
        return record["status"] == "complete" and record.get("interval") is None
    return False


def _old_files(home: Place, manifest: Manifest, ages: Mapping[str, datetime | None]) -> Removal | None:
    """Expired files of a run, and leftovers of an earlier removal."""
    end = datetime.fromisoformat(manifest.end)
    old = {name: age is not None and end <= age for name, age in ages.items()}
    folder = home / manifest.run
    listed = [name.rpartition("/")[2] for name in manifest.files]
    names = {name for name in listed if old["states" if name.endswith(".state") else "runs"]} - _HISTORY
    names |= removed_files(folder) - _HISTORY
    files = tuple(sorted(names & sizes_in(folder).keys())) if names else ()
    if not files:
        return None
    return Removal(folder, files, f"{manifest.interval} is older than keep says", _size(folder, files))


def _thin(manifests: Manifests, manifest: Manifest, removal: Removal) -> bool:
    """Record the files to remove in the folder and in a manifest, in advance; False for a run not in force any more.

    Whenever a crash comes between, the folder can be read without them, and the next removal ends this one.
    """
    with environment_faults(f"{removal.path} cannot be written"):
        write_removed_files(removal.path, removal.files)
    gone = {f"{manifest.run}/{name}" for name in removal.files}
    files = {name: facts for name, facts in manifest.files.items() if name not in gone}
    return files == manifest.files or manifests.change(manifest, files=files) is not None


def _idle_files(
    manifests: Manifests, suite: Suite, current: Sequence[Manifest], gone: set[str]
) -> Iterator[Removal]:
    """Temporary files of killed processes, and constants without states."""
    intervals, runs = manifests.home / INTERVALS, manifests.home
    places = [place for manifest in current for place in (intervals / manifest.interval, runs / manifest.run)]
    for folder in (manifests.home, manifests.home / CONSTANTS, *places):
        old = tuple(path.name for path in old_temporary_files(folder))
        if old:
            yield Removal(folder, old, "left by a process that was killed", _size(folder, old))
    names = {f"{manifest.run}/{STATE}" for manifest in current if f"{manifest.run}/{STATE}" in manifest.files}
    following = {constants_file(manifests.home, suite)} if adds_states(suite) else set()
    needed = following | set(constants_of_states(manifests.home, names - gone))
    folder = manifests.home / CONSTANTS
    files = sorted(
        name for name in sizes_in(folder) if name.endswith(".state") and folder / name not in needed
    )
    idle = tuple(name for name in files if is_old(folder / name))
    if idle:
        yield Removal(folder, idle, "constants of no state", _size(folder, idle))


def _remove(removals: list[Removal]) -> None:
    for removal in removals:
        with environment_faults(f"{removal.path} cannot be removed"):
            if removal.reason == "superseded or failed":
                remove_folder(removal.path)
                continue
            for name in removal.files:
                with suppress(FileNotFoundError):
                    (removal.path / name).unlink()


def _size(folder: Place, files: tuple[str, ...]) -> int:
    sizes = sizes_in(folder)
    return sum(sizes.get(name, 0) for name in files)
