"""Opening a table: frames, files of any format, Delta and Iceberg tables, and TREC files as a source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import name_list
from plmetrics.table.frames import as_frame, check_names, is_spark, kind_name
from plmetrics.table.source import Source, schema_of

_ACCEPTED = (
    "accepted: a Polars DataFrame or LazyFrame; a path, address, glob or folder of parquet, csv, ndjson or Arrow "
    "files, or a list of them; a Delta or Iceberg table; a pandas DataFrame; a pyarrow Table or another table of the "
    "Arrow stream interface; a mapping of columns {'y': ARRAY, 'p': ARRAY}; {'trec': {'qrels': FILE, 'run': FILE}}; "
    "{'database': ADDRESS, 'query': SELECT}; a DataFrame of Spark"
)


def open_source(
    data: object,
    base: Path | None = None,
    where: str | None = None,
    optional: Collection[str] = (),
    needed: Callable[[pl.Schema], Collection[str]] | None = None,
    *,
    rows: bool = True,
) -> Source:
    """Open the data without reading rows: files, footers, headers, schema.

    Args:
        data: a Polars DataFrame or LazyFrame; a path, address, glob or folder of data files, or a list of such; a
            pandas DataFrame, a pyarrow Table, anything else of the Arrow stream interface, or a mapping of columns;
            {"trec": {"qrels": path, "run": path}}, {"database": address, "query": text}, or
            {"path": table, "version": number}.
        base: the folder that relative paths start from; the working directory if None.
        where: a condition on all rows that will be read: files whose folders' names rule it out are not looked at, nor
            does a database send rows that it rules out.
        optional: columns that files may lack, and which are null there.
        needed: the columns that are read of a table's; a database sends no others. All if None.
        rows: whether all rows will be read, not only looked at; a database is then asked for some.

    Raises:
        ConfigError: the data are something else
        DataError: a file is absent, empty, damaged or of another schema; all such files are named at once
        EnvironmentFault: no permission, or a missing extra
    """
    if isinstance(data, Mapping) and set(data) == {"database", "query"}:
        return _open_query(data, base or Path(), where, needed, rows=rows)
    if is_spark(data) or (isinstance(data, Mapping) and set(data) == {"spark"}):
        return _open_spark(data, rows=rows)
    data, version = _without_version(data)
    frame = as_frame(data)
    if frame is not None:
        height = frame.height if isinstance(frame, pl.DataFrame) else None
        lazy = frame.lazy()
        return Source(lazy, schema_of(lazy), files=(), kind="frame", rows=height)
    check_names(data)
    from plmetrics.table.data_files import open_files, open_trec

    if isinstance(data, Mapping) and set(data) == {"trec"}:
        return open_trec(data["trec"], base or Path())
    return open_files(_paths(data), base or Path(), where, optional, version)


def _without_version(data: object) -> tuple[object, int | None]:
    """Table without its version, and the version."""
    if isinstance(data, Mapping) and set(data) == {"path", "version"} and isinstance(data["version"], int):
        return data["path"], data["version"]
    return data, None


def _open_query(
    data: Mapping[str, str],
    base: Path,
    where: str | None,
    needed: Callable[[pl.Schema], Collection[str]] | None,
    *,
    rows: bool,
) -> Source:
    if not all(isinstance(text, str) for text in data.values()):
        raise ConfigError(Problem("database and query are texts", ("data",), _ACCEPTED))
    from plmetrics.table.database.query import open_query

    return open_query(data, base, where, needed, rows=rows)


def _open_spark(data: object, *, rows: bool) -> Source:
    if rows:
        msg = "the rows of a Spark table are not read here: Spark makes states of them"
        raise ConfigError(Problem(msg, ("data",), "use plmetrics run or plm.evaluate"))
    from plmetrics.table.database.spark import open_spark

    return open_spark(data["spark"] if isinstance(data, Mapping) else data)


def _paths(data: object) -> list[str]:
    if isinstance(data, (str, Path)):
        return [str(data)]
    if not isinstance(data, (list, tuple)):
        message = f"{kind_name(data)} is not a prediction table"
        raise ConfigError(Problem(message, path=("data",), hint=_ACCEPTED))
    if not data:
        raise ConfigError(Problem("the list of paths is empty", path=("data",), hint=_ACCEPTED))
    others = {kind_name(path) for path in data if not isinstance(path, (str, Path))}
    if others:
        message = f"a list must hold paths only, but this one holds {name_list(sorted(others))}"
        raise ConfigError(Problem(message, path=("data",), hint=_ACCEPTED))
    return [str(path) for path in data]
