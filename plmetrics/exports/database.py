"""Results in a database: the rows of an interval are replaced in one transaction."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    delete,
    func,
    insert,
    inspect,
    make_url,
    select,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateColumn, CreateTable
from sqlalchemy.types import TypeDecorator, TypeEngine

from plmetrics.core.errors import ConfigError, EnvironmentFault, Problem, needs_extra
from plmetrics.exports.protocol import EndedRun, output_path
from plmetrics.exports.tidy import MOMENT, TABLES, run_tables
from plmetrics.table.database.drivers import address_error

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Dialect, Engine, Select

    from plmetrics.suite.yaml.load import LoadedSuite

PREFIX = "plmetrics_"
PLACE = "position"
"""The column that numbers the rows of a run, as they stand in the run folder."""

_LONGEST_KEY = 100
_COLLATION = "utf8mb4_bin"
_MYSQL = {"engine": "InnoDB", "charset": "utf8mb4", "collate": _COLLATION}
"""Transactions, every character, and names that differ by case alone: whatever the server's defaults are."""


class UtcDatetime(TypeDecorator[Any]):
    """A time in UTC: with its zone in PostgreSQL; without one elsewhere."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The type of the column."""
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime(timezone=dialect.name == "postgresql"))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Value to write: all times of results are in UTC."""
        return value if value is None or dialect.name == "postgresql" else value.replace(tzinfo=None)


def database_tables() -> Mapping[str, Table]:
    """Tables by name, in the order of writing."""
    metadata = MetaData()
    return {name: _table(name, schema, metadata) for name, schema in TABLES.items()}


def _table(name: str, schema: pl.Schema, metadata: MetaData) -> Table:
    keys = ["suite", "run_key"] if name == "runs" else ["suite", "run_key", PLACE]
    columns: list[Any] = [
        Column("suite", String(_LONGEST_KEY), primary_key=True),
        Column("run_key", String(_LONGEST_KEY), primary_key=True),
    ]
    if PLACE in keys:
        columns.append(Column(PLACE, Integer, primary_key=True, autoincrement=False))
    others = {column: dtype for column, dtype in schema.items() if column not in keys}
    columns += [Column(column, _type(dtype)) for column, dtype in others.items()]
    options: dict[str, Any] = {
        f"{dialect}_{key}": value for dialect in ("mysql", "mariadb") for key, value in _MYSQL.items()
    }
    return Table(f"{PREFIX}{name}", metadata, *columns, **options)


def _type(dtype: pl.DataType) -> TypeEngine[Any]:
    if dtype == MOMENT:
        return UtcDatetime()
    if dtype == pl.Float64:
        return Double()
    if dtype == pl.Int64:
        return BigInteger()
    if dtype == pl.Boolean:
        return Boolean()
    return Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")


def prepare_tables(connection: Connection, tables: Mapping[str, Table]) -> None:
    """Create absent tables, and add the columns unknown to an earlier version."""
    inspector = inspect(connection)
    present = set(inspector.get_table_names())
    for table in tables.values():
        if table.name not in present:
            connection.execute(CreateTable(table, if_not_exists=True))
            continue
        columns = {column["name"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            if column.name not in columns:
                _add_column(connection, table, column)


def _add_column(connection: Connection, table: Table, column: Column[Any]) -> None:
    name = connection.dialect.identifier_preparer.format_table(table)
    definition = CreateColumn(column).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {definition}")


_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
    "sqlite": "sqlite",
}
_EXAMPLE = "write an address such as postgresql://user:password@host/name, or sqlite:///metrics.db"
_PATH = ("output", "database")
_PATIENCE = {"sqlite": {"timeout": 30}, "postgresql": {"connect_timeout": 10}}
_MYSQL_PATIENCE = {"connect_timeout": 10, "read_timeout": 120, "write_timeout": 120}
"""Seconds, of MySQL and MariaDB for each answer: more than a server waits for a lock."""
_BATCH = 5000
_ATTEMPTS = 8
_PAUSE = 0.1
_LOCK_PATIENCE = "60s"
# Deadlocks, lost races, and tables or columns that another run has made meanwhile.
_TRANSIENT = {"40001", "40P01", "23505", "42P07", "42701", 1213, 1020, 1050, 1060, 1062}
_RACES = ("already exists", "duplicate column")


@dataclass(frozen=True, slots=True)
class DatabaseTarget:
    """The tables `plmetrics_*` of a database."""

    url: URL

    @property
    def description(self) -> str:
        """The database, without password and options."""
        return f"the database {shown_address(self.url)}"

    def write(self, run: EndedRun) -> None:
        """Replace the rows of a run's interval, of all tables or of none; leave them where they are of this run.

        Raises:
            EnvironmentFault: the server cannot be reached, refuses, or goes away.
        """
        assert run.result is not None
        tables = run_tables(run, run.result)
        engine = open_engine(self.url)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return _write(engine, run, tables)
            except DBAPIError as error:
                if not _is_transient(error) or attempt == _ATTEMPTS:
                    words = driver_words(self.url, error.orig or error)
                    raise EnvironmentFault(Problem(words)) from error
            except SQLAlchemyError as error:
                raise EnvironmentFault(Problem(driver_words(self.url, error))) from error
            time.sleep(random.uniform(0, _PAUSE * 2**attempt))
        return None


def database_target(loaded: LoadedSuite, address: str) -> DatabaseTarget:
    """The target of `output.database`. Nothing is connected yet."""
    url = read_address(loaded, address)
    open_engine(url)
    return DatabaseTarget(url)


def _write(engine: Engine, run: EndedRun, frames: Mapping[str, pl.DataFrame]) -> None:
    tables = database_tables()
    with engine.begin() as connection:
        prepare_tables(connection, tables)
        # Not in the transaction that writes: what MariaDB reads before its lock, it reads again after it.
        if connection.scalar(_stored_run(tables["runs"], run)) == run.run_id:
            return
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_PATIENCE}'")
        # The row of the run comes first: who writes the same interval waits here until the other is done.
        _upsert_run(connection, tables["runs"], frames["runs"].row(0, named=True))
        for name, frame in frames.items():
            if name != "runs":
                _replace(connection, tables[name], run, _plain(frame.with_row_index(PLACE)))


def _stored_run(table: Table, run: EndedRun) -> Select[Any]:
    return select(table.c.run_id).where(table.c.suite == run.name, table.c.run_key == run.key)


def _upsert_run(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    keys = [column.name for column in table.primary_key]
    changes = {name: value for name, value in row.items() if name not in keys}
    if connection.dialect.name in {"mysql", "mariadb"}:
        connection.execute(mysql.insert(table).values(row).on_duplicate_key_update(changes))
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    insert = dialect.insert(table).values(row)
    connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changes))


def _replace(connection: Connection, table: Table, run: EndedRun, frame: pl.DataFrame) -> None:
    of_run = (table.c.suite == run.name) & (table.c.run_key == run.key)
    # A deletion of nothing would lock the gap that other intervals are inserted into, in MariaDB.
    if connection.scalar(select(func.count()).select_from(table).where(of_run)):
        connection.execute(delete(table).where(of_run))
    for batch in frame.iter_slices(_BATCH):
        connection.execute(insert(table), batch.to_dicts())


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Nested values as JSON; a character invalid in PostgreSQL's texts is replaced."""
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    json = [
        pl.when(pl.col(name).is_not_null())
        .then(pl.struct(name).struct.json_encode())
        .str.strip_prefix(f'{{"{name}":')
        .str.strip_suffix("}")
        .alias(name)
        for name in nested
    ]
    return frame.with_columns(json).with_columns(
        pl.col(pl.String).str.replace_all("\0", "\ufffd", literal=True)
    )


