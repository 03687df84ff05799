"""Data quality: rows read, used and dropped, and what has no value or no interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.texts import clean
from plmetrics.report.html.blocks import Section, Table, Words, rows_cell, words

if TYPE_CHECKING:
    from plmetrics.report.html.blocks import Block
    from plmetrics.report.html.sections.pictures import Gallery
    from plmetrics.report.summary import Summary

_MOST_NOTES = 10
_ROWS = {
    "read": "rows read",
    "zero_weight": "rows of weight 0",
    "fitted": "rows that calibrators were fitted on",
}
_QUERIES = {"read": "queries read", "pairs_read": "rows read", "zero_weight": "queries of weight 0"}
"""Of rankings the rows that count are queries."""


def data_quality(summary: Summary, gallery: Gallery) -> Section:  # noqa: ARG001
    """Account of the rows, undefined values with reasons, and the most frequent notes."""
    blocks: list[Block] = [*_rows(summary), *_undefined_values(summary), *_notes(summary)]
    return Section("Data quality", blocks)


def _rows(summary: Summary) -> list[Block]:
    rows: dict[str, Any] = dict(summary.record.get("rows", {}))
    ranking = bool(rows.get("pairs_read"))
    names = _QUERIES if ranking else _ROWS
    cells = [[words(text), rows_cell(rows[key])] for key, text in names.items() if rows.get(key)]
    for kind in ("used", "dropped", "unlabelled"):
        by_model = rows.get(kind)
        if isinstance(by_model, dict) and any(by_model.values()):
            cells += [[words(f"{kind} for {model}"), rows_cell(size)] for model, size in by_model.items()]
        elif isinstance(by_model, int) and by_model:
            cells.append([words(kind), rows_cell(by_model)])
    thing = "queries" if ranking else "rows"
    return [Table(thing.capitalize(), [thing, "number"], cells)] if cells else []


def _undefined_values(summary: Summary) -> list[Block]:
    frame = summary.metrics.filter(pl.col("value").is_null())
    if frame.is_empty():
        return []
    counted = frame.group_by("status", maintain_order=True).agg(
        pl.len().alias("values"),
        pl.col("slice").n_unique().alias("slices"),
        pl.col("metric").unique(maintain_order=True),
    )
    cells = [
        [
            words(row["status"]),
            rows_cell(row["values"]),
            rows_cell(row["slices"]),
            words(", ".join(row["metric"][:5])),
        ]
        for row in counted.iter_rows(named=True)
    ]
    return [Table("Values that are undefined", ["reason", "values", "slices", "metrics"], cells)]


def _notes(summary: Summary) -> list[Block]:
    notes = summary.metrics["note"].drop_nulls().value_counts(sort=True)
    lines = [f"{clean(note)} ({times} values)" for note, times in notes.head(_MOST_NOTES).rows()]
    return [Words(lines, "note")] if lines else []
