"""The marks of a history in one panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.grammar import Chart, base, channel, layer_charts, options
from plmetrics.report.charts.marks import (
    CORNERS,
    canvas_of,
    dashes,
    ends,
    free_corner,
    nice_ticks,
    series_paint,
    series_scales,
    span,
    with_ends,
)
from plmetrics.report.charts.marks import axis as value_axis
from plmetrics.report.charts.marks import legend as legend_of
from plmetrics.report.charts.texts import in_line, short
from plmetrics.report.charts.theme import LIGHT, SERIES

if TYPE_CHECKING:
    from plmetrics.report.charts.comparisons.gate_limits import Limit

WIDTH, HEIGHT = 560, 230
_DAY = 86_400_000
_TICK = 70


def axes(
    rows: pl.DataFrame, shown: pl.Series, zone: str, limits: Sequence[Limit], *, small: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The channels of time and of the value; times are those of the clocks of a zone."""
    places = _wall(shown, zone).to_list()
    step = (places[-1] - places[0]) / max(len(places) - 1, 1)
    room = [places[0] - step / 2, places[-1] + step / 2]
    length = room[1] - room[0]
    form = "%H:%M" if length <= 2 * _DAY else "%-d %b" if length <= 400 * _DAY else "%b %Y"
    every = max(1, -(-len(places) // (3 if small else WIDTH // _TICK)))
    x = {
        "shorthand": "x:T",
        "title": None,
        "scale": options(type="utc", domain=room, nice=False),
        "axis": options(format=form, values=places[::every], grid=False),
    }
    columns = (rows[name] for name in ("value", "lower", "upper", "band_lower", "band_upper"))
    domain = span(*columns, include=[limit.value for limit in limits])
    return x, value_axis("y", None, domain, ticks=nice_ticks(domain, 5))


def draw_panel(
    rows: pl.DataFrame,
    shown: pl.Series,
    zone: str,
    x: dict[str, Any],
    y: dict[str, Any],
    limits: Sequence[Limit],
    *,
    width: float,
    height: float,
    legend: bool,
) -> Chart:
    """Values of models with their intervals over control band, levels and limits, broken where there is no value."""
    models = rows["model"].unique(maintain_order=True).to_list()
    labels = [in_line(short(model, among=models)) if len(models) > 1 else "" for model in models]
    points = _points(rows, shown, zone, dict(zip(models, labels, strict=True)))
    layers = [*_control(points, x, y), *_levels(points, x, y), *_limits(limits, x, y), *_bars(points, x, y)]
    layers += _lines(points, x, y, labels, (width, height), legend=legend)
    layers += [_dots(points, x, y, labels), *_rings(points, x, y)]
    return layer_charts(*layers).properties(width=width, height=height)


def _wall(moments: pl.Series, zone: str) -> pl.Series:
    """Moments as clocks of a zone show them, in milliseconds."""
    return moments.dt.convert_time_zone(zone).dt.replace_time_zone(None).dt.epoch("ms")


def _points(rows: pl.DataFrame, shown: pl.Series, zone: str, labels: dict[str, str]) -> pl.DataFrame:
    """Points to draw, in short names; `g` numbers the stretches of a series without a gap."""
    places = pl.DataFrame({"start": shown, "place": range(len(shown))})
    numbered = rows.join(places, on="start", how="inner", maintain_order="left").sort("model", "start")
    stretch = (pl.col("place").diff().over("model").fill_null(1) != 1).cum_sum()
    colors = {model: SERIES[number % len(SERIES)] for number, model in enumerate(labels)}
    return numbered.with_columns(stretch=stretch, x=_wall(numbered["start"], zone)).select(
        "x",
        y="value",
        lo="lower",
        hi="upper",
        low="band_lower",
        high="band_upper",
        level=pl.when(pl.col("level_before").is_not_null().any().over("model")).then("level"),
        k="place",
        s=pl.col("model").replace_strict(labels, return_dtype=pl.String),
        ink=pl.col("model").replace_strict(colors, return_dtype=pl.String),
        g=pl.concat_str("model", "stretch", separator=" ").rank("dense").cast(pl.Int64),
        bad=pl.col("gate_verdict").eq_missing(pl.lit("fail")),
    )


def _control(points: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> list[Chart]:
    """Control bands; one that is open on a side reaches to the edge of the panel."""
    banded = points.filter(pl.col("low").is_not_null() | pl.col("high").is_not_null())
    if banded.is_empty():
        return []
    bottom, top = y["scale"]["domain"]
    ends_of = pl.col("low").fill_null(bottom), pl.col("high").fill_null(top)
    area = base(banded.select("x", *ends_of, "g")).mark("area", opacity=0.22, color=LIGHT["faint"])
    return [area.encode(x=channel(**x), detail="g:N", **ends(y, "low", "high"))]


def _levels(points: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> list[Chart]:
    rows = points.filter(pl.col("level").is_not_null())
    if rows.is_empty():
        return []
    stretches = rows.select("x", "level", "ink", g=pl.struct("ink", "level").rle_id())
    line = base(stretches).mark("line", strokeWidth=7, opacity=0.28)
    level = {"y": channel(**{**y, "shorthand": "level:Q"}), "detail": "g:N"}
    return [line.encode(x=channel(**x), stroke=channel("ink:N", scale=None, legend=None), **level)]


def _bars(points: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> list[Chart]:
    both = with_ends(points)
    if both.is_empty():
        return []
    rule = base(both.select("x", "lo", "hi", "ink")).mark("rule", opacity=0.45)
    return [rule.encode(x=channel(**x), stroke=channel("ink:N", scale=None, legend=None), **ends(y))]


def _limits(limits: Sequence[Limit], x: dict[str, Any], y: dict[str, Any]) -> list[Chart]:
    """A dashed line a limit of a gate, with its rule."""
    if not limits:
        return []
    left, right = x["scale"]["domain"]
    rows = base(
        pl.DataFrame(
            {
                "x": left,
                "end": right,
                "y": [limit.value for limit in limits],
                "t": [limit.text for limit in limits],
            }
        )
    )
    places = {"x": channel(**x), "y": channel(**y)}
    rule = rows.mark("rule", strokeDash=[4, 4], strokeWidth=1.3, color=LIGHT["bad"])
    words = rows.mark(
        "text", align="left", dx=4, dy=-6, color=LIGHT["mute"], fontSize=10.5, fontStyle="italic"
    )
    return [rule.encode(**places, x2="end:Q"), words.encode(**places, text="t:N")]


def _lines(
    points: pl.DataFrame,
    x: dict[str, Any],
    y: dict[str, Any],
    labels: Sequence[str],
    size: tuple[float, float],
    *,
    legend: bool,
) -> list[Chart]:
    canvas = canvas_of(points, x, y, *size)
    corner = "none"
    if legend and any(labels):
        corner = "top" if canvas is None else free_corner(canvas, labels, list(CORNERS))
    key = legend_of(labels, corner)
    line = base(points.select("x", "y", "k", "s", "g")).mark("line")
    return [
        line.encode(
            x=channel(**x),
            y=channel(**y),
            order=channel("k:Q"),
            detail="g:N",
            strokeDash=dashes(labels, key),
            **series_scales(labels, key),
        )
    ]


def _dots(points: pl.DataFrame, x: dict[str, Any], y: dict[str, Any], labels: Sequence[str]) -> Chart:
    dots = points.select("x", "y", "s").join(series_paint(labels), on="s", maintain_order="left")
    size = 26 if points.height <= 200 else 10
    return (
        base(dots.select("x", "y", "fill"))
        .mark("point", size=size, opacity=1)
        .encode(x=channel(**x), y=channel(**y), fill=channel("fill:N", scale=None, legend=None))
    )


def _rings(points: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> list[Chart]:
    bad = points.filter("bad").select("x", "y")
    if bad.is_empty():
        return []
    ring = base(bad).mark("point", size=150, filled=False, strokeWidth=2, color=LIGHT["bad"])
    return [ring.encode(x=channel(**x), y=channel(**y))]
