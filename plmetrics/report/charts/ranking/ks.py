"""Kolmogorov-Smirnov chart: the distribution functions of both classes, and their largest distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import base, channel, layer_charts
from plmetrics.report.charts.marks import add_title, ends, lines, point_label, unit
from plmetrics.report.charts.operating import threshold_axis
from plmetrics.report.charts.panels import panels
from plmetrics.report.charts.series import every_point, series_of
from plmetrics.report.charts.theme import LIGHT
from plmetrics.report.charts.words import findings, level_words, size_words, three_digits, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas, Side
    from plmetrics.report.charts.selection import Selection

CLASSES = ("positives", "negatives")


def draw(selection: Selection) -> Figure:
    """Two cumulative lines a panel, with a rule where they are farthest apart; from the points of the ROC curve."""
    points = selection.curve("roc")
    series = series_of(selection, points, "ks", by_threshold=True)
    gaps = {
        key: _largest_gap(_below(every_point(series.part([number], lambda _: ""), points)))
        for number, key in enumerate(series.keys)
    }
    x = threshold_axis(series.frame["h"])
    y = unit("y", "Share of the class with a lower score")

    def panel(panel: Panel) -> Chart:
        wide = _below(panel.series.frame)
        long = _by_class(wide)
        canvas = panel.canvas(long)
        corner = "right" if panel.small else "top-left"
        step = "step-before" if panel.series.exact else "linear"
        curves = lines(long, panel.x, panel.y, CLASSES, corner, interpolate=step, canvas=canvas)
        gap = gaps[panel.series.keys[0]]
        classes = pl.DataFrame({"x": [gap["h"]], "lo": [gap["positives"]], "hi": [gap["negatives"]]})
        rule = base(classes).mark("rule", color=LIGHT["ink"], strokeWidth=1.6)
        text = _gap_words(gap)
        canvas.line([gap["h"], gap["h"]], [gap["positives"], gap["negatives"]])
        label = point_label(*_gap_label(canvas, gap["h"], (gap["positives"], gap["negatives"]), text))
        rule = rule.encode(x=channel(**panel.x), **ends(panel.y))
        return layer_charts(curves, rule, label)

    drawn = panels(series, x, y, panel, alone=True, shared=True)
    title = title_of("Kolmogorov-Smirnov", series)
    value = f"largest gap {series.values[0]}" if len(series.keys) == 1 and series.values[0] else ""
    level = f"[{level_words(selection)} interval]" if any("[" in text for text in series.values) else ""
    subtitle = (size_words(selection, series), f"{value} {level}".strip() if value else "")
    return Figure(
        add_title(drawn.chart, title, subtitle, drawn.width),
        series.drawn,
        title,
        findings(title, series, _gap_finding, every_point(series, points)),
        series.notes,
    )


def _largest_gap(wide: pl.DataFrame) -> dict[str, float]:
    """First threshold with the largest distance of the classes, with their shares."""
    return wide.sort((pl.col("negatives") - pl.col("positives")).abs(), descending=True).row(0, named=True)


def _gap_finding(points: pl.DataFrame) -> str:
    return f"largest gap {_gap_words(_largest_gap(_below(points)))}"


def _gap_words(gap: dict[str, float]) -> str:
    return f"{three_digits(abs(gap['negatives'] - gap['positives']))} at {three_digits(gap['h'])}"


def _gap_label(
    canvas: Canvas, x: float, gap: tuple[float, float], text: str
) -> tuple[float, float, str, Side]:
    """The text on the side of the rule where it covers less."""
    heights = np.linspace(*gap, 9)[1:-1].tolist()
    x, y, side = canvas.spot([(x, at) for at in heights], text, [("left", 6, 0), ("right", -6, 0)])
    return x, y, text, side


def _below(frame: pl.DataFrame) -> pl.DataFrame:
    """By threshold, the shares of the classes below it; above the highest score it is all of both."""
    called = frame.filter(pl.col("h").is_not_null()).sort("h")
    shares = called.select("h", positives=1 - pl.col("y"), negatives=1 - pl.col("x"))
    last = shares.tail(1).with_columns(positives=pl.lit(1.0), negatives=pl.lit(1.0))
    return pl.concat([shares, last])


def _by_class(wide: pl.DataFrame) -> pl.DataFrame:
    parts = [wide.select(x="h", y=name, s=pl.lit(name), k=pl.int_range(pl.len())) for name in CLASSES]
    return pl.concat(parts)
