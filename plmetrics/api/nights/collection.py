"""Removing what no interval needs any more: superseded and failed runs, and what is older than `keep` says."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.api.nights.night import section_of
from plmetrics.api.suite_run import open_suite
from plmetrics.core.durations import Duration
from plmetrics.features.nights.interval_section import keeping
from plmetrics.features.nights.manifests import Manifests
from plmetrics.runs.files import environment_faults, is_old
from plmetrics.runs.folder import RECORD, RUN_ID, table_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from plmetrics.features.nights.manifests import Manifest

_HISTORY = frozenset({RECORD, table_file("metrics"), table_file("gates")})
"""What there always is of a run that counts: its values and verdicts."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What is removed: a folder or files of it, why, and its size in bytes."""

    path: Path
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
    """Remove what later intervals of a suite do not need.

    These are runs of an interval that another run has superseded, failed runs that are a day old, files of runs older
    than `keep.runs`, and states older than `keep.states`. The values and verdicts of an interval stay. How old an
    interval is counts from the last one that has a result, not from the present.

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
    section, keep = section_of(loaded), keeping(loaded.suite)
    manifests = Manifests(directory / loaded.suite.name)
    current = [
        manifest for key in manifests.interval_keys() if (manifest := manifests.current(key)) is not None
    ]
    zone = section.calendar.zone
    newest = max((datetime.fromisoformat(manifest.end) for manifest in current), default=datetime.now(UTC))
    ages = {
        name: newest if text is None else Duration.of(text).before(newest, zone)
        for name, text in (("runs", keep.runs), ("states", keep.states))
    }
    removals = [*_idle_runs(manifests.home, current)]
    for manifest in current:
        end = datetime.fromisoformat(manifest.end)
        removal = _old_files(
            manifests.home,
            manifest,
            runs=keep.runs is not None and end <= ages["runs"],
            states=keep.states is not None and end <= ages["states"],
        )
        if removal is not None:
            removals.append(removal)
            if not dry_run:
                _thin(manifests, manifest, removal)
    if not dry_run:
        _remove(removals)
    return removals


def _idle_runs(home: Path, current: list[Manifest]) -> Iterator[Removal]:
    """The run folders that no manifest in force lists: of intervals when another run is there, failed ones when old."""
    used = {manifest.run for manifest in current}
    names = sorted(path.name for path in home.iterdir()) if home.is_dir() else []
    for name in names:
        if not RUN_ID.fullmatch(name) or name in used or not is_old(home / name):
            continue
        files = tuple(sorted(path.name for path in (home / name).iterdir()))
        yield Removal(home / name, files, "superseded or failed", _size(home / name, files))


def _old_files(home: Path, manifest: Manifest, *, runs: bool, states: bool) -> Removal | None:
    """The files of a run that are older than they are needed."""
    listed = [name.rpartition("/")[2] for name in manifest.files]
    is_state = {name: name.endswith(".state") for name in listed}
    files = tuple(
        name
        for name in listed
        if (states if is_state[name] else runs and name not in _HISTORY)
        and (home / manifest.run / name).exists()
    )
    if not files:
        return None
    folder = home / manifest.run
    return Removal(folder, files, f"{manifest.interval} is older than keep says", _size(folder, files))


def _thin(manifests: Manifests, manifest: Manifest, removal: Removal) -> None:
    """Write the manifest of an interval without the files that go; they go after that."""
    gone = {f"{manifest.run}/{name}" for name in removal.files}
    files = {name: facts for name, facts in manifest.files.items() if name not in gone}
    manifests.commit(replace(manifest, files=files))


def _remove(removals: list[Removal]) -> None:
    for removal in removals:
        with environment_faults(f"{removal.path} cannot be removed"):
            if removal.reason == "superseded or failed":
                shutil.rmtree(removal.path)
                continue
            for name in removal.files:
                with suppress(FileNotFoundError):
                    (removal.path / name).unlink()


def _size(folder: Path, files: tuple[str, ...]) -> int:
    return sum((folder / name).stat().st_size for name in files if (folder / name).is_file())
