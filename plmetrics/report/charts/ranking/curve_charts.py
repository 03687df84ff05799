"""Charts of one curve of the order of scores: ROC curve, cumulative gain, lift, and expected cost by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.marks import axis, reference, remark, span, unit
from plmetrics.report.charts.operating import points_with_texts, threshold_axis
from plmetrics.report.charts.ranking.line_chart import LineChart, prevalence_of
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.words import at_a_tenth, three_digits

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.panels import Panel
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection

_ALONG_DIAGONAL = [(0.62, 0.62), (0.8, 0.8), (0.45, 0.45)]
_BESIDE_LEVEL = (("left", 6, -9), ("left", 6, 9), ("right", -6, -9), ("right", -6, 9))


def roc(selection: Selection) -> Figure:
    """ROC curves: a line a model, the area under it beside its name, and the band of recall where there is one."""
    points = selection.curve("roc")

    def under(panel: Panel, canvas: Canvas) -> list[Chart]:
        canvas.line([0, 1], [0, 1])
        return [reference([(0, 0), (1, 1)]), *_diagonal_remark(panel, canvas, "no skill")]

    chart = LineChart(
        "ROC curve",
        unit("x", "False positive rate (lower is better)"),
        unit("y", "Recall (higher is better)"),
        metric="roc_auc",
        heading="area",
        band="recall at each false positive rate",
        under=under,
    )
    return chart.figure(selection, series_of(selection, points, "roc_auc"), points)


def gain(selection: Selection) -> Figure:
    """Cumulative gains: lines between that of random calls and, if the prevalence is known, of a perfect order."""
    points = selection.curve("gain")

    def under(panel: Panel, canvas: Canvas) -> list[Chart]:
        canvas.line([0, 1], [0, 1])
        marks = [reference([(0, 0), (1, 1)])]
        rates = set(prevalence_of(selection, panel.series).values())
        if len(rates) == 1:
            rate = rates.pop()
            canvas.line([0, rate, 1], [0, 1, 1])
            marks.append(reference([(0, 0), (rate, 1), (1, 1)]))
            if not panel.small:
                places = [(share * rate, share) for share in (0.9, 0.75, 0.6)]
                marks.append(remark(canvas, places, "perfect", [("left", 6, 4), ("right", -6, -4)]))
        return [*marks, *_diagonal_remark(panel, canvas, "random")]

    chart = LineChart(
        "Cumulative gain",
        unit("x", "Share of rows called, highest scores first"),
        unit("y", "Recall (higher is better)"),
        band="recall at each share of rows",
        fact=lambda points: f"recall {at_a_tenth(points)} where the highest tenth of rows is called",
        under=under,
    )
    return chart.figure(selection, series_of(selection, points), points)


def lift(selection: Selection) -> Figure:
    """Lift curves: precision as a multiple of the prevalence, with the line of random calls at 1."""
    points = selection.curve("lift")
    series = series_of(selection, points)
    _, top = span(series.frame["y"], series.frame["hi"], include=(1.0,))

    def under(panel: Panel, canvas: Canvas) -> list[Chart]:
        canvas.line([0, 1], [1, 1])
        line = reference([(0, 1), (1, 1)])
        places = [(0.0, 1.0), (1.0, 1.0)]
        return [line] if panel.small else [line, remark(canvas, places, "random", _BESIDE_LEVEL)]

    chart = LineChart(
        "Lift",
        unit("x", "Share of rows called, highest scores first"),
        axis("y", "Lift: precision / prevalence (higher is better)", (0, top)),
        band="lift at each share of rows",
        corner="top-right",
        fact=lambda points: f"lift {at_a_tenth(points)} where the highest tenth of rows is called",
        under=under,
    )
    return chart.figure(selection, series, points)


def cost(selection: Selection) -> Figure:
    """Expected costs of a row by threshold, with the threshold of the lowest cost."""
    series = series_of(selection, selection.curve("cost"))
    _, top = span(series.frame["y"], series.frame["hi"], include=(0.0,))
    chart = LineChart(
        "Expected cost",
        threshold_axis(series.frame["x"]),
        axis("y", "Expected cost of a row (lower is better)", (0, top)),
        corner="top-right",
        notes=("points: lowest cost on these rows, and its threshold",),
        fact=_lowest_words,
        over=_lowest,
    )
    return chart.figure(selection, series)


def _diagonal_remark(panel: Panel, canvas: Canvas, text: str) -> list[Chart]:
    sides = (("left", 8, 12), ("right", -8, -12))
    return [] if panel.small else [remark(canvas, _ALONG_DIAGONAL, text, sides)]


def _lowest_words(points: pl.DataFrame) -> str:
    x, y = points.drop_nulls("y").sort("y", "k").select("x", "y").row(0)
    return f"lowest {three_digits(y)} at {three_digits(x)}"


def _lowest(panel: Panel, canvas: Canvas) -> list[Chart]:
    """The lowest point of each line, with its cost and threshold where there is room."""
    frame = panel.series.frame.filter(pl.col("y").is_not_null())
    lowest = frame.sort("y", "k").group_by("s", maintain_order=True).first()
    texts = [f"{three_digits(y)} at {three_digits(x)}" for x, y in lowest.select("x", "y").iter_rows()]
    return points_with_texts(panel, lowest.with_columns(t=pl.Series(texts, dtype=pl.String)), canvas)
