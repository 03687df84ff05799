"""Drift of columns: a panel a measure, a row a column, with the limits of gates."""

from __future__ import annotations

from typing import Any

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.comparisons.gate_limits import Limit, limits_of
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.grammar import Chart
from plmetrics.report.charts.panels import column_of_panels
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.slices.estimate_texts import minus
from plmetrics.report.charts.slices.panels import Texts, headed_panel
from plmetrics.report.charts.slices.rows import add_heading, look_where, text_columns
from plmetrics.report.charts.texts import short
from plmetrics.report.numbers import count, number, omission, p_value

MOST_ROWS = 60
_SHIFTS = ("mean", "variance", "quantile")
_TEXTS = (
    Texts("c1", "value", 70),
    Texts("c2", "reference \N{RIGHTWARDS ARROW} current", 150),
    Texts("c3", "adjusted p", 70),
)


def draw(selection: Selection) -> Figure:
    """One dot per column and measure, largest drift first; shifts of means are in standard deviations."""
    table = selection.summary.drift
    if table.is_empty():
        raise NothingToDraw(
            Problem("the result has no drift", hint="ask for it when you evaluate: drift={...}")
        )
    rows = selection.rows(table).filter(pl.col("value").is_not_null() | (pl.col("status") != "no_numbers"))
    rows = rows.filter((pl.col("measure") != "null_share") | (pl.col("value").abs() > 0))
    measures = rows["measure"].unique(maintain_order=True).to_list()
    each = max(1, MOST_ROWS // max(1, len(measures)))
    parts = [_largest(rows.filter(measure=measure), each) for measure in measures]
    panels = [_panel(selection, part, titled=index == 0) for index, part in enumerate(parts)]
    shown = pl.concat(parts)
    notes = omission(rows.height - shown.height, "measure", "drift")
    first = table.row(0, named=True)
    title = "Drift" + ("" if selection.slice_set is None else f" by {short(selection.slice_set, 60)}")
    limited = any(_limits(selection.summary.gates, part) for part in parts)
    subtitle = (
        f"{count(first['n_reference'])} reference rows, {count(first['n_current'])} now",
        "shaded: beyond the limit of a gate; orange: a gate failed" if limited else "",
        *notes,
    )
    chart = column_of_panels(panels, spacing=10)
    return Figure(
        add_heading(chart, title, subtitle), shown.select(table.columns), title, _finding(title, parts), notes
    )


def _largest(part: pl.DataFrame, most: int) -> pl.DataFrame:
    return part.sort(_size(part).abs(), descending=True, nulls_last=True, maintain_order=True).head(most)


def _size(part: pl.DataFrame) -> pl.Expr:
    """Size on the chart: shifts in standard deviations of the reference, comparable between columns of any unit."""
    shift = part["measure"][0].startswith(_SHIFTS) or part["measure"][0] == "wasserstein"
    return pl.col("per_sd") if shift and part["per_sd"].is_not_null().any() else pl.col("value")


def _panel(selection: Selection, part: pl.DataFrame, *, titled: bool) -> Chart:
    scaled = _size(part).meta.output_name() == "per_sd"
    name = short(part["measure"][0], 60) + (" (dots in standard deviations)" if scaled else "")
    limits = [] if scaled else _limits(selection.summary.gates, part)
    records = part.rows(named=True)
    texts = {
        "t": [_label(row) for row in records],
        "c1": [_value(row) for row in records],
        "c2": [_windows(row) for row in records],
        "c3": [p_value(row["p_adjusted"]) for row in records],
    }
    none = pl.lit(None, dtype=pl.Float64)
    drawn = part.with_columns(x=_size(part), lo=none, hi=none, **text_columns(texts))
    drawn = drawn.with_columns(look=_look(selection.summary.gates, part))
    return headed_panel(name, drawn, _TEXTS, titled=titled, limits=limits)


def _look(gates: pl.DataFrame, part: pl.DataFrame) -> pl.Expr:
    """Orange where a gate failed on the very value or p value: others may have limits of their own."""
    failed = gates.filter(metric=part["measure"][0], verdict="fail")
    judged = [
        pl.struct("slice", number).is_in(
            rows.select("slice", pl.col("observed").alias(number)).to_struct().implode()
        )
        for number, rows in (
            ("value", failed.filter(pl.col("scale").is_null())),
            ("p_adjusted", failed.filter(pl.col("scale") == "p_value")),
        )
    ]
    return look_where("x", pl.any_horizontal(judged), "worse")


def _limits(gates: pl.DataFrame, part: pl.DataFrame) -> list[Limit]:
    """The limits of gates on the measure; those on p values are none of the axis."""
    rows = gates.filter(
        pl.col("metric") == part["measure"][0],
        pl.col("gate").str.starts_with("drift: ") | pl.col("model").is_null(),
        pl.col("scale").is_null(),
    )
    return limits_of(rows)


def _label(row: dict[str, Any]) -> str:
    name = short(row["column"], 24)
    if row["subject"] == "score":
        name = f"{short(row['model'], 18)} ({short(row['column'], 12)})"
    elif row["subject"] == "label":
        name = f"{name} (label)"
    return name if row["slice"] == "all" else f"{short(name, 16)}, {short(row['slice'], 16)}"


def _value(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return f"undefined: {(row['status'] or '').replace('_', ' ')}"
    return minus(number(row["value"]))


def _windows(row: dict[str, Any]) -> str:
    if row["reference"] is None or row["current"] is None:
        return ""
    return minus(f"{number(row['reference'])} \N{RIGHTWARDS ARROW} {number(row['current'])}")


def _finding(title: str, parts: list[pl.DataFrame]) -> str:
    words = []
    for part in parts:
        row = part.row(0, named=True)
        words.append(f"most by {row['measure']}: {_label(row)} {_value(row)}")
    return f"{title}. {'; '.join(words)}."
