"""Files that must not change while they are read: their stamps before and after."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from polars.exceptions import PanicException

from plmetrics.core.errors import DataError, Problem
from plmetrics.table.files import shown_path, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from plmetrics.table.files import Stamp


@contextmanager
def unchanged(
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
