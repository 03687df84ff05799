"""Heads of states of files, and states as they are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.core.names import is_address
from plmetrics.features.stored.alignment import StateReference
from plmetrics.features.stored.state_files import read_head, read_state
from plmetrics.runs.record import fingerprint, versions
from plmetrics.states.state_format import Head, State
from plmetrics.suite.model import Suite, canonical
from plmetrics.suite.yaml.dump import suite_content, suite_from_content
from plmetrics.table.faults import stamps_of
from plmetrics.table.files import shown_path
from plmetrics.table.stamps import digests_of, watch_stamps

if TYPE_CHECKING:
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place


def head_of(suite: Suite, source: Source, fields: Mapping[str, Any], warnings: tuple[str, ...]) -> Head:
    """Head of a state of some files, from its further fields and notes."""
    with watch_stamps(stamps_of(source)):
        files = tuple(
            {
                "path": file.location,
                "name": file.name,
                "bytes": file.size,
                "rows": file.live_rows,
                "digest": digest,
            }
            for file, digest in zip(source.files, digests_of(source.files), strict=True)
        )
    return Head(
        name=suite.name,
        suite=suite_content(suite),
        fingerprint=fingerprint(suite),
        versions=versions(),
        files=files,
        warnings=warnings,
        **fields,
    )


def stored_state(source: State | str | Place) -> StateReference:
    """A state as it is merged: checked, its table not read unless it is an object of a store."""
    if isinstance(source, State):
        place = f"the state '{source.head.name}'" if source.path is None else shown_path(source.path)
        return StateReference(source.head, source.table, place, source.content)
    if is_address(str(source)):
        state = read_state(source)
        return StateReference(state.head, state.table, shown_path(str(source)), state.content)
    path = Path(source)
    head, content = read_head(path)
    return StateReference(head, path, shown_path(path), content)


def file_places(states: Sequence[StateReference]) -> list[str]:
    """Places of the states in files."""
    return [state.place for state in states if isinstance(state.table, Path)]


def suite_of(head: Head) -> Suite:
    """Suite of a state.

    Raises:
        ConfigError: it names what this version does not know.
    """
    return suite_from_content(head.suite)


def differences(suite: Suite, other: Suite) -> list[str]:
    """Differences of two suites, as dotted keys."""
    first, second = canonical(suite), canonical(other)
    names = []
    for key in dict.fromkeys([*first, *second]):
        left, right = first.get(key), second.get(key)
        if isinstance(left, dict) and isinstance(right, dict):
            names += [
                f"{key}.{inner}"
                for inner in dict.fromkeys([*left, *right])
                if left.get(inner) != right.get(inner)
            ]
        elif left != right:
            names.append(key)
    return names
