"""Listing of the files of a path, a glob, a folder or a list of them, sorted by name."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from plmetrics.core.errors import (
    AbsentDataError,
    ConfigError,
    DataError,
    EnvironmentFault,
    Problem,
    is_refusal,
    read_faults,
)
from plmetrics.core.names import file_hint, is_address, name_list
from plmetrics.core.redaction import mask_address

_SHOWN = 10
_SUITE_PATH = ("data", "path")
_OF_SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_SHEETS = "save the sheet as CSV (UTF-8), with the names of its columns in the first line"
PARTITION = re.compile(r"([^=]*)=([^=]*)")

Stamp = tuple[int | str, ...]
"""Identity of a file, other than that of one that takes its place: device, inode, size and time of the last change.

Of an object its bucket, key, size and entity tag."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One data file.

    `name` is its path below the root of the source, with `/`: the file's identity, also on another machine.
    `size` is in bytes; `rows` comes from the footer and is None where the format has none. `stamp` is that of the
    listing; None where the file is not read later. `origin` is where the rows of a scratch file come from, and `digest`
    that of its rows. `deleted` counts those of its `rows` that a table has marked as deleted. `separator` is the mark
    between the fields of a csv file.
    """

    path: str
    name: str
    size: int
    rows: int | None = None
    stamp: Stamp | None = field(default=None, repr=False, compare=False)
    origin: str | None = None
    digest: str | None = None
    deleted: int = 0
    separator: str = ","

    @property
    def live_rows(self) -> int | None:
        """Number of rows without deleted ones."""
        return None if self.rows is None else self.rows - self.deleted

    @property
    def folder(self) -> str:
        """The root of the source, without a signature; `/` of the file system."""
        if self.origin is not None:
            return self.origin
        path = self.path.partition("?")[0] if self.path.startswith("http") else self.path
        return path.removesuffix(self.name).rstrip("/") or "/"

    @property
    def location(self) -> str:
        """The path from the root of the file system; an address without signature."""
        if self.origin is not None:
            return self.origin
        return mask_address(self.path) if is_address(self.path) else str(Path(self.path).resolve())


class Complaints:
    """Bad files, collected for a single error; absent files are bad if all are."""

    def __init__(self) -> None:
        self._bad: list[Problem] = []
        self._denied: list[Problem] = []
        self._absent: set[Problem] = set()

    def __bool__(self) -> bool:
        return bool(self._bad or self._denied)

    def add(self, path: str | Path, message: str, hint: str | None = None) -> None:
        """Note a problem of one file or folder."""
        self._bad.append(Problem(f"{shown_path(path)}: {message}", hint=hint))

    def absent(self, path: str | Path, message: str, hint: str | None = None) -> None:
        """Note that a file or folder is absent, possibly for now."""
        self.add(path, message, hint)
        self._absent.add(self._bad[-1])

    def no_data(self, folder: str | Path, endings: Iterable[str]) -> None:
        """Note that a folder has no data file."""
        message = f"the folder holds no data files ({', '.join(endings)})"
        self.absent(folder, message, "files and folders whose names start with _ or . are not data")

    def fault(self, path: str | Path, error: OSError) -> None:
        """Note a refusal of one file or folder by the operating system or a store."""
        from plmetrics.table.storage.faults import is_storage_error, storage_fault

        if is_storage_error(error):
            fault = storage_fault(error, shown_path(path))
            chosen = self._bad if isinstance(fault, AbsentDataError) else self._denied
            chosen += fault.problems
            self._absent |= set(fault.problems)
        elif isinstance(error, PermissionError):
            self._denied.append(Problem(f"{shown_path(path)}: no permission to read it"))
        elif is_refusal(error):
            message = f"{shown_path(path)}: cannot be read: {error.strerror}"
            self._denied.append(Problem(message, hint="run again when the disk answers"))
        else:
            self.add(path, f"cannot be read: {error.strerror or error}")

    def settle(self) -> None:
        """Raise one error for all noted problems.

        Raises:
            EnvironmentFault: a file or folder may not be read
            AbsentDataError: files are absent, and nothing else is wrong
            DataError: a file is empty, damaged or of another schema
        """
        if self._denied:
            raise EnvironmentFault(_first_problems(list(dict.fromkeys(self._denied))))
        if self._bad:
            kind = AbsentDataError if self._absent.issuperset(self._bad) else DataError
            raise kind(_first_problems(self._bad))


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as people write it: relative where it is below the working directory; an address without signature."""
    if is_address(os.fspath(path)):
        return mask_address(os.fspath(path))
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.pardir) else relative


