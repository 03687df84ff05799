"""Drivers by kind of database: a query's rows as Arrow batches, in one statement that may only read."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from plmetrics.core.errors import AbsentDataError, ConfigError, Problem, needs_extra
from plmetrics.table.database.mysql import mysql_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from plmetrics.core.names import SuitePath

_PATH = ("data", "database")
_EXAMPLE = (
    "write an address such as postgresql://user@host/name, sqlite:///scores.db or duckdb:///scores.duckdb"
)
_SERVERS = {"postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql"}
_READ_ONLY = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"


def address_error(path: SuitePath, hint: str, kind: str = "") -> ConfigError:
    """The error of a text that is the address of no database, or of none of a kind; it may hold a password."""
    return ConfigError(Problem(f"this is not the address of a database{kind}", path, hint))


class Database(NamedTuple):
    """A database that can be asked, of a kind: `shown` is its address without password and options.

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
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(_READ_ONLY)
        connection.commit()
        cursor.execute(query)
        with cursor.fetch_record_batch() as batches:
            yield batches


@contextmanager
def _sqlite(file: Path, query: str) -> Iterator[pa.RecordBatchReader]:
    with needs_extra("database", "reading from SQLite"):
        from adbc_driver_sqlite import dbapi
    with dbapi.connect(f"{file.as_uri()}?mode=ro") as connection, connection.cursor() as cursor:
        cursor.execute(query)
        with cursor.fetch_record_batch() as batches:
            yield batches


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
