"""State files: one parquet file each, written atomically, with a hash of its content checked on reading."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import (
    AbsentDataError,
    ConfigError,
    DataError,
    EnvironmentFault,
    PlmetricsError,
    Problem,
    os_message,
    read_faults,
)
from plmetrics.core.names import is_address
from plmetrics.engine.memory.budget import machine_budget
from plmetrics.runs.documents import HEAD, misfit
from plmetrics.runs.files import environment_faults, names_in, remove_temporary, replacement, write_atomic
from plmetrics.runs.folder import check_name
from plmetrics.states.state_format import READ, Head, State, frame_of
from plmetrics.table.files import shown_path
from plmetrics.table.formats.footer import FooterError, footer_rows, read_footer
from plmetrics.table.prediction_columns import LABEL

if TYPE_CHECKING:
    from plmetrics.table.storage.places import Place

ENDING = ".state"
DRIFT_STATE = f"drift{ENDING}"
"""The file in a run folder that holds what drift counted of the rows."""

_HEAD, _CONTENT = "plmetrics.state", "plmetrics.content"
_MAGIC = b"PAR1"
_AGAIN = "write it again from the rows"
_SHOWN = 200
_AT_ONCE = 1 << 18
_VALUE = 8


class StateFault(DataError):  # noqa: N818
    """A file is no state, or not whole, or of another version."""

    title = "the state cannot be read"


class AbsentState(StateFault, AbsentDataError):  # noqa: N818
    """There is no such state file."""


def state_bytes(head: Head, table: pl.DataFrame) -> tuple[bytes, str]:
    """The content of a state file, and its hash: SHA-256 of all of it, with a mark where the hash itself stands.

    Counts of scores take far less room with zstd, of its lowest level about as much as of higher ones; sums of floats
    take as much, and are read sooner with lz4.
    """
    text = head.text()
    mark = _mark(text)
    buffer = io.BytesIO()
    scores = head.numbers("scores")
    table.write_parquet(
        buffer,
        metadata={_HEAD: text, _CONTENT: mark},
        compression="zstd" if scores else "lz4",
        compression_level=1 if scores else None,
    )
    content = buffer.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    place = content.rindex(mark.encode())
    return content[:place] + digest.encode() + content[place + len(digest) :], digest


def _mark(text: str) -> str:
    """Placeholder of the content's hash in a file: of equal length, and unique in it."""
    return hashlib.sha256(f"content of {text}".encode()).hexdigest()


def state_path(output: Path, name: str, content: str) -> Path:
    """Path of a state: the named file, or a new one in the named folder.

    Raises:
        ConfigError: the name of its suite cannot be that of a file.
    """
    if output.is_dir() or output.suffix != ENDING:
        check_name(name)
        return output / f"{name}-{content[:12]}{ENDING}"
    return output


