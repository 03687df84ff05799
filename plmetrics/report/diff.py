"""Differences between two runs as text, JSON or CSV."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.export import finite_rows, indented_json
from plmetrics.report.layout import (
    FAINT,
    Column,
    align,
    flow,
    heading,
    join_blocks,
    remarks,
    table_or_stack,
    to_text,
    wrap,
)
from plmetrics.report.numbers import MISSING, Row, ValueText, count, estimate, plural
from plmetrics.report.sections.overall import metric_label
from plmetrics.report.slice_names import with_slice_names
from plmetrics.report.terminal import NARROWEST

if TYPE_CHECKING:
    from plmetrics.runs.history.diff import Diff

_SHOWN = 30
CHANGES = {
    "status": "defined in one run only, or for another reason",
    "beyond_interval": "beyond the interval of the difference",
    "value": "different, without intervals to judge by",
    "gone": "gone",
    "new": "new",
    "within_interval": "those that moved furthest within the interval of the difference",
}
_FURTHEST = 5
_OPPOSITE = {"before": "after", "after": "before"}
SIDES = tuple(_OPPOSITE)


def diff_text(diff: Diff, width: int = 100, *, color: bool = False) -> str:
    """The changes in lines of at most `width` cells (40 at the least)."""
    width = max(width, NARROWEST)
    metrics, gates = with_slice_names(diff.metrics, diff.gates)
    notes = remarks([f"note: {note}" for note in diff.notes], width, "yellow", indent=0)
    sections = [_head(diff, width), notes, _gates(gates, width), _values(metrics, width)]
    return to_text(join_blocks([*sections, _remaining_changes(metrics, width)]), width, color=color)


def diff_json(diff: Diff, exit_code: int = 0) -> str:
    """One JSON object: exit code, the runs, whether anything changed, notes, and the tables `metrics` and `gates`."""
    content = {
        "status": "complete",
        "exit_code": exit_code,
        "folder": None,
        "before": diff.before,
        "after": diff.after,
        "changed": diff.changed,
        "verdict": {"before": diff.verdicts[0], "after": diff.verdicts[1]},
        "notes": list(diff.notes),
        "metrics": finite_rows(diff.metrics).to_dicts(),
        "gates": finite_rows(diff.gates).to_dicts(),
    }
    return indented_json(content)


def diff_csv(diff: Diff) -> str:
    """The table `metrics`, undefined values empty."""
    return diff.metrics.with_columns(pl.col(pl.Float64).fill_nan(None)).write_csv()


def _head(diff: Diff, width: int) -> list[Text]:
    word = Text("CHANGED", "bold yellow") if diff.changed else Text("UNCHANGED", "bold green")
    runs = Text(f"{printable(diff.before)} -> {printable(diff.after)}:", "bold")
    values, checks = diff.changes
    counts = [f"{count(values)} of {plural(diff.metrics.height, 'value')},"]
    counts.append(f"{count(checks)} of {plural(diff.gates.height, 'gate check')}")
    lines = flow([Text.assemble(word, "  ", runs), *map(Text, counts)], width, indent=0, gap=1)
    if diff.verdicts[0] != diff.verdicts[1]:
        lines += wrap(Text(f"verdict: {diff.verdicts[0]} -> {diff.verdicts[1]}"), width, indent=0)
    return lines


def _gates(gates: pl.DataFrame, width: int) -> list[Text]:
    rows = gates.filter("changed").rows(named=True)
    if not rows:
        return []
    cells = []
    for row in rows[:_SHOWN]:
        verdicts = Text(f"{row['before'] or MISSING} -> {row['after'] or MISSING}")
        observed = " -> ".join(side_estimate(row, side, "_observed").value for side in SIDES)
        cells.append([Text(printable(check_name(row))), *_place(row), verdicts, Text(observed, FAINT)])
    columns = [Column("gate"), Column("model"), Column("slice"), Column("verdict"), Column("observed")]
    return (
        heading("Gates", width=width)
        + table_or_stack(columns, cells, width)
        + _omission_lines(len(rows), width, "json")
    )


def check_name(row: Row) -> str:
    """The gate of a check, with its earlier rule where the limits moved."""
    return str(row["gate"]) if row["before_rule"] is None else f"{row['gate']} (was {row['before_rule']})"


def _values(metrics: pl.DataFrame, width: int) -> list[Text]:
    parts = []
    for change, words in CHANGES.items():
        rows = metrics.filter(pl.col("change") == change).rows(named=True)
        rows = rows[:_FURTHEST] if change == "within_interval" else rows
        if rows:
            title = heading(plural(len(rows), "value"), words, width)
            parts.append(
                title + _lines(rows[:_SHOWN], change, width) + _omission_lines(len(rows), width, "csv")
            )
    return join_blocks(parts)


def _lines(rows: list[Row], change: str, width: int) -> list[Text]:
    columns = [Column("metric"), Column("model"), Column("slice")]
    places = [[Text(metric_label(row)), *_place(row)] for row in rows]
    if change in {"gone", "new"}:
        side = "before" if change == "gone" else "after"
        cells = [
            [*place, Text(str(side_estimate(row, side)))] for place, row in zip(places, rows, strict=True)
        ]
        return table_or_stack([*columns, Column("value")], cells, width)
    columns += [Column("before", "right"), Column("after", "right")]
    sides = [[Text(str(side_estimate(row, side))) for side in SIDES] for row in rows]
    cells = [[*place, *side] for place, side in zip(places, sides, strict=True)]
    if change != "status":
        differences = [
            estimate(row["difference"], row["lower"], row["upper"], interval_status=None, signed=True)
            for row in rows
        ]
        cells = [[*row, difference] for row, difference in zip(cells, align(differences), strict=True)]
        columns.append(Column("difference"))
    return table_or_stack(columns, cells, width)


def _remaining_changes(metrics: pl.DataFrame, width: int) -> list[Text]:
    counts = Counter(metrics["change"].to_list())
    changes = [
        f"{plural(counts[change], 'value')} {words}"
        for change, words in (("within_interval", "moved within the interval"), ("same", "the same"))
        if counts[change]
    ]
    return remarks([", ".join(changes)] if changes else [], width, indent=0)


def _omission_lines(rows: int, width: int, form: str) -> list[Text]:
    """The number of rows beyond those shown, and the format that has them: csv is the table of values alone."""
    return remarks([f"and {rows - _SHOWN:,} more: --format {form} lists all"] if rows > _SHOWN else [], width)


def _place(row: Row) -> list[Text]:
    everywhere = row["slice_set"] == "overall"
    return [
        Text(printable(row["model"] or MISSING)),
        Text("overall" if everywhere else printable(row["slice"])),
    ]


def side_estimate(row: Row, side: str, column: str = "") -> ValueText:
    """Value of one side, with the digits that tell it from the other's."""
    value, other = row[f"{side}{column}"], row[f"{_OPPOSITE[side]}{column}"]
    between = [] if None in (value, other) or value == other else [value / 2 + other / 2]
    return estimate(value, status=row.get(f"{side}_status"), limits=between)
