"""Types of columns in row expressions, and constants compared with them.

These functions run when Polars resolves the plan, with the type at hand.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from polars.datatypes import DataType

Kind: TypeAlias = Literal["condition", "number", "text", "date", "null", "unknown"]

NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "day": 86_400_000_000_000}
"""Length of the units that dates and times are stored in."""

_YEARS_OF_NANOSECONDS = range(1678, 2262)
_BETWEEN_TICKS = re.compile(r"[.,]\d{6}0*[1-9]")
_LARGE = 2.0**126

WORDS: dict[str, str] = {
    "condition": "a condition",
    "number": "a number",
    "text": "a text",
    "date": "a date",
}
_HUGE = {pl.Int128, pl.UInt128}
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


def as_moment(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """A date or a time as it is.

    Raises:
        InvalidOperationError: it is of another type.
    """
    if dtype == pl.Null:
        return value.cast(pl.Datetime("us"))
    if isinstance(dtype, (pl.Date, pl.Datetime, pl.Time)):
        return value
    raise _unfit(value, dtype, "a date")


def as_term(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """A number to add or multiply: a whole one in 128 bits, any other in Float64."""
    return value.cast(pl.Int128 if dtype.is_integer() else pl.Float64)


def as_measure(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """A number, or a Boolean as 1 and 0, in Float64.

    Raises:
        InvalidOperationError: it is neither.
    """
    return value.cast(pl.Float64) if dtype == pl.Boolean else as_number(value, dtype).cast(pl.Float64)


def is_absent(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """Whether a value is null or NaN."""
    return value.is_null() | value.is_nan() if dtype.is_float() else value.is_null()


def as_text(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """Cast a value to text: names of categories, times without trailing zeros of their fractions.

    Raises:
        InvalidOperationError: values of this type have no text.
    """
    if dtype.is_nested() or dtype in (pl.Duration, pl.Object):
        raise _unfit(value, dtype, "a text")
    text = value.dt.strftime("%H:%M:%S%.f") if dtype == pl.Time else value.cast(pl.String)
    if isinstance(dtype, pl.Datetime):
        return text.str.replace(r"(\.\d*?)0+($|[+-])", "$1$2").str.replace(r"\.($|[+-])", "$1")
    return text


def comparison_operand(
    value: pl.Expr,
    dtype: DataType,
    *,
    other: Kind,
    constant: str | float | date | None = None,
    ordered: bool = False,
) -> pl.Expr:
    """Value for a comparison with one of another kind, which may be a constant; `ordered` unless for equality.

    Polars would compare the stored form of a time with a number, the word of a Boolean and the digits of a decimal with
    a text, and the place of a category among others.

    Raises:
        InvalidOperationError: the two have nothing to compare.
    """
    kind = kind_of(dtype)
    truth = isinstance(constant, str) and constant.lower() in TRUTHS
    lists = dtype.is_nested() or dtype == pl.Object or (other == "text" and dtype == pl.Boolean and not truth)
    stored = kind != other and {kind, other} <= {"number", "text", "date"} and "number" in {kind, other}
    clocks = other in {"number", "text", "date"} and (
        dtype == pl.Duration or (dtype == pl.Time and other != "date")
    )
    if lists or stored or clocks:
        msg = f"{names_of(value)} is of type {dtype}, which cannot be compared with {WORDS.get(other, 'others')}"
        raise pl.exceptions.InvalidOperationError(msg)
    if ordered and other == "text":
        return of_category(value, dtype)
    if isinstance(dtype, pl.Datetime) and dtype.time_unit == "ms" and _is_fine(constant):
        return value.cast(pl.Datetime("us", dtype.time_zone))
    return value


def _is_fine(constant: str | float | date | None) -> bool:
    """Whether a constant is a time with digits that milliseconds have not."""
    moment = iso_date(constant) if isinstance(constant, str) else constant
    return isinstance(moment, datetime) and moment.microsecond % 1000 > 0


def of_category(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """The name of a category; other values as they are."""
    return value.cast(pl.String) if isinstance(dtype, (pl.Categorical, pl.Enum)) else value


def names_of(value: pl.Expr) -> str:
    """The columns that a value is made of, quoted."""
    return ", ".join(f"'{name}'" for name in dict.fromkeys(value.meta.root_names())) or "this"


def kind_of(dtype: DataType) -> Kind:
    """Kind of the values of a column of this type, as far as comparisons differ by it."""
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return "text"
    return "date" if isinstance(dtype, (pl.Date, pl.Datetime)) else "unknown"


def _unfit(value: pl.Expr, dtype: DataType, expected: str) -> pl.exceptions.InvalidOperationError:
    return pl.exceptions.InvalidOperationError(
        f"{expected} is needed, and {names_of(value)} is of type {dtype}"
    )


def constant_like(column: pl.Expr, dtype: DataType, *, value: str | float | date) -> pl.Expr:
    """TRUE, FALSE, a fraction, a date or a text of one, to compare a column of this type with.

    A fraction is rounded as the values of a column of fewer than 64 bits are: 0.1 is what 0.1 is stored as. 2.0
    is a whole number beside such. A time without a time zone is in the column's.

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
        if dtype.is_integer() and value.is_integer() and abs(value) < _LARGE:
            return pl.lit(int(value), dtype=pl.Int128)
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
    fits = math.isfinite(stored) and (isinstance(value, float) or stored == value)
    return pl.lit(value, dtype=dtype) if fits else literal.cast(pl.Float64)


