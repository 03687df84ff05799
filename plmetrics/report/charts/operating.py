"""Thresholds of the result's metrics, as points on curves and as rules across them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.grammar import Chart, base, channel
from plmetrics.report.charts.marks import axis, point_label, series_paint, span, unit
from plmetrics.report.charts.series import KEYS, Series
from plmetrics.report.charts.theme import LIGHT
from plmetrics.report.charts.words import three_digits

if TYPE_CHECKING:
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection

MOST_THRESHOLDS = 3
"""Of a series: more would hide the line."""
_MOST_WORDS = 6
_NEAR = 34


def threshold_axis(thresholds: pl.Series, title: str = "Threshold of the score") -> dict[str, Any]:
    """The axis `x` of thresholds: from 0 to 1 where scores lie there, else over their range."""
    finite = thresholds.drop_nulls()
    if len(finite) and finite.is_between(0, 1 + 1e-9).all():
        return unit("x", title)
    return axis("x", title, span(finite))


def thresholds_of(selection: Selection, series: Series) -> pl.DataFrame:
    """The thresholds of a result's metrics: model, slice, class, `h` and the label `s` of the series."""
    rows = selection.rows(selection.summary.metrics).filter(pl.col("threshold").is_not_null())
    distinct = rows.select(*KEYS, h="threshold").unique(maintain_order=True)
    first = distinct.filter(pl.int_range(pl.len()).over(KEYS) < MOST_THRESHOLDS)
    return series.rows(first)


def operating_points(selection: Selection, series: Series, points: pl.DataFrame) -> pl.DataFrame:
    """Points of a curve at the thresholds of metrics: the lowest score at or above each is the last one called.

    Columns are those that tell series apart, `x`, `y`, the threshold `h` and its text `t`.
    """
    known = thresholds_of(selection, series).sort("h")
    places = series.rows(points).filter(pl.col("threshold").is_not_null()).sort("threshold")
    met = known.join_asof(
        places.select("x", "y", "threshold", "s"),
        left_on="h",
        right_on="threshold",
        by="s",
        strategy="forward",
        check_sortedness=False,
    )
    texts = pl.Series("t", [three_digits(value) for value in met["h"]], dtype=pl.String)
    return met.with_columns(texts).filter(pl.col("x").is_not_null()).select(*KEYS, "x", "y", "h", "t")


def dots(panel: Panel, chosen: pl.DataFrame, canvas: Canvas) -> list[Chart]:
    """Points at chosen thresholds, and their values where there is room for them."""
    places = panel.series.rows(chosen)
    if places.is_empty():
        return []
    return points_with_texts(panel, places, canvas)


def points_with_texts(panel: Panel, places: pl.DataFrame, canvas: Canvas) -> list[Chart]:
    """Points with texts `t` beside them, where there is room for these between lines, points and other texts."""
    drawn = _points(panel, places)
    if places.height > _MOST_WORDS:
        return [drawn]
    words = places.select("x", "y", "t").rows()
    for x, y, _ in words:
        canvas.marker(x, y)
    sides = [canvas.side(*word) for word in words]
    labels = zip(words, sides, strict=True)
    return [drawn, *(point_label(x, y, text, side) for (x, y, text), side in labels if side is not None)]


def _points(panel: Panel, places: pl.DataFrame) -> Chart:
    """Points in the colours and shapes of their series."""
    painted_places = places.join(series_paint(panel.series.labels), on="s", maintain_order="left")
    marks = base(painted_places.select("x", "y", "fill", "p")).mark(
        "point", size=72, stroke=LIGHT["paper"], strokeWidth=1.2
    )
    return marks.encode(
        x=channel(**panel.x),
        y=channel(**panel.y),
        shape=channel("p:N", legend=None, scale=None),
        fill=channel("fill:N", legend=None, scale=None),
    )


def rules(panel: Panel, chosen: pl.DataFrame, top: float) -> list[Chart]:
    """Rules across a panel at thresholds `h`, with their values above it, turned away from near ones."""
    if chosen.is_empty():
        return []
    places = chosen.select(x="h", y=pl.lit(float(top))).unique("x").sort("x")
    mark = base(places).mark("rule", color=LIGHT["reference"], strokeDash=[4, 4], strokeWidth=1.3)
    rule = mark.encode(x=channel(**panel.x))
    pixels = panel.canvas().pixels(places["x"].to_numpy(), places["y"].to_numpy())[:, 0]
    words = []
    for number, (x, y) in enumerate(places.iter_rows()):
        near = [other for other in pixels if 0 < abs(other - pixels[number]) < _NEAR]
        align = "center" if not near else "right" if near[-1] > pixels[number] else "left"
        words.append(point_label(x, y, three_digits(x), (align, 0, -7), LIGHT["mute"]))
    return [rule, *words]