def stamp_of(path: str | Path) -> Stamp | None:
    """The stamp of a file; None where there is none."""
    with suppress(OSError), read_faults():
        return stamp(Path(path).stat())
    return None


def stamp(status: os.stat_result) -> Stamp:
    """Stamp of a file, from the system."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def list_files(
    paths: Sequence[str], base: Path, endings: Mapping[str, str], complaints: Complaints
) -> list[SourceFile]:
    """Data files of paths, sorted by name, not yet opened.

    A folder stands for all files below it; files and folders whose names start with `_` or `.` are not data, unless
    they are named outright. Names are relative to the folder that all paths share (a folder itself, the fixed part of a
    glob, the parent of a file), taken above `key=value` folders: so one day's file has the same name alone and among
    all days. Paths are files, folders and globs, relative ones from `base`; `endings` give the format of a file.

    Raises:
        ConfigError: a path is an address or empty, or a file is named twice.
    """
    roots: list[Path] = []
    candidates: list[str] = []
    for path in paths:
        root, expanded = _expand(absolute(path, base), endings, complaints)
        roots.append(root)
        candidates += expanded
    refuse_twice(candidates)
    shared = str(_above_partitions(Path(os.path.commonpath(roots))))
    named = (path for path in candidates if _is_legible(path, complaints))
    files = (SourceFile(path, _name_below(shared, path), size=0) for path in named)
    return sorted(files, key=lambda file: file.name)


def stat_files(
    files: Iterable[SourceFile], endings: Mapping[str, str], complaints: Complaints
) -> tuple[SourceFile, ...]:
    """Files with their sizes and stamps; complaints take absent and empty files, unknown endings and links."""
    inspected = (_inspect(file, endings, complaints) for file in files)
    present = tuple(file for file in inspected if file)
    _refuse_links(present, complaints)
    return present


def kind_of(files: Sequence[SourceFile], endings: Mapping[str, str], complaints: Complaints) -> str | None:
    """The one format of all files; None, and a complaint, where there are several."""
    first: dict[str, SourceFile] = {}
    for file in files:
        ending = ending_of(file.name, endings)
        assert ending is not None
        first.setdefault(endings[ending], file)
    if len(first) == 1:
        return next(iter(first))
    if first:
        kinds = " and ".join(f"{kind} ({shown_path(file.path)})" for kind, file in sorted(first.items()))
        remote = is_address(files[0].path)
        folder = files[0].folder if remote else os.path.commonpath([Path(file.path).parent for file in files])
        hint = "name the files of one format, such as *.parquet"
        complaints.add(folder, f"holds files of several formats: {kinds}", hint)
    return None


def ending_of(path: str | Path, endings: Iterable[str]) -> str | None:
    """Known ending of a file's name, the longest match; None without one.

    >>> ending_of("scores/day.CSV.gz", [".gz", ".csv", ".csv.gz"])
    '.csv.gz'
    """
    name = Path(path).name.lower()
    return max((ending for ending in endings if name.endswith(ending)), key=len, default=None)


def absolute(path: str, base: Path) -> Path:
    """A path as it is written, from the base.

    Raises:
        ConfigError: it is empty, or an address
    """
    if not path.strip() or "\0" in path:
        raise ConfigError(Problem(f"{path!r} is not a path", path=_SUITE_PATH))
    if is_address(path):
        message = f"'{shown_path(path)}' is an address; this must be on a local disk"
        raise ConfigError(Problem(message, path=_SUITE_PATH, hint="copy the files to a local disk first"))
    home = os.path.expanduser(path)  # noqa: PTH111
    return Path(os.path.normpath(Path.cwd() / base / home))


def _name_below(root: str, path: str) -> str:
    return path.removeprefix(root).replace(os.sep, "/").lstrip("/")


def _expand(path: Path, endings: Mapping[str, str], complaints: Complaints) -> tuple[Path, list[str]]:
    """The root of one path, and the files it means."""
    try:
        folder = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        if path.is_symlink():
            complaints.absent(path, "is a link to a file that does not exist")
        elif glob.has_magic(str(path)):
            return _expand_glob(path, complaints)
        else:
            report = complaints.add if "\\" in path.name else complaints.absent
            report(path, "no such file or folder", _nearest_file(path))
        return path.parent, []
    except OSError as error:
        complaints.fault(path, error)
        return path.parent, []
    if not folder:
        return path.parent, [str(path)]
    from plmetrics.table.storage.folders import walk

    files = list(walk(str(path), complaints.fault))
    if not files:
        complaints.no_data(path, endings)
    return path, files


def _expand_glob(pattern: Path, complaints: Complaints) -> tuple[Path, list[str]]:
    from plmetrics.table.storage.folders import is_folder, matches, walk

    root = next(parent for parent in pattern.parents if not glob.has_magic(str(parent)))
    files: dict[str, None] = {}
    parts = pattern.relative_to(root).parts
    for match in sorted(matches(str(root), parts, complaints.fault)) if is_folder(root) else ():
        inside = walk(match, complaints.fault) if is_folder(Path(match)) else [match]
        files.update(dict.fromkeys(inside))
    if not files and not complaints:
        complaints.absent(pattern, "no file matches", None if is_folder(root) else _nearest_folder(root))
    return root, list(files)


def _inspect(file: SourceFile, endings: Mapping[str, str], complaints: Complaints) -> SourceFile | None:
    path = Path(file.path)
    try:
        status = path.stat()
    except FileNotFoundError:
        complaints.absent(path, "is a link to a file that does not exist")
        return None
    except OSError as error:
        complaints.fault(path, error)
        return None
    if ending_of(path, endings) is None:
        message = f"the ending '{path.suffix}' is not known" if path.suffix else "the file has no ending"
        hint = _SHEETS if path.suffix.lower() in _OF_SHEETS else _trec_hint(path)
        complaints.add(path, message, hint or f"data files end in {', '.join(endings)}")
        return None
    if status.st_size == 0:
        complaints.add(path, "is empty (0 bytes)", "the program that writes it may have stopped halfway")
        return None
    return replace(file, size=status.st_size, stamp=stamp(status))


def _trec_hint(path: Path) -> str | None:
    """Hint for files of TREC's lines, if the first is one: of a run, or of judgements."""
    try:
        with path.open("rb") as file:
            words = file.readline(4096).decode("utf-8", "replace").split()
    except OSError:
        return None
    is_run = len(words) == 6 and words[1].upper() == "Q0"
    if not is_run and not (len(words) == 4 and re.fullmatch(r"-?\d+", words[-1])):
        return None
    files = f"{{qrels: QRELS, run: {path.name}}}" if is_run else f"{{qrels: {path.name}, run: RUN}}"
    what = "a run" if is_run else "judgements"
    return f"it reads like {what} of TREC: write task: ranking and data: {{trec: {files}}} in a suite"


