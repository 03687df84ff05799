"""The precision-recall curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.report.charts.grammar import Chart, base
from plmetrics.report.charts.marks import point_label, reference, remark, series_paint, unit
from plmetrics.report.charts.ranking.line_chart import LineChart, prevalence_of
from plmetrics.report.charts.series import Keys, Series, every_point, series_of
from plmetrics.report.charts.theme import LIGHT
from plmetrics.report.charts.words import three_digits

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection

_FEW_CALLS, _VISIBLE = 5, 0.02
_SIDES = (("right", -6, -9), ("right", -6, 9), ("left", 6, -9), ("left", 6, 9))


def draw(selection: Selection, *, iso_f1: bool = False) -> Figure:
    """A line a model with its average precision, the prevalence as a line, and lines of one F1 if asked for."""
    points = selection.curve("pr")
    series = series_of(selection, points, "average_precision")

    ends = _few_calls(selection, series, points)

    def under(panel: Panel, canvas: Canvas) -> list[Chart]:
        lines = _lines_of_f1(canvas) if iso_f1 else []
        return [*_grey(panel, ends), *lines, *_prevalence(selection, panel, canvas)]

    chart = LineChart(
        "Precision and recall",
        unit("x", "Recall (higher is better)"),
        unit("y", "Precision (higher is better)"),
        metric="average_precision",
        heading="average precision",
        band="precision at each recall",
        corner="top-right",
        # A point's precision is that of all recalls since the point before, as in the average precision.
        interpolate="step-before" if series.exact else "linear",
        notes=(f"grey: fewer than {_FEW_CALLS} calls",) if ends else (),
        under=under,
    )
    return chart.figure(selection, series, points)


def _few_calls(selection: Selection, series: Series, points: pl.DataFrame) -> dict[Keys, float]:
    """Recall at 5 calls, if far enough from 0 to be seen; not of weighted rows."""
    metrics = selection.summary.metrics.filter(slice_set=selection.slice_set or "overall")
    rows = series.rows(metrics).filter(pl.col("n") == pl.col("weight")).group_by("s").agg(pl.col("n").max())
    rates = prevalence_of(selection, series)
    keys = dict(zip(series.labels, series.keys, strict=True))
    ends = {}
    for part in every_point(series, points).join(rows, on="s").partition_by("s"):
        label = part["s"][0]
        calls = pl.col("x") * rates[label] * pl.col("n") / pl.col("y")
        enough = part.filter(pl.col("y") > 0, calls >= _FEW_CALLS - 1e-9)["x"].to_numpy()
        if len(enough) and enough.min() >= _VISIBLE:
            ends[keys[label]] = float(enough.min())
    return ends


def _grey(panel: Panel, ends: Mapping[Keys, float]) -> list[Chart]:
    end = max((ends.get(key, 0.0) for key in panel.series.keys), default=0.0)
    if not end:
        return []
    area = pl.DataFrame({"x": [0.0], "hi": [end], "lo": [0.0], "y": [1.0]})
    mark = base(area).mark("rect", color=LIGHT["faint"], opacity=0.22)
    return [mark.encode(x="x:Q", x2="hi:Q", y="lo:Q", y2="y:Q")]


def _prevalence(selection: Selection, panel: Panel, canvas: Canvas) -> list[Chart]:
    """Precision of a score without skill: a line for all series, or one for each where they differ."""
    rates = prevalence_of(selection, panel.series)
    same = len(set(rates.values())) == 1
    colors = dict(series_paint(panel.series.labels).select("s", "fill").iter_rows())
    marks: list[Chart] = []
    for label, rate in list(rates.items())[: 1 if same else None]:
        canvas.line([0, 1], [rate, rate])
        marks.append(reference([(0, rate), (1, rate)], LIGHT["reference"] if same else colors[label]))
    for label, rate in list(rates.items())[: 1 if same else None]:
        text = f"{'prevalence ' if same else ''}{three_digits(rate)}"
        places = [(1.0, rate), (0.0, rate), (0.5, rate)]
        if same:
            marks.append(remark(canvas, places, text, _SIDES))
        else:
            x, y, side = canvas.spot(places, text, _SIDES)
            marks.append(point_label(x, y, text, side, colors[label]))
    return marks


def _lines_of_f1(canvas: Canvas) -> list[Chart]:
    """Recall and precision of equal F1."""
    marks: list[Chart] = []
    for value in (0.2, 0.4, 0.6, 0.8):
        recall = np.linspace(value / (2 - value), 1, 40)
        precision = value * recall / (2 * recall - value)
        marks.append(reference(list(zip(recall, precision, strict=True)), LIGHT["grid"], solid=True))
        marks.append(remark(canvas, [(1.0, float(precision[-1]))], f"F1 {value}", [("right", -4, -8)]))
    return marks
