"""Charts along the threshold: the distribution functions of both classes (KS), and the rates of calls at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.report.charts.grammar import Chart, base, channel, layer_charts
from plmetrics.report.charts.marks import ends, lines, point_label, unit
from plmetrics.report.charts.operating import rules, threshold_axis, thresholds_of
from plmetrics.report.charts.panels import Panel, panels
from plmetrics.report.charts.ranking.line_chart import prevalence_of
from plmetrics.report.charts.series import KEYS, every_point, series_of
from plmetrics.report.charts.theme import LIGHT
from plmetrics.report.charts.words import findings, level_words, size_words, three_digits, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection
    from plmetrics.report.charts.series import Series

CLASSES = ("positives", "negatives")
SHARES = ("precision", "recall", "F1", "share called")


def ks(selection: Selection) -> Figure:
    """Two cumulative lines a panel, with a rule where they are farthest apart; from the points of the ROC curve."""
    points = selection.curve("roc")
    series = series_of(selection, points, "ks", by_threshold=True)
    gaps = {
        key: _largest_gap(_below(every_point(series.part([number], lambda _: ""), points)))
        for number, key in enumerate(series.keys)
    }
    y = unit("y", "Share of the class with a lower score")

    def panel(panel: Panel) -> Chart:
        corner = "right" if panel.small else "top-left"
        curves, canvas = _curves(panel, _below(panel.series.frame), CLASSES, corner)
        gap = gaps[panel.series.keys[0]]
        classes = pl.DataFrame({"x": [gap["h"]], "lo": [gap["positives"]], "hi": [gap["negatives"]]})
        rule = base(classes).mark("rule", color=LIGHT["ink"], strokeWidth=1.6)
        canvas.line([gap["h"], gap["h"]], [gap["positives"], gap["negatives"]])
        rule = rule.encode(x=channel(**panel.x), **ends(panel.y))
        return layer_charts(curves, rule, _gap_label(canvas, gap))

    drawn = panels(series, _threshold_axis, y, panel, alone=True, shared=True)
    title = title_of("Kolmogorov-Smirnov", series)
    value = f"largest gap {series.values[0]}" if len(series.keys) == 1 and series.values[0] else ""
    level = f"[{level_words(selection)} interval]" if any("[" in text for text in series.values) else ""
    subtitle = (size_words(selection, series), f"{value} {level}".strip() if value else "")
    words = findings(title, series, _gap_finding, every_point(series, points))
    return series.figure(drawn.chart, title, subtitle, words, drawn.width)


def _threshold_axis(series: Series) -> dict[str, Any]:
    return threshold_axis(series.frame["h"])


def _largest_gap(wide: pl.DataFrame) -> dict[str, float]:
    """First threshold with the largest distance of the classes, with their shares."""
    return wide.sort((pl.col("negatives") - pl.col("positives")).abs(), descending=True).row(0, named=True)


def _gap_finding(points: pl.DataFrame) -> str:
    return f"largest gap {_gap_words(_largest_gap(_below(points)))}"


def _gap_words(gap: dict[str, float]) -> str:
    return f"{three_digits(abs(gap['negatives'] - gap['positives']))} at {three_digits(gap['h'])}"


def _gap_label(canvas: Canvas, gap: dict[str, float]) -> Chart:
    """The size of the gap, on the side of its rule where it covers less."""
    text, heights = _gap_words(gap), np.linspace(gap["positives"], gap["negatives"], 9)[1:-1].tolist()
    x, y, side = canvas.spot([(gap["h"], at) for at in heights], text, [("left", 6, 0), ("right", -6, 0)])
    return point_label(x, y, text, side)


def _below(frame: pl.DataFrame) -> pl.DataFrame:
    """By threshold, the shares of the classes below it; above the highest score it is all of both."""
    called = frame.filter(pl.col("h").is_not_null()).sort("h")
    shares = called.select("h", positives=1 - pl.col("y"), negatives=1 - pl.col("x"))
    last = shares.tail(1).with_columns(positives=pl.lit(1.0), negatives=pl.lit(1.0))
    return pl.concat([shares, last])


def _curves(panel: Panel, wide: pl.DataFrame, names: Sequence[str], corner: str) -> tuple[Chart, Canvas]:
    """A line for each of some columns along the threshold, and the canvas with all of them."""
    parts = [wide.select(x="h", y=name, s=pl.lit(name), k=pl.int_range(pl.len())) for name in names]
    long = pl.concat(parts)
    canvas, step = panel.canvas(long), "step-before" if panel.series.exact else "linear"
    return lines(long, panel.x, panel.y, names, corner, interpolate=step, canvas=canvas), canvas


def thresholds(selection: Selection) -> Figure:
    """A panel a model with a line a share, and rules at the thresholds of metrics; from the curve `pr`."""
    points = selection.curve("pr")
    series = series_of(selection, points, by_threshold=True)
    chosen = thresholds_of(selection, series).select(*KEYS, "h")
    y = unit("y", "Share")

    def panel(panel: Panel) -> Chart:
        rate = next(iter(prevalence_of(selection, panel.series).values()))
        marks = rules(panel, panel.series.rows(chosen), 1.0)
        curves, _ = _curves(panel, _shares(panel.series.frame, rate), SHARES, "right")
        return layer_charts(*marks, curves)

    drawn = panels(series, _threshold_axis, y, panel, alone=True, shared=True)
    title = title_of("Thresholds", series)
    marked = "" if chosen.is_empty() else "rules: thresholds of metrics"
    subtitle = (size_words(selection, series), marked, _doubt(selection.summary.record))
    words = findings(title, series, _highest_f1, every_point(series, points))
    return series.figure(drawn.chart, title, subtitle, words, drawn.width)


def _shares(frame: pl.DataFrame, rate: float) -> pl.DataFrame:
    """Shares by threshold; the called share follows from recall, precision and prevalence."""
    precision, recall = pl.col("y"), pl.col("x")
    wide = frame.filter(pl.col("h").is_not_null()).sort("h")
    return wide.with_columns(
        pl.when(precision > 0).then(recall * rate / precision).alias("share called"),
        precision=precision,
        recall=recall,
        F1=pl.when(precision + recall > 0).then(2 * precision * recall / (precision + recall)).otherwise(0.0),
    )


def _highest_f1(points: pl.DataFrame) -> str:
    shares = _shares(points, 1.0).sort("F1", descending=True, maintain_order=True)
    if shares.is_empty():
        return ""
    x, y = shares.select("h", "F1").row(0)
    return f"F1 is highest, {three_digits(y)}, at {three_digits(x)}"


def _doubt(record: Mapping[str, Any]) -> str:
    """Caution against thresholds chosen on the evaluated rows, if the run warned of it."""
    warnings = record.get("warnings", ())
    same = any(str(text).startswith("chosen on the rows that are evaluated") for text in warnings)
    return "thresholds were chosen on these rows: values there look better than they are" if same else ""
