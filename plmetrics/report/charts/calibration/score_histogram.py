"""Scores of positives and of negatives in the same bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.report.charts.calibration.score_bars import (
    HISTOGRAM,
    NEGATIVE,
    POSITIVE,
    REST,
    bars_of,
    mirror_bars,
    mirrored_axis,
    reach,
    sides_of,
)
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import layer_charts
from plmetrics.report.charts.marks import add_title, axis
from plmetrics.report.charts.operating import rules, threshold_axis, thresholds_of
from plmetrics.report.charts.panels import panels
from plmetrics.report.charts.series import KEYS, series_of
from plmetrics.report.charts.words import findings, size_words, three_digits, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.selection import Selection
    from plmetrics.report.charts.series import Series

_HEIGHT = 260


def draw(selection: Selection) -> Figure:
    """A panel a model: shares of the positives upwards, of the negatives downwards, and rules at thresholds."""
    selection.curve("score_histogram")
    rows = selection.rows(selection.summary.curves).filter(pl.col("curve").is_in([HISTOGRAM, REST]))
    points = sides_of(rows)
    series = series_of(selection, points.drop("side"))
    names = ("class", "rest") if points["class"].is_not_null().any() else ("positives", "negatives")
    every = bars_of(points, "y")
    edges = pl.concat([every["x"], every["x2"]])
    chosen = thresholds_of(selection, series).select(*KEYS, "h")
    x = threshold_axis(edges, "Score")
    y = mirrored_axis(axis("y", "Share of the class", reach(every, 0.14)), ".0%")

    def panel(panel: Panel) -> Chart:
        bars = mirror_bars(bars_of(panel.series.rows(points), "y"), panel.x, panel.y, names)
        top = panel.y["scale"]["domain"][1]
        return layer_charts(bars, *rules(panel, panel.series.rows(chosen), top))

    drawn = panels(series, x, y, panel, alone=True, height=_HEIGHT)
    title = title_of("Scores by class", series)
    marked = "" if chosen.is_empty() else "rules: thresholds of metrics"
    return Figure(
        add_title(drawn.chart, title, (size_words(selection, series), marked), drawn.width),
        rows,
        title,
        findings(title, series, lambda part: _means(points, series, part)),
        series.notes,
    )


def _means(points: pl.DataFrame, series: Series, part: pl.DataFrame) -> str:
    """The mean of each class, to the middle of its bins."""
    keys = series.keys[series.labels.index(part["s"][0])]
    rows = points.filter(
        *(pl.col(name).eq_missing(pl.lit(key)) for name, key in zip(KEYS, keys, strict=True))
    )
    words = []
    for side, name in ((POSITIVE, "positives"), (NEGATIVE, "negatives")):
        bins = rows.filter(pl.col("side") == side, pl.col("y") > 0)
        if not bins.is_empty():
            mean = np.average(bins["x"].to_numpy(), weights=bins["y"].to_numpy())
            words.append(f"{name} {three_digits(float(mean))}")
    return f"mean score of {' and of '.join(words)}" if words else ""
