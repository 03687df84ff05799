"""Rows of a query, read in one statement into a temporary parquet file.

A database has no second reading of the same rows: they may change between two scans, which a run needs.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from plmetrics.core.errors import ConfigError, DataError, EnvironmentFault, PlmetricsError, Problem
from plmetrics.core.redaction import mask_address
from plmetrics.table.database.drivers import (
    CAST,
    POSTGRESQL_FORMS,
    Database,
    check_moments,
    database_of,
    postgresql_type,
)
from plmetrics.table.files import Complaints, SourceFile, stamp_of
from plmetrics.table.formats import parquet
from plmetrics.table.formats.hive import FILE_PATH, Partitions
from plmetrics.table.formats.reader import Reader
from plmetrics.table.source import Source, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = "query"
_FILE = "rows.parquet"
_GROUP = 500_000
_SAMPLE = 1000
_SEED = 17
_WORD = 1 << 64
_STATE = re.compile(r"SQLSTATE: (?P<state>\w{5})")
_UNREAD = re.compile(r"interval|extension<|month_day_nano|_union<|^money$|^oid$")
_MISREAD = ("money", "oid")
"""Types of PostgreSQL that its driver has as cents, and as numbers that are negative from 2^31 on."""
_NOT_READ = re.compile(r"read-?only (mode|database)|: syntax error|data-modifying|CTE needs a SELECT")
_ALIAS = "plmetrics_rows"
_WHOLE_QUERY = re.compile(rf" query: SELECT (?:\* |{_ALIAS}\.\".*?)FROM \( | Query was: ")
_VALUE_FAULT = re.compile(r"ERROR: (division by zero|invalid input|.* out of range)")
_PATH = ("data", "query")
_NOT_SELECT = ("42601", "25006", "0A000")
_DENIED = "42501"
_DATA_FAULTS = ("22", "42")


def open_query(
    data: Mapping[str, str],
    base: Path,
    where: str | None = None,
    needed: Callable[[pl.Schema], Collection[str]] | None = None,
    *,
    rows: bool = True,
) -> Source:
    """The rows of a query as a table of one file.

    Args:
        data: `database`, an address, and `query`, its SELECT statement.
        base: the folder that the path of a database's file starts from.
        where: a condition on all rows that will be read: the database leaves out rows that it rules out.
        needed: the columns that are read of those of the query: the database leaves out the others.
        rows: whether all rows are read, not only some; these have all columns whose type is read.

    Raises:
        ConfigError: the address is none, or the query is not SQL that reads.
        DataError: a table or column is absent, or a value cannot be read.
        EnvironmentFault: the database cannot be reached or refuses, or an extra is not installed.
    """
    database = database_of(data["database"], base)
    query = f"(\n{_one_statement(data['query'], database.kind)}\n) AS {_ALIAS}"
    scratch = _Scratch()
    try:
        with _faults(database):
            part = _part(database, query, where if rows else None, needed, rows=rows)
            statement = f"SELECT {part.columns} FROM {query}{part.end}"
            with database.batches(statement) as batches:
                digest = _write(batches, scratch.folder / _FILE, part.types)
        return _source(scratch, digest, database)
    except BaseException:
        scratch.remove()
        raise


class _Scratch:
    """Temporary folder, removed with the last table of its files, and when Python ends."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="plmetrics-query-"))
        self.remove = weakref.finalize(self, shutil.rmtree, str(self.folder), ignore_errors=True)


def _source(scratch: _Scratch, digest: str, database: Database) -> Source:
    path = scratch.folder / _FILE
    facts = SourceFile(str(path), _NAME, path.stat().st_size, stamp=stamp_of(path))
    complaints = Complaints()
    (file,), stored = parquet.inspect([facts], complaints)
    complaints.settle()
    file = replace(file, digest=digest, origin=database.shown)
    values = pl.DataFrame({FILE_PATH: [file.path]})
    reader = Reader(parquet, (file,), stored, Partitions(pl.Schema(), values, native=True))
    frame = reader.rows()
    schema = schema_of(frame)
    return Source(frame, schema, reader.files, kind="query", rows=file.rows, reader=reader, resource=scratch)