def write_state(
    output: str | PathLike[str], head: Head, table: pl.DataFrame, *, durable: bool = True
) -> tuple[Path | str, str]:
    """Write a state atomically.

    `output` is a file that ends in `.state`, which is replaced, or a folder; or the address of either. `durable` waits
    until a file is on the disk; it is all or nothing to readers anyway.

    Returns:
        The file or the address, and the hash of its content.
    """
    content, digest = state_bytes(head, table)
    if is_address(os.fspath(output)):
        return _write_object(os.fspath(output), head.name, content, digest), digest
    path = state_path(Path(output), head.name, digest)
    with environment_faults(f"the state {shown_path(path)} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if durable:
            remove_temporary(path.parent)
            write_atomic(path, content)
        else:
            with replacement(path) as temporary:
                temporary.write_bytes(content)
    return path, digest


def _write_object(output: str, name: str, content: bytes, digest: str) -> str:
    from plmetrics.table.storage.addresses import parse_address
    from plmetrics.table.storage.objects import write_object

    address = parse_address(output)
    if not address.key.endswith(ENDING):
        check_name(name)
        address = address._replace(key=f"{address.key.rstrip('/')}/{name}-{digest[:12]}{ENDING}".lstrip("/"))
    write_object(address, content)
    return str(address)


def state_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Named state files; a folder stands for those in it, by name.

    Raises:
        AbsentState: a folder holds none.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        files = sorted(path / name for name in names_in(path) if name.endswith(ENDING) and name[0] != ".")
        if not files:
            hint = "plmetrics state SUITE --output DIR writes one there; name the folder that they are in"
            raise AbsentState(Problem(f"{path}: no file in it ends in {ENDING}", hint=hint))
        yield from files


def read_head(path: Path) -> tuple[Head, str]:
    """Head of a state and the hash of its content, after a check of the whole file.

    Raises:
        AbsentState: there is no such file.
        StateFault: it is no state, truncated, damaged, or of another version.
        EnvironmentFault: it may not be read.
    """
    metadata = _metadata(path)
    if _HEAD not in metadata or _CONTENT not in metadata:
        raise StateFault(
            Problem(f"{path} is a parquet file, but no state", hint="plmetrics state writes states")
        )
    text, content = metadata[_HEAD], metadata[_CONTENT]
    footer = _footer(path)
    if _hash(path, len(footer), content, _mark(text)) != content:
        msg = f"{path} is damaged: its content does not fit its hash"
        raise StateFault(Problem(msg, hint=_AGAIN))
    head = _head(path, text)
    _check_rows(path, head, footer)
    _check_queries(path, head)
    return head, content


def read_state(path: Place | str) -> State:
    """A state with its rows; of an object those of a copy."""
    if is_address(str(path)):
        return _read_object(str(path))
    path = Path(path)
    head, content = read_head(path)
    with damage_errors([shown_path(path)]):
        return State(head, pl.read_parquet(path, glob=False), content, path)


def _read_object(address: str) -> State:
    from plmetrics.table.storage.copies import local_copies

    try:
        with local_copies([address], ENDING) as (copies, addresses):
            (path,) = map(Path, copies)
            return replace(read_state(path), path=addresses[path])
    except AbsentDataError as error:
        raise AbsentState(error.problems) from error


def _metadata(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            ends = file.read(4), file.seek(max(path.stat().st_size - 4, 0)), file.read(4)
        if (ends[0], ends[2]) != (_MAGIC, _MAGIC):
            msg = f"{path} is truncated, or no state: it does not begin and end as a parquet file does"
            raise StateFault(Problem(msg, hint=_AGAIN))
        return dict(pl.read_parquet_metadata(path))
    except (FileNotFoundError, IsADirectoryError) as error:
        raise AbsentState(
            Problem(f"{path}: no such file", hint="name state files, or a folder of them")
        ) from error
    except OSError as error:
        raise EnvironmentFault(Problem(f"{path} cannot be read: {os_message(error)}")) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        msg = f"{path} is damaged: its footer cannot be read"
        raise StateFault(Problem(msg, hint=_AGAIN)) from error


def _footer(path: Path) -> bytes:
    try:
        with read_faults(), path.open("rb") as file:
            return read_footer(file)
    except FooterError as error:
        raise _damage_fault(path, str(error)) from error


def _hash(path: Path, footer: int, content: str, mark: str) -> str:
    """Hash of a file, with the mark in the place of the hash in its footer, of so many bytes."""
    digest, before = hashlib.sha256(), path.stat().st_size - footer - len(_MAGIC) - 4
    with read_faults(), path.open("rb") as file:
        for start in range(0, before, _AT_ONCE):
            digest.update(file.read(min(_AT_ONCE, before - start)))
        end = file.read()
    place = end.rfind(content.encode())
    digest.update(end[:place] + mark.encode() + end[place + len(content) :])
    return digest.hexdigest()


def _head(path: Path, text: str) -> Head:
    from json import dumps, loads

    try:
        content = loads(text)
        dumps(content, allow_nan=False)  # a merged state says it again
    except (ValueError, RecursionError) as error:
        raise StateFault(
            Problem(f"{path} is no state: what it says of itself is no JSON", hint=_AGAIN)
        ) from error
    if isinstance(content, dict) and content.get("format") not in READ:
        versions = content.get("versions")
        writer = versions.get("plmetrics", "?") if isinstance(versions, dict) else "?"
        version = f"format {str(content.get('format'))[:_SHOWN]} (plmetrics {str(writer)[:_SHOWN]})"
        msg = f"{path} is of {version}, and this version reads formats {' and '.join(map(str, READ))}"
        raise StateFault(Problem(msg, hint="write it again from the rows with this version"))
    words = misfit(content, HEAD)
    unknown = [] if words else [key for key in content if not {key, f"{key}!"} & HEAD.keys()]
    if words or unknown:
        raise _damage_fault(path, words or f"'{unknown[0]}' is not known")
    try:
        check_name(content["name"])
    except ConfigError as error:
        raise _damage_fault(path, f"its name is {content['name']!r}") from error
    return Head.read(content)


def _check_rows(path: Path, head: Head, footer: bytes) -> None:
    """Check a table's number of rows against its head, and its size against memory, before any is read."""
    try:
        rows = footer_rows(footer)
    except FooterError as error:
        raise _damage_fault(path, str(error)) from error
    columns = pl.read_parquet_schema(path)
    expected = sum(part.rows for part in head.parts)
    if rows != expected or any(part.rows < 0 for part in head.parts):
        raise _damage_fault(path, f"it has {rows:,} rows, and tells of {expected:,}")
    absent = {name for part in head.parts for name in part.columns} - set(columns)
    if absent:
        raise _damage_fault(path, f"it has no column '{min(absent)}'")
    # What drift counts is of slice sets of its own.
    numbers = [(number, part.kind.startswith("drift")) for part in head.parts for number in part.sets]
    if any(number < 0 or (number >= len(head.sets) and not drift) for number, drift in numbers):
        raise _damage_fault(path, "a part is of a slice set that is not there")
    size, room = rows * len(columns) * _VALUE, machine_budget()
    if size > room:
        msg = f"{path} takes {size / 1e9:.1f} GB of memory, and there are {room / 1e9:.1f} GB"
        raise StateFault(Problem(msg, hint="merge it on a larger machine, or write states of fewer rows"))


def _check_queries(path: Path, head: Head) -> None:
    """Check that queries have a label under its name of this version, which is no part of the format's number."""
    with damage_errors([shown_path(path)]):
        if head.queries_schema and LABEL not in frame_of(head.queries_schema).columns:
            msg = f"{path} is of another version, which named the columns of queries in another way"
            raise StateFault(Problem(msg, hint=f"{_AGAIN} with this version"))


@contextmanager
def damage_errors(places: Iterable[str]) -> Iterator[None]:
    """Context manager: inconsistencies of foreign state files become errors of these files.

    Raises:
        StateFault: in place of the errors that come of numbers and names that lead nowhere.
    """
    files = list(places)
    try:
        yield
    except (Exception, pl.exceptions.PanicException) as error:
        in_words = isinstance(error, PlmetricsError) and type(error) is not PlmetricsError
        if not files or in_words or isinstance(error, (OSError, MemoryError)):
            raise
        more = f", or one of {len(files) - 1} more," if len(files) > 1 else ""
        msg = f"{files[0]}{more} is not as plmetrics writes it: {type(error).__name__} while it was read"
        hint = f"{_AGAIN}; if that does not help, it is a bug in plmetrics: --debug shows where"
        raise StateFault(Problem(msg, hint=hint)) from error


def _damage_fault(path: Path, words: str) -> StateFault:
    return StateFault(Problem(f"{path} is not as plmetrics writes it: {words[:_SHOWN]}", hint=_AGAIN))
