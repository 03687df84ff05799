"""The readout of an experiment as text."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import (
    Column,
    align,
    heading,
    join_blocks,
    remarks,
    table,
    table_or_stack,
    to_text,
    wrap,
)
from plmetrics.report.numbers import (
    MISSING,
    Row,
    count,
    level_text,
    number_or_missing,
    p_value,
    plural,
    row_estimate,
    signed_percent,
)
from plmetrics.report.slice_names import with_slice_names

_SHOWN = 40
"""Rows of an outcome, and outcomes, at most."""

_LINES = 160
"""Rows of all outcomes, unless those of all rows of the table are more."""

_LONGEST = 30


def readout_text(readout: pl.DataFrame, width: int, level: float, *, color: bool = False) -> str:
    """A table per outcome: each arm against the control, overall and in every slice; the sample ratio first."""
    (readable,) = with_slice_names(readout)
    lines = readout_lines(readable, width, level, "more: --format csv lists all")
    return to_text(lines, width, color=color)


def readout_lines(
    readout: pl.DataFrame, width: int, level: float, rest: str = "more in experiment.parquet"
) -> list[Text]:
    """Lines of the report of a readout at a level; `rest` says where rows beyond those shown are."""
    ratio = readout.filter(test="sample_ratio").row(0, named=True)
    outcomes = readout.filter(pl.col("test") != "sample_ratio")
    by_outcome = outcomes.partition_by("outcome")
    shown = by_outcome[:_SHOWN]
    arms = outcomes.select("arm", "control").n_unique()
    most = min(_SHOWN, max(_LINES // max(len(shown), 1), arms))
    parts = [_of_outcome(part.rows(named=True), width, level, rest, most) for part in shown]
    left_out = len(by_outcome) - len(shown)
    more = remarks([f"and {plural(left_out, 'outcome')} {rest}"], width) if left_out else []
    return join_blocks([_ratio(ratio, width), *parts, more])


def _ratio(row: Row, width: int) -> list[Text]:
    wrong = row["status"] != "ok"
    word = "SAMPLE RATIO MISMATCH" if wrong else "sample ratio"
    text = Text(f"{word} (p {p_value(row['p_value'])}): ", "bold red" if wrong else "bold")
    return wrap(text.append(printable(row["note"] or ""), "not bold"), width, indent=0)


def _of_outcome(rows: Sequence[Row], width: int, level: float, rest: str, most: int) -> list[Text]:
    first = rows[:most]
    control = printable(rows[0]["control"])
    columns = [
        *(Column("slice"), Column("arm"), Column("units", "right"), Column("mean", "right")),
        *(Column(f"{control} units", "right", optional=True), Column(f"{control} mean", "right")),
        *(Column("difference"), Column("lift", "right", optional=True)),
        *(Column(title, "right") for title in ("p", "adjusted")),
        *(Column(title, "right", optional=True) for title in ("needed", "detectable")),
    ]
    differences = align([row_estimate(row, "difference", signed=True) for row in first])
    cells = [_cells(row, difference) for row, difference in zip(first, differences, strict=True)]
    remark = f"{rows[0]['test']}, {level_text(level)} intervals"
    lines = heading(printable(rows[0]["outcome"]), remark, width)
    longest = min(max(row[0].cell_len for row in cells), _LONGEST)
    lines += table(columns, cells, width, least=longest) or table_or_stack(columns, cells, width)
    if len(rows) > most:
        lines += remarks([f"and {plural(len(rows) - most, 'row')} {rest}"], width)
    return lines + remarks(_notes(first), width, "yellow")


def _notes(rows: Sequence[Row]) -> list[str]:
    """Notes of some lines, with their slices, and of several arms these, if not common to all."""
    several = len({row["arm"] for row in rows}) > 1
    places: dict[str, list[str]] = {}
    for row in rows:
        if row["note"]:
            place = f"{row['arm']}, {_slice(row)}" if several else _slice(row)
            places.setdefault(row["note"], []).append(place)
    return [
        note if len(there) == len(rows) else f"{'; '.join(dict.fromkeys(there))}: {note}"
        for note, there in places.items()
    ]


def _cells(row: Row, difference: Text) -> list[Text]:
    lift = row["lift"]
    return [
        Text(printable(_slice(row))),
        Text(printable(row["arm"])),
        Text(count(row["units"])),
        Text(number_or_missing(row["mean"])),
        Text(count(row["units_control"])),
        Text(number_or_missing(row["mean_control"])),
        difference,
        Text(MISSING if lift is None else signed_percent(lift)),
        Text(p_value(row["p_value"])),
        Text(p_value(row["p_adjusted"])),
        Text(MISSING if row["required_n"] is None else count(row["required_n"])),
        Text(number_or_missing(row["minimum_effect"])),
    ]


def _slice(row: Row) -> str:
    name: str = row["slice"]
    return "overall" if row["slice_set"] == "overall" else name
