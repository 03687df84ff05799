"""Predicted against observed effects, by tenths of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import base, channel, layer_charts, options
from plmetrics.report.charts.marks import (
    PANEL,
    add_title,
    axis,
    ends,
    legend,
    nice_ticks,
    note,
    reference,
    shapes,
    span,
)
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import findings, level_words, size_words, three_digits, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection


def draw(selection: Selection) -> Figure:
    """A point a tenth and model, with its interval; on the diagonal effects are as predicted."""
    series = series_of(selection, selection.curve("effect_calibration"))
    frame = series.frame
    across = span(frame["x"])
    up = span(frame["y"], frame["lo"], frame["hi"], include=[0.0])
    x = axis("x", "Mean predicted effect", across, ticks=nice_ticks(across, 6))
    y = axis("y", "Observed effect", up, ticks=nice_ticks(up, 7))
    low, high = max(across[0], up[0]), min(across[1], up[1])
    colors = {label: SERIES[index] for index, label in enumerate(series.labels)}
    bars = frame.filter(pl.col("lo").is_not_null(), pl.col("hi").is_not_null()).with_columns(
        ink=pl.col("s").replace_strict(colors, return_dtype=pl.String)
    )
    key = _key(series.labels)
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
        .encode(
            x=channel(**x), y=channel(**y), fill=_fill(series.labels, key), shape=shapes(series.labels, key)
        ),
    ]
    title = title_of("Effects by tenth of the predicted one", series)
    has_intervals = bars.height > 0
    subtitle = (
        f"bars: {level_words(selection)} intervals" if has_intervals else "",
        size_words(selection, series),
    )
    chart = add_title(layer_charts(*layers), title, subtitle, PANEL + 40, PANEL)
    return Figure(chart, series.drawn, title, findings(title, series, _ends), series.notes)


def _ends(points: pl.DataFrame) -> str:
    """Observed effects of the first and of the last tenth."""
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


def _fill(labels: tuple[str, ...], key: dict[str, Any] | None) -> dict[str, Any]:
    colors = [SERIES[index] for index in range(len(labels))]
    return channel("s:N", legend=key, scale=options(domain=list(labels), range=colors))
