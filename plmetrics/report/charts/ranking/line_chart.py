"""Charts of one curve: a line a model, its metric, its band, the thresholds of metrics, and the share of positives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.grammar import Chart, layer_charts
from plmetrics.report.charts.marks import PANEL, lines
from plmetrics.report.charts.operating import dots, operating_points
from plmetrics.report.charts.panels import Panel, panels
from plmetrics.report.charts.series import KEYS, Series
from plmetrics.report.charts.words import (
    band_words,
    dot_words,
    finding,
    findings,
    heading_of,
    size_words,
    title_of,
)

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.placement import Canvas
    from plmetrics.report.charts.selection import Selection

    Marks = Callable[[Panel, Canvas], list[Chart]]


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart of one curve: its title, its metric with a heading for the legend, and the meaning of its band.

    `fact` tells what there is to see of the points of a series, where no metric does. `under` and `over` give the marks
    below and above the lines of a panel.
    """

    title: str
    x: dict[str, Any]
    y: dict[str, Any]
    metric: str | None = None
    heading: str = ""
    band: str = ""
    corner: str = "bottom-right"
    interpolate: str = "linear"
    height: float = PANEL
    notes: tuple[str, ...] = ()
    fact: Callable[[pl.DataFrame], str] | None = None
    under: Marks = lambda _panel, _canvas: []
    over: Marks = lambda _panel, _canvas: []

    def figure(self, selection: Selection, series: Series, points: pl.DataFrame | None = None) -> Figure:
        """The chart of these series, with the thresholds of metrics on the lines if the curve's points are given."""
        chosen = None if points is None else operating_points(selection, series, points)
        heading = heading_of(selection, series, self.heading)

        def draw(panel: Panel) -> Chart:
            canvas = panel.canvas()
            under = self.under(panel, canvas)
            curves = lines(
                panel.series.frame,
                panel.x,
                panel.y,
                panel.series.labels,
                self.corner,
                heading=heading,
                interpolate=self.interpolate,
                canvas=canvas,
            )
            marked = [] if chosen is None else dots(panel, chosen, canvas)
            return layer_charts(*under, curves, *marked, *self.over(panel, canvas))

        drawn = panels(series, self.x, self.y, draw, height=self.height, interpolate=self.interpolate)
        title = title_of(self.title, series)
        subtitle = (
            band_words(selection, series, self.band) if self.band else "",
            size_words(selection, series),
            *self.notes,
            "" if chosen is None else dot_words(chosen),
        )
        words = self._description(title, series, selection)
        return series.figure(drawn.chart, title, subtitle, words, drawn.width)

    def _description(self, title: str, series: Series, selection: Selection) -> str:
        if self.fact is not None:
            return findings(title, series, self.fact)
        return finding(title, self.metric or "", series, selection)


def prevalence_of(selection: Selection, series: Series) -> dict[str, float]:
    """Share of positives by label of the series, where the result has it.

    The last point of the precision-recall curve, where all rows are called, has it as precision; so has the metric
    `prevalence`, and the curve `reliability` as the mean of its bins.
    """
    sources = (_from_metrics(selection), _from_pr(selection), _from_bins(selection))
    shares = pl.concat(sources).unique([*KEYS], keep="first", maintain_order=True)
    return dict(series.rows(shares).select("s", "prevalence").iter_rows())


def _from_metrics(selection: Selection) -> pl.DataFrame:
    rows = selection.rows(selection.summary.metrics).filter(
        pl.col("metric") == "prevalence", pl.col("value").is_not_null()
    )
    return rows.select(*KEYS, prevalence="value")


def _from_pr(selection: Selection) -> pl.DataFrame:
    points = _points(selection, "pr")
    return points.group_by(KEYS, maintain_order=True).agg(prevalence=pl.col("y").last())


def _from_bins(selection: Selection) -> pl.DataFrame:
    points = _points(selection, "reliability").filter(pl.col("n").is_not_null())
    mean = (pl.col("y") * pl.col("n")).sum() / pl.col("n").sum()
    return points.group_by(KEYS, maintain_order=True).agg(prevalence=mean)


def _points(selection: Selection, curve: str) -> pl.DataFrame:
    points = selection.summary.curves.filter(pl.col("curve") == curve, pl.col("y").is_not_null())
    points = points.filter(slice_set=selection.slice_set or "overall")
    return points.filter(pl.col("x").is_not_null())