def _one_statement(query: str, kind: str) -> str:
    """The query without a semicolon at its end.

    Raises:
        ConfigError: another statement follows.
    """
    from sqlglot import tokenize
    from sqlglot.errors import SqlglotError

    try:
        tokens = tokenize(query, read="mysql" if kind == "mysql" else "postgres")
    except SqlglotError:  # which the database explains
        return query.strip().rstrip(";")
    ends = [token.start for token in tokens if token.token_type.name == "SEMICOLON"]
    if ends and tokens[-1].start > ends[0] and tokens[-1].token_type.name != "SEMICOLON":
        raise ConfigError(
            Problem("the query is more than one statement", _PATH, "write one SELECT statement")
        )
    return query[: ends[0]] if ends else query


class _Part(NamedTuple):
    """Part of a query to read: its columns and further SQL clauses, and the types of columns, independent of rows."""

    columns: str
    end: str
    types: pl.Schema


def _part(
    database: Database,
    query: str,
    where: str | None,
    needed: Callable[[pl.Schema], Collection[str]] | None,
    *,
    rows: bool,
) -> _Part:
    """Required columns, and the rows left by the database of a condition.

    Columns of SQLite are of the types of their first values, which others of the same column are read as.
    """
    limit = "" if rows else f" LIMIT {_SAMPLE}"
    if where is None and needed is None and database.kind != "mysql":
        return _Part("*", limit, pl.Schema())
    varies = database.kind == "sqlite"
    with database.batches(f"SELECT * FROM {query} LIMIT {_SAMPLE if varies else 0}") as batches:
        schema = batches.schema
    _check_names(schema)
    condition = None
    if where is not None:
        from plmetrics.table.database.pushdown import database_condition

        condition = database_condition(where, schema, database.kind)
    types = _types(schema)
    chosen = list(types) if needed is None else _chosen(types, needed, rows=rows)
    narrow = {name for name in chosen if database.kind == "mysql" and types[name] == pl.Float32}
    listed = (_column(name, database.kind, wide=name in narrow) for name in chosen)
    columns = "*" if len(chosen) == len(types) and not narrow else ", ".join(listed)
    fixed = {
        name: types[name]
        for name in chosen
        if name in narrow or (varies and condition is not None and types[name] in {pl.Float64, pl.String})
    }
    return _Part(columns, limit if condition is None else f" WHERE {condition}{limit}", pl.Schema(fixed))


def _types(schema: pa.Schema) -> pl.Schema:
    """The columns of a query as Polars has them; null where their type is not read."""
    import pyarrow as pa

    readable = pa.schema([field for field in schema if not _is_unread(field)])
    types = _frame([readable.empty_table()], readable).schema
    return pl.Schema({name: types.get(name, pl.Null()) for name in schema.names})


def _chosen(types: pl.Schema, needed: Callable[[pl.Schema], Collection[str]], *, rows: bool) -> list[str]:
    """Columns to read; all of them if names differ in case alone, as databases may ignore case."""
    if len({name.casefold() for name in types}) < len(types):
        return list(types)
    columns = needed(types)
    chosen = [name for name in types if name in columns or not (rows or types[name] == pl.Null())]
    return chosen or list(types)


def _column(name: str, kind: str, *, wide: bool) -> str:
    """A column in SQL, with `wide` as a number of 64 bits: MySQL writes those of 32 bits with six digits.

    SQLite takes a name without its table for a text, where it knows no such column.
    """
    quote = "`" if kind == "mysql" else '"'
    quoted = quote + name.replace(quote, quote * 2) + quote
    return f"{_ALIAS}.{quoted}{' + 0E0' * wide} AS {quoted}"


def _write(batches: pa.RecordBatchReader, path: Path, types: pl.Schema) -> str:
    """Write the rows of a query, and give their identity: a hash of columns and rows, independent of their order."""
    import pyarrow.parquet as pq

    schema = batches.schema
    _check_columns(schema)
    content, count = 0, 0
    empty = _frame([schema.empty_table()], schema).cast(types)
    with pq.ParquetWriter(path, empty.to_arrow().schema, compression="lz4", use_dictionary=False) as writer:
        for group in _groups(batches):
            frame = _frame(group, schema).cast(types)
            writer.write_table(frame.to_arrow(), row_group_size=_GROUP)
            content = (content + int(frame.hash_rows(_SEED).cast(pl.UInt128).sum())) % _WORD
            count += frame.height
    columns = [(name, str(dtype)) for name, dtype in empty.schema.items()]
    return blake2b(repr((columns, count, content)).encode(), digest_size=16).hexdigest()


