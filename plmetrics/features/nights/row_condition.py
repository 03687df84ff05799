"""The condition on the rows of an interval, as SQL over the column that says when they are of."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.faults import reading
from plmetrics.engine.streaming import collected_frame

if TYPE_CHECKING:
    from datetime import datetime

    from plmetrics.features.nights.calendar import Interval
    from plmetrics.features.nights.interval_section import IntervalSection
    from plmetrics.table.source import Source

_HOURS = "%Y-%m-%dT%H"


def conjunction(first: str | None, second: str) -> str:
    """The condition that two hold.

    >>> conjunction("age > 3 OR vip", "day = 1")
    '(age > 3 OR vip) AND (day = 1)'
    """
    return second if first is None else f"({first}) AND ({second})"


def partition_condition(section: IntervalSection, interval: Interval) -> str | None:
    """The condition on names of folders, which rules out files before they are opened; None for a column.

    What is no date among the names is of no interval; it makes the column one of texts, also where others are dates.
    """
    if section.partition is None:
        return None
    zone, unit = section.calendar.zone, section.calendar.every.unit
    form = section.format or (_HOURS if unit == "h" else None)
    local = [moment.astimezone(zone) for moment in (interval.start, interval.end)]
    column = f'"{_escape(section.partition)}"'
    if form is None:
        return _between(f"TRY_CAST({column} AS DATE)", *(f"DATE '{moment.date()}'" for moment in local))
    texts = [moment.strftime(form) for moment in local]
    if all(text.isdigit() for text in texts):
        return _between(f"TRY_CAST({column} AS BIGINT)", *(str(int(text)) for text in texts))
    return _between(column, *(_constant(text) for text in texts))


def rows_condition(section: IntervalSection, interval: Interval, schema: pl.Schema) -> str:
    """The condition on the rows of an interval.

    Raises:
        DataError: there is no such column, or it holds neither dates nor times.
    """
    name = section.partition or section.column
    assert name is not None
    key = "partition" if section.partition is not None else "column"
    path = ("interval", key)
    if name not in schema:
        hint = did_you_mean(name, list(schema)) or "name a column of the table, or a key of its folders"
        raise DataError(Problem(f"there is no column '{name}'", path, hint))
    names = partition_condition(section, interval)
    if names is not None and (section.format is not None or schema[name] == pl.String):
        return names
    return _of_type(section, interval, name, schema[name])


def or_no_time(section: IntervalSection, condition: str) -> str:
    """The condition on the rows of an interval, and on those without a time, which are counted."""
    assert section.column is not None
    return f'({condition}) OR "{_escape(section.column)}" IS NULL'


def rows_without_time(section: IntervalSection, source: Source, where: str | None) -> list[str]:
    """A warning where rows have no time, and so are of no interval; none where names of folders say it.

    Files with statistics are passed over where these tell of no null. `where` is the condition on the rows that the
    suite is about.

    Raises:
        DataError: the rows cannot be read.
    """
    if section.column is None:
        return []
    condition = compile_row(conjunction(where, f'"{_escape(section.column)}" IS NULL')).expr
    with reading(source):
        count = collected_frame(source.frame.filter(condition).select(pl.len())).item()
    if not count:
        return []
    rows = "row has" if count == 1 else "rows have"
    return [f"{count:,} {rows} no time in column '{section.column}': of no interval, in no result"]


def _of_type(section: IntervalSection, interval: Interval, name: str, dtype: pl.DataType) -> str:
    """The condition on a column of dates or times, in the terms of its type."""
    zone = section.calendar.zone
    ends = interval.start, interval.end
    column = f'"{_escape(name)}"'
    if dtype == pl.Date:
        if section.calendar.every.unit == "h":
            msg = f"column '{name}' holds dates, and intervals are of {section.every}"
            raise DataError(Problem(msg, ("interval", "every"), "write every: 1d, or name a column of times"))
        return _between(column, *(f"DATE '{moment.astimezone(zone).date()}'" for moment in ends))
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        first, last = (_timestamp(moment.astimezone(UTC)) for moment in ends)
        return _between(f"CAST({column} AS TIMESTAMP)", first, last)
    if isinstance(dtype, pl.Datetime):
        return _between(column, *(_timestamp(moment.astimezone(zone)) for moment in ends))
    path = ("interval", "partition" if section.partition is not None else "column")
    hint = "write the table with dates or times there"
    if section.partition is not None:
        hint = "say what its values look like: format: '%Y%m%d'"
    raise DataError(Problem(f"column '{name}' holds neither dates nor times, but {dtype}", path, hint))


def _constant(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _between(column: str, first: str, last: str) -> str:
    return f"{column} >= {first} AND {column} < {last}"


def _timestamp(moment: datetime) -> str:
    return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(sep=' ')}'"


def _escape(name: str) -> str:
    return name.replace('"', '""')
