"""The head of the page, the verdict and the size of the evaluation, and the gates as a table, what failed first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.report.charts.texts import clean
from plmetrics.report.html.blocks import Cell, Head, Section, Table, estimate_cell, words
from plmetrics.report.numbers import estimate, omission
from plmetrics.report.sections.gates import OUTCOMES, gate_checks, outcomes
from plmetrics.report.sections.verdict import HEADLINES, labels_text, sizes

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

MOST = 200
_SHAPES = {"pass": "✓", "fail": "✗", "inconclusive": "?"}


def verdict(summary: Summary) -> Head:
    """The verdict of the gates, which stands in words and as a shape."""
    word, _ = HEADLINES.get(summary.verdict, ("DONE", ""))
    counts = outcomes(summary.gates)
    checks = [f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts.get(outcome)]
    lines = [", ".join(sizes(summary)), labels_text(summary)]
    return Head(
        title=clean(summary.name),
        word=word,
        shape=_SHAPES.get(summary.verdict, "•"),
        kind=summary.verdict,
        lines=[", ".join(checks or ["no gates"]), *map(clean, filter(None, lines))],
        warnings=[clean(str(warning)) for warning in summary.record.get("warnings", ())],
    )


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
