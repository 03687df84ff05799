"""Coverage: the share of labels in central intervals, against their level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import layer_charts
from plmetrics.report.charts.marks import PANEL, add_title, canvas_of, lines, note, reference, unit
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import band_words, size_words, title_of
from plmetrics.report.numbers import number

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection
    from plmetrics.report.charts.series import Series


def draw(selection: Selection) -> Figure:
    """A line a model; on the diagonal intervals hold as many labels as they should."""
    series = series_of(selection, selection.curve("coverage"))
    x = unit("x", "Nominal level of the interval")
    y = unit("y", "Share of labels in it (best on the diagonal)")
    canvas = canvas_of(series.frame, x, y, PANEL, PANEL)
    if canvas is not None:
        canvas.line([0, 1], [0, 1])
    chart = layer_charts(
        reference([(0, 0), (1, 1)]),
        note(0.62, 0.62, "as promised", dx=8, dy=14),
        lines(series.frame, x, y, series.labels, "top-left", canvas=canvas),
    )
    title = title_of("Coverage", series)
    subtitle = (
        "below the line: intervals are too narrow; above: too wide",
        band_words(selection, series, "the share at each level"),
        size_words(selection, series),
    )
    chart = add_title(chart, title, subtitle, PANEL, PANEL)
    return Figure(chart, series.drawn, title, _finding(title, series), series.notes)


def _finding(title: str, series: Series) -> str:
    """Summary in words: the largest deviation of each model from nominal coverage."""
    words = []
    for part in series.frame.partition_by("s", maintain_order=True):
        away = part.with_columns(away=part["y"] - part["x"]).drop_nulls("away")
        if away.is_empty():
            continue
        row = away[int(away["away"].abs().arg_max() or 0)].row(0, named=True)
        words.append(f"{row['s'] or 'the forecast'}: {number(row['y'])} at a level of {number(row['x'])}")
    return f"{title}. Farthest from the diagonal: {'; '.join(words)}."
