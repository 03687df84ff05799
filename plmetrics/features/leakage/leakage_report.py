"""Report on leakage: findings beyond their limits, and the number of checks without any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import FAINT, Column, heading, remarks, table_or_stack
from plmetrics.report.numbers import left_out, number, plural

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_STYLES = {"fail": "bold red", "warn": "yellow", "inconclusive": "bold yellow"}
_MOST = 20
_COLUMNS = [Column("check"), Column("columns"), Column("verdict"), Column("found", "right"), Column("detail")]


def leakage(summary: Summary, width: int) -> list[Text]:
    """Line per finding, attributes last and the strongest first, and one for all passed checks."""
    frame = summary.leakage
    if frame.is_empty():
        return []
    by_strength = pl.when(pl.col("check") == "attributes").then("observed")
    failures = frame.filter(pl.col("verdict") != "pass").sort(
        pl.col("check") == "attributes",
        by_strength,
        descending=[False, True],
        nulls_last=True,
        maintain_order=True,
    )
    passed = frame.height - failures.height
    lines = heading("Leakage", width=width)
    if not failures.is_empty():
        rows = [_cells(row) for row in failures.head(_MOST).iter_rows(named=True)]
        lines += table_or_stack(_COLUMNS, rows, width)
    words = left_out(failures.height - _MOST, "check", "leakage")
    if passed:
        words.append(f"{plural(passed, 'check')} within the limit")
    return lines + remarks(words, width)


def _cells(row: dict[str, Any]) -> list[Text]:
    if row["rows"] is None:
        observed = "-" if row["observed"] is None else f"{row['measure']} {number(row['observed'])}"
        detail = row["note"] or ""
    else:
        observed = f"{plural(row['rows'], 'row')} ({row['share']:.2%})"
        example = None if row["example"] is None else f"e.g. {row['example']}"
        detail = "; ".join(filter(None, [example, row["note"]]))
    return [
        Text(row["check"]),
        Text(printable(row["columns"])),
        Text(row["verdict"], _STYLES[row["verdict"]]),
        Text(observed),
        Text(printable(detail), FAINT),
    ]
