"""The head of the page, the verdict and the size of the evaluation, and the gates as a table, failed ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.report.html.blocks import Cell, PageHead, PageSection, Table, estimate_cell, words
from plmetrics.report.layout import filled_places
from plmetrics.report.numbers import omission
from plmetrics.report.sections.gates import (
    CHECK_TITLES,
    check_texts,
    gate_checks,
    observed_text,
    outcome_counts,
)
from plmetrics.report.sections.verdict import HEADLINES, labels_text, reference_texts, sizes

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

MOST = 200
_SHAPES = {"pass": "✓", "fail": "✗", "inconclusive": "?"}


def verdict(summary: Summary) -> PageHead:
    """Verdict of the gates, in words and as a shape."""
    word, _ = HEADLINES.get(summary.verdict, ("DONE", ""))
    lines = [", ".join(sizes(summary)), labels_text(summary), *reference_texts(summary)]
    return PageHead(
        title=summary.name,
        word=word,
        shape=_SHAPES.get(summary.verdict, "•"),
        kind=summary.verdict,
        lines=[", ".join(outcome_counts(summary.gates)), *filter(None, lines)],
        warnings=[str(warning) for warning in summary.record.get("warnings", ())],
    )


def gates(summary: Summary) -> PageSection:
    """Row per check, those in need of an action first."""
    rows = gate_checks(summary.gates)
    if not rows:
        return PageSection("Gates")
    notes = omission(len(rows) - MOST, "check", "gates")
    filled = filled_places([check_texts(row) for row in rows[:MOST]])
    grid = [_cells(row) for row in rows[:MOST]]
    shown = [[cells[place] for place in filled] for cells in grid]
    return PageSection("Gates", [Table("Checks", [CHECK_TITLES[place] for place in filled], shown, notes)])


def _cells(row: dict[str, Any]) -> list[Cell]:
    verdict, *names, _, note = check_texts(row)
    observed = estimate_cell(observed_text(row), row["observed"])
    return [words(verdict, verdict), *map(words, names), observed, words(note, "mute")]