def _moment_like(column: pl.Expr, dtype: DataType, moment: date) -> pl.Expr:
    """A date or time to compare a column of dates or times with."""
    zone = getattr(dtype, "time_zone", None)
    if dtype == pl.Datetime("ns", zone):
        # A date beside nanoseconds would be null, if it is none of them.
        midnight = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
        constant = _moment_like(column, pl.Datetime("us", zone), midnight)
        return constant.cast(dtype) if is_of_nanoseconds(midnight) else constant
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        if zone is None:
            msg = f"{moment} has a time zone, and {column.meta.root_names()} has none"
            raise pl.exceptions.InvalidOperationError(msg)
        return pl.lit(moment.astimezone(UTC)).dt.convert_time_zone(zone)
    if zone is not None:
        midnight = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
        return pl.lit(midnight).dt.replace_time_zone(zone)
    return pl.lit(moment)


def is_of_nanoseconds(moment: date) -> bool:
    """Whether a date or time is one of nanoseconds in 64 bits."""
    return moment.year in _YEARS_OF_NANOSECONDS


def on_the_clock(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """Times with a zone as the clock there shows them; Polars would take the date in UTC. Other values as they are."""
    zoned = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    return value.dt.replace_time_zone(None) if zoned else value


def alike(value: pl.Expr, dtype: DataType, other: DataType) -> pl.Expr:
    """A column for a comparison with another.

    Beside a date, times are those of the clock in their zone; times of other units are compared in every digit, and
    categories of other types by their names.
    """
    if isinstance(dtype, (pl.Categorical, pl.Enum)) and dtype != other:
        return value.cast(pl.String)
    unit, of = time_unit(dtype), time_unit(other)
    if unit is None or of is None or unit == of:
        return value
    zones = getattr(dtype, "time_zone", None), getattr(other, "time_zone", None)
    if "day" not in {unit, of} and zones[0] != zones[1]:
        return value
    return nanoseconds(on_the_clock(value, dtype) if of == "day" else value, unit)


def nanoseconds(value: pl.Expr, unit: str) -> pl.Expr:
    """Dates or times of a unit as whole numbers without end, which compare in every digit."""
    number: pl.Expr = value.to_physical().cast(pl.Int128) * NANOSECONDS[unit]
    return number


def time_unit(dtype: DataType) -> str | None:
    """The unit that dates and times are stored in."""
    if isinstance(dtype, pl.Datetime):
        return dtype.time_unit
    return "day" if dtype == pl.Date else None


def iso_date(value: str) -> date | None:
    """The date or time of an ISO text, None if it is none, or one between two microseconds, which Python cuts off."""
    if _BETWEEN_TICKS.search(value):
        return None
    try:
        return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
    except ValueError:
        return None
