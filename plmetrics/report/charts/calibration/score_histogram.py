"""Scores of positives and of negatives in the same bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.calibration.score_bars import (
    NEGATIVE,
    bars_of,
    mirrored,
    mirrored_axis,
    reach,
)
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.marks import axis, layered, titled
from plmetrics.report.charts.operating import rules, thresholds_of
from plmetrics.report.charts.panels import panels
from plmetrics.report.charts.ranking.threshold_axis import threshold_axis
from plmetrics.report.charts.series import KEYS, series_of
from plmetrics.report.charts.words import finding, size_words, title_of

if TYPE_CHECKING:
    import altair as alt

    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.selection import Selection

_HEIGHT = 260


def draw(selection: Selection) -> Figure:
    """A panel a model: shares of the positives upwards, of the negatives downwards, and rules at thresholds."""
    points = selection.curve("score_histogram")
    # The classes are the two sides of a panel, not panels of their own.
    series = series_of(selection, points.with_columns(pl.lit(None, dtype=pl.String).alias("class")))
    keys = list(KEYS[:2])
    every = bars_of(points, "y")
    edges = pl.concat([every["x"], every["x2"]])
    chosen = thresholds_of(selection, series).select(*KEYS, "h")
    x = threshold_axis(edges, "Score")
    y = mirrored_axis(axis("y", "Share of the class", reach(every)), ".0%")

    def panel(panel: Panel) -> alt.LayerChart:
        of_panel = points.join(
            pl.DataFrame([key[:2] for key in panel.series.keys], schema=keys, orient="row"),
            on=keys,
            how="semi",
        )
        bars = mirrored(bars_of(of_panel, "y"), panel.x, panel.y, ("positives", f"{NEGATIVE}s"))
        top = panel.y["scale"].to_dict()["domain"][1]
        return layered(bars, *rules(panel, panel.series.rows(chosen), top))

    drawn = panels(series, x, y, panel, alone=True, height=_HEIGHT)
    title = title_of("Scores by class", series)
    marked = "" if chosen.is_empty() else "rules: thresholds of metrics"
    return Figure(
        titled(drawn.chart, title, (size_words(selection, series), marked), drawn.width),
        points,
        title,
        finding(title, "", series, selection),
        series.notes,
    )
