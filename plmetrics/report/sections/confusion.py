"""Confusion matrices of all rows: true classes in rows, called ones in columns, or the largest confusions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import Column, align, heading, join_blocks, remarks, table, table_or_stack
from plmetrics.report.numbers import ValueText, count, left_out, plural

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

MOST = 10
MOST_SLICES = 20


def confusion(summary: Summary, width: int) -> list[Text]:
    """A table a model; counts with their share of the true class. None without the curve."""
    if summary.curves.filter(curve="confusion", slice_set="overall").is_empty():
        return []
    from plmetrics.report.charts.decisions.confusion_counts import counts_of, share_words
    from plmetrics.report.charts.selection import NothingToDraw, Selection

    try:
        counts = counts_of(Selection(summary=summary))
    except NothingToDraw:
        return []
    blocks = [
        _matrix(part, share_words(part), width) for part in counts.partition_by("model", maintain_order=True)
    ]
    if set(counts["true"]) == {"negative", "positive"}:
        blocks.append(_in_slices(summary.curves, width))
    return join_blocks(blocks)


def _in_slices(curves: pl.DataFrame, width: int) -> list[Text]:
    cells = curves.filter(pl.col("slice_set") != "overall", curve="confusion")
    if cells.is_empty():
        return []
    place = pl.struct("model", "slice_set", "slice")
    parts = cells.with_columns(place.rle_id().alias("place")).partition_by("place", maintain_order=True)
    rows = [
        [
            Text(printable(part["slice"][0])),
            Text(printable(part["model"][0])),
            *(Text(count(n)) for n in part["n"]),
        ]
        for part in parts[:MOST_SLICES]
    ]
    columns = [
        *map(Column, ("slice", "model")),
        *(Column(name, "right") for name in ("tn", "fp", "fn", "tp")),
    ]
    lines = table_or_stack(columns, rows, width)
    lines += remarks(left_out(len(parts) - MOST_SLICES, "line", "curves"), width)
    return heading("Confusion in slices", "rows", width) + lines


def _matrix(counts: pl.DataFrame, shares: str, width: int) -> list[Text]:
    """The matrix where it fits, else its largest confusions."""
    ordered = counts.sort("place", "called_place")
    title = f"Confusion of {printable(counts['model'][0])}"
    called = counts.sort("called_place")["called"].unique(maintain_order=True).to_list()
    columns = [Column("true \\ called"), *map(Column, map(printable, called)), Column("rows", "right")]
    cells = [
        align([_estimate(row) for row in part.iter_rows(named=True)])
        for part in ordered.partition_by("called_place", maintain_order=True)
    ]
    truths = ordered.partition_by("place", maintain_order=True)
    names = [Text(printable(part["true"][0])) for part in truths]
    totals = [Text(count(int(part["n"].sum()))) for part in truths]
    rows = [list(row) for row in zip(names, *cells, totals, strict=True)]
    lines = table(columns, rows, width)
    if lines is not None:
        return heading(title, f"rows, {shares}", width) + lines
    return heading(title, "the largest confusions", width) + _largest(counts, width)


def _largest(counts: pl.DataFrame, width: int) -> list[Text]:
    wrong = counts.filter(pl.col("place") != pl.col("called_place"), pl.col("n") > 0)
    shown = wrong.sort("n", descending=True, maintain_order=True).head(MOST)
    numbers = align([_estimate(row) for row in shown.iter_rows(named=True)])
    rows = [
        [Text(printable(true)), Text(printable(called)), number]
        for (true, called), number in zip(shown.select("true", "called").rows(), numbers, strict=True)
    ]
    lines = table_or_stack([Column("true"), Column("called"), Column("rows")], rows, width)
    if wrong.height > MOST:
        lines += remarks([f"and {plural(wrong.height - MOST, 'other confusion')} in curves.parquet"], width)
    return lines


def _estimate(row: dict[str, float | None]) -> ValueText:
    share = row["share"]
    return ValueText(count(int(row["n"] or 0)), "" if share is None else f"({share:.1%})")
