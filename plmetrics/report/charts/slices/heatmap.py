"""Heat map of slices and metrics: the distance of each slice to all rows, in standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import Chart, base, channel, constant, layer_charts, options
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.slices.estimate_texts import minus
from plmetrics.report.charts.slices.readings import CERTAIN, distances
from plmetrics.report.charts.slices.rows import GAP, GUTTER, add_heading
from plmetrics.report.charts.slices.slice_choice import (
    FEW_UNITS,
    chosen_slices,
    largest,
    shown_words,
    with_slice_labels,
)
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.theme import LIGHT
from plmetrics.report.charts.words import first_facts
from plmetrics.report.numbers import number, omission, plural

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

MOST_SLICES, MOST_METRICS = 50, 10
_KEYS = ["slice_set", "slice"]
_CELL, _ROW, _KEY = 82, 20, 64
_FITS = 12
_EDGES = (CERTAIN, 3.0, 5.0)
"""Standard errors from which on a difference has a shade, and stronger ones."""
_SHADES = ("worse-3", "worse-2", "worse-1", "neutral", "better-1", "better-2", "better-3")
_SHADE_WORDS = (
    "\u2264 \u22125 SE",
    "\u22123 to \u22125",
    "to \u22123",
    "holds 0",
    "to 3",
    "3 to 5",
    "\u2265 5 SE",
)


def draw(selection: Selection) -> Figure:
    """A row a slice, a column a metric, a number in every cell; of one model, the first if none is named."""
    table = selection.of_models(selection.summary.metrics).filter(pl.col("class").is_null())
    rows = chosen_slices(selection, table)
    models = rows["model"].unique(maintain_order=True).to_list()
    directions = selection.summary.directions
    metrics = [
        text
        for text in rows["metric"].unique(maintain_order=True)
        if directions.get(text) in {"higher", "lower"} and text not in selection.summary.totals
    ]
    if not metrics:
        raise NothingToDraw(Problem("no metric has a better side, so that no slice is better or worse"))
    table = table.filter(pl.col("model") == models[0], pl.col("metric").is_in(metrics[:MOST_METRICS]))
    there = rows.filter(model=models[0], metric=metrics[0]).unique(_KEYS, keep="first", maintain_order=True)
    places = _row_places(with_slice_labels(largest(there, MOST_SLICES)))
    cells = _cells(selection.summary, table, places, metrics[:MOST_METRICS])
    title = f"Slices by metric: {short(models[0], 60)}"
    notes = _notes(models, metrics)
    subtitle = (
        f"{shown_words(places.height, there.height)}; numbers: values in the slice; colour: distance to all rows",
        "blue: better, orange: worse; pale: the interval of the difference holds 0",
        _signs(cells),
        *notes,
    )
    chart = add_heading(_heat_cells(cells, places, metrics[:MOST_METRICS]), title, subtitle)
    frame = cells.filter(pl.col("value").is_not_null() | pl.col("status").is_not_null())
    return Figure(
        chart, frame.select(selection.summary.metrics.columns), title, _finding(title, cells), notes
    )


def _row_places(slices: pl.DataFrame) -> pl.DataFrame:
    """The places of slices from the top, with room for a header before each set; 0 is the row of all."""
    sets = pl.col("slice_set").rle_id()
    return slices.select(*_KEYS, "t", k=pl.int_range(1, pl.len() + 1) + sets + 1, set=sets)


def _cells(
    summary: Summary, table: pl.DataFrame, places: pl.DataFrame, metrics: Sequence[str]
) -> pl.DataFrame:
    """A row a cell, with its place, shade and text."""
    columns = pl.DataFrame({"metric": list(metrics), "j": range(len(metrics))})
    whole = table.filter(slice_set="overall").unique("metric", keep="first", maintain_order=True)
    cells = table.join(places, on=_KEYS, how="inner", maintain_order="right").join(columns, on="metric")
    top = whole.join(columns, on="metric").with_columns(k=pl.lit(0, dtype=pl.Int64), t=pl.lit("All rows"))
    distance = distances(summary, cells, whole)
    cells = cells.join(distance, on=[*_KEYS, "metric"], how="left", maintain_order="left")
    cells = pl.concat([top, cells], how="diagonal")
    shade = pl.lit(3)
    for edge in _EDGES:
        shade = shade + pl.when(pl.col("z") >= edge).then(1).when(pl.col("z") <= -edge).then(-1).otherwise(0)
    texts = [
        "\N{MIDDLE DOT}" if row["value"] is None else minus(number(row["value"]))
        for row in cells.iter_rows(named=True)
    ]
    small = (pl.coalesce("blocks", "n") < FEW_UNITS).fill_null(value=False) | pl.col("value").is_null()
    return cells.with_columns(
        c=pl.when(pl.col("k") == 0).then(3).otherwise(shade).fill_null(3),
        v=pl.Series(texts, dtype=pl.String),
        small=small & (pl.col("k") > 0),
    )


def _signs(cells: pl.DataFrame) -> str:
    """Legend of grey numbers and dots, if any, with the reasons of undefined values."""
    reasons = cells.filter(pl.col("value").is_null())["status"].drop_nulls().unique().sort()
    words = [f"grey: fewer than {FEW_UNITS} units"] if cells["small"].any() else []
    if len(reasons):
        words.append(f"dot: undefined ({', '.join(reasons.str.replace_all('_', ' '))})")
    return "; ".join(words)


def _notes(models: Sequence[str], metrics: Sequence[str]) -> tuple[str, ...]:
    others = f"{plural(len(models) - 1, 'other model')}: name one with models=[...]"
    return (
        *([others] if len(models) > 1 else []),
        *omission(len(metrics) - MOST_METRICS, "metric", "metrics"),
    )


def _finding(title: str, cells: pl.DataFrame) -> str:
    values = cells.filter(pl.col("small").not_(), pl.col("k") > 0)
    worse, better = values.filter(pl.col("c") < 3).sort("z"), values.filter(pl.col("c") > 3)
    first = first_facts(
        [
            f"{short(row['metric'])} in {short(row['slice'], 60)}: {row['v']}"
            for row in worse.iter_rows(named=True)
        ]
    )
    counts = f"{worse.height} of {plural(values.height, 'value')} worse than those of all rows, {better.height} better"
    return f"{title}. {counts}{': ' + first if first else ''}."


def _heat_cells(cells: pl.DataFrame, places: pl.DataFrame, metrics: Sequence[str]) -> Chart:
    """Cells with their numbers, names at the left, metrics above, and the shades explained below."""
    height = int(cells["k"].max()) + 1  # type: ignore[arg-type]
    y = channel("y:Q", scale=options(domain=[0, height], reverse=True, nice=False, zero=False), axis=None)
    x = channel("x:Q", scale=options(domain=[0, len(metrics)], nice=False, zero=False), axis=None)
    painted = cells.with_columns(_paint())
    boxes = painted.select(
        x=pl.col("j").cast(pl.Float64),
        x2=pl.col("j") + 1.0,
        y=pl.col("k").cast(pl.Float64),
        y2=pl.col("k") + 1.0,
        fill="fill",
    )
    texts = painted.select(x=pl.col("j") + 0.5, y=pl.col("k") + 0.5, t="v", ink="ink")
    cell = base(boxes).mark("rect", stroke=LIGHT["paper"], strokeWidth=1.5, opacity=1)
    layers = [
        cell.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", fill=channel("fill:N", scale=None)),
        _numbers(texts, x, y),
        *_labels(places, y),
        *_titles(metrics),
        *_key(height),
    ]
    return layer_charts(*layers).properties(width=_CELL * len(metrics), height=_ROW * height)


def _paint() -> list[pl.Expr]:
    """The fill of a cell by its shade, and its ink: grey where it is small."""
    fills = {place: LIGHT[name] for place, name in enumerate(_SHADES)}
    shade = pl.col("c").cast(pl.Int64)
    ink = pl.when("small").then(pl.lit(LIGHT["mute"])).otherwise(pl.lit(LIGHT["ink"]))
    small = pl.when(pl.col("small")).then(pl.lit(LIGHT["neutral"]))
    return [small.otherwise(shade.replace_strict(fills)).alias("fill"), ink.alias("ink")]


def _numbers(texts: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> Chart:
    mark = base(texts).mark("text", fontSize=11, baseline="middle", limit=_CELL - 6)
    return mark.encode(x=x, y=y, text="t:N", color=channel("ink:N", scale=None))


def _labels(places: pl.DataFrame, y: dict[str, Any]) -> list[Chart]:
    """Names of slices, and of their sets in bold where there is room before them."""
    first = places.group_by("set", maintain_order=True).first()
    heads = first.select(
        t=pl.col("slice_set").map_elements(lambda text: short(text, 40), pl.String), y=pl.col("k") - 0.5
    )
    rows = pl.concat(
        [pl.DataFrame({"t": ["All rows"], "y": [0.5]}), places.select("t", y=pl.col("k") + 0.5)],
        how="vertical",
    )
    parts = ((heads, -GUTTER, "left", "bold"), (rows, -GAP, "right", "normal"))
    return [
        base(frame)
        .mark(
            "text",
            align=align,
            baseline="middle",
            fontSize=11,
            fontWeight=weight,
            color=LIGHT["ink"],
            limit=GUTTER - GAP if align == "right" else 400,
        )
        .encode(x=constant(place), y=y, text="t:N")
        for frame, place, align, weight in parts
    ]


def _titles(metrics: Sequence[str]) -> list[Chart]:
    """Names of metrics above their columns, inclined where one is long."""
    steep = max(map(len, metrics)) > _FITS
    return [
        base(pl.DataFrame({"t": [short(metric, 30)]}))
        .mark(
            "text",
            align="left" if steep else "center",
            baseline="bottom",
            angle=330 if steep else 0,
            fontSize=11,
            color=LIGHT["ink"],
        )
        .encode(x=constant(_CELL * (place + 0.5)), y=constant(-6), text="t:N")
        for place, metric in enumerate(metrics)
    ]


def _key(height: int) -> list[Chart]:
    top = _ROW * height + 16
    marks = []
    for place, (shade, words) in enumerate(zip(_SHADES, _SHADE_WORDS, strict=True)):
        left = -GUTTER + _KEY * place
        box = base(pl.DataFrame({"t": [words]}))
        marks += [
            box.mark("rect", color=LIGHT[shade], opacity=1).encode(
                x=constant(left), x2=constant(left + _KEY - 4), y=constant(top), y2=constant(top + 10)
            ),
            box.mark("text", fontSize=10, baseline="top", color=LIGHT["mute"]).encode(
                x=constant(left + (_KEY - 4) / 2), y=constant(top + 14), text="t:N"
            ),
        ]
    return marks
