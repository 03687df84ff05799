"""The first interval that the folders of a table name."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from plmetrics.core.durations import as_utc
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.table.data_files import list_data_files
from plmetrics.table.files import Complaints
from plmetrics.table.formats.hive import partition_pairs

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.features.nights.calendar import Interval
    from plmetrics.features.nights.interval_section import IntervalSection
    from plmetrics.suite.model import Suite

_HINT = "name the first one: --interval 2026-11-20"


def first_partition(suite: Suite, section: IntervalSection, base: Path) -> Interval:
    """The interval of the earliest folder.

    Raises:
        ConfigError: intervals are of a column, or no folder names one.
        DataError: a path is absent.
    """
    if section.partition is None:
        msg = "no interval has a result yet, and a column does not say which is the first"
        raise ConfigError(Problem(msg, ("interval", "column"), _HINT))
    complaints = Complaints()
    rows = suite.data.path or ()
    paths = [rows] if isinstance(rows, str) else list(rows)
    files = list_data_files(paths, base, complaints)
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
    """The time of the clocks that a folder's name says; None where it says none."""
    try:
        if section.format is not None:
            return datetime.strptime(text, section.format)
        return datetime.combine(date.fromisoformat(text[:10]), time(int(text[11:13] or 0)))
    except ValueError:
        return None
