"""Labels given predictions, predictions given labels, and the joint frequency of bins: three panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import hconcat, layer_charts
from plmetrics.report.charts.marks import (
    SMALL_PANEL,
    add_title,
    axis,
    lines,
    nice_ticks,
    reference,
    span,
    unit,
)
from plmetrics.report.charts.selection import NothingToDraw
from plmetrics.report.charts.series import Series, series_of
from plmetrics.report.charts.words import finding, level_words, size_words, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.selection import Selection

_CURVES = {
    "conditional_label": ("Prediction", "Mean label"),
    "conditional_prediction": ("Label", "Mean prediction"),
    "conditional_recall": ("Label", "Share in the same bin"),
}


def draw(selection: Selection) -> Figure:
    """Panel per drawn curve, at most three, with the diagonal of equal prediction and label."""
    there = selection.summary.curves["curve"].unique().to_list()
    names = [name for name in _CURVES if name in there]
    if not names:
        hint = "ask for it when you evaluate: curves=['conditional_label', 'conditional_prediction']"
        raise NothingToDraw(Problem("the result has no conditional curve", hint=hint))
    series = {name: series_of(selection, selection.curve(name), "rmse") for name in names}
    ends = [
        column
        for name, part in series.items()
        if name != "conditional_recall"
        for column in (part.frame["x"], part.frame["y"])
    ]
    square = span(*ends) if ends else span(series[names[0]].frame["x"])
    first = series[names[0]]
    panels = [_panel(name, part, square, keyed=name == names[-1]) for name, part in series.items()]
    chart = hconcat(*panels, spacing=30).resolve_scale(color="independent", strokeDash="independent")
    title = title_of("Conditional means", first)
    subtitle = (
        f"20 bins of equal weight; {level_words(selection)} band of the mean, rows taken as independent",
        size_words(selection, first),
    )
    drawn = pl.concat([part.drawn for part in series.values()])
    chart = add_title(chart, title, subtitle, 3 * SMALL_PANEL, frame="bounds")
    return Figure(chart, drawn, title, finding(title, "rmse", first, selection), first.notes)


def _panel(name: str, series: Series, square: tuple[float, float], *, keyed: bool) -> Chart:
    across, up = _CURVES[name]
    x = axis("x", across, square, ticks=nice_ticks(square, 5))
    if name == "conditional_recall":
        y = unit("y", f"{up} (higher is better)")
        parts: list[Chart] = []
    else:
        y = axis("y", up, square, ticks=nice_ticks(square, 5))
        parts = [reference([(square[0], square[0]), (square[1], square[1])])]
    parts.append(lines(series.frame, x, y, series.labels, "right" if keyed else "none"))
    return layer_charts(*parts).properties(width=SMALL_PANEL + 30, height=SMALL_PANEL + 30)
