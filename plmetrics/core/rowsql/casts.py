"""Casts of row expressions, by SQL's names for types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from plmetrics.core.rowsql.dtypes import Kind, as_text, kind_of, names_of, of_category, on_the_clock

if TYPE_CHECKING:
    from polars.datatypes import DataType

# The types a value may be cast to; whole numbers are checked against the range of theirs.
TARGETS: dict[str, tuple[Kind, pl.DataType]] = {
    "BOOLEAN": ("condition", pl.Boolean()),
    "TINYINT": ("number", pl.Int8()),
    "SMALLINT": ("number", pl.Int16()),
    "INT": ("number", pl.Int32()),
    "BIGINT": ("number", pl.Int64()),
    **dict.fromkeys(("FLOAT", "DOUBLE"), ("number", pl.Float64())),
    "DECIMAL": ("number", pl.Decimal(18, 3)),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), ("text", pl.String())),
    "DATE": ("date", pl.Date()),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), ("date", pl.Datetime("us"))),
    # As a column of times, whose zone constants beside it take.
    "TIMESTAMPTZ": ("unknown", pl.Datetime("us", "UTC")),
}

_HALF: Literal["half_away_from_zero"] = "half_away_from_zero"
"""Rounding of decimals and texts where they become whole numbers, and of all numbers where they become decimals."""

_MAX_PRECISION = 38
_GUARD_DIGITS = 12
"""Digits of a text beyond those of its decimal, which decide its rounding."""

_TRUE = ["true", "t", "yes", "y", "1"]
_FALSE = ["false", "f", "no", "n", "0"]


def decimal_type(precision: int, scale: int = 0) -> pl.DataType | None:
    """DECIMAL(precision, scale), None if there is none."""
    fits = 1 <= precision <= _MAX_PRECISION and 0 <= scale <= precision
    return pl.Decimal(precision, scale) if fits else None


def cast(value: pl.Expr, dtype: DataType, target: pl.DataType, *, strict: bool) -> pl.Expr:
    """SQL's CAST of a value of this type; a value out of its domain is an error, or null unless `strict`.

    Raises:
        InvalidOperationError: values of this type are not cast to the target: Polars would take the stored form of a
            time for a number, or a number for that.
    """
    if target == pl.String and dtype == pl.Boolean:
        return pl.when(value).then(pl.lit("true")).when(~value).then(pl.lit("false"))
    if target == pl.String:
        return as_text(value, dtype)
    kind = "condition" if dtype == pl.Boolean else kind_of(dtype)
    is_misfit = kind == "unknown" or (kind == "date") != target.is_temporal()
    if is_misfit and kind != "text" and dtype != pl.Null:
        msg = f"{names_of(value)} is of type {dtype}, which is not cast to {target}"
        raise pl.exceptions.InvalidOperationError(msg)
    value, dtype = of_category(value, dtype), pl.String() if kind == "text" else dtype
    if isinstance(target, pl.Decimal):
        return _as_decimal(value, dtype, target, strict=strict)
    if target.is_integer():
        return _as_integer(value, dtype, target, strict=strict).cast(pl.Int64)
    if kind == "text":
        return _cast_text(value, target, strict=strict)
    zoned = isinstance(target, pl.Datetime) and target.time_zone is not None
    return (value if zoned else on_the_clock(value, dtype)).cast(target, strict=strict)


def _as_integer(value: pl.Expr, dtype: DataType, target: pl.DataType, *, strict: bool) -> pl.Expr:
    """A whole number of the target's range: of a number or a text rounded."""
    if dtype == pl.String:
        # Whole numbers keep every digit; what has a fraction or an exponent is rounded.
        value = value.str.strip_chars()
        number = value.cast(pl.Float64, strict=False).round(0, mode=_HALF)
        whole = pl.coalesce(value.cast(target, strict=False), number.cast(target, strict=False))
        return pl.coalesce(whole, pl.when(whole.is_null()).then(value).cast(target)) if strict else whole
    if dtype.is_float():
        value = value.round(0)
    elif dtype.is_decimal():
        value = value.round(0, mode=_HALF)
    return value.cast(target, strict=strict)


def _as_decimal(value: pl.Expr, dtype: DataType, target: pl.Decimal, *, strict: bool) -> pl.Expr:
    """A floating point number, rounded to the digits of the target; texts and decimals as they are written."""
    scale = target.scale
    room = target.precision - scale
    if dtype == pl.String:
        value = value.str.strip_chars()
        # Polars cuts digits off, and does not round them.
        fine = pl.Decimal(_MAX_PRECISION, min(scale + _GUARD_DIGITS, _MAX_PRECISION - room))
        exact = value.cast(fine, strict=False).round(scale, mode=_HALF).cast(pl.Float64)
        value = pl.coalesce(exact, pl.when(exact.is_null()).then(value).cast(pl.Float64, strict=strict))
    elif dtype.is_decimal():
        value = value.round(scale, mode=_HALF)
    rounded = value.cast(pl.Float64).round(scale, mode=_HALF)
    fits = rounded.abs() < 10.0**room
    if not strict:
        return pl.when(fits).then(rounded)
    misfit = pl.when(~fits).then(rounded.cast(pl.String) + f" is no DECIMAL({target.precision}, {scale})")
    return pl.coalesce(misfit.cast(pl.Float64), rounded)


def _cast_text(value: pl.Expr, target: pl.DataType, *, strict: bool) -> pl.Expr:
    value = value.str.strip_chars()
    if target == pl.Boolean:
        words = value.str.to_lowercase().cast(pl.Enum([*_TRUE, *_FALSE]), strict=strict)
        return words.is_in(_TRUE)
    if target == pl.Date:
        # What follows a date, such as a time of day, is left out.
        return value.str.replace(r"^(\d{4}-\d{2}-\d{2})[ T].*$", "$1").str.to_date("%Y-%m-%d", strict=strict)
    if isinstance(target, pl.Datetime):
        # Midnight and seconds may be left out; the mark of UTC changes no clock.
        full = value.str.replace("T", " ", literal=True).str.replace(r"^([\d-]{10})$", "$1 00:00")
        full = full.str.replace(r"(:\d\d(?:\.\d+)?)Z$", "$1")
        full = full.str.replace(r"^([\d-]{10} \d\d:\d\d)($|[+-])", "$1:00$2")
        form = "%Y-%m-%d %H:%M:%S%.f"
        if target.time_zone is None:
            return full.str.to_datetime(form, time_unit="us", strict=strict)
        # Without an offset a time is in UTC; minutes of an offset may be left out.
        full = full.str.replace(r"^([\d-]{10} [\d:.]+)$", "$1+00").str.replace(r"([+-]\d\d)$", "$1:00")
        return full.str.to_datetime(f"{form}%z", time_unit="us", time_zone="UTC", strict=strict)
    return value.cast(target, strict=strict)
