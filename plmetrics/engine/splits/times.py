"""Splits in time: the different times of a table, and each row's part in every split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.table.roles import require
from plmetrics.table.splits.windows import Times, Window, windows

if TYPE_CHECKING:
    from collections.abc import Mapping

TRAIN, TEST = "train", "test"


def times_of(rows: pl.LazyFrame, schema: pl.Schema, time: str) -> Times:
    """The different times of a table and their rows.

    Raises:
        DataError: the column is absent, of a type without order, or has nulls or NaN; or there are no rows.
    """
    dtype = require(schema, time, "time", ("time",))
    number = dtype.is_numeric() and not dtype.is_decimal()
    if not (number or isinstance(dtype, (pl.Date, pl.Datetime, pl.String))):
        msg = f"column '{time}' is of type {dtype}, but splits in time need dates, times, numbers or ISO text"
        raise DataError(Problem(msg, ("time",)))
    value = pl.col(time).fill_nan(None) if dtype.is_float() else pl.col(time)
    counted = (
        rows.group_by(value.alias(time)).agg(pl.len().cast(pl.Int64).alias("@rows")).sort(time).collect()
    )
    absent = int(counted.filter(pl.col(time).is_null())["@rows"].sum())
    if absent or not counted.height:
        msg = f"column '{time}' (time): {absent:,} rows have no time" if absent else "the table has no rows"
        raise DataError(Problem(msg, ("time",)))
    return Times(counted[time], counted["@rows"].to_numpy())


def time_parts(
    rows: pl.LazyFrame, schema: pl.Schema, time: str, splits: int, until: str | None, spans: Mapping[str, Any]
) -> list[pl.Expr]:
    """What each row is in every split: `train`, `test` or null.

    `until` is a column of the time at which a row's label is known: rows that are trained on have one before the
    test window begins.
    """
    times = times_of(rows, schema, time)
    if until is not None and require(schema, until, "purge", ("purge",)) != schema[time]:
        msg = f"columns '{until}' ({schema[until]}) and '{time}' ({schema[time]}) must be of one type"
        raise DataError(Problem(msg, ("purge",)))
    found = windows(times, splits, **spans)
    return [_part(times, window, pl.col(time), None if until is None else pl.col(until)) for window in found]


def _part(times: Times, window: Window, time: pl.Expr, until: pl.Expr | None) -> pl.Expr:
    trained = _between(times, time, window.first, window.last)
    if until is not None:
        trained = trained & (until < _at(times, window.start)).fill_null(value=False)
    tested = _between(times, time, window.start, window.end)
    return pl.when(trained).then(pl.lit(TRAIN)).when(tested).then(pl.lit(TEST))


def _between(times: Times, time: pl.Expr, first: int, last: int) -> pl.Expr:
    """Whether a time is one of those from a position up to another."""
    after = time >= _at(times, first)
    return after if last >= len(times.values) else after & (time < _at(times, last))


def _at(times: Times, place: int) -> pl.Expr:
    return pl.lit(times.values[place], dtype=times.values.dtype)
