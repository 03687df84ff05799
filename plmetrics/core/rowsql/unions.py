"""Values of which one is the result, as in COALESCE and CASE, in one type.

Polars finds a type for any two: a date beside a number would be its stored form, a text that is no category null, a
date beside times with a zone midnight in UTC, and a time lose the digits that a coarser one has not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import polars as pl

from plmetrics.core.rowsql.dtypes import (
    TRUTHS,
    WORDS,
    constant_like,
    is_of_nanoseconds,
    iso_date,
    kind_of,
    names_of,
    number_like,
    of_category,
)

if TYPE_CHECKING:
    from polars.datatypes import DataType

    from plmetrics.core.rowsql.parts import Term

    Combination: TypeAlias = Callable[[list[pl.Expr]], pl.Expr]

_UNITS: tuple[Literal["ns", "us", "ms"], ...] = ("ns", "us", "ms")
"""Units of times, from the finest."""

_SMALL = {pl.Float32, pl.Float16, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16}
"""Numbers beside which one of 32 bits stays one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values, its type, and what it is if it is a constant."""

    expr: pl.Expr
    dtype: DataType
    constant: str | float | date | None

    @property
    def family(self) -> str:
        """Word for the types that have a common one; of null none."""
        kind = kind_of(self.dtype)
        if kind != "unknown":
            return kind
        if self.dtype == pl.Null:
            return ""
        return "condition" if self.dtype == pl.Boolean else str(self.dtype.base_type())


def union(parts: Sequence[Term], combine: Combination, tests: Sequence[pl.Expr] = ()) -> pl.Expr:
    """Combination of tests and then values, these in one type."""
    expressions = [*tests, *(part.expr for part in parts)]
    if all(part.kind != "unknown" for part in parts):
        return combine(expressions)
    row = pl.struct(value.alias(str(place)) for place, value in enumerate(expressions))
    constants = [part.literal for part in parts]
    return row.pipe_with_dtype(partial(_combination, constants=constants, combine=combine))


def _combination(
    row: pl.Expr, dtype: DataType, *, constants: Sequence[str | float | date | None], combine: Combination
) -> pl.Expr:
    """Combination of the fields of a row, once their types are known."""
    fields = [field.meta.undo_aliases() for field in reversed(row.meta.pop())]
    types = dtype.fields if isinstance(dtype, pl.Struct) else []
    tests = len(fields) - len(constants)
    sides = zip(fields[tests:], types[tests:], constants, strict=True)
    choices = [Choice(value, cast("DataType", of.dtype), constant) for value, of, constant in sides]
    return combine([*fields[:tests], *in_one_type(choices)])


def in_one_type(choices: Sequence[Choice]) -> list[pl.Expr]:
    """Values in their common type, as far as Polars would choose another.

    Raises:
        InvalidOperationError: there is none.
    """
    columns = {choice.family for choice in choices if choice.constant is None} - {""}
    if len(columns) == 1:
        choices = [_like_columns(choice, next(iter(columns))) for choice in choices]
    families = {choice.family: choice for choice in reversed(choices) if choice.family}
    if len(families) > 1 and families.keys() != {"number", "condition"}:
        first, second = (_description(choice) for choice in reversed(families.values()))
        msg = f"the values must be of one type, and {first} and {second}"
        raise pl.exceptions.InvalidOperationError(msg)
    convert = {"number": _numbers, "text": _texts, "date": _moments, "Duration": _durations}
    (family, *_) = sorted(families, reverse=True) or [""]
    return convert[family](choices) if family in convert else [choice.expr for choice in choices]


def _description(choice: Choice) -> str:
    name = "a constant" if choice.constant is not None else names_of(choice.expr)
    return f"{name} is {WORDS.get(choice.family, f'of type {choice.dtype}')}"


def _like_columns(choice: Choice, family: str) -> Choice:
    """A text that is a date or a truth, where columns are of such."""
    text = choice.constant
    if not isinstance(text, str):
        return choice
    moment = iso_date(text)
    if family == "date" and moment is not None:
        return Choice(pl.lit(moment), pl.Date(), moment)
    if family == "condition" and text.lower() in TRUTHS:
        return Choice(pl.lit(TRUTHS[text.lower()]), pl.Boolean(), TRUTHS[text.lower()])
    return choice


def _numbers(choices: Sequence[Choice]) -> list[pl.Expr]:
    """Numbers: constants are stored as columns of fewer bits are, and unsigned columns beside others keep their digits.

    Else Polars would widen the columns: a 0.1 of 32 bits is no 0.1 of 64.
    """
    columns = {choice.dtype for choice in choices if choice.constant is None and choice.family}
    if pl.UInt64 in columns and all(choice.dtype.is_integer() for choice in choices if choice.family):
        signed = any(dtype.is_signed_integer() for dtype in columns)
        negative = any(isinstance(choice.constant, int) and choice.constant < 0 for choice in choices)
        return [choice.expr.cast(pl.Int128 if signed or negative else pl.UInt64) for choice in choices]
    stored = next((dtype for dtype in (pl.Float32(), pl.Float16()) if dtype in columns), None)
    if stored is None or not columns <= _SMALL:
        return [choice.expr for choice in choices]
    return [_narrow(choice, stored) for choice in choices]


def _narrow(choice: Choice, dtype: DataType) -> pl.Expr:
    value = choice.constant
    if choice.family != "number" or not isinstance(value, (int, float)):
        return choice.expr
    return number_like(choice.expr, dtype, value=value, literal=choice.expr)


def _texts(choices: Sequence[Choice]) -> list[pl.Expr]:
    """Texts: categories of one and the same type stay such, others become their names."""
    if len({choice.dtype for choice in choices if choice.family}) == 1:
        return [choice.expr for choice in choices]
    return [of_category(choice.expr, choice.dtype) for choice in choices]


def _moments(choices: Sequence[Choice]) -> list[pl.Expr]:
    """Dates and times: times in the finest unit, dates beside them as midnight of the clock in their zone."""
    columns = [
        choice.dtype
        for choice in choices
        if choice.constant is None and isinstance(choice.dtype, pl.Datetime)
    ]
    constants = [choice.constant for choice in choices if isinstance(choice.constant, date)]
    zones = {dtype.time_zone for dtype in columns}
    if None in zones and len(zones) > 1:
        msg = "the values must be of one type, and some are times with a time zone and others without"
        raise pl.exceptions.InvalidOperationError(msg)
    fine = any(isinstance(moment, datetime) for moment in constants)
    if not columns and not fine:
        return [choice.expr for choice in choices]
    units = {dtype.time_unit for dtype in columns} | ({"us"} if fine else set())
    if not all(map(is_of_nanoseconds, constants)):
        units = {"us"}
    zone = columns[0].time_zone if columns else None
    target = pl.Datetime(next(unit for unit in _UNITS if unit in units), zone)
    return [_moment(choice, target) for choice in choices]


def _moment(choice: Choice, target: pl.Datetime) -> pl.Expr:
    if isinstance(choice.constant, date):
        return constant_like(choice.expr, target, value=choice.constant).cast(target)
    if choice.dtype == pl.Date and target.time_zone is not None:
        return choice.expr.cast(pl.Datetime(target.time_unit)).dt.replace_time_zone(target.time_zone)
    return choice.expr.cast(target)


def _durations(choices: Sequence[Choice]) -> list[pl.Expr]:
    """Durations in the finest unit."""
    units = {choice.dtype.time_unit for choice in choices if isinstance(choice.dtype, pl.Duration)}
    finest = next(unit for unit in _UNITS if unit in units)
    return [choice.expr.cast(pl.Duration(finest)) for choice in choices]
