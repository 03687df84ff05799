"""Rows of a forest: a name, a point with its interval, and numbers as columns of text beside the panel.

Rows are a frame with `k`, their place from the top, `t`, their name, `x`, `lo` and `hi`, their point and interval,
`look`, one of `LOOKS`, and a column of texts for each `Column`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, cast

import altair as alt
import numpy as np
import polars as pl

from plmetrics.report.charts.layers import base, layer_charts
from plmetrics.report.charts.marks import axis, nice_ticks
from plmetrics.report.charts.theme import LIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STEP = 18
WIDTH = 330
GUTTER = 190
GAP = 8
_WIDE = 5
_TICK = 46
_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Look:
    """Look of a row: colours by role, the shape of its point and whether it is filled."""

    ink: str = "series-1"
    text: str = "ink"
    shape: str = "circle"
    size: int = 58
    hollow: bool = False
    bold: bool = False


LOOKS: Mapping[str, Look] = {
    "plain": Look(),
    "overall": Look("ink", "ink", "diamond", 110, bold=True),
    "worse": Look("series-2", "bad", "square", 62),
    "small": Look("reference", "mute", hollow=True, size=46),
    "unclear": Look("reference", "ink", hollow=True, size=46),
    "undefined": Look("reference", "mute"),
    "header": Look(bold=True),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of text at the right of the panel: its field, title, and where it ends or starts, in pixels."""

    field: str
    title: str
    place: float
    align: str = "right"
    common: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis of a panel: its range, its title, and a dashed line with the band around it."""

    domain: tuple[float, float]
    title: str
    reference: float | None = None
    band: tuple[float, float] | None = None
    form: str | None = None


def forest_domain(rows: pl.DataFrame, include: Sequence[float | None]) -> tuple[float, float]:
    """The range of all points and of the intervals that are not much wider than the others.

    What continues past it ends in an arrow.
    """
    points = _finite(rows["x"])
    ends = rows.filter(pl.col("look").is_in(["plain", "worse", "overall", "unclear"]))
    if ends["lo"].is_null().all():
        ends = rows
    widths = ends["hi"] - ends["lo"]
    typical = cast("float | None", widths.filter(widths.is_finite()).median())
    ends = ends.filter((widths <= _WIDE * typical).fill_null(value=False)) if typical is not None else ends
    places = [
        points,
        _finite(ends["lo"]),
        _finite(ends["hi"]),
        np.array([v for v in include if v is not None]),
    ]
    values = np.concatenate(places)
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    pad = (high - low) * _MARGIN or abs(high) * _MARGIN or 0.5
    return low - pad, high + pad


def _finite(column: pl.Series) -> Any:
    values = column.cast(pl.Float64).drop_nulls().to_numpy()
    return values[np.isfinite(values)]


def panel(
    rows: pl.DataFrame,
    scale: Scale,
    columns: Sequence[Column] = (),
    *,
    width: float = WIDTH,
    gutter: float = GUTTER,
    heading: str = "",
    under: Sequence[alt.Chart] = (),
    over: Sequence[alt.Chart] = (),
    end: float | None = None,
    reasons: str | None = None,
    alone: bool = True,
) -> alt.LayerChart:
    """A panel of rows.

    `gutter` is the room for names, 0 where they stand beside another panel; `under` are charts behind the rows, `over`
    those before them; `end` is where the lines under headers end, and `reasons` the field of texts that stand in the
    panel where there is no point. What panels have in common has no colour of a row unless it is `alone`.
    """
    full = rows.join(_looks(), on="look", how="left", maintain_order="left").with_columns(y=pl.col("k"))
    places = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[-0.5, rows.height - 0.5], reverse=True, nice=False, zero=False),
        axis=None,
    )
    last = max([width, *(column.place for column in columns)]) if end is None else end
    ticks = nice_ticks(scale.domain, int(width // _TICK))
    x = axis("x", scale.title, scale.domain, form=scale.form, ticks=ticks)
    layers = [*_background(scale, x), *under, _underlines(full, places, -gutter, last)]
    layers += [*_intervals(full, scale, x, places), _points(full, scale, x, places)]
    neutral = full.with_columns(color=pl.when(look="worse").then(pl.lit(LIGHT["ink"])).otherwise("color"))
    if gutter:
        layers += _names(full if alone else neutral, places, gutter)
    for column in columns:
        layers += _texts(neutral if column.common and not alone else full, places, column)
    if reasons is not None:
        layers += _texts_by_weight(full.filter(look="undefined"), reasons, places, 4, "left", width - 4)
    if heading:
        layers.append(_above(heading, width / 2, "center", LIGHT["ink"], bold=True))
    chart: alt.LayerChart = layer_charts(*layers, *over).properties(width=width, height=STEP * rows.height)
    return chart


def _looks() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "look": name,
                "ink": LIGHT[look.ink],
                "color": LIGHT[look.text],
                "fill": LIGHT["paper" if look.hollow else look.ink],
                "stroke": LIGHT[look.ink if look.hollow else "paper"],
                "shape": look.shape,
                "size": look.size,
                "bold": look.bold,
            }
            for name, look in LOOKS.items()
        ]
    )


def _background(scale: Scale, x: dict[str, Any]) -> list[alt.Chart]:
    """The band and the dashed line of what rows are compared with; it also carries the axis."""
    low, high = scale.domain
    marks = [base(pl.DataFrame({"x": [low]})).mark_point(opacity=0).encode(x=alt.X(**x))]
    if scale.band is not None:
        ends = pl.DataFrame({"x": [max(scale.band[0], low)], "hi": [min(scale.band[1], high)]})
        marks.append(base(ends).mark_rect(color=LIGHT["faint"], opacity=0.22).encode(x="x:Q", x2="hi:Q"))
    if scale.reference is not None and low <= scale.reference <= high:
        line = base(pl.DataFrame({"x": [scale.reference]}))
        marks.append(
            line.mark_rule(strokeDash=[4, 4], strokeWidth=1.3, color=LIGHT["reference"]).encode(x="x:Q")
        )
    return marks


def _underlines(rows: pl.DataFrame, y: alt.Y, left: float, right: float) -> alt.Chart:
    headers = rows.filter(look="header").select(y=pl.col("y") + 0.5)
    lines = base(headers).mark_rule(strokeWidth=1, color=LIGHT["grid"])
    chart: alt.Chart = lines.encode(x=alt.value(left), x2=alt.value(right), y=y)
    return chart


def _intervals(rows: pl.DataFrame, scale: Scale, x: dict[str, Any], y: alt.Y) -> list[alt.Chart]:
    """Rules from end to end, with arrows where they continue past the axis."""
    low, high = scale.domain
    lo, hi = pl.col("lo").fill_nan(None), pl.col("hi").fill_nan(None)
    there = rows.filter(lo.is_not_null(), hi.is_not_null(), hi >= low, lo <= high)
    cut = there.with_columns(
        x=lo.clip(low, inf), hi=hi.clip(-inf, high), left=lo < low, right=hi > high, ink="ink"
    ).select("x", "hi", "y", "ink", "left", "right")
    color = alt.Color("ink:N", scale=None)
    rules = base(cut.drop("left", "right")).mark_rule().encode(x=alt.X(**x), x2="hi:Q", y=y, color=color)
    marks = [rules]
    for side, shape, place in (("left", "triangle-left", low), ("right", "triangle-right", high)):
        beyond = cut.filter(side).select("y", "ink", x=pl.lit(place))
        if not beyond.is_empty():
            arrow = base(beyond).mark_point(shape=shape, size=30, filled=True, opacity=1)
            marks.append(arrow.encode(x=alt.X(**x), y=y, color=color))
    return marks


def _points(rows: pl.DataFrame, scale: Scale, x: dict[str, Any], y: alt.Y) -> alt.Chart:
    low, high = scale.domain
    there = rows.filter(pl.col("x").is_between(low, high)).select("x", "y", "fill", "stroke", "shape", "size")
    chart: alt.Chart = (
        base(there)
        .mark_point(opacity=1, strokeWidth=1.2)
        .encode(
            x=alt.X(**x),
            y=y,
            fill=alt.Fill("fill:N", scale=None),
            stroke=alt.Stroke("stroke:N", scale=None),
            shape=alt.Shape("shape:N", scale=None),
            size=alt.Size("size:Q", scale=None),
        )
    )
    return chart


def _names(rows: pl.DataFrame, y: alt.Y, gutter: float) -> list[alt.Chart]:
    headers, others = rows.filter(look="header"), rows.filter(pl.col("look") != "header")
    return [
        _text_marks(headers, "t", y, -gutter, "left", gutter + WIDTH, bold=True),
        *_texts_by_weight(others, "t", y, -GAP, "right", gutter - GAP),
    ]


def sides(direction: str, height: float) -> alt.Chart | None:
    """Words under the axis that say on which side of 0 a difference is better; None where neither is."""
    if direction not in {"higher", "lower"}:
        return None
    words = ("\u2190 worse", "better \u2192") if direction == "higher" else ("\u2190 better", "worse \u2192")
    frame = pl.DataFrame({"x": [0.0], "t": ["{}     |     {}".format(*words)]})
    mark = base(frame).mark_text(color=LIGHT["mute"], fontSize=10.5, baseline="top")
    chart: alt.Chart = mark.encode(x="x:Q", y=alt.value(height + 24), text="t:N")
    return chart


def _texts(rows: pl.DataFrame, y: alt.Y, column: Column) -> list[alt.Chart]:
    title = _above(column.title, column.place, column.align, LIGHT["mute"])
    written = _texts_by_weight(rows, column.field, y, column.place, column.align, 0)
    return [title, *written] if column.title else written


def _texts_by_weight(
    rows: pl.DataFrame, field: str, y: alt.Y, place: float, align: str, limit: float
) -> list[alt.Chart]:
    """Texts of rows, bold and not."""
    parts = ((bold, rows.filter(pl.col("bold") == bold)) for bold in (False, True))
    return [
        _text_marks(part, field, y, place, align, limit, bold=bold)
        for bold, part in parts
        if not part.is_empty()
    ]


def _text_marks(
    rows: pl.DataFrame, field: str, y: alt.Y, place: float, align: str, limit: float, *, bold: bool
) -> alt.Chart:
    texts = rows.select("y", "color", t=pl.col(field)).filter(pl.col("t").is_not_null())
    mark = base(texts).mark_text(
        align=align,  # type: ignore[arg-type]
        baseline="middle",
        fontSize=11,
        fontWeight="bold" if bold else "normal",
        limit=limit,
    )
    chart: alt.Chart = mark.encode(
        x=alt.value(place), y=y, text="t:N", color=alt.Color("color:N", scale=None)
    )
    return chart


def _above(text: str, place: float, align: str, color: str, *, bold: bool = False) -> alt.Chart:
    mark = base(pl.DataFrame({"t": [text]})).mark_text(
        align=align,  # type: ignore[arg-type]
        baseline="bottom",
        fontSize=11,
        color=color,
        fontWeight="bold" if bold else "normal",
    )
    chart: alt.Chart = mark.encode(x=alt.value(place), y=alt.value(-6), text="t:N")
    return chart


def add_heading(chart: Any, title: str, subtitle: Sequence[str]) -> Any:
    """The chart with title and subtitle at the left of all that it shows."""
    lines = [line for line in subtitle if line]
    return chart.properties(title=alt.Title(title, subtitle=lines, frame="bounds", offset=18))
