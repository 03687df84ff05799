"""Models side by side: the value of every metric, by class, too, and confusion matrices as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.report.charts.decisions.confusion_counts import counts_of, share_words
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.html.blocks import Cell, Footnotes, PageSection, Table, rows_cell, value_cell, words
from plmetrics.report.leaderboard import BEST, clear_bests, ranking_board
from plmetrics.report.numbers import count, omission, plural
from plmetrics.report.sections.overall import MOST_MODELS, metric_label, values_of_classes

if TYPE_CHECKING:
    from plmetrics.report.html.blocks import Block
    from plmetrics.report.html.sections.pictures import Gallery
    from plmetrics.report.summary import Summary

_ARROWS = {"higher": "↑", "lower": "↓", "zero": "→0"}
MOST_CLASSES, MOST_CLASS_ROWS = 12, 100
"""Classes in a confusion matrix, and classes with a row of values."""
_STEPS = (0.05, 0.15, 0.3)
"""Shares of a true class called otherwise where a shade becomes darker."""
_SHADES = "shades: more than 5, 15 and 30 % of a class are called so"


def models(summary: Summary) -> PageSection:
    """A row a metric and a column a model; where there are many models, a row a model and a column a metric."""
    frame = summary.overall
    if frame.is_empty():
        return PageSection(summary.subjects)
    values = {(metric_label(row), row["model"]): row for row in frame.iter_rows(named=True)}
    metrics, names = map(_distinct, zip(*values, strict=True))
    footnotes, bests = Footnotes(), clear_bests(summary)

    def cell(metric: str, name: str) -> Cell:
        content = value_cell(values.get((metric, name)), footnotes=footnotes)
        return replace(content, kind="best") if (metric, name) in bests else content

    caption = "All rows" + (", with intervals" if summary.level is not None else "")
    marked = [BEST] if bests else []
    if len(names) <= MOST_MODELS:
        rows = [
            [_metric(summary.directions, metric, values), *(cell(metric, name) for name in names)]
            for metric in metrics
        ]
        columns = ["metric", *names]
        notes = [*marked, *footnotes.lines]
        return PageSection(summary.subjects, [Table(caption, columns, rows, notes, first=40)])
    metrics, board = ranking_board(summary)
    rows = [[words(name), *(cell(metric, name) for metric in metrics)] for name in board["model"]]
    notes = [*marked, *footnotes.lines]
    if board["rank"].is_not_null().any():
        notes.insert(0, f"{plural(len(names), 'model')}, the best by {metrics[0]} first")
    return PageSection(summary.subjects, [Table(caption, [summary.subject, *metrics], rows, notes)])


def class_values(summary: Summary) -> PageSection:
    """Metrics of each class, a table a model."""
    tables = []
    for model, values in values_of_classes(summary).items():
        labels, metrics = map(_distinct, zip(*values, strict=True))
        rows = [
            [words(label), *(value_cell(values.get((label, metric))) for metric in metrics)]
            for label in labels[:MOST_CLASS_ROWS]
        ]
        notes = omission(len(labels) - MOST_CLASS_ROWS, "class", "metrics")
        tables.append(Table(f"Classes of {model}", ["class", *metrics], rows, notes))
    return PageSection("Classes", tables)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _metric(directions: Mapping[str, str], label: str, values: dict[tuple[str, str], dict[str, Any]]) -> Cell:
    """The metric with an arrow to where it is better."""
    metric = next(row["metric"] for (text, _), row in values.items() if text == label)
    return words(f"{label} {_ARROWS.get(directions.get(str(metric), ''), '')}".strip())


def confusion(summary: Summary, gallery: Gallery) -> list[Block]:
    """A table a model, true classes in rows and called ones in columns; a chart where classes are many."""
    try:
        counts = counts_of(Selection(summary=summary))
    except NothingToDraw:
        return []
    if counts["true"].n_unique() > MOST_CLASSES:
        return gallery.pictures("confusion")
    return [_table(part) for part in counts.partition_by("model", maintain_order=True)]


def _table(counts: pl.DataFrame) -> Table:
    called = counts.sort("called_place")["called"].unique(maintain_order=True).to_list()
    rows = []
    for part in counts.sort("place", "called_place").partition_by("place", maintain_order=True):
        cells = [_cell(row) for row in part.iter_rows(named=True)]
        rows.append([words(f"true {part['true'][0]}"), *cells, rows_cell(int(part["n"].sum()))])
    unit = counts["unit"][0]
    columns = ["", *(f"called {name}" for name in called), unit]
    notes = [f"{unit} with their {share_words(counts)}; {_SHADES}"]
    return Table(f"Confusion of {counts['model'][0]}", columns, rows, notes)


def _cell(row: dict[str, float]) -> Cell:
    share = row["share"]
    steps = (
        0 if share is None or row["place"] == row["called_place"] else sum(share > step for step in _STEPS)
    )
    text = "" if share is None else f"{share:.1%}"
    return Cell(
        count(int(row["n"])), text, value=row["n"], kind=f"worse-{steps}" if steps else "", number=True
    )
