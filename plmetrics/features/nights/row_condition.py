"""Rows of an interval: their condition in SQL, the first nonempty folder, and whether labels are due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.durations import as_utc
from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean, quoted_name, sql_name
from plmetrics.core.results import LABELLED
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.faults import reading
from plmetrics.engine.streaming import collected_frame
from plmetrics.suite.sections.labels import Labels, label_status
from plmetrics.table.data_files import list_data_files
from plmetrics.table.files import Complaints
from plmetrics.table.formats.hive import Partitions, partition_pairs

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.features.nights.calendar import Interval
    from plmetrics.features.nights.interval_section import IntervalSection
    from plmetrics.suite.sections.basics import Data
    from plmetrics.table.source import Source

_HOURS = "%Y-%m-%dT%H"
_HINT = "name the first one: --interval 2026-11-20"


def conjunction(first: str | None, second: str) -> str:
    """Conjunction of two conditions.

    >>> conjunction("age > 3 OR vip", "day = 1")
    '(age > 3 OR vip) AND (day = 1)'
    """
    return second if first is None else f"({first}) AND ({second})"


def partition_condition(section: IntervalSection, interval: Interval) -> str | None:
    """Condition on names of folders, for files to skip; None for a column.

    What is no date among the names is of no interval; it makes the column one of texts, also where others are dates.
    """
    if section.partition is None:
        return None
    zone, unit = section.calendar.zone, section.calendar.every.unit
    form = section.format or (_HOURS if unit == "h" else None)
    local = [moment.astimezone(zone) for moment in (interval.start, interval.end)]
    column = quoted_name(section.partition)
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
    """Condition on the rows of an interval, or without a time, which are counted."""
    assert section.column is not None
    return f"({condition}) OR {quoted_name(section.column)} IS NULL"


def rows_without_time(
    section: IntervalSection, interval: Interval, source: Source, where: str | None
) -> list[str]:
    """A warning where rows have no time, or folders no date, and so are of no interval.

    Files with statistics are passed over where these tell of no null. `where` is the condition on the rows that the
    suite is about.
    """
    names = partition_condition(section, interval)
    if names is not None:
        return [] if source.folders is None else _files_without_date(section, names, source.folders, where)
    assert section.column is not None
    condition = compile_row(conjunction(where, f"{quoted_name(section.column)} IS NULL")).expr
    with reading(source):
        count = collected_frame(source.frame.filter(condition).select(pl.len())).item()
    if not count:
        return []
    rows = "row has" if count == 1 else "rows have"
    return [f"{count:,} {rows} no time in column '{section.column}': of no interval, in no result"]


def _files_without_date(
    section: IntervalSection, names: str, folders: Partitions, where: str | None
) -> list[str]:
    if where is not None:
        folders = folders.part(folders.holding(where))
    count = folders.null_count(names)
    if not count:
        return []
    files = "file lies" if count == 1 else "files lie"
    return [
        f"{count:,} {files} in a folder {section.partition}=... without a date: of no interval, in no result"
    ]


def _of_type(section: IntervalSection, interval: Interval, name: str, dtype: pl.DataType) -> str:
    """The condition on a column of dates or times, in the terms of its type."""
    zone = section.calendar.zone
    ends = interval.start, interval.end
    column = quoted_name(name)
    if dtype == pl.Date:
        if section.calendar.every.unit == "h":
            msg = f"column '{name}' holds dates, and intervals are of {section.every}"
            raise DataError(Problem(msg, ("interval", "every"), "write every: 1d, or name a column of times"))
        return _between(column, *(f"DATE '{moment.astimezone(zone).date()}'" for moment in ends))
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return _between(column, *(_constant(moment.astimezone(UTC).isoformat()) for moment in ends))
    if isinstance(dtype, pl.Datetime):
        return _between(column, *(_timestamp(moment.astimezone(zone)) for moment in ends))
    path = ("interval", "partition" if section.partition is not None else "column")
    hint = "write the table with dates or times there"
    if dtype == pl.String:
        hint = f"derive a column of times from it, CAST({sql_name(name)} AS TIMESTAMP), and name that one"
    if section.partition is not None:
        hint = "say what its values look like: format: '%Y%m%d'"
    raise DataError(Problem(f"column '{name}' holds neither dates nor times, but {dtype}", path, hint))


def _constant(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _between(column: str, first: str, last: str) -> str:
    return f"{column} >= {first} AND {column} < {last}"


def _timestamp(moment: datetime) -> str:
    return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(sep=' ')}'"


@dataclass(frozen=True, slots=True)
class Maturity:
    """Labels of an interval: whether they are due, and the required share of labelled rows.

    A suite without the section `labels` has a label for every row.
    """

    due: bool
    coverage: float = 0.0

    @classmethod
    def of(cls, labels: Labels | None, interval_end: datetime, as_of: datetime) -> Maturity:
        """Maturity of an interval, looked at from a moment."""
        if labels is None:
            return cls(due=True)
        status = label_status(interval_end, labels.mature_after, as_of)
        return cls(status == "unlabelled", labels.coverage or 0.0)

    def awaits(self, metrics: pl.DataFrame) -> bool:
        """Whether labels of rows are still to come; `metrics` is the table of the interval."""
        return not self.due and _labelled_share(metrics) < 1

    def lacks(self, metrics: pl.DataFrame) -> bool:
        """Whether labels are due, and no row has one, or fewer than are asked for."""
        share = _labelled_share(metrics)
        return self.due and (share == 0 or share < self.coverage)


def _labelled_share(metrics: pl.DataFrame) -> float:
    """Share of labelled rows, of the model with the fewest."""
    if LABELLED not in metrics.columns:
        return 1.0
    shares = metrics.filter(slice="all")[LABELLED].drop_nulls().to_list()
    return min(map(float, shares), default=1.0)


def first_partition(data: Data, section: IntervalSection, base: Path) -> Interval:
    """The interval of the earliest folder.

    Raises:
        ConfigError: intervals are of a column, or no folder names one.
        DataError: a path is absent.
    """
    if section.partition is None:
        msg = "no interval has a result yet, and a column does not say which is the first"
        raise ConfigError(Problem(msg, ("interval", "column"), _HINT))
    complaints = Complaints()
    rows = data.path or ()
    files = list_data_files([rows] if isinstance(rows, str) else list(rows), base, complaints)
    complaints.settle()
    values = {
        value for file in files for key, value in partition_pairs(file.name) if key == section.partition
    }
    moments = [moment for value in values if (moment := _moment(section, value)) is not None]
    if not moments:
        msg = f"no folder is named {section.partition}=... with a date"
        raise ConfigError(Problem(msg, ("interval", "partition"), _HINT))
    return section.calendar.containing(as_utc(min(moments), section.calendar.zone))


def _moment(section: IntervalSection, text: str) -> Any:
    """Local time in a folder's name; None without one."""
    try:
        if section.format is not None:
            return datetime.strptime(text, section.format)
        return datetime.combine(date.fromisoformat(text[:10]), time(int(text[11:13] or 0)))
    except ValueError:
        return None
