"""Drivers by kind of database: a query's rows as Arrow batches, in one read-only statement.

The values of MySQL and MariaDB come as texts, and columns of these are cast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import polars as pl

from plmetrics.core.errors import AbsentDataError, ConfigError, DataError, Problem, needs_extra

if TYPE_CHECKING:
    import pyarrow as pa

    from plmetrics.core.names import SuitePath

_PATH = ("data", "database")
_EXAMPLE = (
    "write an address such as postgresql://user@host/name, sqlite:///scores.db or duckdb:///scores.duckdb"
)
_SERVERS = {"postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql"}
_READ_ONLY = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"

_POSTGRESQL_TYPE = b"POSTGRESQL:type"
_MYSQL_TYPE = b"MYSQL:type"
_DECIMAL = {_MYSQL_TYPE: b"decimal"}
_YEAR = {_MYSQL_TYPE: b"year"}
_EARLIEST = -2_440_588
"""The first day of PostgreSQL, in 4713 BC, in days of 1970."""
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EXACT = 2**53
_LONG_WHOLE = r"^(-?[0-9]{16,38})(?:\.0*)?$"
CAST = "leave it out of the query, or CAST it to a number or a text"
_CAST_WHOLE = "CAST it to a whole number or a text; or to DOUBLE PRECISION, where it may be rounded"
_ONE_TYPE = "CAST it to one type; where its first rows are null, add ORDER BY {name} IS NULL to the query"
_MISMATCH = re.compile(r"Type mismatch in column (\d+): expected (\w+) but got (\w+)")
_BATCH = 50_000
_TIMEOUT = 10
_SESSION = ("SET SESSION TRANSACTION READ ONLY", "SET time_zone = '+00:00'")
_STATES = {
    **dict.fromkeys((1064, 1149), "42601"),
    **dict.fromkeys((1054, 1060, 1146, 1305), "42000"),
    **dict.fromkeys((1142, 1143), "42501"),
    **dict.fromkeys((1292, 1365, 1411, 1690), "22000"),
    1792: "25006",
}
"""The SQLSTATE of errors by their number, which is all that the driver tells: of the query, of rights, of values."""


def address_error(path: SuitePath, hint: str, kind: str = "") -> ConfigError:
    """Error of a text without a database's address, or one of a kind; it may hold a password."""
    return ConfigError(Problem(f"this is not the address of a database{kind}", path, hint))


class Database(NamedTuple):
    """Readable database of a kind: `shown` is its address without password and options.

    Those of one kind speak one dialect: MariaDB is of the kind `mysql`.
    """

    kind: str
    shown: str
    password: str
    batches: Callable[[str], AbstractContextManager[pa.RecordBatchReader]]


