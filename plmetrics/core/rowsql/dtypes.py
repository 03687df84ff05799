"""Types of columns in row expressions: casts, and constants compared with them.

These functions run when Polars resolves the plan, with the type at hand.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from polars.datatypes import DataType

Kind: TypeAlias = Literal["condition", "number", "text", "date", "null", "unknown"]

# SQL's names for the types a value may be cast to.
TARGETS: dict[str, tuple[Kind, pl.DataType]] = {
    "BOOLEAN": ("condition", pl.Boolean()),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), ("number", pl.Int64())),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), ("number", pl.Float64())),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), ("text", pl.String())),
    "DATE": ("date", pl.Date()),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), ("date", pl.Datetime("us"))),
}

_HALF: Literal["half_away_from_zero"] = "half_away_from_zero"
"""Rounding of decimals and texts where they become whole numbers."""

_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000}

_HUGE = {pl.Int128, pl.UInt128}
_TRUE = ["true", "t", "yes", "y", "1"]
_FALSE = ["false", "f", "no", "n", "0"]
TRUTHS = {"true": True, "false": False}
"""Texts that stand for a Boolean where they are compared with one, in any case."""


def as_condition(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """A Boolean as it is.

    Raises:
        InvalidOperationError: it is of another type.
    """
    if dtype in {pl.Boolean, pl.Null}:
        return value.cast(pl.Boolean)
    raise _unfit(value, dtype, "a condition")


def as_number(value: pl.Expr, dtype: DataType, *, unsigned: pl.DataType | None = None) -> pl.Expr:
    """A number in 64 bits or more: small integers would wrap, and those of 128 bits may.

    Args:
        value: a column.
        dtype: its type.
        unsigned: the type of unsigned 64-bit integers; Int128 if None.

    Raises:
        InvalidOperationError: it is no number.
    """
    if dtype == pl.Null:
        return value.cast(pl.Float64)
    if not dtype.is_numeric():
        raise _unfit(value, dtype, "a number")
    if dtype == pl.UInt64:
        return value.cast(unsigned or pl.Int128)
    if dtype.is_decimal():
        return value
    return value.cast(pl.Float64 if dtype.is_float() or dtype in _HUGE else pl.Int64)


def as_term(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """A number to add or multiply: a whole one in 128 bits, any other in Float64."""
    return value.cast(pl.Int128 if dtype.is_integer() else pl.Float64)


def as_measure(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """A number, or a Boolean as 1 and 0, in Float64.

    Raises:
        InvalidOperationError: it is neither.
    """
    return value.cast(pl.Float64) if dtype == pl.Boolean else as_number(value, dtype).cast(pl.Float64)


def as_text(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """Cast a value to text: names of categories, times without trailing zeros of their fractions.

    Raises:
        InvalidOperationError: values of this type have no text.
    """
    if dtype.is_nested() or dtype == pl.Duration:
        raise _unfit(value, dtype, "a text")
    text = value.cast(pl.String)
    if isinstance(dtype, pl.Datetime):
        return text.str.replace(r"(\.\d*?)0+($|[+-])", "$1$2").str.replace(r"\.($|[+-])", "$1")
    return text


def comparison_operand(value: pl.Expr, dtype: DataType, *, other: Kind, truth: bool = False) -> pl.Expr:
    """Value for a comparison with one of another kind.

    Polars would compare the stored form of a time with a number, and the word of a Boolean with a text; a text that is
    `truth` stands for a Boolean.

    Raises:
        InvalidOperationError: the two have nothing to compare.
    """
    kinds: dict[Kind, str] = {"number": "a number", "text": "a text", "date": "a date"}
    lists = dtype.is_nested() or (other == "text" and dtype == pl.Boolean and not truth)
    if lists or (other in kinds and (dtype == pl.Duration or (other == "number" and dtype.is_temporal()))):
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(value.meta.root_names()))
        msg = f"{names or 'this'} is of type {dtype}, which cannot be compared with {kinds.get(other, 'others')}"
        raise pl.exceptions.InvalidOperationError(msg)
    return value


def kind_of(dtype: DataType) -> Kind:
    """Kind of the values of a column of this type, as far as comparisons differ by it."""
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return "text"
    return "date" if isinstance(dtype, (pl.Date, pl.Datetime)) else "unknown"


def _unfit(value: pl.Expr, dtype: DataType, expected: str) -> pl.exceptions.InvalidOperationError:
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(value.meta.root_names()))
    return pl.exceptions.InvalidOperationError(
        f"{expected} is needed, and {names or 'this'} is of type {dtype}"
    )


def constant_like(column: pl.Expr, dtype: DataType, *, value: str | float | date) -> pl.Expr:
    """TRUE, FALSE, a fraction, a date or a text of one, to compare a column of this type with.

    A fraction is rounded as the values of a column of fewer than 64 bits are: 0.1 is what 0.1 is stored as. A time
    without a time zone is in the column's.

    Raises:
        InvalidOperationError: a text column is compared with TRUE or FALSE, which Polars would find different; a time
            has a time zone, and the column none.
    """
    if isinstance(value, bool):
        if dtype == pl.String:
            msg = f"{column.meta.root_names()} holds texts, which cannot be compared with TRUE or FALSE"
            raise pl.exceptions.InvalidOperationError(msg)
        return pl.lit(value)
    if isinstance(value, float):
        narrow = dtype if dtype in {pl.Float32, pl.Float16} else pl.Float64
        fits = pl.Series([value]).cast(narrow).is_finite().item()
        return pl.lit(value, dtype=narrow if fits else pl.Float64)
    if isinstance(value, str) and dtype == pl.Boolean:
        return pl.lit(TRUTHS.get(value.lower(), value))
    moment = iso_date(value) if isinstance(value, str) else value
    if moment is None or not dtype.is_temporal():
        return pl.lit(value)
    return _moment_like(column, dtype, moment)


def number_like(_: pl.Expr, dtype: DataType, *, value: float, literal: pl.Expr) -> pl.Expr:
    """A number as values of fewer than 64 bits beside it are stored; a whole one only if they can hold it."""
    if dtype not in {pl.Float32, pl.Float16}:
        return literal
    stored = pl.Series([float(value)]).cast(dtype).item()
    held = math.isfinite(stored) and (isinstance(value, float) or stored == value)
    return pl.lit(value, dtype=dtype) if held else literal.cast(pl.Float64)


def _moment_like(column: pl.Expr, dtype: DataType, moment: date) -> pl.Expr:
    """A date or time to compare a column of dates or times with."""
    zone = getattr(dtype, "time_zone", None)
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        if zone is None:
            msg = f"{moment} has a time zone, and {column.meta.root_names()} has none"
            raise pl.exceptions.InvalidOperationError(msg)
        return pl.lit(moment.astimezone(UTC)).dt.convert_time_zone(zone)
    if zone is not None:
        midnight = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
        return pl.lit(midnight).dt.replace_time_zone(zone)
    return pl.lit(moment)


def cast(value: pl.Expr, dtype: DataType, target: pl.DataType, *, strict: bool) -> pl.Expr:
    """SQL's CAST of a value of this type; a value out of its domain is an error, or null unless `strict`."""
    if target == pl.String and dtype != pl.Boolean:
        return as_text(value, dtype)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        value, dtype = value.cast(pl.String), pl.String()
    if target == pl.String and dtype == pl.Boolean:
        return pl.when(value).then(pl.lit("true")).when(~value).then(pl.lit("false"))
    if target.is_integer() and dtype.is_float():
        return value.round(0).cast(target, strict=strict)
    if target.is_integer() and dtype.is_decimal():
        return value.round(0, mode=_HALF).cast(target, strict=strict)
    if target.is_temporal():
        value = on_the_clock(value, dtype)
    if dtype != pl.String or target == pl.String:
        return value.cast(target, strict=strict)
    return _cast_text(value, target, strict=strict)


