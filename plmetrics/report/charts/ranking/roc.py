"""The ROC curve: recall against the false positive rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.marks import reference, remark, unit
from plmetrics.report.charts.ranking.line_chart import LineChart
from plmetrics.report.charts.series import series_of

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """A line a model, the area under it beside its name, and the band of recall where there is one."""
    points = selection.curve("roc")
    chart = LineChart(
        "ROC curve",
        unit("x", "False positive rate (lower is better)"),
        unit("y", "Recall (higher is better)"),
        metric="roc_auc",
        heading="area",
        band="recall at each false positive rate",
        under=_chance,
    )
    return chart.figure(selection, series_of(selection, points, "roc_auc"), points)


def _chance(panel: Panel, canvas: Canvas) -> list[Chart]:
    """The line of a score without skill."""
    line = reference([(0, 0), (1, 1)])
    canvas.line([0, 1], [0, 1])
    if panel.small:
        return [line]
    sides = (("left", 8, 12), ("right", -8, -12))
    return [line, remark(canvas, [(0.62, 0.62), (0.8, 0.8), (0.45, 0.45)], "no skill", sides)]
