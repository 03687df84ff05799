"""Marks that charts are put together from: axes, lines, bands, points, references and labels.

Fields have short names: `x`, `y`, `lo`, `hi` are places, `k` is the order of points, `s` the series and `t` a text.
Names of users stand in values only, because the chart language reads dots and brackets in names of fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

import altair as alt
import numpy as np
import polars as pl

from plmetrics.report.charts.theme import DASHES, LIGHT, SERIES, SHAPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart | alt.ConcatChart


PANEL, SMALL_PANEL = 360, 210
MOST_SERIES = len(SERIES)


def base(frame: pl.DataFrame) -> alt.Chart:
    """A chart of a frame whose columns have short names; what is not finite is null, a gap."""
    finite = frame.with_columns(
        pl.when(pl.selectors.float().is_finite()).then(pl.selectors.float()).otherwise(None)
    )
    return alt.Chart(finite)


def axis(
    field: str,
    title: str | None,
    domain: Sequence[float] | None = None,
    *,
    form: str | None = None,
    ticks: Sequence[float] | None = None,
    log: bool = False,
) -> dict[str, Any]:
    """The keywords of a quantitative channel: its field, title, range and format of numbers."""
    scale: dict[str, Any] = {"nice": False, "zero": False}
    if domain is not None:
        scale["domain"] = list(domain)
    if log:
        scale["type"] = "log"
    labels: dict[str, Any] = {} if form is None else {"format": form}
    if ticks is not None:
        labels["values"] = list(ticks)
    return {
        "shorthand": f"{field}:Q",
        "title": title,
        "scale": alt.Scale(**scale),
        "axis": alt.Axis(**labels),
    }


UNIT: tuple[float, float] = (0.0, 1.0)
UNIT_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)


def unit(field: str, title: str | None) -> dict[str, Any]:
    """An axis from 0 to 1."""
    return axis(field, title, UNIT, form=".1f", ticks=UNIT_TICKS)


def span(*columns: pl.Series, margin: float = 0.04, include: Sequence[float] = ()) -> tuple[float, float]:
    """The range of what is finite in these columns and of these values, with a margin on both sides."""
    values = np.concatenate([np.asarray(include, dtype=np.float64), *(_floats(column) for column in columns)])
    ends = values[np.isfinite(values)]
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    pad = (high - low) * margin or abs(high) * margin or 0.5
    return low - pad, high + pad


def _floats(column: pl.Series) -> NDArray[np.float64]:
    return column.cast(pl.Float64).to_numpy()


def layered(*layers: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Charts in one panel, the first at the back."""
    return cast("alt.LayerChart", alt.layer(*layers))


def series_scales(labels: Sequence[str], legend: alt.Legend | None) -> dict[str, Any]:
    """Colour of the channel `s`, with dashes that say the same to those who do not see colours apart."""
    colors = [SERIES[index % MOST_SERIES] for index in range(len(labels))]
    return {"color": alt.Color("s:N", legend=legend, scale=alt.Scale(domain=list(labels), range=colors))}


def dashes(labels: Sequence[str], legend: alt.Legend | None) -> alt.StrokeDash:
    """Dashes of the channel `s`."""
    patterns = [DASHES[index % MOST_SERIES] for index in range(len(labels))]
    return alt.StrokeDash("s:N", legend=legend, scale=alt.Scale(domain=list(labels), range=patterns))


def shapes(labels: Sequence[str], legend: alt.Legend | None) -> alt.Shape:
    """Shapes of the channel `s`."""
    names = [SHAPES[index % MOST_SERIES] for index in range(len(labels))]
    return alt.Shape("s:N", legend=legend, scale=alt.Scale(domain=list(labels), range=names))


def legend(labels: Sequence[str], corner: str, title: str | None = None) -> alt.Legend | None:
    """A legend in a corner of the panel or beside it; none for one series without a label."""
    if not any(labels):
        return None
    inside = corner in {"top-left", "top-right", "bottom-left", "bottom-right"}
    return alt.Legend(
        orient=corner,  # type: ignore[arg-type]
        title=title,
        titleColor=LIGHT["mute"],
        titleFontSize=10.5,
        titleFontWeight="normal",
        labelLimit=330,
        labelFontSize=11,
        labelColor=LIGHT["ink"],
        symbolType="stroke",
        symbolSize=260,
        symbolStrokeWidth=2,
        rowPadding=3,
        fillColor=LIGHT["paper"] if inside else alt.Undefined,
        padding=6 if inside else 0,
        columns=1 if inside else alt.Undefined,
    )


def lines(
    frame: pl.DataFrame,
    x: dict[str, Any],
    y: dict[str, Any],
    labels: Sequence[str],
    corner: str = "bottom-right",
    *,
    heading: str | None = None,
    interpolate: str = "linear",
) -> alt.LayerChart:
    """A line for each series in the order of its points, with a band where `lo` and `hi` are there."""
    key = legend(labels, corner, heading)
    layers: list[alt.Chart] = []
    if "lo" in frame.columns and frame["lo"].is_not_null().any():
        area = base(frame.filter(pl.col("lo").is_not_null(), pl.col("hi").is_not_null()))
        ends = {"y": alt.Y(**{**y, "shorthand": "lo:Q"}), "y2": "hi:Q", "order": alt.Order("k:Q")}
        layers.append(
            area.mark_area(opacity=0.18, interpolate=interpolate).encode(  # type: ignore[arg-type]
                x=alt.X(**x), detail="s:N", **ends, **series_scales(labels, None)
            )
        )
    layers.append(
        base(frame)
        .mark_line(interpolate=interpolate)  # type: ignore[arg-type]
        .encode(
            x=alt.X(**x),
            y=alt.Y(**y),
            order=alt.Order("k:Q"),
            strokeDash=dashes(labels, key),
            **series_scales(labels, key),
        )
    )
    return layered(*layers)


def reference(points: Sequence[tuple[float, float]]) -> alt.Chart:
    """A dashed line through points, to be drawn under the data."""
    frame = pl.DataFrame(
        {"x": [float(x) for x, _ in points], "y": [float(y) for _, y in points], "k": range(len(points))}
    )
    line = base(frame).mark_line(strokeDash=[4, 4], strokeWidth=1.3, color=LIGHT["reference"])
    chart: alt.Chart = line.encode(x="x:Q", y="y:Q", order=alt.Order("k:Q"))
    return chart


def note(
    x: float, y: float, text: str, *, align: str = "left", dx: float = 0, dy: float = 0, angle: float = 0
) -> alt.Chart:
    """A word in the panel."""
    mark = base(pl.DataFrame({"x": [float(x)], "y": [float(y)], "t": [text]})).mark_text(
        align=align,  # type: ignore[arg-type]
        dx=dx,
        dy=dy,
        angle=angle,
        color=LIGHT["mute"],
        fontSize=10.5,
        fontStyle="italic",
    )
    chart: alt.Chart = mark.encode(x="x:Q", y="y:Q", text="t:N")
    return chart


def titled(
    chart: alt.LayerChart | alt.Chart, title: str, subtitle: Sequence[str], width: float, height: float
) -> Any:
    """The chart with title, subtitle and size."""
    text = alt.Title(title, subtitle=[line for line in subtitle if line])
    return chart.properties(title=text, width=width, height=height)