def _check_columns(schema: pa.Schema) -> None:
    """Refuse columns impossible in our tables.

    Raises:
        ConfigError: several share a name.
        DataError: there are values in them that are no numbers, texts, times or lists of these.
    """
    _check_names(schema)
    problems = [
        Problem(f"column '{field.name}' is of a type that is not read: {_type_text(field)}", _PATH, CAST)
        for field in schema
        if _is_unread(field)
    ]
    if problems:
        raise DataError(problems)


def _check_names(schema: pa.Schema) -> None:
    twice = sorted(name for name, count in Counter(schema.names).items() if count > 1)
    if twice:
        message = f"the query has several columns of one name: {', '.join(twice)}"
        raise ConfigError(Problem(message, _PATH, "name each column once, as in a.score AS a_score"))


def _is_unread(field: pa.Field) -> bool:
    return _UNREAD.search(_type_text(field)) is not None


def _type_text(field: pa.Field) -> str:
    """The type of a column, or its name in PostgreSQL where the driver reads other values."""
    name = postgresql_type(field).removeprefix("_")
    return name if name in _MISREAD else str(getattr(field.type, "storage_type", field.type))


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Batches of a driver, small ones together; the next ones are on their way while some are in use."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(_group, batches)
        while group := coming.result():
            coming = thread.submit(_group, batches)
            yield group


def _group(batches: Iterator[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Batches of about as many rows as are written together; none at the end."""
    group: list[pa.RecordBatch] = []
    for batch in batches:
        group.append(batch)
        if sum(part.num_rows for part in group) >= _GROUP:
            break
    return group


def _frame(parts: list[pa.RecordBatch | pa.Table], schema: pa.Schema) -> pl.DataFrame:
    """Rows as a Polars frame, with those values of PostgreSQL that its driver has in another form."""
    import pyarrow as pa

    tables = [part if isinstance(part, pa.Table) else pa.Table.from_batches([part]) for part in parts]
    table = pa.concat_tables(tables)
    for field in schema:
        check_moments(field, table[field.name])
    columns = {name: _storage(table[name]) for name in table.column_names}
    frame = pl.DataFrame(pl.from_arrow(pa.table(columns)))
    forms = {field.name: POSTGRESQL_FORMS.get(postgresql_type(field)) for field in schema}
    return frame.with_columns(form(frame[name]) for name, form in forms.items() if form is not None)


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as it is stored, where its type is one of the database's own."""
    import pyarrow as pa

    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([chunk.storage for chunk in column.chunks], type=column.type.storage_type)


@contextmanager
def _faults(database: Database) -> Iterator[None]:
    """Errors of a driver as ours."""
    try:
        yield
    except PlmetricsError:
        raise
    except Exception as error:  # each driver has its own
        raise _fault(error, database) from None


def _fault(error: Exception, database: Database) -> PlmetricsError:
    """Message of a driver, on one line and without the password."""
    text = " ".join(str(error).split())
    if database.password:
        text = text.replace(database.password, "***")
    match = _STATE.search(str(error))
    state = getattr(error, "sqlstate", None) or (match["state"] if match else None) or ""
    words = f"{database.shown}: {mask_address(_WHOLE_QUERY.split(text, 1)[0])}"
    is_not_read = type(error).__name__ == "ParserException" or _NOT_READ.search(text) is not None
    if state in _NOT_SELECT or is_not_read:
        return ConfigError(Problem(words, _PATH, "write one SELECT statement, in the words of the database"))
    if state == _DENIED or isinstance(error, PermissionError):
        return EnvironmentFault(Problem(words, _PATH))
    is_of_data = type(error).__name__ in {
        "ProgrammingError",
        "DataError",
        "CatalogException",
        "BinderException",
    }
    is_value = "Type mismatch" in text or _VALUE_FAULT.search(text) is not None
    if state.startswith(_DATA_FAULTS) or is_of_data or is_value:
        return DataError(Problem(words, _PATH))
    return EnvironmentFault(Problem(words, ("data", "database")))
