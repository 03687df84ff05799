"""The cumulative gain: recall against the share of rows that are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.marks import reference, remark, unit
from plmetrics.report.charts.ranking.line_chart import LineChart
from plmetrics.report.charts.ranking.prevalence import prevalence_of
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import at_a_tenth

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection

_ALONG = [(0.62, 0.62), (0.8, 0.8), (0.45, 0.45)]


def draw(selection: Selection) -> Figure:
    """A line a model, between that of random calls and that of a perfect order where the prevalence is known."""
    points = selection.curve("gain")

    def under(panel: Panel, canvas: Canvas) -> list[Chart]:
        canvas.line([0, 1], [0, 1])
        marks = [reference([(0, 0), (1, 1)])]
        rates = set(prevalence_of(selection, panel.series).values())
        if len(rates) == 1:
            rate = rates.pop()
            canvas.line([0, rate, 1], [0, 1, 1])
            marks.append(reference([(0, 0), (rate, 1), (1, 1)]))
            if not panel.small:
                places = [(share * rate, share) for share in (0.9, 0.75, 0.6)]
                marks.append(remark(canvas, places, "perfect", [("left", 6, 4), ("right", -6, -4)]))
        if not panel.small:
            marks.append(remark(canvas, _ALONG, "random", [("left", 8, 12), ("right", -8, -12)]))
        return marks

    chart = LineChart(
        "Cumulative gain",
        unit("x", "Share of rows called, highest scores first"),
        unit("y", "Recall (higher is better)"),
        band="recall at each share of rows",
        fact=lambda points: f"recall {at_a_tenth(points)} where the highest tenth of rows is called",
        under=under,
    )
    return chart.figure(selection, series_of(selection, points), points)
