"""The lift: precision as a multiple of the prevalence, against the share of rows that are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.marks import axis, reference, remark, span, unit
from plmetrics.report.charts.ranking.line_chart import LineChart
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import at_a_tenth

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection

_SIDES = (("left", 6, -9), ("left", 6, 9), ("right", -6, -9), ("right", -6, 9))


def draw(selection: Selection) -> Figure:
    """A line a model, and the line of random calls at 1."""
    points = selection.curve("lift")
    series = series_of(selection, points)
    _, top = span(series.frame["y"], series.frame["hi"], include=(1.0,))
    chart = LineChart(
        "Lift",
        unit("x", "Share of rows called, highest scores first"),
        axis("y", "Lift: precision / prevalence (higher is better)", (0, top)),
        band="lift at each share of rows",
        corner="top-right",
        fact=lambda points: f"lift {at_a_tenth(points)} where the highest tenth of rows is called",
        under=_random,
    )
    return chart.figure(selection, series, points)


def _random(panel: Panel, canvas: Canvas) -> list[Chart]:
    canvas.line([0, 1], [1, 1])
    line = reference([(0, 1), (1, 1)])
    return [line] if panel.small else [line, remark(canvas, [(0.0, 1.0), (1.0, 1.0)], "random", _SIDES)]
