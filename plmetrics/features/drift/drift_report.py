"""Drift section of the report: every compared column overall, and the slices with the largest drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import FAINT, Column, heading, remarks, table_or_stack
from plmetrics.report.numbers import left_out, number, p_value, plural

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_MOST_COLUMNS = 20
_MOST_SLICES = 5
_NULLS = "null_share"
_SHIFTS = ("mean", "variance", "quantile")
_SAYS = "psi by convention: below 0.1 stable, from 0.25 on a shift (Siddiqi, 2006); it grows in small samples"


def drift(summary: Summary, width: int) -> list[Text]:
    """A line a column with all its measures, then the slices with the largest psi."""
    frame = summary.drift
    if frame.is_empty():
        return []
    overall = frame.filter(pl.col("slice_set") == "overall")
    rows = overall["n_reference"][0], overall["n_current"][0]
    remark = f"{plural(rows[0], 'reference row')}, {plural(rows[1], 'row')} now"
    lines = heading("Drift", remark, width)
    names = [name for name in dict.fromkeys(overall["measure"]) if name != _NULLS]
    nulls = bool(
        overall.filter(pl.col("measure") == _NULLS)
        .select(pl.max_horizontal("reference", "current").max())
        .item()
    )
    titles = [Column("column"), *(Column(name, "right", optional=i > 0) for i, name in enumerate(names))]
    titles += [Column("smallest p", "right", optional=True)]
    titles += [Column("nulls", "right")] if nulls else []
    parts = overall.partition_by("subject", "model", "column", maintain_order=True)
    cells = [_cells(part, names, nulls=nulls) for part in parts[:_MOST_COLUMNS]]
    lines += table_or_stack(titles, cells, width)
    more = left_out(len(parts) - _MOST_COLUMNS, "column", "drift")
    words = [*more, *_refusals(overall), *_slices(frame)]
    words += [_SAYS] if any(name.startswith("psi") for name in names) else []
    return lines + remarks(words, width)


def _cells(part: pl.DataFrame, names: list[str], *, nulls: bool) -> list[Text]:
    rows = {row["measure"]: row for row in part.iter_rows(named=True)}
    cells = [Text(printable(_label(part.row(0, named=True))))]
    cells += [_cell(rows[name]) if name in rows else Text("-", FAINT) for name in names]
    least = part["p_adjusted"].min()
    cells.append(Text("-", FAINT) if least is None else Text(p_value(float(least))))  # type: ignore[arg-type]
    if nulls:
        before, now = rows[_NULLS]["reference"], rows[_NULLS]["current"]
        cells.append(Text("-" if before is None or now is None else f"{before:.1%} -> {now:.1%}"))
    return cells


def _label(row: dict[str, Any]) -> str:
    if row["subject"] == "score":
        return f"{row['model']} ({row['column']})"
    return f"{row['column']} (label)" if row["subject"] == "label" else str(row["column"])


def _cell(row: dict[str, Any]) -> Text:
    if row["value"] is None:
        return Text("-" if row["status"] == "no_numbers" else row["status"], FAINT)
    if row["measure"].startswith(_SHIFTS):
        return Text(f"{number(row['reference'])} -> {number(row['current'])}")
    return Text(number(row["value"]))


def _refusals(overall: pl.DataFrame) -> list[str]:
    """Reasons why tests of values have no p value, with their numbers."""
    without = overall.filter(pl.col("value").is_not_null(), ~pl.col("p_status").is_in(["ok", "no_test"]))
    absent = without.group_by("p_status", maintain_order=True).len()
    return [f"no p value of {plural(count, 'test')}: {status}" for status, count in absent.iter_rows()]


def _slices(frame: pl.DataFrame) -> list[str]:
    """Slices with the largest psi, and the number of those without a value."""
    sliced = frame.filter(pl.col("slice_set") != "overall", pl.col("measure").str.starts_with("psi"))
    ranked = sliced.filter(pl.col("value").is_not_null()).sort("value", descending=True, maintain_order=True)
    words = []
    if not ranked.is_empty():
        worst = [
            f"{printable(_label(row))} in {printable(row['slice'])} {number(row['value'])}"
            for row in ranked.head(_MOST_SLICES).iter_rows(named=True)
        ]
        words.append(f"largest psi in slices: {'; '.join(worst)}")
    absent = (
        sliced.filter(pl.col("value").is_null()).group_by("status", maintain_order=True).len().sort("status")
    )
    words += [
        f"no psi for {plural(count, 'slice')} of columns: {status}" for status, count in absent.iter_rows()
    ]
    return words
