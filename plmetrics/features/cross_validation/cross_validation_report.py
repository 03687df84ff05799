"""Report on cross-validation: mean and spread of the folds, choices of nested folds, gaps, curves and diagnoses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import Column, heading, remarks, table_or_stack
from plmetrics.report.numbers import (
    MISSING,
    estimate,
    left_out,
    number,
    number_or_missing,
    plural,
    row_estimate,
)
from plmetrics.report.sections.overall import metric_of_class

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_MOST = 20
_CURVES = ("learning_curve", "validation_curve")
_MEANS = ("folds", "repeats", *_CURVES)
_PARTS = ("bias_squared", "variance", "noise", "expected_loss")
_COLUMNS = [
    *map(Column, ("metric", "model", "of", "mean", "sd")),
    *(Column("least to most", optional=True), Column("pooled"), Column("folds", "right")),
]


def cross_validation(summary: Summary, width: int) -> list[Text]:
    """Summary of all rows of the folds; slices are in the table."""
    frame = summary.cross_validation.filter(slice="all")
    if frame.is_empty():
        return []
    lines = heading("Cross-validation", width=width)
    lines += _means(frame.filter(pl.col("kind").is_in(_MEANS)), width)
    for kind, write in (
        ("nested", _nested_line),
        ("selection_optimism", _optimism),
        ("generalisation_gap", _gap),
        ("diagnosis", _diagnosis),
    ):
        rows = frame.filter(kind=kind)
        lines += remarks(map(write, rows.head(_MOST).iter_rows(named=True)), width, "")
        lines += remarks(left_out(rows.height - _MOST, "row", "cross_validation"), width)
    lines += _notes(frame.filter(kind="nested"), width)
    parts = frame.filter(pl.col("kind").is_in(_PARTS)).head(_MOST).iter_rows(named=True)
    lines += remarks((f"{_row_label(row)}: {row['kind']} {_value(row)}" for row in parts), width, "")
    return lines + _notes(frame.filter(pl.col("kind").is_in(_MEANS)), width)


def _means(frame: pl.DataFrame, width: int) -> list[Text]:
    if frame.is_empty():
        return []
    rows = [_cells(row) for row in frame.head(_MOST).iter_rows(named=True)]
    filled = [
        place
        for place, column in enumerate(_COLUMNS)
        if column.title != "of" or any(row[2].plain for row in rows)
    ]
    lines = table_or_stack([_COLUMNS[k] for k in filled], [[row[k] for k in filled] for row in rows], width)
    return lines + remarks(left_out(frame.height - _MOST, "row", "cross_validation"), width)


def _cells(row: dict[str, Any]) -> list[Text]:
    spread = MISSING if row["minimum"] is None else f"{number(row['minimum'])} to {number(row['maximum'])}"
    undefined = f" ({row['undefined_folds']} undefined)" if row["undefined_folds"] else ""
    repeats = "repeats" if row["kind"] == "repeats" else ""
    return [
        Text(metric_of_class(row)),
        Text(printable(row["model"] or "")),
        Text(printable(" ".join(filter(None, [repeats, _where(row)])))),
        Text(_value(row)),
        Text(number_or_missing(row["sd"])),
        Text(spread),
        Text(number_or_missing(row["pooled"])),
        Text(f"{row['folds']}{undefined}"),
    ]


def _where(row: dict[str, Any]) -> str:
    """The configuration, the split and the place on a curve, as far as there are any."""
    place = None if row["x"] is None else f"at {number(row['x'])}"
    return ", ".join(filter(None, [row["configuration"], row["split"], place]))


def _row_label(row: dict[str, Any]) -> str:
    return " ".join(filter(None, [row["model"], metric_of_class(row), _where(row)]))


def _value(row: dict[str, Any]) -> str:
    return str(estimate(row["value"], status=row["status"]))


def _nested_line(row: dict[str, Any]) -> str:
    spread = "" if row["sd"] is None else f" (sd {number(row['sd'])} over {plural(row['folds'], 'fold')})"
    return f"nested {_row_label(row)}: {_value(row)}{spread}"


def _optimism(row: dict[str, Any]) -> str:
    value = estimate(row["value"], status=row["status"], signed=True)
    return f"selection optimism of {_row_label(row)} (best of the inner folds less the outer folds): {value}"


def _gap(row: dict[str, Any]) -> str:
    gap = row_estimate(row, signed=True)
    return f"{_row_label(row)}: training rows less others {gap}"


def _diagnosis(row: dict[str, Any]) -> str:
    verdict = row["verdict"] or f"not judged ({row['status']})"
    return f"{_row_label(row)}: {verdict} ({number_or_missing(row['value'])}; {row['note']})"


def _notes(frame: pl.DataFrame, width: int) -> list[Text]:
    notes = frame["note"].drop_nulls().unique(maintain_order=True)
    return remarks(notes.head(3), width)
