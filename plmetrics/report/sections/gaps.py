"""What has no value or no interval, how often and why; and what the rows' notes say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from plmetrics.report.layout import FAINT, Column, heading, printable, stack, table, wrapped
from plmetrics.report.numbers import count, number

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_NAMED = 3
_NOTES = 5


def gaps(summary: Summary, width: int) -> list[Text]:
    """Counts by reason of values and intervals that are null, and the most frequent notes."""
    frame = summary.metrics
    lines = _reasons("No value", frame.filter(pl.col("value").is_null()), "status", width)
    wanted = pl.col("interval_status").is_in(["ok", "not_requested"]).not_() & pl.col("value").is_not_null()
    lines += _reasons("No interval", frame.filter(wanted), "interval_status", width)
    return lines + _notes(frame, width)


def _reasons(title: str, frame: pl.DataFrame, reason: str, width: int) -> list[Text]:
    if frame.is_empty():
        return []
    cells = []
    for (status,), part in frame.group_by(reason, maintain_order=True):
        places = part.select("slice_set", "slice").unique().height
        metrics = part["metric"].unique(maintain_order=True).to_list()
        named = ", ".join(metrics[:_NAMED]) + (
            f" and {len(metrics) - _NAMED} more" if len(metrics) > _NAMED else ""
        )
        rows, slices = Text(count(part.height)), Text(count(places))
        cells.append([Text(printable(str(status))), rows, slices, Text(printable(named))])
    columns = [
        Column("reason"),
        Column("values", align="right"),
        Column("slices", align="right"),
        Column("metrics", flexible=True, least=20),
    ]
    lines = table(columns, cells, width)
    if lines is None:
        lines = []
        for status, rows, slices, metrics in cells:
            lines += stack(status, [rows + Text(" values"), slices + Text(" slices"), metrics], width)
    return heading(title, width=width) + lines


def _notes(frame: pl.DataFrame, width: int) -> list[Text]:
    notes = frame["note"].drop_nulls().value_counts(sort=True).sort("count", "note", descending=[True, False])
    said = [f"{printable(note)} ({count(times)} rows)" for note, times in notes.head(_NOTES).rows()]
    if notes.height > _NOTES:
        said.append(f"and {notes.height - _NOTES} more notes in metrics.parquet")
    bound = frame["bound"].max()
    if isinstance(bound, float) and bound > 0:
        said.append(f"scores were binned: values are exact to within {number(bound)} (column `bound`)")
    if not said:
        return []
    return heading("Notes", width=width) + [
        line for note in said for line in wrapped(Text(note, FAINT), width)
    ]