def database_of(address: str, base: Path) -> Database:
    """The database of an address; its file, if it is one, is relative to a folder. Nothing is connected yet.

    Raises:
        ConfigError: the address is of no database that can be read. Nothing of it is in the message, as it may hold a
            password.
        AbsentDataError: there is no such file.
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise address_error(_PATH, _EXAMPLE) from None
    kind = parts.scheme.partition("+")[0]
    if kind in _SERVERS:
        user = f"{parts.username}@" if parts.username else ""
        place = f"{user}{host or ''}{f':{port}' if port else ''}"
        kind, plain = _SERVERS[kind], address.replace(parts.scheme, _SERVERS[kind], 1)
        return Database(
            kind,
            f"{kind}://{place}{parts.path}",
            unquote(parts.password or ""),
            lambda query: (_postgresql if kind == "postgresql" else mysql_batches)(plain, query),
        )
    if kind not in {"sqlite", "duckdb"} or not parts.path.strip("/"):
        raise address_error(_PATH, _EXAMPLE, " that can be read")
    file = Path(os.path.normpath(Path.cwd() / base / unquote(parts.path[1:])))
    shown = f"{kind}:///{unquote(parts.path[1:])}"
    if not file.is_file():
        raise AbsentDataError(Problem(f"{shown}: no such file", _PATH))
    read = _sqlite if kind == "sqlite" else _duckdb
    return Database(kind, shown, "", lambda query: read(file, query))


@contextmanager
def _postgresql(address: str, query: str) -> Iterator[pa.RecordBatchReader]:
    with needs_extra("database", "reading from PostgreSQL"):
        from adbc_driver_postgresql import dbapi
    with dbapi.connect(_with_timeout(address)) as connection, connection.cursor() as cursor:
        cursor.execute(_READ_ONLY)
        connection.commit()
        cursor.execute(query)
        with cursor.fetch_record_batch() as batches:
            yield batches


def _with_timeout(address: str) -> str:
    """An address with a limit on the time that its server takes to answer, unless it has one.

    >>> _with_timeout("postgresql://host/name"), _with_timeout("postgresql://host/name?connect_timeout=3")
    ('postgresql://host/name?connect_timeout=10', 'postgresql://host/name?connect_timeout=3')
    """
    query = urlsplit(address).query
    if "connect_timeout=" in query:
        return address
    return f"{address}{'&' if query else '?'}connect_timeout={_TIMEOUT}"


@contextmanager
def _sqlite(file: Path, query: str) -> Iterator[pa.RecordBatchReader]:
    with needs_extra("database", "reading from SQLite"):
        from adbc_driver_sqlite import dbapi
    with dbapi.connect(f"{file.as_uri()}?mode=ro") as connection, connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": _BATCH})
        cursor.execute(query)
        with cursor.fetch_record_batch() as batches:
            try:
                yield batches
            except OSError as error:
                if (mismatch := _MISMATCH.search(str(error))) is None:
                    raise
                name = batches.schema.names[int(mismatch[1])]
                types = f"{mismatch[2]} in its first {_BATCH:,} rows (as nulls alone are), then {mismatch[3]}"
                raise DataError(
                    Problem(f"column '{name}' is {types}", ("data", "query"), _ONE_TYPE.format(name=name))
                ) from error


@contextmanager
def _duckdb(file: Path, query: str) -> Iterator[pa.RecordBatchReader]:
    with needs_extra("duckdb", "reading from DuckDB"):
        import duckdb
        import pyarrow as pa

    with duckdb.connect(str(file), read_only=True) as connection:
        rows = connection.sql(query)
        if rows is None:
            msg = "the query gives no rows"
            raise ConfigError(Problem(msg, ("data", "query"), "write SELECT ..."))
        with pa.RecordBatchReader.from_stream(rows) as batches:
            yield batches


@contextmanager
def mysql_batches(address: str, query: str) -> Iterator[pa.RecordBatchReader]:
    """The rows of a query, read as they come; times of the type TIMESTAMP are in UTC.

    Raises:
        EnvironmentFault: an extra is not installed.
        DataError: a column has values that its type does not.
    """
    with needs_extra("database", "reading from MySQL"):
        import pyarrow as pa
        import pymysql
        from pymysql.cursors import SSCursor
        from sqlalchemy import make_url
    url = make_url(address).set(drivername="mysql+pymysql")
    arguments = url.get_dialect()().create_connect_args(url)[1]
    options = {"connect_timeout": _TIMEOUT, **arguments, "conv": _converters(), "cursorclass": SSCursor}
    try:
        # Its limits on the time of an answer are those of queries, too, which may take long: so it is greeted first.
        pymysql.connect(**options | {"read_timeout": _TIMEOUT}).close()
        with closing(pymysql.connect(**options)) as connection, connection.cursor() as cursor:
            for statement in _SESSION:
                cursor.execute(statement)
            cursor.execute(query)
            schema = pa.schema([_field(name, code) for name, code, *_ in cursor.description])
            yield pa.RecordBatchReader.from_batches(schema, _batches(cursor, schema))
    except pymysql.MySQLError as error:
        number, *words = error.args or (0,)
        error.sqlstate, error.args = _STATES.get(int(number)), tuple(words)
        raise


def _converters() -> dict[Any, Any]:
    """Converters of the driver: integers for BIT columns, text for all others, which are cast later."""
    from pymysql.constants import FIELD_TYPE
    from pymysql.converters import encoders

    return {**encoders, FIELD_TYPE.BIT: lambda bits: str(int.from_bytes(bits, "big"))}


def _field(name: str, code: int) -> pa.Field:
    """A column; other than numbers and dates stays text."""
    import pyarrow as pa
    from pymysql.constants import FIELD_TYPE as OF

    whole = (OF.TINY, OF.SHORT, OF.INT24, OF.LONG, OF.LONGLONG, OF.YEAR, OF.BIT)
    types = {
        **dict.fromkeys(whole, pa.int64()),
        **dict.fromkeys((OF.DOUBLE, OF.DECIMAL, OF.NEWDECIMAL), pa.float64()),
        OF.FLOAT: pa.float32(),
        **dict.fromkeys((OF.DATE, OF.NEWDATE), pa.date32()),
        **dict.fromkeys((OF.DATETIME, OF.TIMESTAMP), pa.timestamp("us")),
        OF.NULL: pa.null(),
    }
    marks = {OF.DECIMAL: _DECIMAL, OF.NEWDECIMAL: _DECIMAL, OF.YEAR: _YEAR}
    return pa.field(name, types.get(code, pa.string()), metadata=marks.get(code))


def _batches(cursor: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while rows := cursor.fetchmany(_BATCH):
        columns = zip(schema, zip(*rows, strict=True), strict=True)
        yield pa.record_batch([_column(field, values) for field, values in columns], schema=schema)


def _column(field: pa.Field, values: Sequence[str | bytes | None]) -> pa.Array:
    """Typed values of a column from their texts.

    Raises:
        DataError: its type does not hold one of them, such as the date 0000-00-00.
    """
    import pyarrow as pa

    if field.metadata == _DECIMAL:
        return decimal_numbers(pl.Series(field.name, values, pl.String)).to_arrow()
    try:
        return pa.array(values).cast(field.type)
    except pa.ArrowInvalid as error:
        msg = f"column '{field.name}' has a value that cannot be read: {error}"
        raise DataError(Problem(msg, ("data", "query"), CAST)) from error


def postgresql_type(field: pa.Field) -> str:
    """The name of a column's type in PostgreSQL, that of a list with `_` before it; nothing elsewhere."""
    name: bytes = (field.metadata or {}).get(_POSTGRESQL_TYPE, b"")
    return name.decode()


