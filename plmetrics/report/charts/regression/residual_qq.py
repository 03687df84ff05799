"""Quantiles of residuals against those of the normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core import special
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import base, channel, layer_charts
from plmetrics.report.charts.marks import PANEL, add_title, axis, ends, lines, note, reference, span
from plmetrics.report.charts.series import series_of
from plmetrics.report.charts.theme import LIGHT
from plmetrics.report.charts.words import finding, heading_of, level_words, size_words, title_of

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.charts.selection import Selection
    from plmetrics.report.charts.series import Series


def draw(selection: Selection) -> Figure:
    """A line a model: residuals, centred and scaled, over normal ones; on the diagonal they are normal."""
    series = series_of(selection, selection.curve("residual_qq"), "rmse")
    x_range, y_range = span(series.frame["x"]), span(series.frame["y"])
    x = axis("x", "Normal quantile", x_range)
    y = axis("y", "Residual in standard deviations", y_range)
    low, high = max(x_range[0], y_range[0]), min(x_range[1], y_range[1])
    normal = _normal_range(selection, series)
    band = [] if normal is None else [_band(normal, x, y, y_range)]
    chart = layer_charts(
        *band,
        reference([(low, low), (high, high)]),
        note(high, high, "normal", align="right", dx=-8, dy=16),
        lines(series.frame, x, y, series.labels, "top-left", heading=heading_of(selection, series, "rmse")),
    )
    title = title_of("Quantiles of residuals", series)
    subtitle = (
        "steeper than the diagonal at the ends: more large errors than normal ones",
        f"grey: {level_words(selection)} range of independent normal residuals, pointwise" if band else "",
        size_words(selection, series),
    )
    chart = add_title(chart, title, subtitle, PANEL, PANEL)
    return Figure(chart, series.drawn, title, finding(title, "rmse", series, selection), series.notes)


_PLACES = 121


def _normal_range(selection: Selection, series: Series) -> pl.DataFrame | None:
    """Range of the quantiles of equally many normal values, by the beta distribution of their ranks.

    None where series differ in their rows, or rows have weights.
    """
    there = selection.summary.metrics.filter(slice_set=selection.slice_set or "overall")
    sizes = series.rows(there).filter(pl.col("s").is_not_null(), pl.col("n").is_not_null())
    if sizes.is_empty() or sizes["n"].n_unique() > 1 or (sizes["n"] != sizes["weight"]).any():
        return None
    rows = int(sizes["n"][0])
    quantiles = series.frame["x"].drop_nulls().to_numpy()
    if rows < 2 or not len(quantiles):
        return None
    edge = float(special.ndtri(0.5 / rows))
    quantile = np.linspace(max(quantiles.min(), edge), min(quantiles.max(), -edge), _PLACES)
    # The middle of a rank's share is the normal quantile that it is drawn over.
    rank = special.ndtr(quantile) * rows + 0.5
    outside = (1 - (selection.summary.level or 0.95)) / 2
    low, high = (
        special.ndtri(special.betaincinv(rank, rows + 1 - rank, share)) for share in (outside, 1 - outside)
    )
    return pl.DataFrame({"x": quantile, "lo": low, "hi": high})


def _band(normal: pl.DataFrame, x: dict[str, Any], y: dict[str, Any], room: tuple[float, float]) -> Chart:
    inside = normal.filter(pl.col("hi") >= room[0], pl.col("lo") <= room[1])
    mark = base(inside.with_columns(pl.col("lo", "hi").clip(*room))).mark(
        "area", color=LIGHT["faint"], opacity=0.28
    )
    return mark.encode(x=channel(**x), **ends(y))
