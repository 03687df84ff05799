"""State files: one parquet file each, written in one go, whose content is checked by its hash when it is read."""

from __future__ import annotations

import hashlib
import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from plmetrics.core.errors import DataError, EnvironmentFault, Problem
from plmetrics.runs.failure import os_message
from plmetrics.runs.files import environment_faults, write_atomic
from plmetrics.states.saved import FORMAT, Head
from plmetrics.table.files import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

ENDING = ".state"
DRIFT_STATE = f"drift{ENDING}"
"""The file in a run folder that holds what drift counted of the rows."""

_HEAD, _CONTENT = "plmetrics.state", "plmetrics.content"
_AT_ONCE = 1 << 24
_MAGIC = b"PAR1"


class StateFault(DataError):  # noqa: N818
    """A file is no state, or not whole, or of another version."""

    title = "the state cannot be read"


def state_bytes(head: Head, table: pl.DataFrame) -> tuple[bytes, str]:
    """The content of a state file, and its hash: SHA-256 of all of it, with a mark where the hash itself stands.

    Counts of scores take far less room with zstd; sums of floats take as much, and are read sooner with lz4.
    """
    text = head.text()
    mark = _mark(text)
    held = io.BytesIO()
    kind: Literal["zstd", "lz4"] = "zstd" if head.numbers("scores") else "lz4"
    table.write_parquet(held, metadata={_HEAD: text, _CONTENT: mark}, compression=kind)
    content = held.getvalue()
    found = hashlib.sha256(content).hexdigest()
    place = content.rindex(mark.encode())
    return content[:place] + found.encode() + content[place + len(found) :], found


def _mark(text: str) -> str:
    """Where the hash is to stand: as long as one, and nothing else in the file."""
    return hashlib.sha256(f"content of {text}".encode()).hexdigest()


def state_path(output: Path, name: str, content: str) -> Path:
    """Where a state goes: the file that is named, or one of its own in the folder that is."""
    if output.is_dir() or output.suffix != ENDING:
        return output / f"{name}-{content[:12]}{ENDING}"
    return output


def write_state(output: Path, head: Head, table: pl.DataFrame) -> tuple[Path, str]:
    """Write a state, so that a reader sees all of it or nothing.

    Args:
        output: a file that ends in `.state`, which is replaced, or a folder.
        head: what the state says of itself.
        table: its rows.

    Returns:
        The file, and the hash of its content.

    Raises:
        EnvironmentFault: the system refuses.
    """
    content, found = state_bytes(head, table)
    path = state_path(output, head.name, found)
    with environment_faults(f"the state {shown_path(path)} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
    return path, found


def state_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The state files that are named; a folder stands for those in it, by name.

    Raises:
        StateFault: a folder holds none.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(file for file in path.glob(f"*{ENDING}") if not file.name.startswith("."))
        if not found:
            hint = "plmetrics state SUITE --output DIR writes one there; name the folder that they are in"
            raise StateFault(Problem(f"{path}: no file in it ends in {ENDING}", hint=hint))
        yield from found


@contextmanager
def unchanged(paths: Sequence[Path]) -> Iterator[None]:
    """Read some states, which must be there and the same until all are read.

    Raises:
        StateFault: one was removed or replaced meanwhile.
    """
    before = {path: _stamp(path) for path in paths}
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        _check_stamps(before)
        raise
    _check_stamps(before)


def _check_stamps(before: Mapping[Path, tuple[int, ...] | None]) -> None:
    changed = [path for path, stamp in before.items() if _stamp(path) != stamp]
    if changed:
        more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        msg = f"{shown_path(changed[0])}{more} was removed or replaced while it was merged"
        raise StateFault(Problem(msg, hint="merge again when no job writes to these files"))


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What tells a file from the one that takes its place; None where there is none."""
    try:
        told = path.stat()
    except OSError:
        return None
    return told.st_ino, told.st_size, told.st_mtime_ns


def read_head(path: Path) -> tuple[Head, str]:
    """What a state says of itself, after a look at all of its content; and the hash of that.

    Raises:
        StateFault: it is absent, no state, truncated, damaged, or of another version.
        EnvironmentFault: it may not be read.
    """
    metadata = _metadata(path)
    if _HEAD not in metadata or _CONTENT not in metadata:
        raise StateFault(
            Problem(f"{path} is a parquet file, but no state", hint="plmetrics state writes states")
        )
    text, content = metadata[_HEAD], metadata[_CONTENT]
    if _hash(path, content, _mark(text)) != content:
        msg = f"{path} is damaged: its content does not fit its hash"
        raise StateFault(Problem(msg, hint="write it again from the rows"))
    return _head(path, text), content


def _metadata(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            ends = file.read(4), file.seek(max(path.stat().st_size - 4, 0)), file.read(4)
        if (ends[0], ends[2]) != (_MAGIC, _MAGIC):
            msg = f"{path} is truncated, or no state: it does not begin and end as a parquet file does"
            raise StateFault(Problem(msg, hint="write it again from the rows"))
        return dict(pl.read_parquet_metadata(path))
    except (FileNotFoundError, IsADirectoryError) as error:
        raise StateFault(
            Problem(f"{path}: no such file", hint="name state files, or a folder of them")
        ) from error
    except OSError as error:
        raise EnvironmentFault(Problem(f"{path} cannot be read: {os_message(error)}")) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        msg = f"{path} is damaged: its footer cannot be read"
        raise StateFault(Problem(msg, hint="write it again from the rows")) from error


def _hash(path: Path, content: str, mark: str) -> str:
    """The hash of a file, with the mark in the place of the hash that stands there."""
    held = path.read_bytes()
    place = held.rfind(content.encode())
    made = hashlib.sha256(memoryview(held)[:place])
    made.update(mark.encode())
    made.update(memoryview(held)[place + len(content) :])
    return made.hexdigest()


def _head(path: Path, text: str) -> Head:
    from json import loads

    said = loads(text)
    if said.get("format") != FORMAT:
        made = said.get("versions", {}).get("plmetrics", "?")
        msg = f"{path} is of format {said.get('format')} (plmetrics {made}), and this version reads format {FORMAT}"
        raise StateFault(Problem(msg, hint="write it again from the rows with this version"))
    return Head.read(said)
