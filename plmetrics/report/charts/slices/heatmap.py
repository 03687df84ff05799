"""Heat map of slices and metrics: the distance of each slice to all rows, in standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.selection import NothingToDraw
from plmetrics.report.charts.slices.estimate_texts import minus
from plmetrics.report.charts.slices.heat_cells import EDGES, heat_cells
from plmetrics.report.charts.slices.readings import distances
from plmetrics.report.charts.slices.rows import add_heading
from plmetrics.report.charts.slices.slice_choice import (
    FEW_UNITS,
    chosen_slices,
    largest,
    shown_words,
    with_slice_labels,
)
from plmetrics.report.charts.texts import short
from plmetrics.report.numbers import number, omission, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.report.charts.selection import Selection

MOST_SLICES, MOST_METRICS = 50, 10
_KEYS = ["slice_set", "slice"]


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
    cells = _cells(selection, table, places, metrics[:MOST_METRICS])
    title = f"Slices by metric: {short(models[0], 60)}"
    notes = _notes(models, metrics)
    subtitle = (
        f"{shown_words(places.height, there.height)}; numbers: values in the slice; colour: distance to all rows",
        "blue: better, orange: worse; pale: the interval of the difference holds 0",
        _signs(cells),
        *notes,
    )
    chart = add_heading(heat_cells(cells, places, metrics[:MOST_METRICS]), title, subtitle)
    frame = cells.filter(pl.col("value").is_not_null() | pl.col("status").is_not_null())
    return Figure(
        chart, frame.select(selection.summary.metrics.columns), title, _finding(title, cells), notes
    )


def _row_places(slices: pl.DataFrame) -> pl.DataFrame:
    """The places of slices from the top, with room for a header before each set; 0 is the row of all."""
    sets = pl.col("slice_set").rle_id()
    return slices.select(*_KEYS, "t", k=pl.int_range(1, pl.len() + 1) + sets + 1, set=sets)


def _cells(
    selection: Selection, table: pl.DataFrame, places: pl.DataFrame, metrics: Sequence[str]
) -> pl.DataFrame:
    """A row a cell, with its place, shade and text."""
    columns = pl.DataFrame({"metric": list(metrics), "j": range(len(metrics))})
    whole = table.filter(slice_set="overall").unique("metric", keep="first", maintain_order=True)
    cells = table.join(places, on=_KEYS, how="inner", maintain_order="right").join(columns, on="metric")
    top = whole.join(columns, on="metric").with_columns(k=pl.lit(0, dtype=pl.Int64), t=pl.lit("All rows"))
    distance = distances(selection.summary, cells, whole)
    cells = cells.join(distance, on=[*_KEYS, "metric"], how="left", maintain_order="left")
    cells = pl.concat([top, cells], how="diagonal")
    shade = pl.lit(3)
    for edge in EDGES:
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
    """Summary in words: the numbers of worse and better cells, and the worst of them."""
    values = cells.filter(pl.col("small").not_(), pl.col("k") > 0)
    worse, better = values.filter(pl.col("c") < 3).sort("z"), values.filter(pl.col("c") > 3)
    first = "; ".join(
        f"{short(row['metric'])} in {short(row['slice'], 60)}: {row['v']}"
        for row in worse.head(5).iter_rows(named=True)
    )
    counts = f"{worse.height} of {plural(values.height, 'value')} worse than those of all rows, {better.height} better"
    return f"{title}. {counts}{': ' + first if first else ''}."