def mysql_type(field: pa.Field) -> str:
    """The name of a column's type in MySQL where its values are those of another; nothing elsewhere."""
    name: bytes = (field.metadata or {}).get(_MYSQL_TYPE, b"")
    return name.decode()


def check_moments(field: pa.Field, column: pa.ChunkedArray) -> None:
    """Refuse dates and times that Polars has not, also in lists: it would take them for others, or for null.

    'infinity' of PostgreSQL, and what lies beyond the 64 bits from 1970 on, overflow in its driver to times before any
    of PostgreSQL; DuckDB's is the largest number, in seconds beyond Polars' milliseconds. No time of day is 24:00.

    Raises:
        DataError: there is one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values, nested = column, pa.types.is_nested(column.type)
    while pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        values = pc.list_flatten(values)
    ends = _ends_of_moments(values.type, is_postgresql=bool(postgresql_type(field)))
    if ends is None:
        return
    numbers = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())
    least, most = pc.min_max(numbers).as_py().values()
    if least is not None and not (ends[0] <= least and most <= ends[1]):
        name = field.name
        msg = f"column '{name}' has a date or time that cannot be read, such as 'infinity' or 24:00"
        hint = f"write CASE WHEN isfinite({name}) THEN {name} END in the query for null in its place"
        unlike = nested or pa.types.is_time(values.type)
        raise DataError(Problem(msg, ("data", "query"), CAST if unlike else hint))


def _ends_of_moments(dtype: pa.DataType, *, is_postgresql: bool) -> tuple[int, int] | None:
    """The first and the last date, time or time of day that can be read, in its unit; None of other types."""
    import pyarrow as pa

    if pa.types.is_time(dtype):
        return 0, 86_400 * _TICKS[dtype.unit] - 1
    if not (pa.types.is_date32(dtype) or pa.types.is_timestamp(dtype)):
        return None
    if pa.types.is_date32(dtype):
        last, first = 2**31 - 2, _EARLIEST
    else:
        last = (2**63 - 2) // (1000 if dtype.unit == "s" else 1)
        first = _EARLIEST * 86_400 * _TICKS[dtype.unit]
    return (first if is_postgresql else -last), last


def decimal_numbers(texts: pl.Series) -> pl.Series:
    """Exact decimals in 64 bits, from their texts.

    Raises:
        DataError: a whole number is none of 64 bits: a key would be that of other rows.
    """
    numbers = texts.cast(pl.Float64)
    large = numbers.abs() >= _EXACT
    whole = texts.filter(large).str.extract(_LONG_WHOLE).cast(pl.Int128)
    rounded = whole != numbers.filter(large).cast(pl.Int128, strict=False)
    if rounded.any():
        msg = (
            f"column '{texts.name}' has decimals that a number of 64 bits rounds: {whole.filter(rounded)[0]}"
        )
        raise DataError(Problem(msg, ("data", "query"), _CAST_WHOLE))
    return numbers


def _uuid_texts(values: pl.Series) -> pl.Series:
    """UUIDs as the server writes them, from their bytes."""
    return values.bin.encode("hex").str.replace("^(.{8})(.{4})(.{4})(.{4})", "$1-$2-$3-$4-")


def _without_padding(texts: pl.Series) -> pl.Series:
    """Values of CHAR(n) without the blanks that fill them up and mean nothing."""
    return texts.str.strip_chars_end(" ")


POSTGRESQL_FORMS: Mapping[str, Callable[[pl.Series], pl.Series]] = {
    "numeric": decimal_numbers,
    "uuid": _uuid_texts,
    "bpchar": _without_padding,
}
"""By type of PostgreSQL the values of a column, where the driver has others: bytes, or blanks behind."""
