"""Tables of Spark, by the common interface of classic sessions and Spark Connect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import polars as pl

from plmetrics.core.errors import DataError, EnvironmentFault, PlmetricsError, Problem, needs_extra
from plmetrics.core.redaction import mask_address
from plmetrics.table.frames import is_spark
from plmetrics.table.source import Source, schema_of

_EXTRA = "spark"
_SAMPLE = 1000
_PATH = ("data", "spark")
_OF_DATA = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "PARSE_SYNTAX_ERROR",
    "SCHEMA_NOT_FOUND",
    "INVALID_IDENTIFIER",
    "AMBIGUOUS_REFERENCE",
)
_LONGEST = 300


def spark_rows(table: object) -> Any:
    """DataFrame of Spark: the table itself, or one by its name in the session of this process.

    A session is the active one, or a new one by the environment, where `SPARK_REMOTE` names a server of Connect.

    Raises:
        DataError: there is no such table.
        EnvironmentFault: pyspark is not installed, or Spark does not begin.
    """
    if is_spark(table):
        return table
    with needs_extra(_EXTRA, "a Spark table"):
        sessions: Any = import_module("pyspark.sql").SparkSession
    with spark_faults():
        rows = (sessions.getActiveSession() or sessions.builder.getOrCreate()).table(table)
        rows.schema  # noqa: B018 (Connect looks for the table now)
        return rows


def spark_frame(rows: Any, columns: Sequence[str], most: int | None = None) -> pl.DataFrame:
    """Some columns of the rows, here: the first rows, or all.

    Raises:
        DataError: several columns have one name.
        EnvironmentFault: Spark fails, or lacks a package.
    """
    repeated = [f"'{name}'" for name, count in Counter(columns).items() if count > 1]
    if repeated:
        msg = f"the Spark table has several columns of the name {', '.join(repeated)}"
        raise DataError(Problem(msg, _PATH, "rename or drop them in the DataFrame"))
    with spark_faults():
        chosen = rows.select(*[f"`{name.replace('`', '``')}`" for name in columns])
        return pl.DataFrame(pl.from_arrow((chosen if most is None else chosen.limit(most)).toArrow()))


def open_spark(table: object) -> Source:
    """Some rows of a table, to be looked at.

    Raises:
        DataError: there is no such table.
        EnvironmentFault: Spark cannot be used.
    """
    rows = spark_rows(table)
    frame = spark_frame(rows, rows.columns, _SAMPLE).lazy()
    return Source(frame, schema_of(frame), files=(), kind="frame", rows=None)


@contextmanager
def spark_faults() -> Iterator[None]:
    """Errors of Spark in a line, without the frames of Java.

    Raises:
        DataError: a table or a column is not there, or its name fits several.
        EnvironmentFault: anything else that Spark says.
    """
    try:
        yield
    except PlmetricsError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        first = mask_address((lines or [type(error).__name__])[0][:_LONGEST])
        kind = DataError if any(word in first for word in _OF_DATA) else EnvironmentFault
        raise kind(Problem(f"Spark: {first}", _PATH)) from error
