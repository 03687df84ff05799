"""Slices: the worst first, and slices by metrics as a shaded table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.html.blocks import (
    MINUS,
    UNDEFINED,
    Cell,
    Footnotes,
    PageSection,
    Table,
    rows_cell,
    value_cell,
    words,
)
from plmetrics.report.leaderboard import MERITS, primary_metric, ranked_models
from plmetrics.report.numbers import omission, plural, row_estimate
from plmetrics.report.sections.worst import caution, distance_to_overall, slice_error, worst_slices

if TYPE_CHECKING:
    from plmetrics.report.html.blocks import Block
    from plmetrics.report.html.sections.pictures import Gallery
    from plmetrics.report.summary import Summary

MOST, MOST_METRICS, MOST_MODELS = 50, 10, 5
_STEPS = (1.0, 2.0, 3.0)
"""Differences in standard errors where a shade becomes darker."""
_SHADES = "shades: by how many standard errors of the slice (1, 2, 3) a value is worse or better than overall"
_BEST_AT_ZERO = ", or farther from 0 or nearer where 0 is best"

Place = tuple[str, str, str]
_PLACE = ["slice_set", "slice", "slice_values"]


def slices(summary: Summary, gallery: Gallery) -> PageSection:
    """The worst slices, a chart of all by the same metric, and a shaded table a model."""
    frame = summary.metrics.filter(
        pl.col("slice_set") != "overall", pl.col("slice") != "all", pl.col("class").is_null()
    )
    if frame.is_empty():
        return PageSection("Slices")
    blocks: list[Block] = [*_worst(summary), *gallery.pictures("forest")]
    names = frame["model"].unique(maintain_order=True).to_list()
    if len(names) > MOST_MODELS:
        names = [name for name in ranked_models(summary) if name in names]
    blocks += [_shaded_table(summary, frame.filter(model=name), name) for name in names[:MOST_MODELS]]
    if len(names) > MOST_MODELS:
        left, what = plural(len(names) - MOST_MODELS, f"more {summary.subject}"), f"{summary.subject}s"
        blocks.append(Table(f"Further {what}", [what], [[words(f"{left} in the table metrics")]]))
    return PageSection("Slices", blocks)


def _worst(summary: Summary) -> list[Block]:
    metric = primary_metric(summary)
    if metric is None:
        return []
    rows = worst_slices(summary.metrics, metric, summary.directions[metric], level=summary.level)
    footnotes = Footnotes()
    cells = [
        [
            words(row["slice"]),
            words(row["model"]),
            value_cell(row, footnotes=footnotes),
            _distance_cell(row),
            rows_cell(row["n"]),
        ]
        for row in rows
    ]
    if not cells:
        return []
    columns = ["slice", "model", metric, "to overall", summary.row_word]
    notes = [*footnotes.lines, *filter(None, [caution(summary, metric)])]
    return [Table(f"Worst slices by {metric}", columns, cells, notes)]


def _distance_cell(row: dict[str, Any]) -> Cell:
    text = "".join(distance_to_overall(row)).replace("-", MINUS)
    return Cell(text, value=row["value"] - row["whole"], number=True)


def _shaded_table(summary: Summary, frame: pl.DataFrame, model: str) -> Table:
    """Slices by metrics; a shade is the distance to the model's overall value in standard errors."""
    every = frame["metric"].unique(maintain_order=True).to_list()
    metrics = every[:MOST_METRICS]
    overall = {
        row["metric"]: row["value"]
        for row in summary.metrics.filter(slice_set="overall", model=model).iter_rows(named=True)
        if row["class"] is None
    }
    whole = pl.col("metric").replace_strict(overall, default=None, return_dtype=pl.Float64)
    sizes = frame.group_by(_PLACE, maintain_order=True).agg(pl.col("n").max().fill_null(0))
    first = sizes.with_row_index("@place").sort("n", descending=True, maintain_order=True).head(MOST)
    largest = first.sort("@place")
    rated = frame.join(largest, on=_PLACE, how="semi", nulls_equal=True, maintain_order="left").with_columns(
        error=slice_error(whole, summary.level)
    )
    values = {(_place(row), row["metric"]): row for row in rated.iter_rows(named=True)}
    shown = {_place(row): row["n"] for row in largest.iter_rows(named=True)}
    footnotes, rows = Footnotes(), []
    times = Counter(text for _, text, _ in shown)
    for place, size in shown.items():
        cells = [
            _cell(summary, values.get((place, metric)), overall.get(metric), footnotes) for metric in metrics
        ]
        name = place[1] if times[place[1]] == 1 else f"{place[1]} ({place[0]})"
        rows.append([words(name), rows_cell(size), *cells])
    shaded = any(cell.kind.startswith(("worse", "better")) for row in rows for cell in row)
    zero = _BEST_AT_ZERO if "zero" in map(summary.directions.get, metrics) else ""
    notes = [*([_SHADES + zero] if shaded else []), *omission(len(every) - len(metrics), "metric", "metrics")]
    if len(sizes) > len(shown):
        slices_words = plural(len(sizes), "slice")
        notes.append(f"the {len(shown)} largest of {slices_words}; the others are in the table metrics")
    columns = ["slice", summary.row_word, *metrics]
    return Table(f"Slices by metrics: {model}", columns, rows, [*notes, *footnotes.lines])


def _place(row: dict[str, Any]) -> Place:
    """Slice set, text and values of a slice: texts of two slices can be the same."""
    return row["slice_set"], row["slice"], str(row["slice_values"])


def _cell(summary: Summary, row: dict[str, Any] | None, overall: float | None, footnotes: Footnotes) -> Cell:
    """The value alone, since many stand beside each other; its interval is in the table metrics."""
    if row is None:
        return Cell("", number=True)
    if row["value"] is None:
        return Cell(
            UNDEFINED,
            kind="undefined",
            number=True,
            mark=footnotes.mark(str(row["status"]).replace("_", " ")),
        )
    text, shade = row_estimate(row).value.replace("-", MINUS), _shade(summary, row, overall)
    return Cell(text, value=row["value"], kind=shade, number=True, mark=footnotes.of(row))


def _shade(summary: Summary, row: dict[str, Any], overall: float | None) -> str:
    """The class of a shade: better or worse by 1, 2 or 3 standard errors, of what is best at 0 by its size."""
    merit, error = MERITS.get(summary.directions.get(row["metric"], "none")), row["error"]
    if overall is None or not error or merit is None or row["metric"] in summary.totals | summary.norms:
        return ""
    away = (merit(row["value"]) - merit(overall)) / error
    steps = sum(abs(away) >= step for step in _STEPS)
    return f"{'better' if away > 0 else 'worse'}-{steps}" if steps else ""
