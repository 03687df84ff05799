"""Pairs of columns of the evaluated and the training table: their types, and their values in a form that compares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.rowsql.dtypes import NANOSECONDS, nanoseconds, time_unit
from plmetrics.table.common_types import as_type, common_type
from plmetrics.table.prediction_columns import require

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.features.leakage.leakage_section import Leakage
    from plmetrics.table.source import Source

_PATH = ("leakage",)
_TIME = "time"
_NO_EQUALS = "they must be of one type: none of their values would be equal"
_NO_ORDER = (
    "they must be both whole numbers, both floats, or both times with a time zone, or without one as dates are: "
    "else neither is the later one"
)

Types = tuple[pl.DataType, pl.DataType]


def column_pairs(spec: Leakage) -> list[tuple[str, str, SuitePath]]:
    """The columns of both tables, with their names in the training table."""
    keys = spec.keys or ()
    pairs: list[tuple[str, str, SuitePath]] = [
        (name, train_name, (*_PATH, "keys", place))
        for place, (name, train_name) in enumerate(zip(keys, spec.train_keys or keys, strict=True))
    ]
    if spec.time is not None:
        pairs.append((spec.time, spec.train_time or spec.time, (*_PATH, _TIME)))
    return pairs


def comparison_type(
    name: str, train_name: str, schema: pl.Schema, train: Source | None, path: SuitePath
) -> pl.DataType:
    """Comparable type of a column."""
    dtype = require(schema, name, f"leakage's {path[1]}", path)
    if train is None:
        check_plain(name, dtype, path)
        return common_type(dtype, dtype) or dtype
    if train_name not in train.schema:
        hint = f"it has {', '.join(list(train.schema)[:12])}; name it with train_{path[1]}"
        raise DataError(Problem(f"column '{train_name}' is not in the training table", path, hint))
    other = train.schema[train_name]
    of_time = path[1] == _TIME
    common = common_type(_moment_type(dtype, other), _moment_type(other, dtype)) if of_time else None
    common = common or common_type(dtype, other)
    if common is None:
        alias = "" if train_name == name else f" (there '{train_name}')"
        msg = f"column '{name}' is of type {dtype}, but of type {other} in the training table{alias}"
        raise DataError(Problem(msg, path, _NO_ORDER if of_time else _NO_EQUALS))
    return common


def _moment_type(dtype: pl.DataType, other: pl.DataType) -> pl.DataType:
    """Type of a column of times; a date beside moments is its midnight."""
    return pl.Datetime("ms") if dtype == pl.Date and isinstance(other, pl.Datetime) else dtype


def check_plain(name: str, dtype: pl.DataType, path: SuitePath) -> None:
    """Refuse a column whose values do not compare."""
    if common_type(dtype, dtype) is None:
        msg = f"column '{name}' is of type {dtype}, whose values are not compared"
        raise DataError(Problem(msg, path, "name columns of numbers, texts, booleans or times"))


def check_time(name: str, dtype: pl.DataType) -> None:
    """Refuse a column of times without an order."""
    if not (dtype.is_numeric() or dtype.is_temporal()):
        msg = f"column '{name}' (leakage's time) is of type {dtype}, but must hold times, dates or numbers"
        raise DataError(
            Problem(msg, (*_PATH, _TIME), "a text such as 2024-01-31 has no time; convert the column")
        )


def key_values(names: tuple[str, str], types: Types, common: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """Key of both tables as comparable values, moments in the unit and time zone of the evaluated table.

    A float of 32 bits is compared in 32 bits: 0.1 has other digits in 64, and would never be found.
    """
    if types[0] != types[1] and isinstance(common, pl.Datetime):
        unit = types[0] if isinstance(types[0], pl.Datetime) else common
        return pl.col(names[0]).cast(unit), _in_unit(names[1], types[1], unit)
    if types[0] != types[1] and common.is_float():
        common = pl.Float32()
    return as_type(pl.col(names[0]), common), as_type(pl.col(names[1]), common)


def _in_unit(name: str, dtype: pl.DataType, unit: pl.Datetime) -> pl.Expr:
    """Moments in a unit; null is one that lies between its ticks or beyond its years, and equals none of them."""
    length = NANOSECONDS[unit.time_unit]
    moment = _nanoseconds(name, dtype)
    ticks = pl.when(moment % length == 0).then(moment // length)
    return ticks.cast(pl.Int64, strict=False).cast(unit)


def time_values(names: tuple[str, str], types: Types, common: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """A column of both tables as values in order: moments of any unit as nanoseconds, without end or rounding."""
    if not isinstance(common, pl.Datetime):
        return as_type(pl.col(names[0]), common), as_type(pl.col(names[1]), common)
    return _nanoseconds(names[0], types[0]), _nanoseconds(names[1], types[1])


def _nanoseconds(name: str, dtype: pl.DataType) -> pl.Expr:
    return nanoseconds(pl.col(name), time_unit(dtype) or "day")


def moment_text(value: pl.Series) -> str:
    """The one moment of a column; Python knows no nanoseconds."""
    if isinstance(value.dtype, pl.Datetime) and value.dtype.time_unit == "ns":
        text: str = value.cast(pl.String).item()
        return re.sub(r"\.(?!\d)", "", re.sub(r"(\.\d*?)0+(?!\d)", r"\1", text))
    return str(value.item())
