"""Building blocks of charts: axes, lines, bands, points, references and labels.

Fields have short names: `x`, `y`, `lo`, `hi` are places, `k` is the order of points, `s` the series and `t` a text.
Names of users stand in values only, because the chart language reads dots and brackets in names of fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np
import polars as pl

from plmetrics.inference.curves.thinning import thin
from plmetrics.report.charts.grammar import Chart, base, channel, chart_title, layer_charts, options
from plmetrics.report.charts.placement import Canvas, Side
from plmetrics.report.charts.texts import width as width_of
from plmetrics.report.charts.texts import wrap_words
from plmetrics.report.charts.theme import DASHES, LIGHT, SERIES, SHAPES

PANEL, SMALL_PANEL = 360, 210
CORNERS = ("bottom-right", "top-left", "top-right", "bottom-left")
_LEGEND_OFFSET = 8
_BACKGROUND_POINTS = 250
MOST_SERIES = len(SERIES)

_LONG = 1e7


def axis(
    field: str,
    title: str | None,
    domain: Sequence[float] | None = None,
    *,
    form: str | None = None,
    ticks: Sequence[float] | None = None,
    log: bool = False,
) -> dict[str, Any]:
    """The keywords of a quantitative channel: its field, title, range and format of numbers.

    Numbers too long for the room under a tick are written with an exponent.
    """
    scale: dict[str, Any] = {"nice": False, "zero": False}
    if domain is not None:
        scale["domain"] = list(domain)
    if log:
        scale["type"] = "log"
    if form is None and domain is not None:
        most = max(abs(end) for end in domain)
        form = "~g" if most >= _LONG or 0 < most < 1 / _LONG else None
    labels: dict[str, Any] = {} if form is None else {"format": form}
    if ticks is not None:
        labels["values"] = list(ticks)
    return {"shorthand": f"{field}:Q", "title": title, "scale": options(**scale), "axis": options(**labels)}


UNIT: tuple[float, float] = (0.0, 1.0)
UNIT_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)


def unit(field: str, title: str | None) -> dict[str, Any]:
    """An axis from 0 to 1."""
    return axis(field, title, UNIT, form=".1f", ticks=UNIT_TICKS)


def ends(y: dict[str, Any], low: str = "lo", high: str = "hi") -> dict[str, Any]:
    """The vertical channels of a mark from one field to another, on the axis of a channel."""
    return {"y": channel(**{**y, "shorthand": f"{low}:Q"}), "y2": f"{high}:Q"}


def with_ends(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with an interval from `lo` to `hi`."""
    return frame.filter(pl.col("lo").is_not_null(), pl.col("hi").is_not_null())


def span(*columns: pl.Series, margin: float = 0.04, include: Sequence[float] = ()) -> tuple[float, float]:
    """Range of the finite values in these columns and of further ones, with a margin on both sides."""
    numbers = (column.cast(pl.Float64).to_numpy() for column in columns)
    values = np.concatenate([np.asarray(include, dtype=np.float64), *numbers])
    ends = values[np.isfinite(values)]
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    pad = (high - low) * margin or abs(high) * margin or 0.5
    return low - pad, high + pad


