"""Cells of a heat map: shades with numbers, names of rows and columns around them, and the shades in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from plmetrics.report.charts.layers import base, layer_charts
from plmetrics.report.charts.slices.readings import CERTAIN
from plmetrics.report.charts.slices.rows import GAP, GUTTER
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.theme import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

_CELL, _ROW, _KEY = 82, 20, 64
_FITS = 12
EDGES = (CERTAIN, 3.0, 5.0)
"""Standard errors from which on a difference has a shade, and stronger ones."""
_SHADES = ("worse-3", "worse-2", "worse-1", "neutral", "better-1", "better-2", "better-3")
_KEYS = ("\u2264 \u22125 SE", "\u22123 to \u22125", "to \u22123", "holds 0", "to 3", "3 to 5", "\u2265 5 SE")


def heat_cells(cells: pl.DataFrame, places: pl.DataFrame, metrics: Sequence[str]) -> alt.LayerChart:
    """Cells with their numbers, names at the left, metrics above, and the shades explained below."""
    height = int(cells["k"].max()) + 1  # type: ignore[arg-type]
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, height], reverse=True, nice=False, zero=False), axis=None)
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, len(metrics)], nice=False, zero=False), axis=None)
    painted = cells.with_columns(_paint())
    boxes = painted.select(
        x=pl.col("j").cast(pl.Float64),
        x2=pl.col("j") + 1.0,
        y=pl.col("k").cast(pl.Float64),
        y2=pl.col("k") + 1.0,
        fill="fill",
    )
    texts = painted.select(x=pl.col("j") + 0.5, y=pl.col("k") + 0.5, t="v", ink="ink")
    cell = base(boxes).mark_rect(stroke=LIGHT["paper"], strokeWidth=1.5, opacity=1)
    layers = [
        cell.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", fill=alt.Fill("fill:N", scale=None)),
        _numbers(texts, x, y),
        *_labels(places, y),
        *_titles(metrics),
        *_key(height),
    ]
    chart: alt.LayerChart = layer_charts(*layers).properties(width=_CELL * len(metrics), height=_ROW * height)
    return chart


def _paint() -> list[pl.Expr]:
    """The fill of a cell by its shade, and its ink: grey where it is small."""
    fills = {place: LIGHT[name] for place, name in enumerate(_SHADES)}
    shade = pl.col("c").cast(pl.Int64)
    ink = pl.when("small").then(pl.lit(LIGHT["mute"])).otherwise(pl.lit(LIGHT["ink"]))
    small = pl.when(pl.col("small")).then(pl.lit(LIGHT["neutral"]))
    return [small.otherwise(shade.replace_strict(fills)).alias("fill"), ink.alias("ink")]


def _numbers(texts: pl.DataFrame, x: alt.X, y: alt.Y) -> alt.Chart:
    mark = base(texts).mark_text(fontSize=11, baseline="middle", limit=_CELL - 6)
    chart: alt.Chart = mark.encode(x=x, y=y, text="t:N", color=alt.Color("ink:N", scale=None))
    return chart


def _labels(places: pl.DataFrame, y: alt.Y) -> list[alt.Chart]:
    """Names of slices, and of their sets in bold where there is room before them."""
    first = places.group_by("set", maintain_order=True).first()
    heads = first.select(
        t=pl.col("slice_set").map_elements(lambda text: short(text, 40), pl.String), y=pl.col("k") - 0.5
    )
    rows = pl.concat(
        [pl.DataFrame({"t": ["All rows"], "y": [0.5]}), places.select("t", y=pl.col("k") + 0.5)],
        how="vertical",
    )
    parts = ((heads, -GUTTER, "left", "bold"), (rows, -GAP, "right", "normal"))
    return [
        base(frame)
        .mark_text(
            align=align,  # type: ignore[arg-type]
            baseline="middle",
            fontSize=11,
            fontWeight=weight,  # type: ignore[arg-type]
            color=LIGHT["ink"],
            limit=GUTTER - GAP if align == "right" else 400,
        )
        .encode(x=alt.value(place), y=y, text="t:N")
        for frame, place, align, weight in parts
    ]


def _titles(metrics: Sequence[str]) -> list[alt.Chart]:
    """Names of metrics above their columns, inclined where one is long."""
    steep = max(map(len, metrics)) > _FITS
    return [
        base(pl.DataFrame({"t": [short(metric, 30)]}))
        .mark_text(
            align="left" if steep else "center",
            baseline="bottom",
            angle=330 if steep else 0,
            fontSize=11,
            color=LIGHT["ink"],
        )
        .encode(x=alt.value(_CELL * (place + 0.5)), y=alt.value(-6), text="t:N")
        for place, metric in enumerate(metrics)
    ]


def _key(height: int) -> list[alt.Chart]:
    """The shades below the cells, with how many standard errors they stand for."""
    top = _ROW * height + 16
    marks = []
    for place, (shade, words) in enumerate(zip(_SHADES, _KEYS, strict=True)):
        left = -GUTTER + _KEY * place
        box = base(pl.DataFrame({"t": [words]}))
        marks += [
            box.mark_rect(color=LIGHT[shade], opacity=1).encode(
                x=alt.value(left), x2=alt.value(left + _KEY - 4), y=alt.value(top), y2=alt.value(top + 10)
            ),
            box.mark_text(fontSize=10, baseline="top", color=LIGHT["mute"]).encode(
                x=alt.value(left + (_KEY - 4) / 2), y=alt.value(top + 14), text="t:N"
            ),
        ]
    return marks
