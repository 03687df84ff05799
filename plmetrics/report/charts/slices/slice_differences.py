"""Differences of slices to all other rows, and of models in slices: forests around 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.marks import MOST_SERIES
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.slices.estimate_texts import estimate_texts
from plmetrics.report.charts.slices.panels import SlicePanel, Texts, headings, side_by_side, size_texts
from plmetrics.report.charts.slices.readings import slice_contrasts
from plmetrics.report.charts.slices.rows import add_heading, with_marks
from plmetrics.report.charts.slices.slice_choice import (
    FEW_UNITS,
    KEYS,
    chosen_slices,
    group_by_set,
    largest,
    look_of_slices,
    shown_words,
    with_slice_labels,
)
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.words import first_facts, level_words
from plmetrics.report.numbers import count, omission, p_value
from plmetrics.report.sections.differences import is_tested

_CORRECTIONS = {
    "holm": "Holm's method",
    "bonferroni": "Bonferroni's method",
    "benjamini_hochberg": "the method of Benjamini and Hochberg",
}
_ROWS = pl.col("look").ne_missing("header")


def draw(selection: Selection) -> Figure:
    """Row per slice: its difference to all other rows, or to the suite's reference."""
    rows = slice_contrasts(selection.of_models(selection.summary.comparisons))
    if rows.is_empty():
        hint = "ask for it when you evaluate: compare={'slices': {'region': 'rest'}}"
        raise NothingToDraw(Problem("no slices were compared with others", hint=hint))
    return by_slice(selection, rows)


def by_slice(selection: Selection, rows: pl.DataFrame) -> Figure:
    """A row a slice, a panel a model: differences of a metric, all to one baseline."""
    rows = chosen_slices(selection, selection.metric_rows(rows))
    first = rows.row(0, named=True)
    contrast, baseline, metric = first["contrast"], first["baseline"], first["metric"]
    rows = rows.filter(contrast=contrast, baseline=baseline)
    models = rows["model"].unique(maintain_order=True).to_list()
    shown = models[:MOST_SERIES]
    slices = rows.filter(model=shown[0]).unique(KEYS, keep="first", maintain_order=True)
    order = group_by_set(with_slice_labels(largest(slices)), "difference")
    parts = [_rows(order, rows.filter(model=model)) for model in shown]
    title = f"{short(metric, 60)} by slice: difference to {opponent(contrast, baseline)}"
    notes = omission(len(models) - len(shown), "model", "comparisons")
    drawn = pl.concat(parts).filter(_ROWS)
    subtitle = (
        f"{shown_words(order.filter(_ROWS).height, slices.height)}; sorted by difference",
        difference_legend(selection, drawn),
        *notes,
    )
    chart = add_heading(_chart(selection, metric, shown, parts), title, subtitle)
    columns = selection.summary.comparisons.columns
    return Figure(chart, drawn.select(columns), title, difference_finding(title, drawn), notes)


def opponent(contrast: str, baseline: str) -> str:
    """What slices or models are compared with, in words."""
    if contrast == "rest":
        return "all other rows"
    if contrast == "slice":
        return "all rows" if baseline == "all" else short(baseline, 60)
    return ("run " if contrast == "run" else "") + short(baseline, 60)


def _rows(order: pl.DataFrame, differences: pl.DataFrame) -> pl.DataFrame:
    unique = differences.unique(KEYS, keep="first", maintain_order=True)
    places = order.with_columns(k=pl.int_range(pl.len()))
    rows = places.join(unique, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    return pl.concat([difference_rows(rows.filter(_ROWS)), rows.filter(~_ROWS)], how="diagonal").sort("k")


def difference_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Comparisons with the columns of a forest: point, interval, look, and texts of size, difference and p values."""
    texts = {
        "c0": ["" if n is None else count(n) for n in rows["n"]],
        "c1": estimate_texts(rows.rows(named=True), "difference", signed=True),
        "c2": [p_value(p) for p in rows["p_value"]],
        "c3": [p_value(p) for p in rows["p_adjusted"]],
        "c4": [text or "" for text in rows["reading"]],
    }
    return with_marks(rows, "difference", look_of_slices("difference", "n"), texts)


def difference_columns(selection: Selection, rows: pl.DataFrame) -> list[Texts]:
    """The columns of text beside differences: p values only where there are some."""
    intervals = rows["lower"].is_not_null().any()
    name = f"difference [{level_words(selection)} interval]" if intervals else "difference"
    columns = [Texts("c1", name, 172 if intervals else 70, "left")]
    if is_tested(rows):
        columns.append(Texts("c2", "p", 40))
        if rows["p_adjusted"].is_not_null().any():
            columns.append(Texts("c3", "adjusted p", 58))
        columns.append(Texts("c4", "reading", 46, "left"))
    return columns


def _chart(selection: Selection, metric: str, shown: Sequence[str], parts: Sequence[pl.DataFrame]) -> Any:
    panels = [SlicePanel(rows, heading, 0.0) for heading, rows in zip(headings(shown), parts, strict=True)]
    texts = [
        size_texts(parts),
        *_columns(difference_columns(selection, parts[0].filter(_ROWS)), len(parts)),
    ]
    name = f"difference of {short(metric, 40)}"
    side = {"higher": "right", "lower": "left"}.get(selection.summary.directions.get(metric, "none"))
    axis = name + (f" ({side} of 0 is better)" if side else "")
    return side_by_side(panels, axis, texts, include=[0.0], short_axis=name, reasons="c1")


def _columns(columns: Sequence[Texts], panels: int) -> list[Texts]:
    """All columns of one panel; of several only the difference and the p value for the reading."""
    if panels == 1 or len(columns) == 1:
        return list(columns)
    return [columns[0], columns[-2]]


def difference_legend(selection: Selection, rows: pl.DataFrame) -> str:
    """Adjustment of p values, and the meaning of the shapes in use."""
    words = []
    if is_tested(rows):
        correction = selection.summary.correction
        words.append(
            f"p adjusted by {_CORRECTIONS[correction]}" if correction in _CORRECTIONS else "p not adjusted"
        )
    if (rows["reading"] == "worse").any():
        words.append("orange square: worse by that p")
    if "look" in rows.columns and (rows["look"] == "small").any():
        words.append(f"hollow grey: fewer than {FEW_UNITS} {selection.summary.row_word}")
    return "; ".join(words)


def difference_finding(title: str, rows: pl.DataFrame) -> str:
    """Summary in words: the numbers of better, worse and unclear ones, and the first of them."""
    counts = rows["reading"].replace("", None).drop_nulls().value_counts(sort=True).rows()
    words = ", ".join(f"{number} {word}" for word, number in counts)
    models = rows["model"].unique()
    named = difference_rows(rows.sort(pl.col("reading").ne_missing("worse"), maintain_order=True))
    facts = [
        f"{short(row['model'], among=models)}, {short(row['metric'])}"
        + ("" if row["slice"] == "all" else f", {short(row['slice'])}")
        + f": {row['c1']}"
        for row in named.iter_rows(named=True)
    ]
    return f"{title}. {words + '. ' if words else ''}{first_facts(facts)}."