def nice_ticks(domain: tuple[float, float], most: int) -> list[float]:
    """At most so many round places in a range, evenly apart.

    >>> nice_ticks((0.58, 0.97), 6)
    [0.6, 0.7, 0.8, 0.9]
    """
    low, high = domain
    rough = (high - low) / max(most, 1)
    power = 10.0 ** floor(log10(rough))
    step = next((base * power for base in (1, 2, 5) if base * power >= rough), 10 * power)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    digits = max(0, -floor(log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def series_scales(labels: Sequence[str], legend: dict[str, Any] | None) -> dict[str, Any]:
    """Colour of the channel `s`, with dashes as a second code for the colour-blind."""
    return {"color": _by_series(SERIES, labels, legend)}


def dashes(labels: Sequence[str], legend: dict[str, Any] | None) -> dict[str, Any]:
    """Dashes of the channel `s`."""
    return _by_series(DASHES, labels, legend)


def shapes(labels: Sequence[str], legend: dict[str, Any] | None) -> dict[str, Any]:
    """Shapes of the channel `s`."""
    return _by_series(SHAPES, labels, legend)


def _by_series(marks: Sequence[Any], labels: Sequence[str], legend: dict[str, Any] | None) -> dict[str, Any]:
    marks_of_labels = [marks[index % MOST_SERIES] for index in range(len(labels))]
    return channel("s:N", legend=legend, scale=options(domain=list(labels), range=marks_of_labels))


def series_paint(labels: Sequence[str]) -> pl.DataFrame:
    """Colour `fill` and shape `p` of each series `s`, for marks without a legend."""
    number = range(len(labels))
    return pl.DataFrame(
        {
            "s": list(labels),
            "fill": [SERIES[index % MOST_SERIES] for index in number],
            "p": [SHAPES[index % MOST_SERIES] for index in number],
        },
        schema=dict.fromkeys(("s", "fill", "p"), pl.String),
    )


def legend(labels: Sequence[str], corner: str, title: str | None = None) -> dict[str, Any] | None:
    """A legend in a corner of the panel or beside it; none for one series without a label, or in the corner `none`."""
    if not any(labels) or corner == "none":
        return None
    inside = corner in CORNERS
    return options(
        orient=corner,
        direction="vertical",
        offset=_LEGEND_OFFSET,
        title=title,
        titleColor=LIGHT["mute"],
        titleFontSize=10.5,
        titleFontWeight="normal",
        labelLimit=_WIDEST_LABEL,
        labelFontSize=11,
        labelColor=LIGHT["ink"],
        symbolType="stroke",
        symbolSize=260,
        symbolStrokeWidth=2,
        symbolOpacity=1,
        rowPadding=3,
        padding=6 if inside else 0,
        columns=1,
        **({"fillColor": LIGHT["paper"]} if inside else {}),
    )


_WIDEST_LABEL = 400


def free_corner(
    canvas: Canvas, labels: Sequence[str], corners: Sequence[str], title: str | None = None
) -> str:
    """First of these corners without marks under a legend; "top", above the panel, without one."""
    texts = [*(width_of(label) + 30 for label in labels), width_of(title or "", 10.5)]
    size = (min(max(texts), _WIDEST_LABEL) + 12, 12 + 18.0 * len(labels) + (15 if title else 0))
    return canvas.corner(size, corners, _LEGEND_OFFSET) or "top"


def canvas_of(
    frame: pl.DataFrame, x: dict[str, Any], y: dict[str, Any], width: float, height: float
) -> Canvas | None:
    """Places of the lines and bands of a frame in a panel; None where an axis has no range."""
    scales = [axis["scale"] for axis in (x, y)]
    domains = [scale.get("domain") for scale in scales]
    if None in domains or any(scale.get("type") == "log" for scale in scales):
        return None
    canvas = Canvas(width, height, *domains)
    for part in frame.partition_by("s", maintain_order=True):
        for field in {"y", "lo", "hi"} & set(part.columns):
            canvas.line(part["x"], part[field])
    return canvas


def lines(
    frame: pl.DataFrame,
    x: dict[str, Any],
    y: dict[str, Any],
    labels: Sequence[str],
    corner: str = "bottom-right",
    *,
    heading: str | None = None,
    interpolate: str = "linear",
    canvas: Canvas | None = None,
) -> Chart:
    """A line for each series in the order of its points, with a band where `lo` and `hi` are there.

    The legend stands in the corner asked for if nothing is drawn there, else in another one, else above the panel;
    `canvas` says what is drawn elsewhere, by default in a panel of usual size with these lines alone.
    """
    canvas = canvas or canvas_of(frame, x, y, PANEL, PANEL)
    if corner in CORNERS and canvas is not None and any(labels):
        corner = free_corner(
            canvas, labels, [corner, *(other for other in CORNERS if other != corner)], heading
        )
    key = legend(labels, corner, heading)
    line = base(frame).mark("line", interpolate=interpolate)
    return layer_charts(
        *bands(frame, x, y, labels, interpolate),
        line.encode(
            x=channel(**x),
            y=channel(**y),
            order=channel("k:Q"),
            strokeDash=dashes(labels, key),
            **series_scales(labels, key),
        ),
        *_lone(frame, x, y, labels),
    )


def _lone(frame: pl.DataFrame, x: dict[str, Any], y: dict[str, Any], labels: Sequence[str]) -> list[Chart]:
    """Points of series with a single one, invisible as a line."""
    points = frame.filter(pl.col("y").is_not_null()).select("x", "y", "s")
    points = points.filter(pl.len().over("s") == 1).join(series_paint(labels), on="s", maintain_order="left")
    if points.is_empty():
        return []
    mark = base(points.select("x", "y", "fill")).mark("point", size=40, opacity=1)
    fill = channel("fill:N", scale=None, legend=None)
    return [mark.encode(x=channel(**x), y=channel(**y), fill=fill)]


def bands(
    frame: pl.DataFrame, x: dict[str, Any], y: dict[str, Any], labels: Sequence[str], interpolate: str
) -> list[Chart]:
    """Area from `lo` to `hi` for each series with a band, cut at the edges of the panel.

    Their colours are values, since a scale without a legend would take that of the lines away, and they have no
    channel for the order, which would cut an area into points.
    """
    if "lo" not in frame.columns:
        return []
    colors = {label: SERIES[index % MOST_SERIES] for index, label in enumerate(labels)}
    # A clip of the renderer has an id by a counter of the process: pages would differ from run to run.
    low, high = y["scale"].get("domain") or (None, None)
    both = with_ends(frame).select(
        "x",
        pl.col("lo", "hi").clip(low, high),
        "s",
        ink=pl.col("s").replace_strict(colors, return_dtype=pl.String),
    )
    if both.is_empty():
        return []
    area = base(both).mark("area", opacity=0.18, interpolate=interpolate)
    fill = channel("ink:N", scale=None, legend=None)
    return [area.encode(x=channel(**x), detail="s:N", **ends(y), fill=fill)]


def background(frame: pl.DataFrame, interpolate: str) -> Chart:
    """The lines of all series in light grey, of few points, to stand behind one of them on its axes."""
    parts = frame.partition_by("s", maintain_order=True)
    outline = pl.concat([_outline(part, max(12, _BACKGROUND_POINTS // len(parts))) for part in parts])
    line = base(outline).mark(
        "line", interpolate=interpolate, strokeWidth=1, color=LIGHT["faint"], opacity=0.45
    )
    return line.encode(order=channel("k:Q"), detail="s:N")


def _outline(points: pl.DataFrame, most: int) -> pl.DataFrame:
    points = points.select("x", "y", "k", "s").drop_nulls()
    return points[thin(points["x"].to_numpy(), points["y"].to_numpy(), most)]


def reference(
    points: Sequence[tuple[float, float]], color: str = LIGHT["reference"], *, solid: bool = False
) -> Chart:
    """A dashed or thin line through points, to be drawn under the data."""
    frame = pl.DataFrame(
        {"x": [float(x) for x, _ in points], "y": [float(y) for _, y in points], "k": range(len(points))}
    )
    line = base(frame).mark("line", strokeDash=[1, 0] if solid else [4, 4], strokeWidth=1.3, color=color)
    return line.encode(x="x:Q", y="y:Q", order=channel("k:Q"))


def note(x: float, y: float, text: str, *, align: str = "left", dx: float = 0, dy: float = 0) -> Chart:
    """A word in the panel."""
    return _word(
        x, y, text, align=align, dx=dx, dy=dy, color=LIGHT["mute"], fontSize=10.5, fontStyle="italic"
    )


def _word(x: float, y: float, text: str, **style: Any) -> Chart:
    mark = base(pl.DataFrame({"x": [float(x)], "y": [float(y)], "t": [text]})).mark("text", **style)
    return mark.encode(x="x:Q", y="y:Q", text="t:N")


def add_title(
    chart: Chart,
    title: str,
    subtitle: Sequence[str],
    width: float | None = None,
    height: float | None = None,
    *,
    frame: str = "group",
) -> Any:
    """Chart with title, subtitle and size; lines wider than the chart are broken.

    The title starts where the panel does, or with `frame="bounds"` where its texts at the left do. Charts of several
    panels have sizes of their own, and `width` is that of all of them.
    """
    space = (width or PANEL) + 30
    text = chart_title(
        wrap_words(title, space, 14.8),
        subtitle=[part for line in subtitle if line for part in wrap_words(line, space)],
        frame=frame,
    )
    panels = chart.kind not in {"", "layer"}
    size = {} if panels or height is None else {"width": width, "height": height}
    return chart.properties(title=text, **size)


def point_label(x: float, y: float, text: str, side: Side, color: str = LIGHT["ink"], **style: Any) -> Chart:
    """A word on a side of a point."""
    align, dx, dy = side
    style = {"fontSize": 10.5, **style}
    return _word(x, y, text, align=align, baseline="middle", dx=dx, dy=dy, color=color, **style)


def remark(canvas: Canvas, places: Sequence[tuple[float, float]], text: str, sides: Sequence[Side]) -> Chart:
    """A word about a reference line, at the first of these places where nothing is drawn."""
    x, y, side = canvas.spot(places, text, sides)
    return point_label(x, y, text, side, LIGHT["mute"], fontStyle="italic")
