"""Cells of a heat map: shades with numbers, names of rows and columns around them, and the shades in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.grammar import base, channel, constant, layer_charts, options
from plmetrics.report.charts.slices.readings import CERTAIN
from plmetrics.report.charts.slices.rows import GAP, GUTTER
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.theme import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.report.charts.grammar import Chart

_CELL, _ROW, _KEY = 82, 20, 64
_FITS = 12
EDGES = (CERTAIN, 3.0, 5.0)
"""Standard errors from which on a difference has a shade, and stronger ones."""
_SHADES = ("worse-3", "worse-2", "worse-1", "neutral", "better-1", "better-2", "better-3")
_KEYS = ("\u2264 \u22125 SE", "\u22123 to \u22125", "to \u22123", "holds 0", "to 3", "3 to 5", "\u2265 5 SE")


def heat_cells(cells: pl.DataFrame, places: pl.DataFrame, metrics: Sequence[str]) -> Chart:
    """Cells with their numbers, names at the left, metrics above, and the shades explained below."""
    height = int(cells["k"].max()) + 1  # type: ignore[arg-type]
    y = channel("y:Q", scale=options(domain=[0, height], reverse=True, nice=False, zero=False), axis=None)
    x = channel("x:Q", scale=options(domain=[0, len(metrics)], nice=False, zero=False), axis=None)
    painted = cells.with_columns(_paint())
    boxes = painted.select(
        x=pl.col("j").cast(pl.Float64),
        x2=pl.col("j") + 1.0,
        y=pl.col("k").cast(pl.Float64),
        y2=pl.col("k") + 1.0,
        fill="fill",
    )
    texts = painted.select(x=pl.col("j") + 0.5, y=pl.col("k") + 0.5, t="v", ink="ink")
    cell = base(boxes).mark("rect", stroke=LIGHT["paper"], strokeWidth=1.5, opacity=1)
    layers = [
        cell.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", fill=channel("fill:N", scale=None)),
        _numbers(texts, x, y),
        *_labels(places, y),
        *_titles(metrics),
        *_key(height),
    ]
    return layer_charts(*layers).properties(width=_CELL * len(metrics), height=_ROW * height)


def _paint() -> list[pl.Expr]:
    """The fill of a cell by its shade, and its ink: grey where it is small."""
    fills = {place: LIGHT[name] for place, name in enumerate(_SHADES)}
    shade = pl.col("c").cast(pl.Int64)
    ink = pl.when("small").then(pl.lit(LIGHT["mute"])).otherwise(pl.lit(LIGHT["ink"]))
    small = pl.when(pl.col("small")).then(pl.lit(LIGHT["neutral"]))
    return [small.otherwise(shade.replace_strict(fills)).alias("fill"), ink.alias("ink")]


def _numbers(texts: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> Chart:
    mark = base(texts).mark("text", fontSize=11, baseline="middle", limit=_CELL - 6)
    return mark.encode(x=x, y=y, text="t:N", color=channel("ink:N", scale=None))


def _labels(places: pl.DataFrame, y: dict[str, Any]) -> list[Chart]:
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
        .mark(
            "text",
            align=align,
            baseline="middle",
            fontSize=11,
            fontWeight=weight,
            color=LIGHT["ink"],
            limit=GUTTER - GAP if align == "right" else 400,
        )
        .encode(x=constant(place), y=y, text="t:N")
        for frame, place, align, weight in parts
    ]


def _titles(metrics: Sequence[str]) -> list[Chart]:
    """Names of metrics above their columns, inclined where one is long."""
    steep = max(map(len, metrics)) > _FITS
    return [
        base(pl.DataFrame({"t": [short(metric, 30)]}))
        .mark(
            "text",
            align="left" if steep else "center",
            baseline="bottom",
            angle=330 if steep else 0,
            fontSize=11,
            color=LIGHT["ink"],
        )
        .encode(x=constant(_CELL * (place + 0.5)), y=constant(-6), text="t:N")
        for place, metric in enumerate(metrics)
    ]


def _key(height: int) -> list[Chart]:
    """Key of the shades below the cells, in standard errors."""
    top = _ROW * height + 16
    marks = []
    for place, (shade, words) in enumerate(zip(_SHADES, _KEYS, strict=True)):
        left = -GUTTER + _KEY * place
        box = base(pl.DataFrame({"t": [words]}))
        marks += [
            box.mark("rect", color=LIGHT[shade], opacity=1).encode(
                x=constant(left), x2=constant(left + _KEY - 4), y=constant(top), y2=constant(top + 10)
            ),
            box.mark("text", fontSize=10, baseline="top", color=LIGHT["mute"]).encode(
                x=constant(left + (_KEY - 4) / 2), y=constant(top + 14), text="t:N"
            ),
        ]
    return marks
