"""Tables in memory: Polars frames, and pandas and pyarrow tables without importing either."""

from __future__ import annotations

from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from plmetrics.core.errors import DataError, EnvironmentFault

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
        return _converted(pl.from_arrow, data, "pyarrow table")
    return None


def _from_pandas(data: Any) -> pl.DataFrame:
    try:
        return _converted(pl.from_pandas, data, "pandas DataFrame")
    except ImportError as error:
        fault = EnvironmentFault.missing_extra(extra="pandas", needed_for="reading a pandas DataFrame")
        raise fault from error


def _converted(convert: Any, data: Any, kind: str) -> pl.DataFrame:
    try:
        frame: pl.DataFrame = convert(data)
    except (PolarsError, ValueError, TypeError) as error:
        msg = f"the {kind} cannot be read as a Polars table: {str(error).splitlines()[0]}"
        raise DataError(msg) from error
    return frame
