"""Words in a panel: beside a point, or wherever along a line nothing is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.layers import base
from plmetrics.report.charts.theme import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from plmetrics.report.charts.placement import Canvas, Side


def beside(x: float, y: float, text: str, side: Side, color: str = LIGHT["ink"], **style: Any) -> alt.Chart:
    """A word on a side of a point."""
    align, dx, dy = side
    mark = base(pl.DataFrame({"x": [float(x)], "y": [float(y)], "t": [text]})).mark_text(
        align=align,  # type: ignore[arg-type]
        baseline="middle",
        dx=dx,
        dy=dy,
        color=color,
        **{"fontSize": 10.5, **style},
    )
    chart: alt.Chart = mark.encode(x="x:Q", y="y:Q", text="t:N")
    return chart


def remark(
    canvas: Canvas, places: Sequence[tuple[float, float]], text: str, sides: Sequence[Side]
) -> alt.Chart:
    """A word about a reference line, at the first of these places where nothing is drawn."""
    return beside(*_spot(canvas, places, text, sides), LIGHT["mute"], fontStyle="italic")


def _spot(
    canvas: Canvas, places: Sequence[tuple[float, float]], text: str, sides: Sequence[Side]
) -> tuple[float, float, str, Side]:
    x, y, side = canvas.spot(places, text, sides)
    return x, y, text, side
