"""The values of earlier intervals that control bands are made of."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from plmetrics.core.errors import DataError, Problem
from plmetrics.runs.history.meanings import misleading
from plmetrics.runs.record import suite_content

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from plmetrics.features.nights.calendar import Calendar, Interval
    from plmetrics.runs.reading import StoredRun
    from plmetrics.suite.model import Suite


def metrics_reader(
    suite: Suite, calendar: Calendar, interval: Interval
) -> Callable[[StoredRun], tuple[int, pl.DataFrame]]:
    """Reads the weekday of a run's interval, counted from that of `interval`, and its table `metrics`.

    Raises:
        DataError: the table cannot be read, or its values mean something else; so does what is returned.
    """

    def weekday_of(moment: datetime) -> int:
        return moment.astimezone(calendar.zone).weekday()

    content, weekday = suite_content(suite), weekday_of(interval.start)

    def read(run: StoredRun) -> tuple[int, pl.DataFrame]:
        differences = misleading(run.record.get("suite", {}), content, suite.metrics)
        if differences:
            raise DataError(Problem(f"its values mean something else: {differences[0]}"))
        start = datetime.fromisoformat(run.record["interval"]["start"])
        return (weekday_of(start) - weekday) % 7, run.table("metrics")

    return read
