"""Heads of states of files, and states as they are merged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.states.stored import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.engine.stored.alignment import Stored
    from plmetrics.engine.stored.capture import Captured
    from plmetrics.states.stored import Head
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source


def head_of(suite: Suite, source: Source, captured: Captured, warnings: tuple[str, ...]) -> Head:
    """The head of a state of some files: what it holds, of which files, and what was noted."""
    from plmetrics.core.redaction import masked
    from plmetrics.runs.fingerprint import fingerprint
    from plmetrics.runs.record import versions
    from plmetrics.suite.yaml.dump import written
    from plmetrics.table.digests import digest_of
    from plmetrics.table.faults import stamps_of
    from plmetrics.table.stamps import unchanged

    with unchanged(stamps_of(source)):
        files = tuple(
            {
                "path": masked(str(Path(file.path).resolve())),
                "name": file.name,
                "bytes": file.size,
                "rows": file.rows,
                "digest": digest_of(file),
            }
            for file in source.files
        )
    return captured.head(
        name=suite.name,
        suite=written(suite),
        fingerprint=fingerprint(suite),
        versions=versions(),
        files=files,
        warnings=warnings,
    )


def drift_files(state: State) -> dict[str, bytes]:
    """The file of a run folder that holds what drift counted, by its name."""
    from plmetrics.runs.states import DRIFT_STATE, state_bytes

    return {DRIFT_STATE: state_bytes(state.head, state.table)[0]}


def stored_state(given: State | str | Path) -> Stored:
    """A state as it is merged: checked, its table not read."""
    from plmetrics.engine.stored.alignment import Stored
    from plmetrics.runs.states import read_head
    from plmetrics.table.files import shown_path

    if isinstance(given, State):
        place = f"the state '{given.head.name}'" if given.path is None else shown_path(given.path)
        return Stored(given.head, given.table, place, given.content)
    path = Path(given)
    head, content = read_head(path)
    return Stored(head, path, shown_path(path), content)


def file_places(states: Sequence[Stored]) -> list[str]:
    """The places of those states that lie in files."""
    return [state.place for state in states if isinstance(state.table, Path)]