def _is_legible(path: str, complaints: Complaints) -> bool:
    legible = os.fsencode(path).decode("utf-8", "backslashreplace")
    if legible != path:
        complaints.add(legible, "the name is not UTF-8", "rename the file or folder")
    return legible == path


def _above_partitions(root: Path) -> Path:
    while PARTITION.fullmatch(root.name):
        root = root.parent
    return root


def refuse_twice(places: Iterable[str]) -> None:
    """Refuse files named more than once.

    Raises:
        ConfigError: some are.
    """
    twice = [shown_path(place) for place, count in Counter(places).items() if count > 1]
    if twice:
        message = f"named twice, so that its rows would count twice: {name_list(twice)}"
        raise ConfigError(Problem(message, path=_SUITE_PATH, hint="name each file once"))


def _refuse_links(files: Sequence[SourceFile], complaints: Complaints) -> None:
    """Refuse duplicate files by links, symbolic or hard."""
    first: dict[Stamp, SourceFile] = {}
    for file in files:
        assert file.stamp is not None
        other = first.setdefault(file.stamp, file)
        if other is not file:
            message = f"is the same file as {shown_path(other.path)}, so that its rows would count twice"
            complaints.add(file.path, message, "name each file once, and no links to it")


def _nearest_file(path: Path) -> str | None:
    if "\\" in path.name:
        return "write / between folders, on every system"
    try:
        return file_hint(path.name, [entry.name for entry in path.parent.iterdir()])
    except OSError:
        return _nearest_folder(path.parent)


def _nearest_folder(folder: Path) -> str:
    """Absent folder of a path, with its neighbours if its name holds a date or number."""
    from plmetrics.table.storage.folders import is_folder

    while not is_folder(folder.parent):
        folder = folder.parent
    hint = file_hint(folder.name, [entry.name for entry in folder.parent.iterdir()])
    more = f"; {hint}" if hint else ""
    return f"there is no folder {shown_path(folder)}{more}"


def _first_problems(problems: Sequence[Problem]) -> list[Problem]:
    more = len(problems) - _SHOWN
    return [*problems[:_SHOWN], *([Problem(f"and {more} more")] if more > 0 else [])]
