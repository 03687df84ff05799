"""Differences of models to their baseline, a panel a metric: each has a scale and a better side of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.comparisons.gate_limits import gate_limits, shade_words
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.panels import column_of_panels
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.slices.panels import Texts, headed_panel
from plmetrics.report.charts.slices.readings import usual_differences
from plmetrics.report.charts.slices.rows import add_heading
from plmetrics.report.charts.slices.slice_differences import (
    by_slice,
    difference_columns,
    difference_finding,
    difference_legend,
    difference_rows,
    opponent,
)
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.words import direction_words
from plmetrics.report.leaderboard import ranked_models
from plmetrics.report.numbers import omission
from plmetrics.report.sections.differences import on_all_rows

if TYPE_CHECKING:
    from plmetrics.report.charts.grammar import Chart
    from plmetrics.report.summary import Summary

MOST_ROWS = 40


def draw(selection: Selection) -> Figure:
    """A row a model and metric, on all rows; with a slice set the differences of a metric in its slices."""
    rows = _comparisons(selection)
    if selection.slice_set is not None or selection.slices is not None:
        return by_slice(selection, rows)
    rows = on_all_rows(rows)
    rows = rows if selection.metric is None else selection.metric_rows(rows)
    if rows.is_empty():
        raise NothingToDraw(Problem("no models were compared on all rows"))
    shown = _first_rows(selection.summary, rows)
    several = shown["baseline"].n_unique() > 1
    columns = difference_columns(selection, shown)
    panels = [
        _panel(selection, part, columns, several=several, titled=index == 0)
        for index, part in enumerate(shown.partition_by("metric", "class", maintain_order=True))
    ]
    against = opponent(shown["contrast"][0], shown["baseline"][0])
    title = "Differences" if several else f"Differences to {against}"
    notes = omission(len(rows) - len(shown), "difference", "comparisons")
    chart = column_of_panels(panels)
    legend = (difference_legend(selection, difference_rows(shown)), shade_words(selection.summary, shown))
    return Figure(
        add_heading(chart, title, ("; ".join(filter(None, legend)), *notes)),
        shown.select(rows.columns),
        title,
        difference_finding(title, shown),
        notes,
    )


def _first_rows(summary: Summary, rows: pl.DataFrame) -> pl.DataFrame:
    """As many rows as are drawn: of more, those of the best models."""
    if rows.height <= MOST_ROWS:
        return rows
    rank = {model: place for place, model in enumerate(ranked_models(summary))}
    place = pl.col("model").replace_strict(rank, default=len(rank), return_dtype=pl.Int64)
    return rows.sort(place, maintain_order=True).head(MOST_ROWS)


def _comparisons(selection: Selection) -> pl.DataFrame:
    """The comparisons of models, or of runs, on the scale of differences."""
    rows = selection.of_models(selection.summary.comparisons)
    rows = usual_differences(rows.filter(pl.col("contrast").is_in(["model", "run"])))
    if rows.is_empty():
        hint = "name a baseline when you evaluate: compare={'baseline': 'champion'}"
        raise NothingToDraw(Problem("no models were compared", hint=hint))
    return rows


def _panel(
    selection: Selection, part: pl.DataFrame, columns: Sequence[Texts], *, several: bool, titled: bool
) -> Chart:
    """Header with the metric, a row a model, and words for the better side of 0."""
    first = part.row(0, named=True)
    name = short(first["metric"], 60) + (f" [{short(first['class'])}]" if first["class"] else "")
    models = [*part["model"], *part["baseline"]]
    names = [
        f"{short(row['model'], 14, models)} to {short(row['baseline'], 12, models)}"
        if several
        else short(row["model"], 30, models)
        for row in part.rows(named=True)
    ]
    rows = difference_rows(part.with_columns(t=pl.Series(names, dtype=pl.String)))
    return headed_panel(
        name + direction_words(selection, first["metric"]),
        rows,
        columns,
        titled=titled,
        limits=gate_limits(selection.summary, part),
        direction=selection.summary.directions.get(first["metric"], "none"),
    )
