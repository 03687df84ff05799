"""The gates: what failed or could not be decided first, check by check; what passed, briefly."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.text import Text

from plmetrics.report.layout import (
    FAINT,
    GAP,
    INDENT,
    Column,
    align,
    flow,
    heading,
    printable,
    table,
    wrap,
)
from plmetrics.report.numbers import Estimate, estimate, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from plmetrics.report.summary import Summary

OUTCOMES = ("fail", "inconclusive", "warn", "skipped", "pass")
_STYLES = {
    "fail": "bold red",
    "inconclusive": "bold yellow",
    "warn": "yellow",
    "skipped": "dim",
    "pass": "green",
}
_QUIET = frozenset({"pass", "skipped"})
_SHOWN_EACH = 3
_MOST = 60

Row = dict[str, Any]


def outcomes(frame: pl.DataFrame) -> Counter[str]:
    """How many checks ended in which way."""
    return Counter(outcome(row) for row in frame.select("level", "verdict").iter_rows(named=True))


def gates(summary: Summary, width: int) -> list[Text]:
    """A line a check, fail and inconclusive ones first; many checks of a gate that passed are one line."""
    if summary.gates.is_empty():
        return []
    checks = [row | {"outcome": outcome(row)} for row in summary.gates.iter_rows(named=True)]
    checks.sort(key=lambda row: OUTCOMES.index(row["outcome"]))
    rows = list(_condense(checks))
    lines = heading("Gates", width=width) + _lines(rows[:_MOST], width)
    if len(rows) > _MOST:
        lines += wrap(Text(f"and {len(rows) - _MOST} more in the table gates", FAINT), width)
    return lines


def _lines(rows: list[Row], width: int) -> list[Text]:
    cells = [_cells(row) for row in rows]
    observed = align([_value_range(row) for row in rows])
    titles = ["verdict", "gate", "rule", "model", "slice", "observed", "note"]
    grid = [[*before, value, note] for (*before, _, note), value in zip(cells, observed, strict=True)]
    filled = [i for i in range(len(titles)) if any(row[i].plain for row in grid)]
    longest = max(len(row["outcome"]) for row in rows)
    columns = [Column(titles[i]) for i in filled]
    fitting = table(columns, [[row[i] for i in filled] for row in grid], width, least=longest)
    if fitting is not None:
        return fitting
    return [line for group in _by_gate(cells) for line in _block(group, longest, width)]


def _cells(row: Row) -> list[Text]:
    """Verdict, name if it has one, rule, model, slice, what was observed, and why it is not clear."""
    rule = f"{row['metric']} {row['rule']}"
    name = "" if row["gate"] == rule else row["gate"] or ""
    note = "" if row["outcome"] == "pass" else row["note"] or ""
    return [
        Text(row["outcome"], _STYLES[row["outcome"]]),
        Text(printable(name)),
        Text(printable(rule)),
        Text(printable(row["model"] or "")),
        Text(printable(_place(row))),
        align([_value_range(row)])[0],
        Text(printable(note), FAINT),
    ]


def _by_gate(cells: list[list[Text]]) -> list[list[list[Text]]]:
    """Neighbours of the same outcome, gate and rule together."""
    groups = groupby(cells, key=lambda row: [cell.plain for cell in row[:3]])
    return [list(group) for _, group in groups]


def _block(group: list[list[Text]], longest: int, width: int) -> list[Text]:
    """The outcome in the margin; beside it the gate and its rule, and below them what was observed."""
    margin = INDENT + longest + GAP
    outcome, *gate = group[0][:3]
    lines = flow(gate, width, indent=margin)
    lines[0] = Text(" " * INDENT) + outcome + lines[0][INDENT + outcome.cell_len :]
    observations = [row[3:] for row in group]
    widths = [max(cells.cell_len for cells in column) for column in zip(*observations, strict=True)]
    fits = margin + sum(widths) + GAP * (sum(map(bool, widths)) - 1) <= width
    for pieces in observations:
        for piece, cells in zip(pieces, widths, strict=True):
            piece.append(" " * (cells - piece.cell_len if fits else 0))
        joined = Text(" " * GAP).join(piece for piece in pieces if piece.plain)
        lines += [Text(" " * margin) + joined] if fits else flow(pieces, width, indent=margin)
    return lines


def _condense(checks: list[Row]) -> Iterator[Row]:
    """The checks, but many of one gate that need no action as one row."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for place, row in enumerate(checks):
        alike = (row["outcome"], row["gate"], row["metric"], row["rule"])
        groups.setdefault(alike if row["outcome"] in _QUIET else (str(place),), []).append(row)
    for group in groups.values():
        if len(group) <= _SHOWN_EACH:
            yield from group
        else:
            yield group[0] | {
                "model": _several([row["model"] or "" for row in group], "models"),
                "place": _several([_place(row) for row in group], "slices"),
                "note": None,
                "together": [row["observed"] for row in group if row["observed"] is not None],
            }


def _several(names: list[str], word: str) -> str:
    different = set(names)
    return names[0] if len(different) == 1 else f"{len(different)} {word}"


def _place(row: Row) -> str:
    if "place" in row:
        return str(row["place"])
    return str(row["slice_set"] if row["slice"] == "all" else row["slice"])


def _value_range(row: Row) -> Estimate:
    together = row.get("together")
    if together is None:
        signed = row["rule"].startswith(("difference", "relative change"))
        return estimate(row["observed"], row["lower"], row["upper"], status=row["status"], signed=signed)
    if not together:
        return Estimate("-", f"({row['status']})")
    return Estimate(number(min(together)), f"to {number(max(together))}")


def outcome(row: Row) -> str:
    """How a check ended: a failed one of level warn is a warning."""
    failed_softly = row["verdict"] == "fail" and row["level"] == "warn"
    return "warn" if failed_softly else str(row["verdict"])
