"""Sections of features: their tables and charts, each under the feature's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.report.html.blocks import Cell, Section, Table, value_cell, words
from plmetrics.report.numbers import number, plural

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.report.html.sections.pictures import Gallery
    from plmetrics.report.summary import Summary

_PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "Drift": (
        ("drift",),
        ("drift", "drift_histograms"),
        "subject model column slice measure value reference current p_adjusted status",
    ),
    "Leakage": (("leakage",), (), "check columns rows share observed limit verdict example note"),
    "Cross-validation": (
        ("cross_validation",),
        ("learning", "validation"),
        "model slice metric kind configuration x value folds sd minimum maximum verdict status",
    ),
    "Slices of the search": (
        ("found_slices",),
        ("found_slices",),
        "slice model metric value rest difference p_adjusted n confirmed status",
    ),
    "Decomposition": (("decomposition",), (), "model baseline metric slice part value status"),
}
_MOST = 100
_BOUNDS = ("value", "difference")


def feature_sections(summary: Summary, gallery: Gallery) -> list[Section]:
    """A section for each feature that left rows: its charts, and the columns of its table that say something."""
    sections = []
    for title, (tables, charts, columns) in _PARTS.items():
        blocks = [
            block
            for name in tables
            if (block := _table(title, name, summary.tables[name], columns.split())) is not None
        ]
        sections.append(Section(title, [*gallery.pictures(*charts), *blocks] if blocks else []))
    return sections


def _table(caption: str, name: str, frame: pl.DataFrame, columns: list[str]) -> Table | None:
    if frame.is_empty():
        return None
    there = [column for column in columns if frame[column].is_not_null().any()]
    rows = [[_cell(row, column) for column in there] for row in frame.head(_MOST).iter_rows(named=True)]
    left = frame.height - _MOST
    notes = [f"{plural(left, 'more row')} in the table {name}"] if left > 0 else []
    return Table(caption, [column.replace("_", " ") for column in there], rows, notes)


def _cell(row: dict[str, Any], column: str) -> Cell:
    value = row[column]
    if column in _BOUNDS and "lower" in row:
        return value_cell(row, column)
    if isinstance(value, float):
        return Cell(number(value), value=value, number=True)
    if isinstance(value, int) and not isinstance(value, bool):
        return Cell(f"{value:,}", value=value, number=True)
    return words(value, str(value) if column == "verdict" else "")
