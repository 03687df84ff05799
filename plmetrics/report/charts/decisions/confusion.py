"""The confusion matrix: called classes of the rows of each true class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.decisions.confusion_cells import largest, largest_of, matrix
from plmetrics.report.charts.decisions.confusion_counts import counts_of
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.marks import add_title
from plmetrics.report.charts.panels import grid
from plmetrics.report.charts.series import MOST_PANELS
from plmetrics.report.charts.texts import in_line, short
from plmetrics.report.numbers import count

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection

MOST_CLASSES = 12
MOST_CONFUSIONS = 12


def draw(selection: Selection) -> Figure:
    """A matrix a model and slice with the share of each true class and its rows; of many classes the most confused.

    Of a binary task it is counted by the metrics `tp`, `fp`, `fn` and `tn`, of classes by the curve `confusion`.
    """
    cells = counts_of(selection)
    parts = cells.partition_by("model", "slice", maintain_order=True)
    shown = parts[:MOST_PANELS]
    many = cells["true"].n_unique() > MOST_CLASSES
    keys = [(part["model"][0], part["slice"][0]) for part in shown]
    vary = [len({key[place] for key in keys}) > 1 for place in range(2)]
    names = [", ".join(in_line(short(key[place])) for place in range(2) if vary[place]) for key in keys]
    charts = [
        largest(part, MOST_CONFUSIONS, name) if many else matrix(part, name)
        for part, name in zip(shown, names, strict=True)
    ]
    width = max(chart.width for chart in charts)
    drawn = grid([chart.chart for chart in charts], min(len(charts), 2 if width > 300 else 3), width)
    title, notes = _title(keys, vary), _notes(cells, len(parts), len(parts) - len(shown), many=many)
    chart = charts[0].chart if len(charts) == 1 else drawn.chart
    total = drawn.width if len(charts) > 1 else width + 120
    return Figure(
        add_title(chart, title, notes, total, frame="bounds"),
        pl.concat(shown).drop("place", "called_place"),
        title,
        _finding(title, shown, names),
        tuple(notes[1:]),
    )


def _title(keys: list[tuple[str, str]], vary: list[bool]) -> str:
    same = [in_line(short(keys[0][place])) for place in range(2) if not vary[place]]
    return ": ".join(["Confusion", ", ".join(name for name in same if name != "all")]).removesuffix(": ")


def _notes(cells: pl.DataFrame, parts: int, omitted: int, *, many: bool) -> list[str]:
    rows = cells.filter(model=cells["model"][0], slice=cells["slice"][0])
    number = f"; threshold {cells['threshold'][0]:g}" if cells["threshold"].is_not_null().all() else ""
    total = count(int(rows["n"].sum()))
    weighted = cells["threshold"].is_not_null().any() and ((cells["weight"] - cells["n"]).abs() > 1e-9).any()
    size = f"numbers are weights, {total} in all" if weighted else f"n = {total}"
    first = f"shares of rows of each true class; {size}{number if cells['threshold'].n_unique() == 1 else ''}"
    notes = [first]
    if many:
        classes = cells["true"].n_unique()
        pairs = largest_of(rows, MOST_CONFUSIONS)
        left = classes - pl.concat([pairs["true"], pairs["called"]]).n_unique()
        absent = (
            f"; {count(left)} {'class' if left == 1 else 'classes'} left out" if left and parts == 1 else ""
        )
        notes.append(f"{count(classes)} classes: the {MOST_CONFUSIONS} largest confusions{absent}")
    if omitted:
        notes.append(f"{count(omitted)} more are in the table")
    return notes


def _finding(title: str, parts: list[pl.DataFrame], names: list[str]) -> str:
    """The largest confusion of each matrix, in words."""
    texts = []
    for part, name in zip(parts, names, strict=True):
        wrong = part.filter(pl.col("place") != pl.col("called_place"), pl.col("n") > 0)
        if wrong.is_empty():
            texts.append(f"{name} no confusion".strip())
            continue
        row = wrong.sort("n", descending=True, maintain_order=True).row(0, named=True)
        words = f"{count(row['n'])} rows of {short(row['true'])} are called {short(row['called'])}"
        texts.append(f"{name} {words}".strip())
    return f"{title}. Largest confusion: {'; '.join(texts)}."
