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
    _refuse_twins(source, long, apart)
    found = source.frame.select(apart).drop_nulls().unique().sort(apart).head(MAX_COLUMNS + 1).collect()
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


def _refuse_twins(source: Source, long: Long, apart: list[str]) -> None:
    key = [*long.by, *apart]
    counts = source.frame.drop_nulls(apart).group_by(key).agg(pl.len().alias("@rows"))
    twice = counts.filter(pl.col("@rows") > 1).sort(key, nulls_last=True).head(1).collect()
    if twice.height:
        row = twice.row(0, named=True)
        place = ", ".join(f"{name}={_text(row[name])}" for name in key)
        msg = f"a quantile of a forecast stands in {row['@rows']:,} rows: {place}"
        raise DataError(Problem(msg, (*_PATH, "by"), "name all columns that tell forecasts apart"))


def _text(value: object) -> str:
    return number_text(value) if isinstance(value, (int, float)) else str(value)
