"""Slices of a search worse than the rest: the confirmed ones, and the number of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import FAINT, Column, align, heading, remarks, table_or_stack
from plmetrics.report.numbers import count, estimate, left_out, number, p_value, plural

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_MOST = 20
_COLUMNS = [
    Column("slice"),
    Column("model"),
    Column("value", "right"),
    Column("rest", "right", optional=True),
    Column("difference"),
    Column("adjusted p", "right"),
    Column("searched", "right", optional=True),
    Column("", "right", optional=True),
]


def found_slices(summary: Summary, width: int) -> list[Text]:
    """Line for each confirmed slice, with the unbiased difference, and one for the rest of the search."""
    searched = summary.record.get("find_slices")
    if not searched:
        return []
    frame = summary.found_slices
    confirmed = frame.filter("confirmed")
    title = "Slices worse than the rest"
    if not frame.is_empty():
        title += f" by {printable(frame['metric'][0])}"
    remark = "found on one part of the units, estimated on the other" if len(confirmed) else ""
    lines = heading(title, remark, width)
    rows = confirmed.head(_MOST).rows(named=True)
    if rows:
        lines += table_or_stack(_COLUMNS, _cells(rows), width)
    largest = f", {count(frame.height)} went on" if frame.height < searched["stood_out"] else ""
    words = [f"{row['slice']}: {row['note']}" for row in rows if row["note"] is not None]
    words.append(
        f"{plural(searched['tested'], 'slice')} searched, {count(searched['stood_out'])} stood out{largest}, "
        f"{count(confirmed.height)} confirmed"
    )
    return lines + remarks([*words, *left_out(confirmed.height - _MOST, "slice", "found_slices")], width)


def _cells(rows: list[dict[str, Any]]) -> list[list[Text]]:
    differences = align(
        [estimate(row["difference"], row["lower"], row["upper"], signed=True) for row in rows]
    )
    return [
        [
            Text(printable(row["slice"])),
            Text(printable(row["model"])),
            Text(number(row["value"])),
            Text(number(row["rest"])),
            difference,
            Text(p_value(row["p_adjusted"])),
            Text(number(row["searched"], signed=True), FAINT),
            Text(plural(row["n"], "row"), FAINT),
        ]
        for row, difference in zip(rows, differences, strict=True)
    ]
