"""The folders that histories are read from, and the names of intervals in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.features.nights.manifests import INTERVALS
from plmetrics.runs.files import names_in, place_of
from plmetrics.runs.folder import LATEST
from plmetrics.runs.reading import AbsentRun
from plmetrics.runs.work_folder import RECORD

if TYPE_CHECKING:
    from os import PathLike

    from plmetrics.table.storage.places import Place

_EVERY = (
    (re.compile(r"\d{4}-\d\d-\d\d", re.ASCII), "1d"),
    (re.compile(r"\d{4}-W\d\d", re.ASCII), "1w"),
    (re.compile(r"\d{4}-\d\d", re.ASCII), "1mo"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\dZ", re.ASCII), "1h"),
)
_HOURS = re.compile(r"\d{4}-\d\d-\d\dT\d\dZ\.(\d+h)", re.ASCII)
_NAMED = 5
FOLDERS = (
    "name the folder of a suite's runs (the one with latest.json), or its parent where that has one suite"
)


def home_of(text: str | PathLike[str]) -> Place:
    """The folder of a suite's runs that a path names: itself, its latest.json, a run in it, or its parent.

    Raises:
        AbsentRun: there is no such folder, or no runs in it.
        ConfigError: several suites have runs there, or it is a file.
    """
    path = place_of(text)
    folder = path.parent if path.name in (LATEST, RECORD) else path
    if folder.is_file():
        raise ConfigError(Problem(f"{folder} is a file, not a folder of runs", hint=FOLDERS))
    if not folder.is_dir():
        raise AbsentRun(Problem(f"{folder}: no such folder", hint=FOLDERS))
    if _is_home(folder):
        return folder
    if (folder / RECORD).is_file():
        return folder.resolve().parent
    homes = [child for name in sorted(names_in(folder)) if _is_home(child := folder / name)]
    if len(homes) > 1:
        names = ", ".join(child.name for child in homes[:_NAMED])
        raise ConfigError(
            Problem(f"{folder} has runs of {len(homes)} suites: {names}", hint="name one of them")
        )
    if not homes:
        raise AbsentRun(Problem(f"{folder} has no runs", hint=FOLDERS))
    return homes[0]


def every_of(key: str) -> str | None:
    """How long the interval of a name is; None where it is the name of none.

    >>> every_of("2026-11-20"), every_of("2026-11-20T06Z.6h"), every_of("notes")
    ('1d', '6h', None)
    """
    if match := _HOURS.fullmatch(key):
        return match[1]
    return next((every for pattern, every in _EVERY if pattern.fullmatch(key)), None)


def _is_home(folder: Place) -> bool:
    return (folder / INTERVALS).is_dir() or (folder / LATEST).is_file()
