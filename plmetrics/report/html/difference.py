"""The page of the changes between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.diff import CHANGES, SIDES, check_name, side_estimate
from plmetrics.report.html.blocks import Cell, PageHead, PageSection, Table, estimate_cell, value_cell, words
from plmetrics.report.html.rendering import page_text
from plmetrics.report.numbers import count, plural
from plmetrics.report.sections.overall import metric_label
from plmetrics.report.slice_names import with_slice_names

if TYPE_CHECKING:
    from plmetrics.runs.history.diff import Diff

MOST = 500


def diff_html(diff: Diff) -> str:
    """The changes as one HTML file: gate checks, then values by kind of change."""
    metrics, gates = with_slice_names(diff.metrics, diff.gates)
    tables = [
        table for change, text in CHANGES.items() if (table := _values(metrics, change, text)) is not None
    ]
    return page_text(_head(diff), [_gates(gates), PageSection("Values", tables)])


def _head(diff: Diff) -> PageHead:
    values, checks = diff.changes
    counts = [f"{count(values)} of {plural(diff.metrics.height, 'value')}"]
    counts.append(f"{count(checks)} of {plural(diff.gates.height, 'gate check')}")
    before, after = diff.verdicts
    return PageHead(
        word="CHANGED" if diff.changed else "UNCHANGED",
        shape="≠" if diff.changed else "=",
        kind="changed" if diff.changed else "pass",
        title=f"{diff.before} → {diff.after}",
        lines=[
            ", ".join(counts),
            f"verdict: {before} → {after}",
            *(f"note: {note}" for note in diff.notes),
        ],
    )


def _gates(gates: pl.DataFrame) -> PageSection:
    changed = gates.filter("changed")
    rows = changed.head(MOST).rows(named=True)
    columns = ("gate", "model", "slice", "before", "after", "observed before", "observed after")
    cells = [
        [
            words(check_name(row)),
            *_place(row),
            *(words(row[side], row[side] or "") for side in SIDES),
            *(
                estimate_cell(side_estimate(row, side, "_observed"), row[f"{side}_observed"])
                for side in SIDES
            ),
        ]
        for row in rows
    ]
    left = changed.height - MOST
    notes = [f"{plural(left, 'more check')}: --format json lists all"] if left > 0 else []
    return PageSection("Gates", [Table("Gate checks that changed", columns, cells, notes)] if cells else [])


def _values(metrics: pl.DataFrame, change: str, text: str) -> Table | None:
    frame = metrics.filter(pl.col("change") == change)
    if frame.is_empty():
        return None
    rows = [
        [words(metric_label(row)), *_place(row), *(_side(row, side) for side in SIDES), _difference(row)]
        for row in frame.head(MOST).iter_rows(named=True)
    ]
    left = frame.height - MOST
    notes = [f"{plural(left, 'more value')}: --format csv lists all"] if left > 0 else []
    columns = ("metric", "model", "slice", *SIDES, "difference")
    words_of = "moved within the interval of the difference" if change == "within_interval" else text
    return Table(f"{plural(frame.height, 'value')} {words_of}", columns, rows, notes)


def _difference(row: dict[str, Any]) -> Cell:
    return value_cell({**row, "status": "ok", "interval_status": None}, "difference", signed=True)


def _side(row: dict[str, Any], side: str) -> Cell:
    return estimate_cell(side_estimate(row, side), row[side])


def _place(row: dict[str, Any]) -> list[Cell]:
    return [words(row["model"]), words("overall" if row["slice_set"] == "overall" else row["slice"])]
