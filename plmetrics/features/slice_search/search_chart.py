"""Slices of a search as a forest: the difference to the rest in the confirming rows."""

from __future__ import annotations

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.slices.estimate_texts import estimate_texts, minus
from plmetrics.report.charts.slices.panels import SlicePanel, Texts, side_by_side
from plmetrics.report.charts.slices.rows import add_heading, look_where, stack_rows, with_marks
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.words import first_facts, level_words
from plmetrics.report.numbers import count, number, omission, p_value, plural

MOST_ROWS = 40


def draw(selection: Selection) -> Figure:
    """Row per slice and model, the confirmed ones first, with the searched part's difference beside it."""
    table = selection.of_models(selection.summary.found_slices)
    if table.is_empty():
        hint = "search when you evaluate: find_slices={'columns': [...], 'metric': ...}"
        raise NothingToDraw(Problem("the result has no slices of a search", hint=hint))
    metric: str = table["metric"][0]
    order = pl.col("difference").abs()
    rows = table.sort(pl.col("confirmed").not_(), order, descending=[False, True], maintain_order=True)
    rows = rows.head(MOST_ROWS)
    drawn = _rows(rows)
    title = f"Slices worse than the rest by {short(metric, 60)}"
    notes = omission(table.height - rows.height, "slice", "found_slices")
    subtitle = (
        "differences of rows that had no part in the search; orange square: confirmed by the adjusted p",
        "searched: the difference that the search saw, which flatters it",
        *notes,
    )
    texts = (
        Texts("c0", "n", 52),
        Texts("c1", f"difference [{level_words(selection)} interval]", 172, "left"),
        Texts("c2", "adjusted p", 58),
        Texts("c3", "searched", 62),
    )
    side = {"higher": "right", "lower": "left"}.get(selection.summary.directions.get(metric, "none"))
    axis = f"difference of {short(metric, 40)} to the rest" + (f" ({side} of 0 is better)" if side else "")
    chart = side_by_side([SlicePanel(drawn, "", 0.0)], axis, texts, include=[0.0])
    return Figure(add_heading(chart, title, subtitle), rows, title, _finding(title, drawn), notes)


def _rows(rows: pl.DataFrame) -> pl.DataFrame:
    several = rows["model"].n_unique() > 1
    names = [
        short(f"{row['slice']}", 16 if several else 30) + (f", {short(row['model'], 12)}" if several else "")
        for row in rows.rows(named=True)
    ]
    look = look_where("difference", pl.col("confirmed").fill_null(value=False), "worse")
    texts = {
        "t": names,
        "c0": [count(n or 0) for n in rows["n"]],
        "c1": estimate_texts(rows.rows(named=True), "difference", signed=True),
        "c2": [p_value(p) for p in rows["p_adjusted"]],
        "c3": ["" if seen is None else minus(number(seen, signed=True)) for seen in rows["searched"]],
    }
    return stack_rows(with_marks(rows, "difference", look, texts))


def _finding(title: str, rows: pl.DataFrame) -> str:
    confirmed = rows.filter(look="worse")
    first = first_facts([f"{short(row['slice'], 60)}: {row['c1']}" for row in confirmed.rows(named=True)])
    models, slices = rows["model"].n_unique(), plural(rows["slice"].n_unique(), "slice")
    of = slices if models == 1 else f"{count(rows.height)} differences, {slices} by {models} models,"
    return f"{title}. {confirmed.height} of {of} confirmed{': ' + first if first else ''}."
