"""Errors of the query engine while rows are read, as errors of the data."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.table.faults import explain_polars_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.table.source import Source

_READING = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


@contextmanager
def reading(source: Source, beside: Source | None = None) -> Iterator[None]:
    """Say which file and column are to blame where an error comes from the data; let others pass.

    Args:
        source: what is read.
        beside: what is read with it, if anything.
    """
    if beside is not None:
        source = replace(source, files=(*source.files, *beside.files))
    try:
        yield
    except _READING as error:
        fault = explain_polars_error(error, source)
        if fault is None:
            raise
        raise fault from error
