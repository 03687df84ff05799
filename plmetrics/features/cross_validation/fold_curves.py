"""Metrics over sizes or parameters: the mean of folds with its interval, and each fold as a faint point."""

from __future__ import annotations

from typing import Any

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import Chart, base, channel, layer_charts, options
from plmetrics.report.charts.marks import (
    MOST_SERIES,
    PANEL,
    SMALL_PANEL,
    add_title,
    axis,
    ends,
    nice_ticks,
    span,
    with_ends,
)
from plmetrics.report.charts.panels import model_panel, rows_of_panels
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.theme import DASHES, LIGHT, SERIES
from plmetrics.report.charts.words import direction_words, level_words
from plmetrics.report.numbers import number, omission

_GEOMETRIC = 5.0
_MOST_POINTS = 400
_LINE = 13
_SLICE = pl.when(pl.col("slice_set") != "overall").then("slice")
_SERIES = pl.concat_str(["model", "configuration", _SLICE], separator=", ", ignore_nulls=True).alias(
    "@series"
)
_SMALL, _ALONE = (SMALL_PANEL + 20, SMALL_PANEL), (PANEL + 60, PANEL - 80)


def learning_curve(selection: Selection) -> Figure:
    """The mean of folds by the number of rows trained on, on these rows and on others."""
    hint = "name its column when you evaluate: cross_validation={'train_size': ...}"
    return _fold_curve(selection, "learning_curve", "Learning curve", "Rows trained on", hint)


def validation_curve(selection: Selection) -> Figure:
    """The mean of folds by the value of a parameter, on rows trained on and on others."""
    hint = "name its column when you evaluate: cross_validation={'parameter': ...}"
    return _fold_curve(selection, "validation_curve", "Validation curve", "Parameter", hint)


def _fold_curve(selection: Selection, kind: str, name: str, across: str, hint: str) -> Figure:
    """Panel per model, configuration and slice: training rows in grey, others in colour.

    Sizes of a geometric row are on a log axis.
    """
    table = selection.summary.cross_validation.filter(pl.col("kind") == kind, pl.col("class").is_null())
    if table.is_empty():
        raise NothingToDraw(Problem(f"the result has no {name.lower()}", hint=hint))
    means = selection.metric_rows(selection.rows(table)).with_columns(_SERIES)
    metric: str = means["metric"][0]
    folds = selection.rows(selection.summary.folds, optional=True)
    of_metric = (pl.col("metric") == metric, pl.col("class").is_null(), pl.col("x").is_not_null())
    folds = folds.filter(*of_metric, pl.col("inner").is_null()).with_columns(_SERIES)
    folds = folds if folds.height <= _MOST_POINTS else folds.clear()
    series: list[str] = means["@series"].unique(maintain_order=True).to_list()
    shown = series[:MOST_SERIES]
    lines = means.filter(pl.col("@series").is_in(shown))
    columns = [lines[column] for column in ("value", "lower", "upper")]
    y = span(*columns, folds.filter(pl.col("@series").is_in(shown))["value"])
    x = _across(lines["x"], across)
    up = axis("y", f"{short(metric, 40)}{direction_words(selection, metric)}", y, ticks=nice_ticks(y, 6))
    pixel = (y[1] - y[0]) / (_ALONE if len(series) == 1 else _SMALL)[1]
    panels = [
        _panel(
            lines.filter(pl.col("@series") == name_of_series),
            folds.filter(pl.col("@series") == name_of_series),
            (x, up),
            "" if len(series) == 1 else name_of_series,
            pixel,
        )
        for name_of_series in shown
    ]
    notes = omission(len(series) - len(shown), "curve", "cross_validation")
    title = f"{name}: {short(metric, 40)}" + (f" of {short(shown[0])}" if len(series) == 1 else "")
    subtitle = (_legend(selection, lines, folds), *notes)
    drawn = rows_of_panels(panels, PANEL + 60, SMALL_PANEL + 90)
    chart = add_title(drawn.chart, title, subtitle, drawn.width, frame="bounds")
    return Figure(chart, lines.select(table.columns), title, _finding(title, lines), notes)


