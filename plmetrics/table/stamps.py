"""Whether data files are the same: stamps while they are read, and digests from run to run."""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from polars.exceptions import PanicException

from plmetrics.core.errors import DataError, Problem
from plmetrics.table.files import shown_path, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from plmetrics.table.files import SourceFile, Stamp


_END = 1 << 16


def digest_of(file: SourceFile) -> str | None:
    """A hash of the size and both ends of a file, where the footer of a parquet file lies; None if it cannot be read.

    Two files of one digest hold the same rows, or differ in the middle alone.
    """
    digest = blake2b(str(file.size).encode(), digest_size=16)
    try:
        with Path(file.path).open("rb") as opened:
            digest.update(opened.read(_END))
            opened.seek(max(file.size - _END, 0))
            digest.update(opened.read(_END))
    except OSError:
        return None
    return digest.hexdigest()


@contextmanager
def watch_stamps(
    stamps: Mapping[str, Stamp | None], verb: str = "read", kind: type[DataError] = DataError
) -> Iterator[None]:
    """Do something with files, and see afterwards that they are still those of their stamps.

    A file that changed explains whatever went wrong meanwhile.

    Args:
        stamps: by path the stamp of each file, taken before any of it was read.
        verb: what is done with the files, as a past participle.
        kind: the error to raise.

    Raises:
        DataError: a file was replaced, written to or removed; it is named.
    """
    try:
        yield
    except (Exception, PanicException) as error:
        _check_stamps(stamps, verb, kind, error)
        raise
    _check_stamps(stamps, verb, kind)


def _check_stamps(
    stamps: Mapping[str, Stamp | None], verb: str, kind: type[DataError], error: BaseException | None = None
) -> None:
    changed = [path for path, stamp in stamps.items() if stamp_of(path) != stamp]
    if changed:
        more = f" (and {len(changed) - 1:,} more)" if len(changed) > 1 else ""
        message = f"{shown_path(changed[0])}{more} changed while it was {verb}: it was replaced, written to or removed"
        raise kind(Problem(message, hint="run again when no program writes to the files")) from error
