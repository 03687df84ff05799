"""Charts of a regression: residuals by prediction, their histogram and quantiles, and conditional means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from plmetrics.core import special
from plmetrics.core.errors import Problem
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import Chart, base, channel, hconcat, layer_charts
from plmetrics.report.charts.marks import (
    PANEL,
    SMALL_PANEL,
    add_title,
    axis,
    ends,
    lines,
    nice_ticks,
    note,
    reference,
    span,
    unit,
)
from plmetrics.report.charts.panels import model_panel, rows_of_panels
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.series import Series, by_model, model_names, panel_series
from plmetrics.report.charts.theme import LIGHT, SERIES
from plmetrics.report.charts.words import finding, heading_of, level_words, size_words, title_of
from plmetrics.report.numbers import number, plural

_BANDS = (("0.05", "0.95", 0.10), ("0.25", "0.75", 0.18))
_REACH = 3
_HISTOGRAM = PANEL + 100, PANEL - 120
_QUANTILES = 121
_CONDITIONAL = {
    "conditional_label": ("Prediction", "Mean label"),
    "conditional_prediction": ("Label", "Mean prediction"),
    "conditional_recall": ("Label", "Share in the same bin"),
}


def residuals(selection: Selection) -> Figure:
    """Mean residual by prediction, a panel a model; where quantiles were drawn, the middle 50 and 90 % behind it."""
    means = selection.curve("residual_prediction")
    spread = selection.rows(selection.summary.curves.filter(curve="residual_quantiles"), optional=True)
    shown, notes = by_model(means)
    names, alone = model_names(shown), len(shown) == 1
    visible = pl.concat([means, spread]).join(pl.concat(shown.values()), on=["model", "slice"], how="semi")
    x = span(visible["x"])
    y = span(visible["y"], visible["lower"], visible["upper"], include=[0.0])
    panels = [
        _residual_panel(visible.filter(model=model, slice=text), x, y, "" if alone else name)
        for (model, text), name in zip(shown, names, strict=True)
    ]
    title = "Residuals by prediction" + (f": {names[0]}" if alone else "")
    subtitle = (
        f"residual = prediction \N{MINUS SIGN} label; points: mean of 20 bins with a {level_words(selection)} band",
        "grey: the middle 50 and 90 % of the residuals" if spread.height else "",
        *notes,
    )
    drawn = rows_of_panels(panels, PANEL + 60, SMALL_PANEL + 90, spacing=24)
    chart = add_title(drawn.chart, title, subtitle, drawn.width, frame="bounds")
    return Figure(chart, visible, title, _residual_finding(title, names, shown.values()), notes)


def _residual_panel(points: pl.DataFrame, x: tuple[float, float], y: tuple[float, float], name: str) -> Chart:
    mean = points.filter(curve="residual_prediction")
    horizontal = axis("x", "Prediction", x, ticks=nice_ticks(x, 6))
    vertical = axis("y", "Residual (best at 0)", y, ticks=nice_ticks(y, 6))
    frame = mean.select("x", "y", lo="lower", hi="upper", k=pl.int_range(pl.len()))
    layers = [*_spread(points, horizontal, vertical), reference([(x[0], 0), (x[1], 0)])]
    across = channel(**horizontal)
    layers += [
        base(frame).mark("area", color=SERIES[0], opacity=0.22).encode(x=across, **ends(vertical)),
        base(frame)
        .mark("line", color=SERIES[0])
        .encode(x=across, y=channel(**vertical), order=channel("k:Q")),
        base(frame)
        .mark("point", color=SERIES[0], stroke=LIGHT["paper"], strokeWidth=1, size=44)
        .encode(x=across, y=channel(**vertical)),
    ]
    small, alone = (SMALL_PANEL + 20, SMALL_PANEL), (PANEL + 60, PANEL - 80)
    return model_panel(layer_charts(*layers), name, small, alone)


def _spread(points: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> list[Chart]:
    quantiles = points.filter(curve="residual_quantiles")
    areas = []
    for low, high, opacity in _BANDS:
        levels = [
            quantiles.filter(pl.col("class") == level).select("x", pl.col("y").alias(name))
            for level, name in ((low, "lo"), (high, "hi"))
        ]
        first, last = levels
        frame = first.with_columns(last["hi"]) if len(first) == len(last) else first.clear()
        if frame.is_empty():
            continue
        area = base(frame).mark("area", color=LIGHT["reference"], opacity=opacity)
        areas.append(area.encode(x=channel(**x), **ends(y)))
    return areas


def _residual_finding(title: str, names: Sequence[str], means: Iterable[pl.DataFrame]) -> str:
    words = []
    for name, part in zip(names, means, strict=True):
        away = part.filter((pl.col("lower") > 0) | (pl.col("upper") < 0)).height
        largest = part.sort(pl.col("y").abs(), descending=True).row(0, named=True)
        words.append(
            f"{name}: band without 0 in {away} of {plural(part.height, 'bin')}, "
            f"largest mean residual {number(largest['y'])} at a prediction of {number(largest['x'])}"
        )
    return f"{title}. {'; '.join(words)}."


def residual_histogram(selection: Selection) -> Figure:
    """Share of rows by residual, bars of one model and outlines of several on the same bins.

    Residuals beyond 3 quartile ranges are numbers at the edges.
    """
    series = panel_series(selection, selection.curve("residual_histogram"), "rmse")
    bins = series.frame.with_columns(low=2 * pl.col("x") - pl.col("h"))
    low, high = _histogram_domain(bins)
    inside = bins.filter(pl.col("low") >= low - 1e-9, pl.col("h") <= high + 1e-9)
    top = float(inside["y"].max() or 1.0) * 1.08  # type: ignore[arg-type]
    x = axis("x", "Residual: prediction \N{MINUS SIGN} label (best at 0)", (low, high))
    y = axis("y", "Share of rows", (0, top), form=".0%" if top > 0.05 else ".1%")
    middle = [reference([(0, 0), (0, top)])] if low < 0 < high else []
    chart = layer_charts(
        *_shares(inside, series.labels, x, y, heading_of(selection, series, "rmse")),
        *middle,
        *_beyond(bins, series.labels, low, high, top),
    )
    title = title_of("Residuals", series)
    subtitle = (size_words(selection, series),)
    return series.figure(chart, title, subtitle, finding(title, "rmse", series, selection), *_HISTOGRAM)


def _shares(
    bins: pl.DataFrame, labels: Sequence[str], x: dict[str, Any], y: dict[str, Any], heading: str | None
) -> list[Chart]:
    if len(labels) > 1:
        points = bins.select("x", "y", "s", "k")
        return [lines(points, x, y, labels, "top-right", heading=heading, interpolate="step")]
    bars = bins.select("low", "h", "y", zero=pl.lit(0.0))
    mark = base(bars).mark("rect", color=SERIES[0], opacity=0.85, stroke=LIGHT["paper"], strokeWidth=0.6)
    left = channel(**{**x, "shorthand": "low:Q"})
    return [mark.encode(x=left, x2="h:Q", y=channel(**y), y2="zero:Q")]


def _histogram_domain(bins: pl.DataFrame) -> tuple[float, float]:
    """The range of bins within so many quartile ranges of the quartiles, of all series."""
    parts = []
    for _, part in bins.sort("x").group_by("s", maintain_order=True):
        share = part["y"].cum_sum() / part["y"].sum()
        first, third = (part["x"][int((share < level).sum())] for level in (0.25, 0.7499))
        width = float(part["h"][0] - part["low"][0])
        reach = _REACH * max(third - first, width)
        parts.append(part.filter(pl.col("low") >= first - reach, pl.col("h") <= third + reach))
    every = pl.concat(parts)
    return float(every["low"].to_numpy().min()), float(every["h"].to_numpy().max())


def _beyond(bins: pl.DataFrame, labels: Sequence[str], low: float, high: float, top: float) -> list[Chart]:
    outside = {
        "left": bins.filter(pl.col("low") < low - 1e-9),
        "right": bins.filter(pl.col("h") > high + 1e-9),
    }
    words = []
    for side, part in outside.items():
        shares = [float(part.filter(s=label)["y"].sum()) for label in labels]
        if not any(shares):
            continue
        share = ("up to " if len(shares) > 1 else "") + f"{max(shares):.2%}"
        left = side == "left"
        text = f"\N{LEFTWARDS ARROW} {share} beyond" if left else f"{share} beyond \N{RIGHTWARDS ARROW}"
        words.append(note(low if left else high, top * 0.06, text, align=side, dx=4 if left else -4))
    return words


def residual_qq(selection: Selection) -> Figure:
    """A line a model: residuals, centred and scaled, over normal ones; on the diagonal they are normal."""
    series = panel_series(selection, selection.curve("residual_qq"), "rmse")
    x_range, y_range = span(series.frame["x"]), span(series.frame["y"])
    x = axis("x", "Normal quantile", x_range)
    y = axis("y", "Residual in standard deviations", y_range)
    low, high = max(x_range[0], y_range[0]), min(x_range[1], y_range[1])
    normal = _normal_range(selection, series)
    band = [] if normal is None else [_normal_band(normal, x, y, y_range)]
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
    return series.figure(chart, title, subtitle, finding(title, "rmse", series, selection), PANEL, PANEL)


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
    quantile = np.linspace(max(quantiles.min(), edge), min(quantiles.max(), -edge), _QUANTILES)
    # The middle of a rank's share is the normal quantile that it is drawn over.
    rank = special.ndtr(quantile) * rows + 0.5
    outside = (1 - (selection.summary.level or 0.95)) / 2
    low, high = (
        special.ndtri(special.betaincinv(rank, rows + 1 - rank, share)) for share in (outside, 1 - outside)
    )
    return pl.DataFrame({"x": quantile, "lo": low, "hi": high})


def _normal_band(
    normal: pl.DataFrame, x: dict[str, Any], y: dict[str, Any], room: tuple[float, float]
) -> Chart:
    inside = normal.filter(pl.col("hi") >= room[0], pl.col("lo") <= room[1])
    mark = base(inside.with_columns(pl.col("lo", "hi").clip(*room))).mark(
        "area", color=LIGHT["faint"], opacity=0.28
    )
    return mark.encode(x=channel(**x), **ends(y))


def conditional(selection: Selection) -> Figure:
    """Labels given predictions, predictions given labels, and their joint frequency: a panel per drawn curve.

    The diagonal is that of equal prediction and label.
    """
    there = selection.summary.curves["curve"].unique().to_list()
    names = [name for name in _CONDITIONAL if name in there]
    if not names:
        hint = "ask for it when you evaluate: curves=['conditional_label', 'conditional_prediction']"
        raise NothingToDraw(Problem("the result has no conditional curve", hint=hint))
    series = {name: panel_series(selection, selection.curve(name), "rmse") for name in names}
    columns = [
        column
        for name, part in series.items()
        if name != "conditional_recall"
        for column in (part.frame["x"], part.frame["y"])
    ]
    first = series[names[0]]
    panels = [
        _conditional_panel(
            name,
            part,
            span(part.frame["x"]) if name == "conditional_recall" else span(*columns),
            keyed=name == names[-1],
        )
        for name, part in series.items()
    ]
    chart = hconcat(*panels, spacing=30).resolve_scale(color="independent", strokeDash="independent")
    title = title_of("Conditional means", first)
    subtitle = (
        f"20 bins of equal weight; {level_words(selection)} band of the mean, rows taken as independent",
        size_words(selection, first),
    )
    drawn = pl.concat([part.drawn for part in series.values()])
    chart = add_title(chart, title, subtitle, 3 * SMALL_PANEL, frame="bounds")
    return Figure(chart, drawn, title, finding(title, "rmse", first, selection), first.notes)


def _conditional_panel(name: str, series: Series, square: tuple[float, float], *, keyed: bool) -> Chart:
    across, up = _CONDITIONAL[name]
    x = axis("x", across, square, ticks=nice_ticks(square, 5))
    if name == "conditional_recall":
        y = unit("y", f"{up} (higher is better)")
        parts: list[Chart] = []
    else:
        y = axis("y", up, square, ticks=nice_ticks(square, 5))
        parts = [reference([(square[0], square[0]), (square[1], square[1])])]
    parts.append(lines(series.frame, x, y, series.labels, "right" if keyed else "none"))
    return layer_charts(*parts).properties(width=SMALL_PANEL + 30, height=SMALL_PANEL + 30)
