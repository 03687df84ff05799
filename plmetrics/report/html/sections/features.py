"""Sections of features: their tables and charts, each under the feature's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from plmetrics.features.registry import features
from plmetrics.report.html.blocks import Cell, PageSection, Table, estimate_cell, rows_cell, value_cell, words
from plmetrics.report.numbers import estimate, level_text, omission, p_value

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.protocol import Feature, FeatureTable
    from plmetrics.report.html.sections.pictures import Gallery
    from plmetrics.report.summary import Summary

_MOST = 100
_BOUNDED = ("difference", "value")
"""Columns that `lower` and `upper` are of: the first that a table has."""
_UNCONFIRMED = "grey: not confirmed by rows that had no part in the search"


def feature_sections(summary: Summary, gallery: Gallery) -> list[PageSection]:
    """Section for each feature with rows: its charts, and the nonempty columns of its table."""
    return [
        _section(summary, gallery, feature, feature.page)
        for feature in features()
        if feature.page is not None
    ]


def _section(summary: Summary, gallery: Gallery, feature: Feature, page: FeatureTable) -> PageSection:
    frame = feature.page_rows(summary)
    if frame is None:
        return PageSection(page.title, [])
    level = summary.levels.get(feature.key, summary.level)
    table = shown_table(page.title, page.table, frame, page.columns.split(), level)
    return PageSection(page.title, [] if table is None else [*gallery.pictures(*feature.charts), table])


def shown_table(
    caption: str, name: str, frame: pl.DataFrame, columns: Sequence[str], level: float | None = None
) -> Table | None:
    """First rows of a result table, in the nonempty ones of these columns; `level` is that of its intervals."""
    if frame.is_empty():
        return None
    there = [column for column in columns if frame[column].is_not_null().any()]
    bounded = next((name for name in _BOUNDED if {name, "lower"} <= set(frame.columns)), None)
    shown = frame.head(_MOST)
    rows = [
        [_cell(row, column, bounded=column == bounded) for column in there]
        for row in shown.iter_rows(named=True)
    ]
    notes = omission(frame.height - _MOST, "row", name)
    if "confirmed" in there:
        rows = [
            cells if confirmed else [replace(cell, kind=f"{cell.kind} mute".strip()) for cell in cells]
            for cells, confirmed in zip(rows, shown["confirmed"], strict=True)
        ]
        notes = (*notes, *([_UNCONFIRMED] if not shown["confirmed"].all() else []))
    titles = [column.replace("_", " ") for column in there]
    if bounded in there and frame["lower"].is_not_null().any():
        titles[there.index(bounded)] += f" [{level_text(level or 0.95)} interval]"
    return Table(caption, titles, rows, notes)


def _cell(row: dict[str, Any], column: str, *, bounded: bool) -> Cell:
    """Cell of a column; `bounded` is whether the row's interval is of it."""
    value, signed = row[column], column == "difference" or "part" in row
    if bounded:
        return value_cell(row, column, signed=signed)
    if isinstance(value, bool):
        return words("yes" if value else "no")
    if isinstance(value, float):
        if column in {"p_value", "p_adjusted"}:
            return Cell(p_value(value), value=value, number=True)
        return estimate_cell(estimate(value, signed=signed), value)
    if isinstance(value, int):
        return rows_cell(value)
    return words(value, str(value) if column == "verdict" else "")
