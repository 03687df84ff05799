"""Opening a table: frames, files of any format, Delta and Iceberg tables, and TREC files as a source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from plmetrics.core.errors import ConfigError, DataError, EnvironmentFault, Problem
from plmetrics.table.files import (
    name_list,
)
from plmetrics.table.source import Source, schema_of

_PANDAS = ("pandas", "DataFrame")
_ARROW = (("pyarrow", "Table"), ("pyarrow", "RecordBatch"))


def as_frame(data: object) -> pl.DataFrame | pl.LazyFrame | None:
    """The table as a Polars frame; None where it is not a table in memory.

    A pandas index is left out, and NaN in a pandas column is null.

    Raises:
        DataError: a pandas or pyarrow table has columns that Polars cannot hold
        EnvironmentFault: a pandas table needs pyarrow, which is not installed
    """
    if isinstance(data, (pl.DataFrame, pl.LazyFrame)):
        return data
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(data).__mro__}
    if _PANDAS in kinds:
        return _from_pandas(data)
    if not kinds.isdisjoint(_ARROW):
        return _convert(pl.from_arrow, data, "pyarrow table")
    return None


def _from_pandas(data: Any) -> pl.DataFrame:
    try:
        return _convert(pl.from_pandas, data, "pandas DataFrame")
    except ImportError as error:
        fault = EnvironmentFault.missing_extra(extra="pandas", needed_for="reading a pandas DataFrame")
        raise fault from error


def _convert(convert: Any, data: Any, kind: str) -> pl.DataFrame:
    try:
        frame: pl.DataFrame = convert(data)
    except (PolarsError, ValueError, TypeError) as error:
        msg = f"the {kind} cannot be read as a Polars table: {str(error).splitlines()[0]}"
        raise DataError(msg) from error
    return frame


_ACCEPTED = (
    "accepted: a Polars DataFrame or LazyFrame; a path, glob or folder of parquet, csv, ndjson or Arrow files, or a "
    "list of them; a Delta or Iceberg table; a pandas DataFrame; a pyarrow Table; "
    "{'trec': {'qrels': FILE, 'run': FILE}}"
)


def open_source(data: object, base: Path | None = None, where: str | None = None) -> Source:
    """Find out what the data are, without reading them: files, footers, headers, schema.

    Args:
        data: a Polars DataFrame or LazyFrame, a path, glob or folder of data files, a list of such
            paths, a pandas DataFrame or a pyarrow Table, or {"trec": {"qrels": path, "run": path}}.
        base: the folder that relative paths start from; the working directory if None.
        where: a condition on all rows that will be read: files whose folders' names rule it out are not looked at.

    Raises:
        ConfigError: the data are something else, or a URL
        DataError: a file is absent, empty, damaged or of another schema; all such files are named at once
        EnvironmentFault: no permission, or a missing extra
    """
    frame = as_frame(data)
    if frame is not None:
        rows = frame.height if isinstance(frame, pl.DataFrame) else None
        lazy = frame.lazy()
        return Source(lazy, schema_of(lazy), files=(), kind="frame", rows=rows)
    from plmetrics.table.data_files import open_files, open_trec

    if isinstance(data, Mapping) and set(data) == {"trec"}:
        return open_trec(data["trec"], base or Path())
    return open_files(_paths(data), base or Path(), where)


def _paths(data: object) -> list[str]:
    if isinstance(data, (str, Path)):
        return [str(data)]
    if not isinstance(data, (list, tuple)):
        message = f"{_kind_name(data)} is not a prediction table"
        raise ConfigError(Problem(message, path=("data",), hint=_ACCEPTED))
    if not data:
        raise ConfigError(Problem("the list of paths is empty", path=("data",), hint=_ACCEPTED))
    others = {_kind_name(path) for path in data if not isinstance(path, (str, Path))}
    if others:
        message = f"a list must hold paths only, but this one holds {name_list(sorted(others))}"
        raise ConfigError(Problem(message, path=("data",), hint=_ACCEPTED))
    return [str(path) for path in data]


def _kind_name(data: object) -> str:
    kind = type(data)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