def _is_transient(error: DBAPIError) -> bool:
    """Whether it may succeed if it is tried again: a lost connection and a full disk may not."""
    if error.connection_invalidated or error.orig is None:
        return False
    first = next(iter(error.orig.args), None)
    made_meanwhile = isinstance(first, str) and any(words in first for words in _RACES)
    return made_meanwhile or not _TRANSIENT.isdisjoint({getattr(error.orig, "sqlstate", None), first})


def read_address(loaded: LoadedSuite, text: str) -> URL:
    """The address of a database, with a driver; a file of SQLite is relative to the suite's folder.

    Raises:
        ConfigError: it is none, or of a database that is not supported. Nothing of the text is in the message, as it
            may hold a password.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise address_error(_PATH, _EXAMPLE) from None
    backend = url.get_backend_name()
    if backend not in _DRIVERS:
        msg = "the database must be PostgreSQL, MariaDB, MySQL or SQLite"
        raise ConfigError(Problem(msg, _PATH, _EXAMPLE))
    if "+" not in url.drivername:
        url = url.set(drivername=_DRIVERS[backend])
    if backend != "sqlite":
        return url
    if not url.database or url.database.startswith((":", "file:")):
        raise ConfigError(Problem("the database must be a file", _PATH, "write sqlite:///metrics.db"))
    return url.set(database=str(output_path(loaded, url.database, _PATH)))


def open_engine(url: URL) -> Engine:
    """Engine with a connection per use, and no open one otherwise.

    Raises:
        EnvironmentFault: the driver is not installed.
    """
    patience = _PATIENCE.get(url.get_backend_name(), _MYSQL_PATIENCE)
    arguments: dict[str, Any] = {key: value for key, value in patience.items() if key not in url.query}
    with needs_extra("database", "writing to a database"):
        return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=arguments)


def shown_address(url: URL) -> str:
    """An address without driver, password and options."""
    return url.set(drivername=url.get_backend_name(), query={}).render_as_string(hide_password=True)


def driver_words(url: URL, error: BaseException) -> str:
    """Message of a driver on one line, without the password."""
    text = " ".join(str(error).split())
    password = str(url.password or "")
    return text.replace(password, "***") if password else text
