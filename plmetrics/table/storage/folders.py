"""Names below folders of this machine, and those of a glob: a refusal of the system is told, and leaves nothing out."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TypeAlias

NOT_DATA = ("_", ".")
"""First characters of names that are not data."""
ANY_DEPTH = "**"

Fault: TypeAlias = Callable[[str, OSError], None]
"""Taker of a path that the system does not let us see, and of its words."""


def walk(folder: str, fault: Fault, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Possible data files below a folder, without links back up; texts, since tables have thousands of folders."""
    above = (*above, folder)
    for entry in _entries(folder, fault):
        if not is_folder(entry):
            yield entry.path
        elif not (entry.is_symlink() and _leads_up(entry.path, above)):
            yield from walk(entry.path, fault, above)


def matches(folder: str, parts: Sequence[str], fault: Fault) -> Iterator[str]:
    """Files and folders of a glob below a folder; `**` does not follow symbolic links to folders."""
    if not parts:
        yield folder
        return
    part, others = parts[0], parts[1:]
    if part == ANY_DEPTH:
        yield from matches(folder, others, fault)
        for entry in _entries(folder, fault):
            if is_folder(entry) and not entry.is_symlink():
                yield from matches(entry.path, parts, fault)
    elif glob.has_magic(part):
        for entry in _entries(folder, fault):
            if fnmatch(entry.name, part) and (not others or is_folder(entry)):
                yield from matches(entry.path, others, fault)
    elif _is_present(path := os.path.join(folder, part), fault):  # noqa: PTH118
        yield from matches(path, others, fault)


def is_folder(path: Path | os.DirEntry[str]) -> bool:
    """Whether a path is a folder, as far as the system tells."""
    try:
        return path.is_dir()
    except OSError:  # what is wrong is said when the path is looked at as a file
        return False


def _entries(folder: str, fault: Fault) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry for entry in entries if not entry.name.startswith(NOT_DATA)),
                key=lambda entry: entry.name,
            )
    except OSError as error:
        fault(folder, error)
        return []


def _is_present(path: str, fault: Fault) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        fault(path, error)
        return False
    return True


def _leads_up(link: str, above: tuple[str, ...]) -> bool:
    target = Path(link).resolve()
    return any(Path(folder).resolve().is_relative_to(target) for folder in above)
