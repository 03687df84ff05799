"""Forecasts in long form, a row per quantile: made a row per forecast, with a column per quantile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import Collected, DataError, Problem
from plmetrics.core.names import number_text
from plmetrics.table.roles import require

if TYPE_CHECKING:
    from plmetrics.suite.sections import Long
    from plmetrics.table.source import Source

MAX_COLUMNS = 2000
_PATH = ("data", "long")


def widened(source: Source, long: Long | None) -> Source:
    """The table with a row per forecast, ordered by what tells forecasts apart.

    A column `VALUE_LEVEL`, or `VALUE_MODEL_LEVEL` where a column names the model, holds the value of each quantile,
    null where there is none; the other columns are those of the forecast's first row.

    Raises:
        DataError: columns are absent or of the wrong type, or a quantile of a forecast stands there twice.
    """
    if long is None:
        return source
    _check(source, long)
    apart = [long.level] if long.model is None else [long.model, long.level]
    forecasts = source.frame.drop_nulls(apart)
    levels = forecasts.select(apart).unique().head(MAX_COLUMNS + 1)
    twins, unordered = pl.collect_all([_twins(forecasts, [*long.by, *apart]), levels])
    _refuse_twins(twins)
    found = unordered.sort(apart)
    if found.height > MAX_COLUMNS:
        msg = f"column '{long.level}' (level) holds more than {MAX_COLUMNS:,} different levels"
        raise DataError(Problem(msg, (*_PATH, "level")))
    kept = [name for name in source.schema if name not in {*long.by, *apart, long.value}]
    columns = [pl.col(name).first() for name in kept]
    for row in found.iter_rows(named=True):
        name = "_".join([long.value, *(_text(row[part]) for part in apart)])
        here = pl.all_horizontal(pl.col(part) == row[part] for part in apart)
        columns.append(pl.col(long.value).filter(here).first().alias(name))
    frame = source.frame.group_by(*long.by).agg(columns).sort(long.by, nulls_last=True)
    return replace(source, frame=frame, schema=frame.collect_schema(), rows=None, reader=None)


def _check(source: Source, long: Long) -> None:
    collected = Collected()
    for index, name in enumerate(long.by):
        with collected.step():
            require(source.schema, name, "what tells forecasts apart", (*_PATH, "by", index))
    for role in ("level", "value"):
        with collected.step():
            name = getattr(long, role)
            dtype = require(source.schema, name, role, (*_PATH, role))
            if not dtype.is_numeric():
                msg = f"column '{name}' ({role}) is of type {dtype}, but must hold numbers"
                raise DataError(Problem(msg, (*_PATH, role)))
    with collected.step():
        if long.model is not None:
            require(source.schema, long.model, "model", (*_PATH, "model"))
    collected.settle()


def _twins(forecasts: pl.LazyFrame, key: list[str]) -> pl.LazyFrame:
    """The quantiles of forecasts that stand there several times; not only the first, which would be a scan more."""
    return forecasts.group_by(key).agg(pl.len().alias("@rows")).filter(pl.col("@rows") > 1)


def _refuse_twins(twins: pl.DataFrame) -> None:
    if twins.height:
        row = twins.sort(twins.columns[:-1], nulls_last=True).row(0, named=True)
        rows = row.pop("@rows")
        place = ", ".join(f"{name}={_text(value)}" for name, value in row.items())
        msg = f"a quantile of a forecast stands in {rows:,} rows: {place}"
        raise DataError(Problem(msg, (*_PATH, "by"), "name all columns that tell forecasts apart"))


def _text(value: object) -> str:
    return number_text(value) if isinstance(value, (int, float)) else str(value)
