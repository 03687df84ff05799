"""Confusion matrices as tables, which are smaller than charts and read aloud in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.decisions.confusion_counts import counts_of
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.html.blocks import Cell, Table, rows_cell, words
from plmetrics.report.numbers import count

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.report.html.blocks import Block
    from plmetrics.report.html.sections.pictures import Gallery
    from plmetrics.report.summary import Summary

MOST_CLASSES = 12
_STEPS = (0.05, 0.15, 0.3)
"""Shares of a true class called otherwise where a shade becomes darker."""
_NOTE = "rows with their share of the true class; shades: more than 5, 15 and 30 % of a class are called so"


def confusion(summary: Summary, gallery: Gallery) -> list[Block]:
    """A table a model, true classes in rows and called ones in columns; a chart where classes are many."""
    try:
        counts = counts_of(Selection(summary=summary))
    except NothingToDraw:
        return []
    if counts["true"].n_unique() > MOST_CLASSES:
        return gallery.pictures("confusion")
    return [_table(part) for part in counts.partition_by("model", maintain_order=True)]


def _table(counts: pl.DataFrame) -> Table:
    called = counts.sort("called_place")["called"].unique(maintain_order=True).to_list()
    rows = []
    for part in counts.sort("place", "called_place").partition_by("place", maintain_order=True):
        cells = [_cell(row) for row in part.iter_rows(named=True)]
        rows.append([words(f"true {part['true'][0]}"), *cells, rows_cell(int(part["n"].sum()))])
    columns = ["", *(words(f"called {name}").text for name in called), "rows"]
    return Table(words(f"Confusion of {counts['model'][0]}").text, columns, rows, [_NOTE])


def _cell(row: dict[str, float]) -> Cell:
    share = row["share"]
    steps = (
        0 if share is None or row["place"] == row["called_place"] else sum(share > step for step in _STEPS)
    )
    text = "" if share is None else f"{share:.1%}"
    return Cell(
        count(int(row["n"])), text, value=row["n"], kind=f"worse-{steps}" if steps else "", number=True
    )