def on_the_clock(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """Times with a zone as the clock there shows them; Polars would take the date in UTC. Other values as they are."""
    zoned = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    return value.dt.replace_time_zone(None) if zoned else value


def moments_alike(value: pl.Expr, dtype: DataType, other: DataType) -> pl.Expr:
    """A date or time for a comparison with another.

    Beside a date, times are those of the clock in their zone; times of other units are compared in every digit.
    """
    if other == pl.Date:
        return on_the_clock(value, dtype)
    if not isinstance(dtype, pl.Datetime) or not isinstance(other, pl.Datetime):
        return value
    if dtype.time_unit == other.time_unit or dtype.time_zone != other.time_zone:
        return value
    nanoseconds: pl.Expr = value.to_physical().cast(pl.Int128) * _NANOSECONDS[dtype.time_unit]
    return nanoseconds


def _cast_text(value: pl.Expr, target: pl.DataType, *, strict: bool) -> pl.Expr:
    value = value.str.strip_chars()
    if target == pl.Boolean:
        words = value.str.to_lowercase().cast(pl.Enum([*_TRUE, *_FALSE]), strict=strict)
        return words.is_in(_TRUE)
    if target == pl.Date:
        # What follows a date, such as a time of day, is left out.
        return value.str.replace(r"^(\d{4}-\d{2}-\d{2})[ T].*$", "$1").str.to_date("%Y-%m-%d", strict=strict)
    if isinstance(target, pl.Datetime):
        full = value.str.replace("T", " ", literal=True).str.replace(r"^(\d{4}-\d{2}-\d{2})$", "$1 00:00:00")
        return full.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=strict)
    if target.is_integer():
        # Whole numbers keep every digit; what has a fraction or an exponent is rounded.
        number = value.cast(pl.Float64, strict=strict).round(0, mode=_HALF)
        whole = value.cast(target, strict=False)
        return pl.coalesce(whole, pl.when(whole.is_null()).then(number).cast(target, strict=strict))
    return value.cast(target, strict=strict)


def iso_date(value: str) -> date | None:
    """The date or time of an ISO text, None if it is none."""
    try:
        return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
    except ValueError:
        return None
