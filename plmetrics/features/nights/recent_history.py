"""The intervals before a result, for its report: they are read from the runs beside its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import PlmetricsError
from plmetrics.features.nights.change_points.history_levels import with_levels
from plmetrics.features.nights.history_report import moves, sparklines
from plmetrics.features.nights.history_selection import OVERALL, select
from plmetrics.features.nights.interval_history import CURRENT, read_history
from plmetrics.report.layout import heading
from plmetrics.report.numbers import plural

if TYPE_CHECKING:
    from rich.text import Text

    from plmetrics.features.nights.interval_history import History
    from plmetrics.report.summary import Summary

_READ, _IN_TERMINAL = 60, 14
_MOST_METRICS, _MOST_LINES = 4, 12


def page_rows(summary: Summary) -> pl.DataFrame | None:
    """The values of all rows by interval in the metrics with gates, the last interval first."""
    rows = _recent(summary)
    if rows is None:
        return None
    return rows.sort("start", descending=True, maintain_order=True).select(
        "interval",
        "verdict",
        "model",
        "metric",
        "value",
        "lower",
        "upper",
        "n",
        "level_before",
        result=pl.when(pl.col("status") != CURRENT).then("status"),
        status="value_status",
    )


def recent_lines(summary: Summary, width: int) -> list[Text]:
    """A sparkline a series; none where there is one interval alone."""
    rows = _recent(summary)
    if rows is None:
        return []
    starts = rows["start"].unique().sort().tail(_IN_TERMINAL)
    shown = rows.filter(pl.col("start") >= starts[0])
    lines = sparklines(shown, width, _IN_TERMINAL)[:_MOST_LINES] + moves(shown, width)
    count = len(starts)
    title = heading("History", f"last {plural(count, 'interval')}", width)
    return [*title, *lines] if lines else []


def _recent(summary: Summary) -> pl.DataFrame | None:
    """The rows of the last intervals up to that of a result; None without an earlier one, or where none can be read."""
    assert summary.folder is not None
    try:
        history = read_history(summary.folder.parent, last=_READ, until=summary.record["interval"]["key"])
        rows = with_levels(select(history.frame, _metrics(history), None, [OVERALL]), history.calendar)
    except (PlmetricsError, OSError):
        return None
    current = rows.filter(pl.col("status") == CURRENT)["start"].n_unique()
    return rows if current > 1 else None


def _metrics(history: History) -> list[str]:
    """The metrics that gates are about, in the order of the result; the first one without any."""
    rows = history.frame.filter(pl.col("model").is_not_null(), pl.col("slice_set") == OVERALL)
    names = rows["metric"].unique(maintain_order=True).to_list()
    gated = set(history.gates["metric"].drop_nulls())
    return [name for name in names if name in gated][:_MOST_METRICS] or names[:1]
