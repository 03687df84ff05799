"""Cumulated effects by share of rows: Qini and uplift curves, over the line of a random order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import layer_charts
from plmetrics.report.charts.marks import (
    PANEL,
    UNIT,
    UNIT_TICKS,
    add_title,
    axis,
    canvas_of,
    lines,
    nice_ticks,
    note,
    reference,
    span,
)
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import band_words, finding, heading_of, size_words, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.selection import Selection

_WIDTH, _HEIGHT = PANEL + 80, PANEL - 20


def qini(selection: Selection) -> Figure:
    """The Qini curve: outcomes gained over controls, by share of rows, with the coefficient of each model."""
    return _gain(selection, "qini", "qini", "Qini curve", "Outcome gained per treated row (higher is better)")


def uplift(selection: Selection) -> Figure:
    """The uplift curve: effect among the highest scores times their share, with the area of each model."""
    return _gain(selection, "uplift", "auuc", "Uplift curve", "Gain: share times effect (higher is better)")


def _gain(selection: Selection, curve: str, metric: str, name: str, side: str) -> Figure:
    """A line a model, and a straight one from (0, 0) to the effect on all rows; there is no perfect line."""
    series = series_of(selection, selection.curve(curve), metric)
    ends = [series.frame[column] for column in ("y", "lo", "hi")]
    domain = span(*ends, include=[0.0])
    x = axis("x", "Share of rows, highest scores first", UNIT, form=".0%", ticks=UNIT_TICKS)
    y = axis("y", side, domain, ticks=nice_ticks(domain, 7))
    ends_of_random = _ends(series.drawn)
    canvas = canvas_of(series.frame, x, y, _WIDTH, _HEIGHT)
    if canvas is not None:
        for row in ends_of_random:
            canvas.line([0.0, row["x"]], [0.0, row["y"]])
    heading = heading_of(selection, series, metric)
    chart = layer_charts(
        *_random(ends_of_random),
        lines(series.frame, x, y, series.labels, "top-left", heading=heading, canvas=canvas),
    )
    title = title_of(name, series)
    subtitle = (band_words(selection, series, "the gain at each share"), size_words(selection, series))
    chart = add_title(chart, title, subtitle, _WIDTH, _HEIGHT)
    return Figure(chart, series.drawn, title, finding(title, metric, series, selection), series.notes)


def _ends(points: pl.DataFrame) -> list[dict[str, Any]]:
    """Ends of the curves of each slice: the effect on all its rows."""
    last = points.filter(pl.col("y").is_not_null()).sort("x").group_by("slice", maintain_order=True).last()
    return last.rows(named=True)


def _random(ends: list[dict[str, Any]]) -> list[Chart]:
    """The line of a random order in each slice, straight to where its curves end."""
    marks = [reference([(0, 0), (row["x"], row["y"])]) for row in ends]
    if ends:
        x, y = ends[0]["x"], ends[0]["y"]
        marks.append(note(x * 0.72, y * 0.72, "random order", dx=4, dy=14 if y >= 0 else -10))
    return marks
