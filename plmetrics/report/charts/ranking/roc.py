"""The ROC curve: recall against the false positive rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.marks import PANEL, layered, lines, note, reference, titled, unit
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import band_words, finding, level_words, size_words, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """A line a model, the area under it beside its name, and the band of recall where there is one."""
    series = series_of(selection, selection.curve("roc"), "roc_auc")
    x = unit("x", "False positive rate (lower is better)")
    y = unit("y", "Recall (higher is better)")
    chart = layered(
        reference([(0, 0), (1, 1)]),
        note(0.62, 0.62, "no skill", dx=6, dy=12),
        lines(series.frame, x, y, series.labels, heading=f"area [{level_words(selection)} interval]"),
    )
    title = title_of("ROC curve", series)
    subtitle = (
        band_words(selection, series, "recall at each false positive rate"),
        size_words(selection, series),
    )
    return Figure(
        titled(chart, title, subtitle, PANEL, PANEL),
        series.drawn,
        title,
        finding(title, "roc_auc", series, selection),
        series.notes,
    )
