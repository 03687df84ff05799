"""Precision, recall, F1 and the share of rows called at each threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import layer_charts
from plmetrics.report.charts.marks import add_title, lines, unit
from plmetrics.report.charts.operating import rules, threshold_axis, thresholds_of
from plmetrics.report.charts.panels import panels
from plmetrics.report.charts.ranking.prevalence import prevalence_of
from plmetrics.report.charts.series import KEYS, every_point, series_of
from plmetrics.report.charts.words import findings, size_words, three_digits, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.selection import Selection

SHARES = ("precision", "recall", "F1", "share called")


def draw(selection: Selection) -> Figure:
    """A panel a model with a line a share, and rules at the thresholds of metrics; from the curve `pr`."""
    points = selection.curve("pr")
    series = series_of(selection, points, by_threshold=True)
    chosen = thresholds_of(selection, series).select(*KEYS, "h")
    x, y = threshold_axis(series.frame["h"]), unit("y", "Share")

    def panel(panel: Panel) -> Chart:
        rate = next(iter(prevalence_of(selection, panel.series).values()))
        long = _shares(panel.series.frame, rate)
        canvas = panel.canvas(long)
        step = "step-before" if panel.series.exact else "linear"
        marks = rules(panel, panel.series.rows(chosen), 1.0)
        curves = lines(long, panel.x, panel.y, SHARES, "right", interpolate=step, canvas=canvas)
        return layer_charts(*marks, curves)

    drawn = panels(series, x, y, panel, alone=True, shared=True)
    title = title_of("Thresholds", series)
    marked = "" if chosen.is_empty() else "rules: thresholds of metrics"
    subtitle = (size_words(selection, series), marked, _doubt(selection))
    return Figure(
        add_title(drawn.chart, title, subtitle, drawn.width),
        series.drawn,
        title,
        findings(title, series, _highest_f1, every_point(series, points)),
        series.notes,
    )


def _shares(frame: pl.DataFrame, rate: float) -> pl.DataFrame:
    """Shares by threshold; the called share follows from recall, precision and prevalence."""
    precision, recall = pl.col("y"), pl.col("x")
    wide = frame.filter(pl.col("h").is_not_null()).sort("h")
    wide = wide.with_columns(
        pl.when(precision > 0).then(recall * rate / precision).alias("share called"),
        precision=precision,
        recall=recall,
        F1=pl.when(precision + recall > 0).then(2 * precision * recall / (precision + recall)).otherwise(0.0),
    )
    return pl.concat(
        [wide.select(x="h", y=name, s=pl.lit(name), k=pl.int_range(pl.len())) for name in SHARES]
    )


def _highest_f1(points: pl.DataFrame) -> str:
    shares = _shares(points, 1.0).filter(s="F1").sort("y", descending=True, maintain_order=True)
    if shares.is_empty():
        return ""
    x, y = shares.select("x", "y").row(0)
    return f"F1 is highest, {three_digits(y)}, at {three_digits(x)}"


def _doubt(selection: Selection) -> str:
    """Caution against thresholds chosen on the evaluated rows, if the run warned of it."""
    warnings = selection.summary.record.get("warnings", ())
    same = any(str(text).startswith("chosen on the rows that are evaluated") for text in warnings)
    return "thresholds were chosen on these rows: values there look better than they are" if same else ""
