"""How slices differ from the rest, from all rows or from each other: those that stand out most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.report.layout import (
    FAINT,
    Column,
    aligned,
    heading,
    printable,
    separated,
    table_or_stack,
    wrapped,
)
from plmetrics.report.numbers import p_value, plural
from plmetrics.report.sections.differences import alpha, difference_estimate, reading, remark, word
from plmetrics.report.sections.overall import metric_label

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_MOST = 8


def slice_comparisons(summary: Summary, width: int) -> list[Text]:
    """A block per model, slice set and scale: the comparisons with the smallest p values, or the largest."""
    frame = summary.comparisons.filter(pl.col("contrast").is_in(["slice", "rest"]))
    parts = frame.partition_by("model", "slice_set", "scale", maintain_order=True)
    return separated([_block(summary, part, width) for part in parts])


def _block(summary: Summary, part: pl.DataFrame, width: int) -> list[Text]:
    first = part.row(0, named=True)
    tested = bool(part["p_value"].is_not_null().any())
    title = f"{printable(first['model'])}: slices of {printable(first['slice_set'])}"
    lines = heading(title, remark(summary, first["scale"], tested=tested), width)
    defined = part.filter(pl.col("difference").is_not_null())
    p = pl.coalesce("p_adjusted", "p_value")
    away = (pl.col("difference") - (1.0 if first["scale"] == "ratio" else 0.0)).abs()
    rows = defined.sort(p, away, descending=[False, True], nulls_last=True, maintain_order=True).rows(
        named=True
    )
    named = Column("slice"), Column("against"), Column("metric"), Column(first["scale"].replace("_", " "))
    columns = [*named, Column("p", align="right"), Column("reading")] if tested else list(named)
    numbers = aligned([difference_estimate(row) for row in rows[:_MOST]])
    cells = [
        _cells(summary, row, number, tested=tested) for row, number in zip(rows[:_MOST], numbers, strict=True)
    ]
    lines += table_or_stack(columns, cells, width)
    remarks = []
    if len(rows) > _MOST:
        remarks.append(f"and {plural(len(rows) - _MOST, 'comparison')} more in comparisons.parquet")
    if part.height > defined.height:
        remarks.append(f"{plural(part.height - defined.height, 'comparison')} without a value")
    return lines + [line for text in remarks for line in wrapped(Text(text, FAINT), width)]


def _cells(summary: Summary, row: dict[str, Any], number: Text, *, tested: bool) -> list[Text]:
    cells = [Text(printable(row["slice"])), Text(printable(row["baseline"])), Text(metric_label(row)), number]
    if tested:
        p = row["p_value"] if row["p_adjusted"] is None else row["p_adjusted"]
        outcome = reading(row, summary.directions.get(row["metric"], "none"), alpha(summary))
        cells += [Text(p_value(p)), word(outcome)]
    return cells
