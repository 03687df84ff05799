"""Charts of forecasts: coverage of intervals, and the histogram of the probability integral transform."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import Chart, base, channel, layer_charts
from plmetrics.report.charts.marks import (
    PANEL,
    SMALL_PANEL,
    add_title,
    axis,
    canvas_of,
    lines,
    nice_ticks,
    note,
    reference,
    unit,
)
from plmetrics.report.charts.panels import model_panel, rows_of_panels
from plmetrics.report.charts.series import by_model, model_names, panel_series
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import band_words, size_words, title_of
from plmetrics.report.numbers import count, number

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection

_Z = 1.96
_CLEAR = 0.1


def coverage(selection: Selection) -> Figure:
    """A line a model; on the diagonal intervals hold as many labels as they should."""
    series = panel_series(selection, selection.curve("coverage"))
    x = unit("x", "Nominal level of the interval")
    y = unit("y", "Share of labels in it (best on the diagonal)")
    canvas = canvas_of(series.frame, x, y, PANEL, PANEL)
    if canvas is not None:
        canvas.line([0, 1], [0, 1])
    chart = layer_charts(
        reference([(0, 0), (1, 1)]),
        note(0.62, 0.62, "as promised", dx=8, dy=14),
        lines(series.frame, x, y, series.labels, "top-left", canvas=canvas),
    )
    title = title_of("Coverage", series)
    subtitle = (
        "below the line: intervals are too narrow; above: too wide",
        band_words(selection, series, "the share at each level"),
        size_words(selection, series),
    )
    return series.figure(chart, title, subtitle, _coverage_finding(title, series.frame), PANEL, PANEL)


def _coverage_finding(title: str, frame: pl.DataFrame) -> str:
    words = []
    for part in frame.partition_by("s", maintain_order=True):
        away = part.with_columns(away=part["y"] - part["x"]).drop_nulls("away")
        if away.is_empty():
            continue
        row = away[int(away["away"].abs().arg_max() or 0)].row(0, named=True)
        words.append(f"{row['s'] or 'the forecast'}: {number(row['y'])} at a level of {number(row['x'])}")
    return f"{title}. Farthest from the diagonal: {'; '.join(words)}."


def pit(selection: Selection) -> Figure:
    """Panel per model: share of labels by bin over the expected one, 1, with its range by chance."""
    curve = selection.curve("pit_histogram")
    shown, notes = by_model(curve.with_columns(low=2 * pl.col("x") - pl.col("threshold")))
    parts, names, alone = list(shown.values()), model_names(shown), len(shown) == 1
    top = max(2.0, max(float(part["y"].max() or 0.0) for part in parts) * 1.08)  # type: ignore[arg-type]
    panels = [_pit_panel(part, top, "" if alone else name) for part, name in zip(parts, names, strict=True)]
    title = "Probability integral transform" + (f": {names[0]}" if alone else "")
    rows = parts[0]["n"].sum()
    subtitle = (
        "U: forecasts are too narrow; hump: too wide; slope: too low or too high",
        f"n = {count(int(rows))}; grey: 95% of flat histograms lie there, bin by bin" if rows else "",
        *notes,
    )
    drawn = rows_of_panels(panels, PANEL + 40, SMALL_PANEL + 80)
    words = "; ".join(f"{name}: {pit_shape(part)}" for name, part in zip(names, parts, strict=True))
    chart = add_title(drawn.chart, title, subtitle, drawn.width, frame="bounds")
    return Figure(chart, pl.concat(parts).drop("low"), title, f"{title}. {words}.", notes)


def pit_shape(bins: pl.DataFrame) -> str:
    """The shape of a histogram in words, where its outer bins and halves differ from 1 by a tenth or more."""
    width = bins["threshold"] - bins["low"]
    share = bins["y"] * width
    outer = (bins["threshold"] <= 0.2 + 1e-9) | (bins["low"] >= 0.8 - 1e-9)
    ends = float(share.filter(outer).sum()) / max(float(width.filter(outer).sum()), 1e-12)
    left = float(share.filter(bins["x"] < 0.5).sum()) / max(float(share.sum()), 1e-12)
    words = []
    if abs(left - 0.5) > _CLEAR / 2:
        words.append("labels lie low in the forecasts" if left > 0.5 else "labels lie high in the forecasts")
    if ends > 1 + _CLEAR:
        words.append("forecasts are too narrow")
    elif ends < 1 - _CLEAR:
        words.append("forecasts are too wide")
    return ", ".join(words) or "about flat"


def _pit_panel(bins: pl.DataFrame, top: float, name: str) -> Any:
    x = unit("low", "Transform of the label")
    y = axis("y", "Share over what is expected", (0, top), ticks=nice_ticks((0, top), 5))
    bars = bins.select("low", "y", high="threshold", zero=pl.lit(0.0))
    layers = [
        base(bars)
        .mark("rect", color=SERIES[0], opacity=0.8, stroke=LIGHT["paper"], strokeWidth=0.8)
        .encode(x=channel(**x), x2="high:Q", y=channel(**y), y2="zero:Q"),
        *_chance(bins),
        reference([(0, 1), (1, 1)]),
    ]
    small, alone = (SMALL_PANEL, SMALL_PANEL - 40), (PANEL + 40, PANEL - 120)
    return model_panel(layer_charts(*layers), name, small, alone)


def _chance(bins: pl.DataFrame) -> list[Chart]:
    """The range of bins of a flat histogram of as many independent rows: binomial, about 1."""
    rows = int(bins["n"].sum() or 0)
    if rows == 0:
        return []
    reach = [
        _Z * sqrt((high - low) * (1 - high + low) / rows) / (high - low)
        for low, high in bins.select("low", "threshold").rows()
    ]
    frame = bins.select("low", high="threshold").with_columns(
        lo=pl.Series([max(0.0, 1 - each) for each in reach]), hi=pl.Series([1 + each for each in reach])
    )
    mark = base(frame).mark("rect", color=LIGHT["ink"], opacity=0.22)
    return [mark.encode(x="low:Q", x2="high:Q", y="lo:Q", y2="hi:Q")]
