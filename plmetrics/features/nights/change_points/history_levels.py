"""Levels and change points of the rows of a history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.names import printable
from plmetrics.features.nights.change_points.levels import FEWEST_PERIODS, levels
from plmetrics.features.nights.history_selection import ALL, select
from plmetrics.features.nights.interval_history import CURRENT, SUPERSEDED, History, read_history
from plmetrics.report.numbers import number
from plmetrics.report.sections.overall import metric_label

if TYPE_CHECKING:
    from plmetrics.features.nights.calendar import Calendar
    from plmetrics.table.storage.places import Place

LEVEL, LEVEL_BEFORE = "level", "level_before"
_PLACES = ("interval", "start", "model", "slice", "metric")
_CHANGE = (*_PLACES, LEVEL_BEFORE, LEVEL, "slice_set", "class", "run_id")
"""The columns of changes."""

_SERIES = ("metric", "class", "slice_set", "slice", "model")
_PLACE = ("start", "run_id")
_HOURS, _WEEK = 24, 7
FEWEST = 60
"""The fewest intervals that change points are looked for in, if there are so many."""


def with_levels(rows: pl.DataFrame, calendar: Calendar | None) -> pl.DataFrame:
    """Rows of a history with the level of each current value: the mean of the stretch between two change points.

    `level_before` is the level that ended, in the first row of another one. Days have a pattern of the week, parts of
    days one of the day: levels are without it, and parts of fewer than four days have none, since day and night would
    look like two. `rows` are of whole series, with those of intervals without a result, in
    the order of intervals; without a calendar they are runs by time.
    """
    places = rows.filter(pl.col("status") != SUPERSEDED).select(_PLACE).unique(maintain_order=True)
    current = rows.with_row_index("@row").filter(pl.col("status") == CURRENT, pl.col("metric").is_not_null())
    series = current.select(_SERIES).unique(maintain_order=True)
    cells = current.join(series.with_row_index("@series"), on=_SERIES, how="left", nulls_equal=True).join(
        places.with_row_index("@place"), on=_PLACE, how="left", nulls_equal=True
    )
    at = cells["@series"].to_numpy(), cells["@place"].to_numpy()
    shape = (series.height, places.height)
    values, errors = (_matrix(cells[name], at, shape) for name in ("value", "std_error"))
    season, period = _season(places, calendar)
    level = np.full(rows.height, np.nan)
    if calendar is None or calendar.every.unit != "h" or places.height >= FEWEST_PERIODS * period:
        level[cells["@row"].to_numpy()] = levels(values, errors, season, period)[at]
    before = pl.col(LEVEL).forward_fill().shift().over(_SERIES)
    return rows.with_columns(pl.Series(LEVEL, level, dtype=pl.Float64).fill_nan(None)).with_columns(
        pl.when(before != pl.col(LEVEL)).then(before).alias(LEVEL_BEFORE)
    )


def read_rows(
    home: Place,
    metrics: Sequence[str] | None,
    models: Sequence[str] | None,
    slices: Sequence[str] | None,
    *,
    last: int | None,
    superseded: bool = False,
    until: str | None = None,
) -> tuple[History, pl.DataFrame]:
    """History, and the requested rows of its last intervals, with levels.

    Where fewer than 60 intervals are asked for, change points are looked for in so many.
    """
    history = read_history(
        home, last=None if last is None else max(last, FEWEST), superseded=superseded, until=until
    )
    rows = with_levels(select(history.frame, metrics, models, slices), history.calendar)
    return history, rows if last is None else last_places(history, rows, last)


def last_places(history: History, rows: pl.DataFrame, last: int) -> pl.DataFrame:
    """Some rows of a history, of its last intervals, or of its last runs where there are no intervals."""
    place = pl.coalesce("interval", "run_id")
    places = history.frame.select(place.alias("place")).unique(maintain_order=True)["place"]
    return rows.filter(place.is_in(places.tail(last).implode()))


def changes_of(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each change point in rows with levels, by time: the first interval of a level, and both levels."""
    changes = rows.filter(pl.col(LEVEL_BEFORE).is_not_null()).select(_CHANGE)
    return changes.sort("start", maintain_order=True)


def change_lines(changes: pl.DataFrame) -> Iterator[str]:
    """Changes in words, as `roc_auc of champion moved on 2026-03-04 from 0.91 to 0.87`."""
    for row in changes.iter_rows(named=True):
        part = "" if row["slice"] == ALL else f", {row['slice']},"
        start = row["run_id"] if row["start"] is None else f"{row['start']:%Y-%m-%d %H:%M:%S}Z"
        when = row["interval"] or start
        levels_text = f"from {number(row[LEVEL_BEFORE])} to {number(row[LEVEL])}"
        yield printable(f"{metric_label(row)}{part} of {row['model']} moved on {when} {levels_text}")


def _matrix(
    values: pl.Series, at: tuple[NDArray[np.uint32], NDArray[np.uint32]], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Values by series and place, NaN where there is none."""
    matrix = np.full(shape, np.nan)
    matrix[at] = values.fill_null(np.nan).to_numpy()
    return matrix


def _season(places: pl.DataFrame, calendar: Calendar | None) -> tuple[NDArray[np.int64] | None, int]:
    """Place of each interval in the week or in the day, and the number of places."""
    if calendar is None or calendar.every.unit not in ("d", "h"):
        return None, 1
    clocks = places["start"].dt.convert_time_zone(calendar.timezone)
    if calendar.every.unit == "d":
        return clocks.dt.weekday().to_numpy().astype(np.int64) - 1, _WEEK
    count = calendar.every.count
    return clocks.dt.hour().to_numpy().astype(np.int64) // count, _HOURS // count
