"""The reliability diagram: rates of positives by predicted probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core import special
from plmetrics.core.ops import Array
from plmetrics.report.charts.calibration.score_histogram import (
    bars_of,
    mirror_bars,
    mirrored_axis,
    reach,
    sides_of,
)
from plmetrics.report.charts.grammar import Chart, base, channel, layer_charts, options, vconcat
from plmetrics.report.charts.marks import PANEL, axis, ends, reference, remark, unit, with_ends
from plmetrics.report.charts.panels import Panel, panels
from plmetrics.report.charts.series import Series, series_of
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import finding, level_words, metric_of, title_of
from plmetrics.report.numbers import count, plural, row_estimate

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.charts.selection import Selection

_HISTOGRAM = 96
_MEASURES = {"calibration_slope": "calibration slope", "ece": "ECE"}


def draw(selection: Selection) -> Figure:
    """A panel a model: rates of bins with intervals, the range of calibrated ones, and below the scores by class."""
    series = series_of(selection, selection.curve("reliability"), metric_of(selection, "ece"))
    level = selection.summary.level or 0.95
    corp = selection.summary.curves.filter(curve="corp")

    def panel(panel: Panel) -> Chart:
        points = series.rows(_of_slices(selection, corp))
        return layer_charts(*_marks(panel, level, points, clustered=selection.summary.clustered))

    x, y = unit("x", "Predicted probability"), unit("y", "Observed event rate")
    histogram = _histogram(selection, series) if len(series.keys) == 1 else None
    if histogram is None:
        drawn = panels(series, x, y, panel, alone=True)
        chart, width = drawn.chart, drawn.width
    else:
        bare = {**x, "title": None, "axis": options(labels=False, values=[0, 0.2, 0.4, 0.6, 0.8, 1])}
        upper = panel(Panel(series, bare, y)).properties(width=PANEL, height=PANEL)
        chart, width = vconcat(upper, histogram, spacing=14), PANEL
    title = title_of("Reliability", series)
    words = finding(title, metric_of(selection, "ece") or "", series, selection)
    return series.figure(chart, title, _subtitle(selection, series, corp), words, width)


def _of_slices(selection: Selection, table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(slice_set=selection.slice_set or "overall")


def _marks(panel: Panel, level: float, corp: pl.DataFrame, *, clustered: bool) -> list[Chart]:
    """The marks of a panel, from the back to the front."""
    frame = panel.series.frame.filter(pl.col("y").is_not_null()).sort("x")
    x, y = channel(**panel.x), channel(**panel.y)
    canvas = panel.canvas()
    canvas.line([0, 1], [0, 1])
    vertical = ends(panel.y)
    calibrated = _calibration_range(frame.clear() if clustered else frame, level)
    ranges = base(calibrated)
    # An area of one bin would have no width.
    style: dict[str, Any] = {"color": LIGHT["faint"], "opacity": 0.28}
    one = calibrated.height == 1
    mark = ranges.mark("rule", strokeWidth=12, **style) if one else ranges.mark("area", **style)
    area = mark.encode(x=x, **vertical)
    bars = with_ends(frame)
    rule = base(bars.select("x", "lo", "hi")).mark("rule", color=SERIES[0]).encode(x=x, **vertical)
    line = base(frame.select("x", "y", "k")).mark("line", color=SERIES[0], strokeWidth=1.4).encode(x=x, y=y)
    point = base(frame.select("x", "y")).mark(
        "point",
        color=SERIES[0],
        stroke=LIGHT["paper"],
        strokeWidth=1.2,
        fill=SERIES[0],
        size=52 if panel.small else 58,
    )
    marks: list[Chart] = [] if calibrated.is_empty() else [area]
    marks.append(reference([(0, 0), (1, 1)]))
    if not panel.small:
        sides = [("right", -8, -10), ("left", 8, 12)]
        marks.append(remark(canvas, [(0.92, 0.92), (0.75, 0.75), (0.3, 0.3)], "perfect", sides))
        marks.append(remark(canvas, [(0.0, 1.0), (0.0, 0.6)], "observed above predicted", [("left", 10, 12)]))
        marks.append(
            remark(canvas, [(1.0, 0.0), (1.0, 0.4)], "observed below predicted", [("right", -10, -14)])
        )
    # The isotonic line says better than one through the bins what lies between them.
    return [*marks, rule, *(_isotonic(panel, corp) or [line]), point.encode(x=x, y=y)]


def _isotonic(panel: Panel, corp: pl.DataFrame) -> list[Chart]:
    """The isotonic regression of labels on scores, where the result has it."""
    points = panel.series.rows(corp)
    if points.is_empty():
        return []
    line = base(points.select("x", "y", k=pl.int_range(pl.len()))).mark(
        "line", color=SERIES[1], strokeWidth=1.6
    )
    return [line.encode(x=channel(**panel.x), y=channel(**panel.y), order=channel("k:Q"))]


def _calibration_range(frame: pl.DataFrame, level: float) -> pl.DataFrame:
    """Range of rates in bins of so many independent rows for calibrated scores, unknown for weighted ones."""
    counted = frame.filter(pl.col("n").is_not_null(), pl.col("n") > 0)
    rows, rate = counted["n"].to_numpy(), counted["x"].clip(0, 1).to_numpy()
    low, high = (_binomial_quantile(share, rows, rate) for share in ((1 - level) / 2, (1 + level) / 2))
    return counted.select("x", lo=pl.Series(low / rows), hi=pl.Series(high / rows))


def _binomial_quantile(share: float, rows: Array, rate: Array) -> Array:
    low, high = np.full(len(rows), -1.0), rows.astype(np.float64)
    for _ in range(int(np.log2(rows.max(initial=1))) + 2):
        middle = np.floor((low + high) / 2)
        inside = np.clip(middle, 0, rows - 1)
        enough = (middle >= 0) & (special.betainc(rows - inside, inside + 1, 1 - rate) >= share)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _histogram(selection: Selection, series: Series) -> Chart | None:
    """The scores of both classes below the diagram, where the result has them."""
    rows = series.rows(sides_of(_of_slices(selection, selection.summary.curves)))
    if rows.is_empty():
        return None
    height = "n" if rows["n"].is_not_null().all() else "y"
    bars = bars_of(rows, height)
    if bars.is_empty() or bars["x"].min() < -1e-9 or bars["x2"].max() > 1 + 1e-9:  # type: ignore[operator]
        return None
    word = "Rows per bin" if height == "n" else "Share of class"
    y = mirrored_axis(axis("y", word, reach(bars, 0.2)), ",.0f" if height == "n" else ".0%")
    chart = mirror_bars(bars, unit("x", "Predicted probability"), y, ("events", "non-events"))
    return chart.properties(width=PANEL, height=_HISTOGRAM)


def _subtitle(selection: Selection, series: Series, corp: pl.DataFrame) -> list[str]:
    level = level_words(selection)
    dependent = selection.summary.clustered or series.frame["n"].is_null().all()
    intervals = series.frame["lo"].is_not_null().any()
    bins = series.frame.group_by("s").len()["len"].max() or 0
    kind = "bootstrap" if dependent else "Wilson"
    first = plural(int(bins), "bin") + (f" with {level} {kind} intervals" if intervals else "")  # type: ignore[arg-type]
    grey = "" if dependent else f"; grey: {level} range if calibrated"
    isotonic = (
        "orange: isotonic regression (CORP)" if series.rows(_of_slices(selection, corp))["s"].len() else ""
    )
    return [first + grey, _sizes(selection, series), isotonic, *series.notes]


def _sizes(selection: Selection, series: Series) -> str:
    """Rows and events of one series, with its calibration slope and ECE; ECE stands above panels of several."""
    if len(series.keys) > 1:
        interval = (
            f" [{level_words(selection)} interval]" if any("[" in text for text in series.values) else ""
        )
        return f"above panels: ECE{interval}" if any(series.values) else ""
    frame = series.frame.filter(pl.col("n").is_not_null())
    words = []
    if not frame.is_empty():
        rows = int(frame["n"].sum())
        events = float((frame["y"] * frame["n"]).sum())
        words.append(f"n = {count(rows)}, events {events / rows:.1%}")
    rows_of_key: dict[str, Any] = _estimates(selection, series)
    return "; ".join([*words, *(f"{_MEASURES[name]} {text}" for name, text in rows_of_key.items())])


def _estimates(selection: Selection, series: Series) -> dict[str, str]:
    """The calibration slope and the ECE of the only series, as text."""
    rows = series.rows(_of_slices(selection, selection.summary.metrics))
    texts = {}
    for name in _MEASURES:
        of_metric = rows.filter(pl.col("metric") == (metric_of(selection, name) or ""))
        if not of_metric.is_empty():
            texts[name] = str(row_estimate(of_metric.row(0, named=True)))
    return texts
