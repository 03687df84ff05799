"""Decision curves: the net benefit of calling by threshold probability."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.marks import axis, reference, remark
from plmetrics.report.charts.ranking.line_chart import LineChart
from plmetrics.report.charts.series import series_of

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection

_LOW, _HIGH = 0.01, 0.99
_BELOW = 0.1
"""How far below 0 the axis goes, as a share of the prevalence."""
_LOWEST = 0.5
"""As far as that at most; what lies below is left out."""
_SIDES = (("left", 6, -9), ("left", 6, 9), ("right", -6, -9), ("right", -6, 9))


def draw(selection: Selection) -> Figure:
    """A line a model, with those of calling all rows and none in grey."""
    inside = pl.col("x").is_between(_LOW, _HIGH)
    points = selection.curve("net_benefit").filter(inside)
    # Calling all rows is no model's.
    everybody = selection.summary.curves.filter(
        inside, curve="net_benefit_all", slice_set=selection.slice_set or "overall"
    ).filter(pl.col("slice").is_in(points["slice"].unique().to_list()))
    series = series_of(selection, points)
    highest = [column.max() or 0.0 for column in (series.frame["y"], series.frame["hi"], everybody["y"])]
    top = max(float(value) for value in highest)  # type: ignore[arg-type]
    least = [column.min() or 0.0 for column in (series.frame["y"], series.frame["lo"])]
    low = max(min(-_BELOW * top, *(float(value) for value in least)), -_LOWEST * top)  # type: ignore[arg-type]
    series = replace(series, frame=_above(series.frame, low))

    def under(panel: Panel, canvas: Canvas) -> list[Chart]:
        slices = [key[1] for key in panel.series.keys]
        of_panel = everybody.filter(pl.col("slice").is_in(slices), pl.col("y") >= low)
        canvas.line([0, 1], [0, 0])
        marks = [reference([(0, 0), (1, 0)])]
        for part in of_panel.partition_by("slice", "class", maintain_order=True):
            line = list(part.select("x", "y").iter_rows())
            canvas.line(part["x"], part["y"])
            marks.append(reference(line))
            if not panel.small:
                sides = [("right", -6, 8), ("left", 6, -8)]
                marks.append(
                    remark(canvas, line[len(line) // 3 :: max(1, len(line) // 6)], "call all", sides)
                )
        if not panel.small:
            marks.append(remark(canvas, [(1.0, 0.0), (0.6, 0.0)], "call none", _SIDES[2:]))
        return marks

    ticks = (0, 0.2, 0.4, 0.6, 0.8, 1)
    chart = LineChart(
        "Net benefit",
        axis("x", "Threshold probability", (0, 1), form=".0%", ticks=ticks),
        axis("y", "Net benefit of a row (higher is better)", (low, top * 1.04 or 1.0)),
        band="net benefit at each threshold",
        corner="top-right",
        fact=_highest,
        under=under,
    )
    return chart.figure(selection, series)


def _highest(points: pl.DataFrame) -> str:
    useful = points.filter(pl.col("y") > 0)
    if useful.is_empty():
        return "never above that of calling none"
    ends = useful["x"].to_numpy()
    return f"above that of calling none from {ends.min():.0%} to {ends.max():.0%}"


def _above(frame: pl.DataFrame, low: float) -> pl.DataFrame:
    """The lines with gaps, and the bands with an edge, where they leave the axis."""
    inside = pl.col("hi") >= low
    return frame.with_columns(
        y=pl.when(pl.col("y") >= low).then("y"),
        lo=pl.when(inside).then(pl.col("lo").clip(lower_bound=low)),
        hi=pl.when(inside).then("hi"),
    )
