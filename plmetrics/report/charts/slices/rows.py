"""Rows of a forest: a name, a point with its interval, and numbers as columns of text beside the panel.

Rows are a frame with `k`, their place from the top, `t`, their name, `x`, `lo` and `hi`, their point and interval,
`look`, one of `LOOKS`, and a column of texts for each `TextColumn`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, cast

import numpy as np
import polars as pl

from plmetrics.report.charts.grammar import (
    Chart,
    base,
    channel,
    chart_title,
    constant,
    expression,
    layer_charts,
    options,
)
from plmetrics.report.charts.marks import axis, nice_ticks
from plmetrics.report.charts.texts import width as text_width
from plmetrics.report.charts.texts import wrap_words
from plmetrics.report.charts.theme import LIGHT

STEP = 18
WIDTH = 330
GUTTER = 190
GAP = 8
_WIDE = 5
_TICK = 46
_HEADING = 860
_MARGIN = 0.05
_BOLDEST = 1.25
"""So much wider than it is worked out a bold text may be."""


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
class TextColumn:
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


def look_where(value: str, chosen: pl.Expr, look: str, other: str = "plain") -> pl.Expr:
    """The look of rows: `look` where an expression holds, `undefined` where they have no value, else `other`."""
    return (
        pl.when(pl.col(value).is_null())
        .then(pl.lit("undefined"))
        .when(chosen)
        .then(pl.lit(look))
        .otherwise(pl.lit(other))
    )


def with_marks(
    rows: pl.DataFrame, value: str, look: pl.Expr, texts: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """The rows with the point at a value, its interval, their look and columns of texts."""
    return rows.with_columns(x=value, lo="lower", hi="upper", look=look, **text_columns(texts))


def text_columns(texts: Mapping[str, Sequence[str | None]]) -> dict[str, pl.Series]:
    """Columns of texts, also typed so without rows."""
    return {name: pl.Series(name, values, dtype=pl.String) for name, values in texts.items()}


def header(text: str) -> pl.DataFrame:
    """Header row of those below."""
    return pl.DataFrame({"t": [text], "look": ["header"]})


def stack_rows(*parts: pl.DataFrame) -> pl.DataFrame:
    """Rows below each other, with their places."""
    return pl.concat(parts, how="diagonal").with_columns(k=pl.int_range(pl.len()))


def forest_domain(rows: pl.DataFrame, include: Sequence[float | None]) -> tuple[float, float]:
    """Range of all points and of the intervals but for extremely wide ones.

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
    columns: Sequence[TextColumn] = (),
    *,
    width: float = WIDTH,
    gutter: float = GUTTER,
    heading: str = "",
    under: Sequence[Chart] = (),
    over: Sequence[Chart] = (),
    end: float | None = None,
    reasons: str | None = None,
    alone: bool = True,
) -> Chart:
    """A panel of rows.

    `gutter` is the room for names, 0 where they stand beside another panel; `under` are charts behind the rows, `over`
    those before them; `end` is where the lines under headers end, and `reasons` the field of texts that stand in the
    panel where there is no point. What panels have in common has no colour of a row unless it is `alone`.
    """
    full = rows.join(_looks(), on="look", how="left", maintain_order="left").with_columns(y=pl.col("k"))
    places = channel(
        "y:Q",
        scale=options(domain=[-0.5, rows.height - 0.5], reverse=True, nice=False, zero=False),
        axis=None,
    )
    last = max([width, *(column.place for column in columns)]) if end is None else end
    ticks = nice_ticks(scale.domain, int(width // _TICK))
    x = axis("x", scale.title, scale.domain, form=scale.form, ticks=ticks)
    layers = [*_background(scale, x), *under, _underlines(full, places, -gutter, last)]
    layers += [*_intervals(full, scale, x, places), _points(full, scale, x, places)]
    neutral = full.with_columns(color=pl.when(look="worse").then(pl.lit(LIGHT["ink"])).otherwise("color"))
    texts = _names(full if alone else neutral, gutter) if gutter else []
    for column in columns:
        of_rows = neutral if column.common and not alone else full
        texts.append(_texts(of_rows, column.field, column.place, column.align))
    if reasons is not None:
        texts.append(_texts(full.filter(look="undefined"), reasons, 4, "left", width - 4))
    titles = [_Title(column.title, column.place, column.align) for column in columns if column.title]
    if heading:
        titles.append(_Title(heading, width / 2, "center", "ink", bold=True))
    layers += [*_row_texts(texts, places), *_above(titles)]
    return layer_charts(*layers, *over).properties(width=width, height=STEP * rows.height)


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


def _background(scale: Scale, x: dict[str, Any]) -> list[Chart]:
    """Band and dashed line of the rows' reference; it also carries the axis."""
    low, high = scale.domain
    marks = [base(pl.DataFrame({"x": [low]})).mark("point", opacity=0).encode(x=channel(**x))]
    if scale.band is not None:
        ends = pl.DataFrame({"x": [max(scale.band[0], low)], "hi": [min(scale.band[1], high)]})
        marks.append(base(ends).mark("rect", color=LIGHT["faint"], opacity=0.22).encode(x="x:Q", x2="hi:Q"))
    if scale.reference is not None and low <= scale.reference <= high:
        line = base(pl.DataFrame({"x": [scale.reference]}))
        marks.append(
            line.mark("rule", strokeDash=[4, 4], strokeWidth=1.3, color=LIGHT["reference"]).encode(x="x:Q")
        )
    return marks


def _underlines(rows: pl.DataFrame, y: dict[str, Any], left: float, right: float) -> Chart:
    headers = rows.filter(look="header").select(y=pl.col("y") + 0.5)
    lines = base(headers).mark("rule", strokeWidth=1, color=LIGHT["grid"])
    return lines.encode(x=constant(left), x2=constant(right), y=y)


def _intervals(rows: pl.DataFrame, scale: Scale, x: dict[str, Any], y: dict[str, Any]) -> list[Chart]:
    """Rules from end to end, with arrows where they continue past the axis."""
    low, high = scale.domain
    lo, hi = pl.col("lo").fill_nan(None), pl.col("hi").fill_nan(None)
    there = rows.filter(lo.is_not_null(), hi.is_not_null(), hi >= low, lo <= high)
    cut = there.with_columns(
        x=lo.clip(low, inf), hi=hi.clip(-inf, high), left=lo < low, right=hi > high, ink="ink"
    ).select("x", "hi", "y", "ink", "left", "right")
    color = channel("ink:N", scale=None)
    rules = base(cut.drop("left", "right")).mark("rule").encode(x=channel(**x), x2="hi:Q", y=y, color=color)
    marks = [rules]
    for side, shape, place in (("left", "triangle-left", low), ("right", "triangle-right", high)):
        beyond = cut.filter(side).select("y", "ink", x=pl.lit(place))
        if not beyond.is_empty():
            arrow = base(beyond).mark("point", shape=shape, size=30, filled=True, opacity=1)
            marks.append(arrow.encode(x=channel(**x), y=y, color=color))
    return marks


def _points(rows: pl.DataFrame, scale: Scale, x: dict[str, Any], y: dict[str, Any]) -> Chart:
    low, high = scale.domain
    there = rows.filter(pl.col("x").is_between(low, high)).select("x", "y", "fill", "stroke", "shape", "size")
    return (
        base(there)
        .mark("point", opacity=1, strokeWidth=1.2)
        .encode(
            x=channel(**x),
            y=y,
            fill=channel("fill:N", scale=None),
            stroke=channel("stroke:N", scale=None),
            shape=channel("shape:N", scale=None),
            size=channel("size:Q", scale=None),
        )
    )


def _names(rows: pl.DataFrame, gutter: float) -> list[pl.DataFrame]:
    headers, others = rows.filter(look="header"), rows.filter(pl.col("look") != "header")
    return [
        _texts(headers, "t", -gutter, "left", gutter + WIDTH),
        _texts(others, "t", -GAP, "right", gutter - GAP),
    ]


def sides(direction: str, height: float) -> Chart | None:
    """Words under the axis for the better side of 0 of a difference; None without one."""
    if direction not in {"higher", "lower"}:
        return None
    words = ("\u2190 worse", "better \u2192") if direction == "higher" else ("\u2190 better", "worse \u2192")
    frame = pl.DataFrame({"x": [0.0], "t": ["{}     |     {}".format(*words)]})
    mark = base(frame).mark("text", color=LIGHT["mute"], fontSize=10.5, baseline="top")
    return mark.encode(x="x:Q", y=constant(height + 24), text="t:N")


def _texts(
    rows: pl.DataFrame, field: str, place: float, align: str, room: float | None = None
) -> pl.DataFrame:
    """Texts of a field, with their place and alignment; limited to `room`, if given."""
    return rows.select(
        "y",
        "color",
        t=pl.col(field).cast(pl.String),
        place=pl.lit(float(place)),
        align=pl.lit(align),
        weight=pl.when("bold").then(pl.lit("bold")).otherwise(pl.lit("normal")),
        limit=pl.Series([_limit(text, room) for text in rows[field]], dtype=pl.Float64),
    ).drop_nulls("t")


def _limit(text: str | None, room: float | None) -> float:
    """Width limit of a text for the renderer, 0 for none: it measures a limited text twice as often."""
    return 0.0 if text is None or room is None or _BOLDEST * text_width(text) < room else room


def _row_texts(texts: Sequence[pl.DataFrame], y: dict[str, Any]) -> list[Chart]:
    """All texts of the rows as one layer: a chart takes its time by the layer."""
    if not texts:
        return []
    return [_text_marks(pl.concat(texts), "middle").encode(y=y)]


@dataclass(frozen=True, slots=True)
class _Title:
    """Text above the panel: its place, in pixels, and its style."""

    text: str
    place: float
    align: str
    ink: str = "mute"
    bold: bool = False


def _above(titles: Sequence[_Title]) -> list[Chart]:
    if not titles:
        return []
    frame = pl.DataFrame(
        {
            "t": [title.text for title in titles],
            "place": [float(title.place) for title in titles],
            "align": [title.align for title in titles],
            "weight": ["bold" if title.bold else "normal" for title in titles],
            "limit": [0.0] * len(titles),
            "color": [LIGHT[title.ink] for title in titles],
        }
    )
    return [_text_marks(frame, "bottom").encode(y=constant(-6))]


def _text_marks(texts: pl.DataFrame, baseline: str) -> Chart:
    mark = base(texts).mark(
        "text",
        x=expression("datum.place"),
        align=expression("datum.align"),
        baseline=baseline,
        fontSize=11,
        fontWeight=expression("datum.weight"),
        limit=expression("datum.limit"),
    )
    return mark.encode(text="t:N", color=channel("color:N", scale=None))


def add_heading(chart: Any, title: str, subtitle: Sequence[str]) -> Any:
    """Chart with title and subtitle at the left of all parts; long lines are broken, for the image would cut them."""
    lines = [part for line in subtitle if line for part in wrap_words(line, _HEADING)]
    return chart.properties(title=chart_title(title, subtitle=lines, frame="bounds", offset=18))
