"""Histograms of scores by class: positives upwards, negatives downwards, in the same bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import Chart, base, channel, layer_charts, options
from plmetrics.report.charts.marks import add_title, axis, point_label
from plmetrics.report.charts.operating import rules, threshold_axis, thresholds_of
from plmetrics.report.charts.panels import Panel, panels
from plmetrics.report.charts.series import KEYS, Series, series_of
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import findings, size_words, three_digits, title_of
from plmetrics.report.numbers import count

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection

HISTOGRAM, REST = "score_histogram", "score_histogram_rest"
POSITIVE, NEGATIVE = "positive", "negative"
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


def sides_of(curves: pl.DataFrame) -> pl.DataFrame:
    """Curve `score_histogram` with the `side` of each bar, and as `class` the one told from the rest.

    Of a binary score the classes are the sides; of several classes the rows of one are those of `score_histogram`, all
    others those of `score_histogram_rest`.
    """
    rows = curves.filter(pl.col("curve").is_in([HISTOGRAM, REST]))
    if (rows["curve"] == REST).any():
        side = pl.when(pl.col("curve") == REST).then(pl.lit(NEGATIVE)).otherwise(pl.lit(POSITIVE))
        return rows.with_columns(side=side)
    return rows.with_columns(pl.col("class").alias("side"), pl.lit(None, dtype=pl.String).alias("class"))


def bars_of(rows: pl.DataFrame, height: str) -> pl.DataFrame:
    """Bars of `sides_of`, from `x` to `x2` and from 0 to `y`, negative for the negative class."""
    sign = pl.when(pl.col("side") == POSITIVE).then(1.0).otherwise(-1.0)
    colors = {POSITIVE: SERIES[0], NEGATIVE: LIGHT["faint"]}
    return rows.filter(pl.col(height).is_not_null()).select(
        x=2 * pl.col("x") - pl.col("threshold"),
        x2="threshold",
        y=pl.col(height) * sign,
        z=pl.lit(0.0),
        fill=pl.col("side").replace_strict(colors, return_dtype=pl.String),
        side="side",
        n="n",
    )


def reach(bars: pl.DataFrame, room: float = 0.08) -> tuple[float, float]:
    """The range of the bars' heights, with some room for words."""
    low, high = float(bars["y"].min() or 0.0), float(bars["y"].max() or 0.0)  # type: ignore[arg-type]
    pad = room * (high - low) or 1.0
    return low - pad, high + pad


def mirror_bars(bars: pl.DataFrame, x: dict[str, Any], y: dict[str, Any], names: Sequence[str]) -> Chart:
    """The bars with a line at 0, and the names of both classes with their rows at the emptier side."""
    mark = base(bars.select("x", "x2", "y", "z", "fill")).mark("bar", stroke=LIGHT["paper"], strokeWidth=0.6)
    columns = mark.encode(
        x=channel(**x), x2="x2:Q", y=channel(**y), y2="z:Q", fill=channel("fill:N", scale=None, legend=None)
    )
    left, right = x["scale"]["domain"]
    low, high = y["scale"]["domain"]
    places, weights = bars["x"].to_numpy(), bars["y"].abs().to_numpy()
    middle = float((places * weights).sum() / (weights.sum() or 1.0))
    place, side = (right, "right") if middle < (left + right) / 2 else (left, "left")
    shift = -6 if side == "right" else 6
    words = [
        point_label(place, end, f"{name} {_rows(bars, kind)}".strip(), (side, shift, dy), LIGHT["mute"])
        for name, kind, end, dy in ((names[0], POSITIVE, high, 10), (names[1], NEGATIVE, low, -10))
    ]
    return layer_charts(columns, *words)


def _rows(bars: pl.DataFrame, kind: str) -> str:
    rows = bars.filter(side=kind)["n"].drop_nulls()
    return count(int(rows.sum())) if len(rows) else ""


def mirrored_axis(channel: dict[str, Any], form: str) -> dict[str, Any]:
    """Axis with lengths of bars instead of heights, so that both sides are positive."""
    labels = options(labelExpr=f"format(abs(datum.value), '{form}')", tickCount=4)
    return {**channel, "axis": labels}
