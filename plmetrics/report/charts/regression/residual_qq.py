"""Quantiles of residuals against those of the normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.marks import PANEL, axis, layered, lines, note, reference, span, titled
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import finding, size_words, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """A line a model: residuals, centred and scaled, over normal ones; on the diagonal they are normal."""
    series = series_of(selection, selection.curve("residual_qq"), "rmse")
    x_range, y_range = span(series.frame["x"]), span(series.frame["y"])
    x = axis("x", "Normal quantile", x_range)
    y = axis("y", "Residual in standard deviations", y_range)
    low, high = max(x_range[0], y_range[0]), min(x_range[1], y_range[1])
    chart = layered(
        reference([(low, low), (high, high)]),
        note(high, high, "normal", align="right", dx=-8, dy=-4),
        lines(series.frame, x, y, series.labels, "top-left"),
    )
    title = title_of("Quantiles of residuals", series)
    subtitle = (
        "steeper than the diagonal at the ends: more large errors than normal ones",
        size_words(selection, series),
    )
    return Figure(
        titled(chart, title, subtitle, PANEL, PANEL),
        series.drawn,
        title,
        finding(title, "rmse", series, selection),
        series.notes,
    )
