"""The expected cost of a row by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.marks import axis, span
from plmetrics.report.charts.operating import points_of, threshold_axis, word
from plmetrics.report.charts.ranking.line_chart import LineChart
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import three_digits

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """A line a model, with the threshold of the lowest cost."""
    series = series_of(selection, selection.curve("cost"))
    _, top = span(series.frame["y"], series.frame["hi"], include=(0.0,))
    chart = LineChart(
        "Expected cost",
        threshold_axis(series.frame["x"]),
        axis("y", "Expected cost of a row (lower is better)", (0, top)),
        corner="top-right",
        notes=("points: lowest cost on these rows, and its threshold",),
        fact=_lowest_words,
        over=_lowest,
    )
    return chart.figure(selection, series)


def _lowest_words(points: pl.DataFrame) -> str:
    x, y = points.drop_nulls("y").sort("y", "k").select("x", "y").row(0)
    return f"lowest {three_digits(y)} at {three_digits(x)}"


def _lowest(panel: Panel, canvas: Canvas) -> list[Chart]:
    """The lowest point of each line, with its cost and threshold where there is room."""
    frame = panel.series.frame.filter(pl.col("y").is_not_null())
    lowest = frame.sort("y", "k").group_by("s", maintain_order=True).first()
    words = [
        word(x, y, f"{three_digits(y)} at {three_digits(x)}", canvas)
        for x, y in lowest.select("x", "y").iter_rows()
    ]
    return [points_of(panel, lowest), *(chart for chart in words if chart is not None)]
