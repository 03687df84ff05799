"""Tables in a database: created if absent, extended by missing columns, never changed else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
from sqlalchemy import (
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
    inspect,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.schema import CreateColumn, CreateTable
from sqlalchemy.types import TypeDecorator, TypeEngine

from plmetrics.exports.tidy import MOMENT, TABLES

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Dialect

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
