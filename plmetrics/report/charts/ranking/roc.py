"""The ROC curve: recall against the false positive rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.marks import layered, lines, note, reference, titled, unit
from plmetrics.report.charts.operating import dots, operating_points
from plmetrics.report.charts.panels import panels
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import (
    band_words,
    dot_words,
    finding,
    level_words,
    size_words,
    title_of,
)

if TYPE_CHECKING:
    import altair as alt

    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """A line a model, the area under it beside its name, and the band of recall where there is one."""
    points = selection.curve("roc")
    series = series_of(selection, points, "roc_auc")
    chosen = operating_points(selection, series, points)

    def panel(panel: Panel) -> alt.LayerChart:
        canvas = panel.canvas()
        canvas.line([0, 1], [0, 1])
        shown = panel.series
        curves = lines(
            shown.frame,
            panel.x,
            panel.y,
            shown.labels,
            heading=f"area [{level_words(selection)} interval]",
            canvas=canvas,
        )
        return layered(
            reference([(0, 0), (1, 1)]),
            *([] if panel.small else [note(0.62, 0.62, "no skill", dx=6, dy=12)]),
            curves,
            *dots(panel, chosen, canvas),
        )

    x = unit("x", "False positive rate (lower is better)")
    y = unit("y", "Recall (higher is better)")
    drawn = panels(series, x, y, panel)
    title = title_of("ROC curve", series)
    subtitle = (
        band_words(selection, series, "recall at each false positive rate"),
        size_words(selection, series),
        dot_words(chosen),
    )
    return Figure(
        titled(drawn.chart, title, subtitle, drawn.width),
        series.drawn,
        title,
        finding(title, "roc_auc", series, selection),
        series.notes,
    )
