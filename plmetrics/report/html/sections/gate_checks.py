"""The gates as a table: what failed first, worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.report.html.blocks import Cell, Section, Table, estimate_cell, words
from plmetrics.report.numbers import estimate, omission
from plmetrics.report.sections.gates import gate_checks

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

MOST = 200


def gates(summary: Summary) -> Section:
    """A row a check, those that need an action first."""
    rows = gate_checks(summary.gates)
    if not rows:
        return Section("Gates")
    notes = omission(len(rows) - MOST, "check", "gates")
    columns = ("verdict", "gate", "rule", "model", "slice", "observed", "note")
    grid = [_cells(row) for row in rows[:MOST]]
    filled = [index for index in range(len(columns)) if any(cells[index].text for cells in grid)]
    shown = [[cells[index] for index in filled] for cells in grid]
    return Section("Gates", [Table("Checks", [columns[index] for index in filled], shown, notes)])


def _cells(row: dict[str, Any]) -> list[Cell]:
    signed = row["rule"].startswith(("difference", "relative change"))
    observed = estimate(row["observed"], row["lower"], row["upper"], status=row["status"], signed=signed)
    rule = f"{row['metric']} {row['rule']}"
    place = row["slice_set"] if row["slice"] == "all" else row["slice"]
    return [
        words(row["outcome"], row["outcome"]),
        words("" if row["gate"] == rule else row["gate"]),
        words(rule),
        words(row["model"]),
        words(place),
        estimate_cell(observed, row["observed"]),
        words("" if row["outcome"] == "pass" else row["note"], "mute"),
    ]
