"""Common types of columns of two tables, for comparisons of their values, and types that Polars lacks."""

from __future__ import annotations

import polars as pl

_WIDE = (pl.UInt64, pl.Int128)


def common_type(left: pl.DataType, right: pl.DataType) -> pl.DataType | None:
    """Common comparable type of two types, None without one.

    Whole numbers of any width are alike, so are texts and categories, and moments of any unit and time zone. A moment
    without a time zone is not like one with it, nor is a whole number like a float: 16777217 has no float of 32 bits.

    >>> common_type(pl.Int32(), pl.Int64()), common_type(pl.String(), pl.Int64())
    (Int64, None)
    """
    if left == right:
        opaque = left.is_nested() or left in {pl.Object, pl.Binary} or isinstance(left, pl.BaseExtension)
        return None if opaque else _plain_type(left)
    if pl.Null in {left, right}:
        return _plain_type(right if left == pl.Null else left)
    if left.is_integer() and right.is_integer():
        return pl.Int128() if left in _WIDE or right in _WIDE else pl.Int64()
    if isinstance(left, pl.Datetime) and isinstance(right, pl.Datetime):
        return _moment(left, right)
    both_texts = is_text(left) and is_text(right)
    return pl.String() if both_texts else pl.Float64() if left.is_float() and right.is_float() else None


def _moment(left: pl.Datetime, right: pl.Datetime) -> pl.DataType | None:
    if left.time_zone is None and right.time_zone is None:
        return pl.Datetime("us")
    return None if None in {left.time_zone, right.time_zone} else pl.Datetime("us", "UTC")


def _plain_type(dtype: pl.DataType) -> pl.DataType:
    """Categories are compared by their texts: their codes depend on the table."""
    return pl.String() if is_text(dtype) else dtype


def is_text(dtype: pl.DataType) -> bool:
    """Whether values are texts, or categories with a text each."""
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))


def is_opaque(dtype: pl.DataType) -> bool:
    """Whether values have no text, as lists and bytes."""
    return dtype.is_nested() or dtype in {pl.Binary, pl.Object}


def are_numbers(dtype: pl.DataType) -> bool:
    """Whether values may stand for numbers: booleans do, and so may a column of nulls."""
    return dtype.is_numeric() or dtype in {pl.Boolean, pl.Null}


def as_type(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A column in such a type; NaN is null."""
    cast = value.cast(dtype)
    return cast.fill_nan(None) if dtype.is_float() else cast


_NAMED_ZONE = (
    "convert its times to a zone with a name (in pandas dt.tz_convert('UTC')), or leave the column out"
)


def unnamed_zone(error: BaseException) -> tuple[str, str] | None:
    """Problem and hint of a column whose time zone is an offset, as Polars words it; None of other errors.

    >>> unnamed_zone(ValueError("unable to parse time zone: '+05:30'. Please check"))[0]
    "has times of the offset '+05:30', which is no time zone"
    """
    _, mark, rest = str(error).partition("unable to parse time zone: '")
    offset = rest.partition("'")[0]
    return (f"has times of the offset '{offset}', which is no time zone", _NAMED_ZONE) if mark else None
