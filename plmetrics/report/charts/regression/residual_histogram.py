"""The histogram of residuals: bars of one model, outlines of several on the same bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import base, channel, layer_charts
from plmetrics.report.charts.marks import PANEL, add_title, axis, lines, note, reference
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import finding, heading_of, size_words, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.selection import Selection
    from plmetrics.report.charts.series import Series

_REACH = 3
_WIDTH, _HEIGHT = PANEL + 100, PANEL - 120


def draw(selection: Selection) -> Figure:
    """Share of rows by residual; residuals beyond 3 quartile ranges are numbers at the edges."""
    series = series_of(selection, selection.curve("residual_histogram"), "rmse")
    bins = series.frame.with_columns(low=2 * pl.col("x") - pl.col("h"))
    low, high = _domain(bins)
    inside = bins.filter(pl.col("low") >= low - 1e-9, pl.col("h") <= high + 1e-9)
    top = float(inside["y"].max() or 1.0) * 1.08  # type: ignore[arg-type]
    x = axis("x", "Residual: prediction \N{MINUS SIGN} label (best at 0)", (low, high))
    y = axis("y", "Share of rows", (0, top), form=".0%" if top > 0.05 else ".1%")
    middle = [reference([(0, 0), (0, top)])] if low < 0 < high else []
    chart = layer_charts(
        *_shares(inside, series, x, y, heading_of(selection, series, "rmse")),
        *middle,
        *_beyond(bins, series, low, high, top),
    )
    title = title_of("Residuals", series)
    subtitle = (size_words(selection, series),)
    chart = add_title(chart, title, subtitle, _WIDTH, _HEIGHT)
    return Figure(chart, series.drawn, title, finding(title, "rmse", series, selection), series.notes)


def _shares(
    bins: pl.DataFrame, series: Series, x: dict[str, Any], y: dict[str, Any], heading: str | None
) -> list[Chart]:
    if len(series.labels) > 1:
        points = bins.select("x", "y", "s", "k")
        return [
            lines(points, x, y, series.labels, "top-right", heading=heading, interpolate="step"),
        ]
    bars = bins.select("low", "h", "y", zero=pl.lit(0.0))
    mark = base(bars).mark("rect", color=SERIES[0], opacity=0.85, stroke=LIGHT["paper"], strokeWidth=0.6)
    left = channel(**{**x, "shorthand": "low:Q"})
    return [mark.encode(x=left, x2="h:Q", y=channel(**y), y2="zero:Q")]


def _domain(bins: pl.DataFrame) -> tuple[float, float]:
    """The range of bins within so many quartile ranges of the quartiles, of all series."""
    ends = []
    for _, part in bins.sort("x").group_by("s", maintain_order=True):
        share = part["y"].cum_sum() / part["y"].sum()
        first, third = (part["x"][int((share < level).sum())] for level in (0.25, 0.7499))
        width = float(part["h"][0] - part["low"][0])
        reach = _REACH * max(third - first, width)
        near = part.filter(pl.col("low") >= first - reach, pl.col("h") <= third + reach)
        ends.append(near)
    every = pl.concat(ends)
    return float(every["low"].to_numpy().min()), float(every["h"].to_numpy().max())


def _beyond(bins: pl.DataFrame, series: Series, low: float, high: float, top: float) -> list[Chart]:
    """Share of each series past the edges."""
    outside = {
        "left": bins.filter(pl.col("low") < low - 1e-9),
        "right": bins.filter(pl.col("h") > high + 1e-9),
    }
    words = []
    for side, part in outside.items():
        shares = [float(part.filter(s=label)["y"].sum()) for label in series.labels]
        if not any(shares):
            continue
        share = ("up to " if len(shares) > 1 else "") + f"{max(shares):.2%}"
        left = side == "left"
        text = f"\N{LEFTWARDS ARROW} {share} beyond" if left else f"{share} beyond \N{RIGHTWARDS ARROW}"
        words.append(note(low if left else high, top * 0.06, text, align=side, dx=4 if left else -4))
    return words
