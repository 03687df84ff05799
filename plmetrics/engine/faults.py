"""Errors of the query engine while rows are read, as errors of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, PlmetricsError, Problem
from plmetrics.table.faults import explain_polars_error, stamps_of
from plmetrics.table.files import shown_path
from plmetrics.table.stamps import watch_stamps

if TYPE_CHECKING:
    from plmetrics.table.source import Source

_UPSTREAM = "write the file again"
_LONGEST = 200


def check_rows(missing: str, *sources: Source | None, ends: bool = False) -> list[str]:
    """Warnings of source rows with absent fields; where bad values drop their rows, these may be absent.

    With `ends` large files are looked at at their end.

    Raises:
        DataError: rows have more fields than the header, or fewer although `missing` is "error".
    """
    fill = missing != "error"
    present = [source for source in sources if source is not None]
    return [warning for source in present for warning in source.check_rows(fill=fill, ends=ends)]


@contextmanager
def reading(*sources: Source) -> Iterator[None]:
    """Context manager: attribute a Polars error to its file and column, and pass on others.

    Where the error does not tell, each file is read by itself: one that cannot be read is to blame.

    Raises:
        DataError: the data are to blame, or a file is not what it was when it was listed.
        EnvironmentFault: the store that they lie in is to blame.
    """
    with watch_stamps(stamps_of(*sources)):
        try:
            yield
        except MemoryError:
            raise
        except (Exception, pl.exceptions.PanicException) as error:
            if isinstance(error, PlmetricsError) and type(error) is not PlmetricsError:
                raise
            fault = _fault(error, sources)
            if fault is None:
                raise
            raise fault from error


def _fault(error: BaseException, sources: Sequence[Source]) -> PlmetricsError | None:
    from plmetrics.table.storage.faults import is_storage_error, mask_error, storage_fault

    files = tuple(file for source in sources for file in source.files)
    if files and is_storage_error(error):
        mask_error(error)
        named = next((file for file in files if file.path in str(error)), files[0])
        return storage_fault(error, named.location)
    fault = explain_polars_error(error, replace(sources[0], files=files))
    alone = (source for several in sources for source in several.of_each_file())
    return fault or next(filter(None, map(_unreadable, alone)), None)


def _unreadable(source: Source) -> DataError | None:
    """Reason against reading the single file of a source; None if it can be read."""
    try:
        source.frame.sink_batches(lambda _: None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        fault = explain_polars_error(error, source)
        panic = isinstance(error, pl.exceptions.PanicException)
        reason = "" if panic else f": {str(error).strip().partition(chr(10))[0][:_LONGEST]}"
        message = f"{shown_path(source.files[0].path)}: the data are damaged{reason}"
        return fault or DataError(Problem(message, hint=_UPSTREAM))
    return None
