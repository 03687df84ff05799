"""Charts of effects of a treatment: Qini and uplift curves, and predicted against observed effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.grammar import Chart, base, channel, layer_charts, options
from plmetrics.report.charts.marks import (
    PANEL,
    UNIT,
    UNIT_TICKS,
    axis,
    canvas_of,
    ends,
    legend,
    lines,
    nice_ticks,
    note,
    reference,
    shapes,
    span,
    with_ends,
)
from plmetrics.report.charts.series import panel_series
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import (
    band_words,
    finding,
    findings,
    heading_of,
    level_words,
    size_words,
    three_digits,
    title_of,
)

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.selection import Selection

_GAIN = PANEL + 80, PANEL - 20


def qini(selection: Selection) -> Figure:
    """The Qini curve: outcomes gained over controls, by share of rows, with the coefficient of each model."""
    return _gain(selection, "qini", "qini", "Qini curve", "Outcome gained per treated row (higher is better)")


def uplift(selection: Selection) -> Figure:
    """The uplift curve: effect among the highest scores times their share, with the area of each model."""
    return _gain(selection, "uplift", "auuc", "Uplift curve", "Gain: share times effect (higher is better)")


def _gain(selection: Selection, curve: str, metric: str, name: str, side: str) -> Figure:
    """A line a model, and a straight one from (0, 0) to the effect on all rows; there is no perfect line."""
    series = panel_series(selection, selection.curve(curve), metric)
    domain = span(*(series.frame[column] for column in ("y", "lo", "hi")), include=[0.0])
    x = axis("x", "Share of rows, highest scores first", UNIT, form=".0%", ticks=UNIT_TICKS)
    y = axis("y", side, domain, ticks=nice_ticks(domain, 7))
    drawn = series.drawn.filter(pl.col("y").is_not_null()).sort("x")
    last_points = drawn.group_by("slice", maintain_order=True).last().rows(named=True)
    canvas = canvas_of(series.frame, x, y, *_GAIN)
    if canvas is not None:
        for row in last_points:
            canvas.line([0.0, row["x"]], [0.0, row["y"]])
    heading = heading_of(selection, series, metric)
    chart = layer_charts(
        *_random(last_points),
        lines(series.frame, x, y, series.labels, "top-left", heading=heading, canvas=canvas),
    )
    title = title_of(name, series)
    subtitle = (band_words(selection, series, "the gain at each share"), size_words(selection, series))
    return series.figure(chart, title, subtitle, finding(title, metric, series, selection), *_GAIN)


def _random(last_points: list[dict[str, Any]]) -> list[Chart]:
    """The line of a random order in each slice, straight to where its curves end."""
    marks = [reference([(0, 0), (row["x"], row["y"])]) for row in last_points]
    if last_points:
        x, y = last_points[0]["x"], last_points[0]["y"]
        marks.append(note(x * 0.72, y * 0.72, "random order", dx=4, dy=14 if y >= 0 else -10))
    return marks


def effect_calibration(selection: Selection) -> Figure:
    """A point a tenth and model, with its interval; on the diagonal effects are as predicted."""
    series = panel_series(selection, selection.curve("effect_calibration"))
    frame = series.frame
    across = span(frame["x"])
    up = span(frame["y"], frame["lo"], frame["hi"], include=[0.0])
    x = axis("x", "Mean predicted effect", across, ticks=nice_ticks(across, 6))
    y = axis("y", "Observed effect", up, ticks=nice_ticks(up, 7))
    low, high = max(across[0], up[0]), min(across[1], up[1])
    colors = dict(zip(series.labels, SERIES, strict=False))
    bars = with_ends(frame).with_columns(ink=pl.col("s").replace_strict(colors, return_dtype=pl.String))
    key = _key(series.labels)
    fill = channel("s:N", legend=key, scale=options(domain=list(colors), range=list(colors.values())))
    layers = [reference([(across[0], 0), (across[1], 0)])]
    if low < high:
        layers += [
            reference([(low, low), (high, high)]),
            note(high, high, "as predicted", align="right", dx=-10, dy=12),
        ]
    layers += [
        base(bars).mark("rule").encode(x=channel(**x), **ends(y), color=channel("ink:N", scale=None)),
        base(frame)
        .mark("point", stroke=LIGHT["paper"], strokeWidth=1.2, size=60)
        .encode(x=channel(**x), y=channel(**y), fill=fill, shape=shapes(series.labels, key)),
    ]
    title = title_of("Effects by tenth of the predicted one", series)
    subtitle = (
        f"bars: {level_words(selection)} intervals" if bars.height else "",
        size_words(selection, series),
    )
    words = findings(title, series, _first_and_last)
    return series.figure(layer_charts(*layers), title, subtitle, words, PANEL + 40, PANEL)


def _first_and_last(points: pl.DataFrame) -> str:
    tenths = points.drop_nulls(["x", "y"]).sort("x")
    if tenths.is_empty():
        return ""
    (low, first), (high, last) = tenths.select("x", "y").row(0), tenths.select("x", "y").row(-1)
    predicted, observed = (f"{three_digits(a)} to {three_digits(b)}" for a, b in ((low, high), (first, last)))
    return f"observed {observed} where {predicted} is predicted"


def _key(labels: tuple[str, ...]) -> dict[str, Any] | None:
    """The legend, above the panel: points fill all its corners."""
    key = legend(labels, "top")
    if key is not None:
        del key["symbolType"]
        key["symbolSize"], key["symbolStrokeWidth"] = 60, 0
    return key
