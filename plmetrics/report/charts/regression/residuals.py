"""Residuals by prediction: their mean with its band, and the spread around it, a panel a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import base, channel, chart_title, layer_charts
from plmetrics.report.charts.marks import (
    PANEL,
    SMALL_PANEL,
    add_title,
    axis,
    ends,
    nice_ticks,
    reference,
    span,
)
from plmetrics.report.charts.panels import rows_of_panels
from plmetrics.report.charts.series import by_model, model_names
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import level_words
from plmetrics.report.numbers import number, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.selection import Selection

_BANDS = (("0.05", "0.95", 0.10), ("0.25", "0.75", 0.18))


def draw(selection: Selection) -> Figure:
    """Mean residual by prediction; where the quantiles were drawn, the middle 50 and 90 % behind it."""
    means = selection.curve("residual_prediction")
    spread = selection.rows(selection.summary.curves.filter(curve="residual_quantiles"), optional=True)
    shown, notes = by_model(means)
    names, alone = model_names(shown), len(shown) == 1
    visible = pl.concat([means, spread]).join(pl.concat(shown.values()), on=["model", "slice"], how="semi")
    x = span(visible["x"])
    y = span(visible["y"], visible["lower"], visible["upper"], include=[0.0])
    panels = [
        _panel(visible.filter(model=model, slice=text), x, y, "" if alone else name)
        for (model, text), name in zip(shown, names, strict=True)
    ]
    title = "Residuals by prediction" + (f": {names[0]}" if alone else "")
    subtitle = (
        f"residual = prediction \N{MINUS SIGN} label; points: mean of 20 bins with a {level_words(selection)} band",
        "grey: the middle 50 and 90 % of the residuals" if spread.height else "",
        *notes,
    )
    drawn = rows_of_panels(panels, PANEL + 60, SMALL_PANEL + 90, spacing=24)
    chart = add_title(drawn.chart, title, subtitle, drawn.width, frame="bounds")
    return Figure(chart, visible, title, _finding(title, names, shown.values()), notes)


def _panel(points: pl.DataFrame, x: tuple[float, float], y: tuple[float, float], name: str) -> Chart:
    mean = points.filter(curve="residual_prediction")
    horizontal = axis("x", "Prediction", x, ticks=nice_ticks(x, 6))
    vertical = axis("y", "Residual (best at 0)", y, ticks=nice_ticks(y, 6))
    frame = mean.select("x", "y", lo="lower", hi="upper", k=pl.int_range(pl.len()))
    layers = [*_spread(points, horizontal, vertical), reference([(x[0], 0), (x[1], 0)])]
    across = channel(**horizontal)
    layers += [
        base(frame).mark("area", color=SERIES[0], opacity=0.22).encode(x=across, **ends(vertical)),
        base(frame)
        .mark("line", color=SERIES[0])
        .encode(x=across, y=channel(**vertical), order=channel("k:Q")),
        base(frame)
        .mark("point", color=SERIES[0], stroke=LIGHT["paper"], strokeWidth=1, size=44)
        .encode(x=across, y=channel(**vertical)),
    ]
    width, height = (SMALL_PANEL + 20, SMALL_PANEL) if name else (PANEL + 60, PANEL - 80)
    chart = layer_charts(*layers).properties(width=width, height=height)
    return chart.properties(title=chart_title(name, fontSize=12, offset=8)) if name else chart


def _spread(points: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> list[Chart]:
    """Areas between quantiles of the residuals."""
    quantiles = points.filter(curve="residual_quantiles")
    areas = []
    for low, high, opacity in _BANDS:
        levels = [
            quantiles.filter(pl.col("class") == level).select("x", pl.col("y").alias(name))
            for level, name in ((low, "lo"), (high, "hi"))
        ]
        first, last = levels
        frame = first.with_columns(last["hi"]) if len(first) == len(last) else first.clear()
        if frame.is_empty():
            continue
        area = base(frame).mark("area", color=LIGHT["reference"], opacity=opacity)
        areas.append(area.encode(x=channel(**x), **ends(y)))
    return areas


def _finding(title: str, names: Sequence[str], means: Iterable[pl.DataFrame]) -> str:
    """Summary in words: the number of bins with 0 in the band, and the largest mean residual."""
    words = []
    for name, part in zip(names, means, strict=True):
        away = part.filter((pl.col("lower") > 0) | (pl.col("upper") < 0)).height
        largest = part.sort(pl.col("y").abs(), descending=True).row(0, named=True)
        words.append(
            f"{name}: band without 0 in {away} of {plural(part.height, 'bin')}, "
            f"largest mean residual {number(largest['y'])} at a prediction of {number(largest['x'])}"
        )
    return f"{title}. {'; '.join(words)}."
