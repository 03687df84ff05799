"""Forecasts in long form, a row per quantile: made a row per forecast, with a column per quantile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import AbsentDataError, Collected, ConfigError, DataError, PlmetricsError, Problem
from plmetrics.core.names import is_pattern, number_text
from plmetrics.core.quantiles import shortest_decimals
from plmetrics.engine.binding.row_expressions import predicate
from plmetrics.table.checks import not_numbers
from plmetrics.table.joins import inner_join
from plmetrics.table.prediction_columns import require

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.suite.sections.basics import Long
    from plmetrics.table.source import Source

WHERE = "@@where"
MAX_COLUMNS = 2000
_LEVEL = "@@level"
_DIGITS = 9
_PATH = ("data", "long")


def wide_table(source: Source, long: Long | None, where: str | None, *, every: bool) -> Question[Source]:
    """The table with a row per forecast, ordered by the keys of forecasts.

    A column `VALUE_LEVEL`, or `VALUE_MODEL_LEVEL` where a column names the model, holds the value of each quantile,
    null where there is none. The other columns are those that all rows of a forecast agree on; the rest are
    `conflicts` of the source. The column `@@where` tells whether a condition holds; with `every` rows where it does not
    are there, apart from those where it does.

    Raises:
        DataError: columns are absent or of the wrong type, or a quantile of a forecast stands there twice.
    """
    if long is None:
        return source
    _check(source.schema, long)
    raw, by = source.frame, list(long.by)
    if where is not None:
        holds = predicate(where, source.schema, ("data", "where")).fill_null(value=False)
        raw, by = raw.with_columns(holds.alias(WHERE)), [*by, WHERE]
        raw = raw if every else raw.filter(WHERE)
    raw = raw.with_columns(pl.col(long.level).alias(_LEVEL), _level(long.level, source.schema[long.level]))
    apart = [long.level] if long.model is None else [long.model, long.level]
    roles = {*long.by, *apart, long.value}
    others = [name for name in source.schema if name not in roles and not is_pattern(name)]
    # Filters would make each a scan of its own: they would be pushed down into it.
    levels = raw.select(*apart, _LEVEL).unique().head(2 * MAX_COLUMNS + 2)
    twins, unordered, differ = yield [_twins(raw, by, apart), levels, _differ(raw, by, others)]
    _refuse_twins(twins)
    conflicts = [name for name in others if differ[name].item()]
    identities = unordered.drop_nulls().sort(*apart, _LEVEL)
    if where is not None and not identities.height:
        raise AbsentDataError(Problem(f"no row satisfies where: {where}", ("data", "where")))
    if identities.height > MAX_COLUMNS:
        msg = f"column '{long.level}' (level) holds more than {MAX_COLUMNS:,} different levels"
        raise DataError(Problem(msg, (*_PATH, "level")))
    columns = {name: pl.col(name).first() for name in others if name not in conflicts}
    for key, stored in identities.group_by(apart, maintain_order=True):
        models = (_text(_shortest(value, source.schema[apart[0]])) for value in key[:-1])
        shown = (_text(_shortest(value, source.schema[long.level])) for value in stored[_LEVEL])
        name = "_".join([long.value, *models, min(shown, key=len)])
        if name in columns or name in by:
            msg = f"column '{name}' is in the data already, and so is called a quantile of {long.value}"
            raise DataError(Problem(msg, (*_PATH, "value"), "call that column otherwise"))
        here = pl.all_horizontal(pl.col(part) == value for part, value in zip(apart, key, strict=True))
        columns[name] = pl.col(long.value).filter(here).first().alias(name)
    frame = raw.group_by(by).agg(columns.values()).sort(by, nulls_last=True)
    examples = {name: _example(raw, by, name) for name in conflicts}
    return replace(
        source, frame=frame, schema=frame.collect_schema(), rows=None, reader=None, conflicts=examples
    )


@contextmanager
def explain_conflicts(source: Source) -> Iterator[None]:
    """Raise an error for columns with several values in one forecast, with an example."""
    try:
        yield
    except PlmetricsError as error:
        names = [
            next((n for n in source.conflicts if p.message.startswith(f"column '{n}' (")), None)
            for p in error.problems
        ]
        if not any(names):
            raise
        problems = [
            problem if name is None else _conflict(problem, name, source.conflicts[name])
            for name, problem in zip(names, error.problems, strict=True)
        ]
        raise DataError(problems) from None


def _conflict(problem: Problem, name: str, example: pl.LazyFrame) -> Problem:
    values = example.collect()
    keys = values.drop(name, WHERE, strict=False).row(0, named=True)
    first, second = (_text(value) for value in values[name].head(2))
    msg = f"column '{name}' differs within a forecast: {first} and {second} where {_place(keys)}"
    hint = "name all columns that tell forecasts apart in data.long.by, or correct these rows"
    return replace(problem, message=msg, hint=hint)


def _differ(raw: pl.LazyFrame, by: Sequence[str], names: Sequence[str]) -> pl.LazyFrame:
    """One row: for each column whether it has several values in a forecast."""
    hashed = {name: pl.col(name).hash() for name in names}
    several = raw.group_by(by).agg((value.min() != value.max()).alias(name) for name, value in hashed.items())
    return several.select(pl.col(name).any() for name in names)


def _example(raw: pl.LazyFrame, by: Sequence[str], name: str) -> pl.LazyFrame:
    """Values of a column in the first forecast with several."""
    hashed = pl.col(name).hash()
    first = raw.group_by(by).agg((hashed.min() != hashed.max()).alias("@@differs")).filter("@@differs")
    first = first.select(by).sort(by, nulls_last=True).head(1)
    rows = inner_join(raw.select(*by, name), first, by, ordered=False)
    return rows.unique().sort(name, nulls_last=True)


def _check(schema: pl.Schema, long: Long) -> None:
    collected = Collected()
    for index, name in enumerate(long.by):
        with collected.step():
            require(schema, name, "what tells forecasts apart", (*_PATH, "by", index))
    for role in ("level", "value"):
        with collected.step():
            name = getattr(long, role)
            dtype = require(schema, name, role, (*_PATH, role))
            if not dtype.is_numeric():
                raise DataError(not_numbers(name, role, dtype, (*_PATH, role)))
    with collected.step():
        if long.model is not None:
            require(schema, long.model, "model", (*_PATH, "model"))
    collected.settle()
    names = [*long.by, long.level, long.value, *([] if long.model is None else [long.model])]
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        msg = f"column '{twice[0]}' stands in data.long twice"
        raise ConfigError(Problem(msg, _PATH, "give each of by, level, value and model columns of its own"))


def _level(name: str, dtype: pl.DataType) -> pl.Expr:
    """Column of quantile levels, rounded: equal for levels apart by rounding alone."""
    exact = dtype == pl.Float64 or dtype.is_decimal()
    return pl.col(name).cast(pl.Float64).round(_DIGITS) if exact else pl.col(name)


def _twins(raw: pl.LazyFrame, by: Sequence[str], apart: Sequence[str]) -> pl.LazyFrame:
    """Duplicate quantiles of forecasts: all of them, as the first alone would need another scan."""
    present = pl.all_horizontal(pl.col(name).is_not_null() for name in apart)
    return raw.group_by(*by, *apart).agg(present.sum().alias("@@rows")).filter(pl.col("@@rows") > 1)


def _refuse_twins(twins: pl.DataFrame) -> None:
    if twins.height:
        row = twins.sort(twins.columns[:-1], nulls_last=True).row(0, named=True)
        rows, _ = row.pop("@@rows"), row.pop(WHERE, None)
        msg = f"a quantile of a forecast stands in {rows:,} rows: {_place(row)}"
        raise DataError(Problem(msg, (*_PATH, "by"), "name all columns that tell forecasts apart"))


def _shortest(value: Any, dtype: pl.DataType) -> Any:
    """Value of a column: a decimal as a float, a number of fewer than 64 bits as its shortest decimal."""
    if dtype.is_decimal():
        return float(value)
    return shortest_decimals(pl.Series([value], dtype=dtype))[0] if dtype.is_float() else value


def _place(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={_text(value)}" for name, value in values.items())


def _text(value: object) -> str:
    if value is None:
        return "null"
    return number_text(value) if isinstance(value, (int, float)) else str(value)