def _across(values: pl.Series, title: str) -> dict[str, Any]:
    """The axis of sizes or parameters: logarithmic where they are a geometric row over a wide range."""
    places = values.drop_nulls().unique().sort()
    low, high = float(places[0]), float(places[-1])
    log = low > 0 and len(places) > 2 and high / low > _GEOMETRIC
    ticks = [float(place) for place in places] if len(places) <= 7 else None
    channel = axis(
        "x",
        title + (", log scale" if log else ""),
        span(places) if not log else (low / 1.15, high * 1.15),
        ticks=ticks,
        log=log,
    )
    labels: dict[str, Any] = {"format": ".6~g" if high < 1e4 else ".6~s", "labelOverlap": True}
    if ticks is not None:
        labels["values"] = ticks
    channel["axis"] = options(**labels)
    return channel


def _panel(
    means: pl.DataFrame, folds: pl.DataFrame, axes: tuple[dict[str, Any], ...], name: str, pixel: float
) -> Any:
    layers: list[Chart] = []
    shifts = _shifts(means, pixel)
    for split, ink, dash in _splits(means):
        lines, points = (
            part.filter(pl.col("split").eq_missing(pl.lit(split, dtype=pl.String))) for part in (means, folds)
        )
        layers += _split(lines.sort("x"), points, axes, (ink, dash), shifts.get(split, 0.0))
    return model_panel(layer_charts(*layers), short(name), _SMALL, _ALONE)


def _shifts(means: pl.DataFrame, pixel: float) -> dict[str | None, float]:
    """How far down the word at the end of each split's line moves, to stand below the word above it."""
    ends_of_lines = (
        means.sort("x").group_by("split").last().drop_nulls("value").sort("value", descending=True)
    )
    shifts: dict[str | None, float] = {}
    lowest = -float("inf")
    for split, value in ends_of_lines.select("split", "value").rows():
        place = -value / pixel
        lowest = max(place, lowest + _LINE)
        shifts[split] = lowest - place
    return shifts


def _splits(means: pl.DataFrame) -> list[tuple[str | None, str, list[int]]]:
    """The splits with colour and dashes: training rows in grey, others in the colours of series."""
    splits = means["split"].unique(maintain_order=True).to_list()
    others = [split for split in splits if split != "train"]
    colors = {
        split: (SERIES[place % MOST_SERIES], DASHES[place % MOST_SERIES])
        for place, split in enumerate(others)
    }
    return [(split, *colors.get(split, (LIGHT["reference"], [7, 3]))) for split in splits]


def _split(
    means: pl.DataFrame,
    folds: pl.DataFrame,
    axes: tuple[dict[str, Any], ...],
    style: tuple[str, list[int]],
    shift: float,
) -> list[Chart]:
    (x, y), (ink, dash) = axes, style
    frame = means.select("x", y="value", lo="lower", hi="upper", t=pl.col("split").fill_null(""))
    across, up = channel(**x), channel(**y)
    bars = with_ends(frame)
    return [
        base(folds.select("x", y="value"))
        .mark("point", color=ink, size=18, opacity=0.3)
        .encode(x=across, y=up),
        base(bars).mark("rule", color=ink).encode(x=across, **ends(y)),
        base(frame).mark("line", color=ink, strokeDash=dash).encode(x=across, y=up),
        base(frame)
        .mark("point", color=ink, size=56, stroke=LIGHT["paper"], strokeWidth=1.2)
        .encode(x=across, y=up),
        base(frame.tail(1))
        .mark("text", color=ink, align="left", dx=8, dy=shift, fontSize=11)
        .encode(x=across, y=up, text="t:N"),
    ]


def _legend(selection: Selection, means: pl.DataFrame, folds: pl.DataFrame) -> str:
    words = ["line: mean of folds"]
    if folds.height:
        words.append("faint: each fold")
    if means["lower"].is_not_null().any():
        words.append(f"bars: {level_words(selection)} intervals")
    if (means["split"] == "train").any():
        words.append("grey: rows trained on")
    return "; ".join(words)


def _finding(title: str, means: pl.DataFrame) -> str:
    words = []
    for (name, split), part in means.sort("x").group_by("@series", "split", maintain_order=True):
        means_of_part = part.filter(pl.col("value").is_not_null())
        if means_of_part.is_empty():
            continue
        first, last = means_of_part.row(0, named=True), means_of_part.row(-1, named=True)
        words.append(
            f"{short(str(name))}{f' ({split})' if split else ''}: {number(first['value'])} at {number(first['x'])}, "
            f"{number(last['value'])} at {number(last['x'])}"
        )
    return f"{title}. {'; '.join(words[:10])}."
