"""The gates: what failed or could not be decided first, check by check; what passed, briefly."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.text import Text

from plmetrics.report.layout import (
    FAINT,
    GAP,
    INDENT,
    Column,
    aligned,
    flow,
    heading,
    printable,
    table,
    wrapped,
)
from plmetrics.report.numbers import Estimate, estimate, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from plmetrics.report.summary import Summary

OUTCOMES = ("fail", "inconclusive", "warn", "skip", "pass")
STYLES = {"fail": "bold red", "inconclusive": "bold yellow", "warn": "yellow", "skip": "dim", "pass": "green"}
_SHOWN_EACH = 3
_MOST = 60

Row = dict[str, Any]


def outcomes(frame: pl.DataFrame) -> Counter[str]:
    """How many checks ended in which way."""
    return Counter(_outcome(row) for row in frame.select("level", "verdict").iter_rows(named=True))


def gates(summary: Summary, width: int) -> list[Text]:
    """A line a check, fail and inconclusive ones first; gates that passed on many slices are one line."""
    if summary.gates.is_empty():
        return []
    checks = [row | {"outcome": _outcome(row)} for row in summary.gates.iter_rows(named=True)]
    checks.sort(key=lambda row: _rank(row["outcome"]))
    rows = list(_condensed(checks))
    shown, hidden = rows[:_MOST], rows[_MOST:]
    lines = heading("Gates", width=width) + _lines(shown, width)
    if hidden:
        lines += wrapped(Text(f"and {len(hidden)} more in gates.parquet", FAINT), width)
    return lines


def _lines(rows: list[Row], width: int) -> list[Text]:
    columns = [Column(title) for title in ("verdict", "gate", "model", "slice", "observed", "rule")]
    cells = [
        [
            Text(row["outcome"], STYLES.get(row["outcome"], "")),
            Text(_gate_name(row)),
            Text(printable(row["model"] or "")),
            Text(printable(_place(row["slice_set"], row["slice"]))),
            value,
            Text(printable(row["rule"] or "")),
        ]
        for row, value in zip(rows, aligned([_observed(row) for row in rows]), strict=True)
    ]
    longest = max(len(row["outcome"]) for row in rows)
    fitting = table(columns, cells, width, least=longest)
    if fitting is not None:
        return fitting
    lines = []
    for (outcome, gate, model, where, _, rule), row in zip(cells, rows, strict=True):
        lines += _block(outcome, longest, [gate, rule], [model, where, aligned([_observed(row)])[0]], width)
    return lines


def _block(outcome: Text, longest: int, first: list[Text], second: list[Text], width: int) -> list[Text]:
    """The outcome in the margin; the gate and its rule, and below them what was observed, beside it."""
    margin = INDENT + longest + GAP
    lines = flow(first, width, indent=margin) + flow(second, width, indent=margin)
    lines[0] = Text(" " * INDENT) + outcome + lines[0][INDENT + outcome.cell_len :]
    return lines


def _condensed(checks: list[Row]) -> Iterator[Row]:
    """The checks, but those of one gate that ended alike and need no action as one row."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for place, row in enumerate(checks):
        quiet = row["outcome"] in {"pass", "skip"}
        key = (row["outcome"], row["gate"], row["metric"], row["rule"]) if quiet else (str(place),)
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        if len(group) <= _SHOWN_EACH:
            yield from group
        else:
            yield group[0] | {
                "model": _several({row["model"] for row in group}, "models"),
                "slice_set": None,
                "slice": _several({_place(row["slice_set"], row["slice"]) for row in group}, "slices"),
                "together": [row["observed"] for row in group if row["observed"] is not None],
            }


def _several(things: set[Any], word: str) -> str:
    return f"{len(things)} {word}" if len(things) > 1 else str(next(iter(things)) or "")


def _place(slice_set: str | None, text: str) -> str:
    return "overall" if slice_set == "overall" else text


def _observed(row: Row) -> Estimate:
    together = row.get("together")
    if together is None:
        signed = row["rule"] is not None and "against" in row["rule"]
        return estimate(row["observed"], row["lower"], row["upper"], status=row["status"], signed=signed)
    if not together:
        return Estimate("-", f"({row['status']})")
    return Estimate(number(min(together)), f"to {number(max(together))}")


def _gate_name(row: Row) -> str:
    gate, metric = row["gate"] or row["metric"], row["metric"]
    told = metric in gate or metric in (row["rule"] or "")
    return printable(gate if told else f"{gate}: {metric}")


def _outcome(row: Row) -> str:
    failed_softly = row["verdict"] == "fail" and row["level"] == "warn"
    return "warn" if failed_softly else str(row["verdict"])


def _rank(outcome: str) -> int:
    return OUTCOMES.index(outcome) if outcome in OUTCOMES else len(OUTCOMES) - 2
