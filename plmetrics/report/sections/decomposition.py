"""What changes of means are made of: slices that moved, and shares of slices that did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from plmetrics.report.layout import (
    FAINT,
    Column,
    align,
    heading,
    join_blocks,
    printable,
    table_or_stack,
    wrap,
)
from plmetrics.report.numbers import plural, row_estimate
from plmetrics.report.sections.overall import metric_label

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.report.summary import Summary

_MOST = 6
_PARTS = ("within", "mix", "total")


def decomposition(summary: Summary, width: int) -> list[Text]:
    """A block per comparison, metric and slice set: all slices together, then those that make up most of it."""
    keys = ("contrast", "model", "baseline", "metric", "class", "slice_set")
    parts = summary.decomposition.partition_by(keys, maintain_order=True)
    return join_blocks([_block(part, width) for part in parts])


def _block(part: pl.DataFrame, width: int) -> list[Text]:
    first = part.row(0, named=True)
    other = f"run {first['baseline']}" if first["contrast"] == "run" else first["baseline"]
    title = f"{metric_label(first)} over {printable(first['slice_set'])}"
    lines = heading(title, f"{printable(first['model'])} against {printable(other)}, what moved", width)
    by_slice: dict[str, dict[str, dict[str, Any]]] = {}
    for row in part.iter_rows(named=True):
        by_slice.setdefault(row["slice"], {})[row["part"]] = row
    total = by_slice.pop("all")
    if total["total"]["value"] is None:
        return lines + wrap(Text(f"- ({total['total']['status']})", FAINT), width)
    largest = sorted(by_slice, key=lambda name: -abs(by_slice[name]["total"]["value"]))[:_MOST]
    chosen = {"all": total, **{name: by_slice[name] for name in by_slice if name in largest}}
    columns = [Column("slice"), Column("within"), Column("mix"), Column("total")]
    numbers = [align([row_estimate(rows[name], signed=True) for rows in chosen.values()]) for name in _PARTS]
    cells = [
        [Text(printable(name)), *row] for name, row in zip(chosen, zip(*numbers, strict=True), strict=True)
    ]
    lines += table_or_stack(columns, cells, width)
    if len(by_slice) > len(largest):
        more = f"and {plural(len(by_slice) - len(largest), 'slice')} more in decomposition.parquet"
        lines += wrap(Text(more, FAINT), width)
    return lines
