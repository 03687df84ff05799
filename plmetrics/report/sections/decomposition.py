"""Decompositions of changes: changed slices, and changed shares of slices, or both as one Shapley value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import FAINT, Column, align, heading, join_blocks, remarks, table_or_stack, wrap
from plmetrics.report.numbers import ValueText, left_out, number, row_estimate
from plmetrics.report.sections.differences import rival
from plmetrics.report.sections.overall import metric_of_class

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_MOST = 6
_PARTS = ("within", "mix", "total")


def decomposition(summary: Summary, width: int) -> list[Text]:
    """Block per comparison, metric and slice set: all slices together, then the largest contributions."""
    keys = ("contrast", "model", "baseline", "metric", "class", "slice_set")
    parts = summary.decomposition.partition_by(keys, maintain_order=True)
    return join_blocks([_block(part, width) for part in parts])


def _block(part: pl.DataFrame, width: int) -> list[Text]:
    first = part.row(0, named=True)
    title = f"{metric_of_class(first)} over {printable(first['slice_set'])}"
    lines = heading(
        title, f"{printable(first['model'])} against {printable(rival(first))}, what moved", width
    )
    by_slice: dict[str, dict[str, dict[str, Any]]] = {}
    for row in part.iter_rows(named=True):
        by_slice.setdefault(row["slice"], {})[row["part"]] = row
    every = by_slice.pop("all")
    if every["total"]["value"] is None:
        return lines + wrap(Text(f"- ({every['total']['status']})", FAINT), width)
    is_shapley = part["part"].eq("shapley").any()
    for rows in by_slice.values() if is_shapley else ():
        rows["total"] = rows["shapley"]
    largest = sorted(by_slice, key=lambda name: -abs(by_slice[name]["total"]["value"] or 0.0))[:_MOST]
    chosen = {"all": every, **{name: by_slice[name] for name in by_slice if name in largest}}
    columns = [Column("slice"), *map(Column, (*_PARTS[:2], "Shapley value" if is_shapley else "total"))]
    numbers = [align([_estimate(rows[name]) for rows in chosen.values()]) for name in _PARTS]
    cells = [
        [Text(printable(name)), *row] for name, row in zip(chosen, zip(*numbers, strict=True), strict=True)
    ]
    lines += table_or_stack(columns, cells, width)
    more = left_out(len(by_slice) - len(largest), "slice", "decomposition")
    return lines + remarks([*_columns(every), *_accuracy(part), *more], width)


def _columns(every: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Effects of the shares of each column's values by themselves."""
    parts = {name: row["value"] for name, row in every.items() if name.startswith("mix|")}
    texts = [
        f"{printable(name.removeprefix('mix|'))} {number(value, signed=True)}"
        for name, value in parts.items()
    ]
    return [f"shares of values alone, by column: {', '.join(texts)}"] if texts else []


def _estimate(row: Mapping[str, Any]) -> ValueText:
    """Part of a decomposition; one without an interval by its nature stands alone."""
    if row["interval_status"] == "not_estimable":
        row = {**row, "interval_status": "not_requested"}
    return row_estimate(row, signed=True)


def _accuracy(part: pl.DataFrame) -> list[str]:
    """Errors of the parts by bins and random orders."""
    limits = {
        "bound": "scores were binned: Shapley values are exact to within",
        "sampling_error": "orders of slices were drawn: standard errors of that are at most",
    }
    values = part.filter(pl.col("part").is_in(["shapley", "total"]))
    largest = {name: values[name].max() for name in limits if name in part.columns}
    return [
        f"{limits[name]} {number(limit)}"
        for name, limit in largest.items()
        if isinstance(limit, float) and limit
    ]
