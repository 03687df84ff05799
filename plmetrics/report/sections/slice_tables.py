"""The values in the slices of some sets, by class too, a row a slice and model, for whoever asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.charts.selection import check_names
from plmetrics.report.layout import Column, align, heading, join_blocks, remarks, table, table_or_stack
from plmetrics.report.numbers import ValueText, count, left_out, row_estimate
from plmetrics.report.sections.overall import metric_of_class

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

MOST, MOST_METRICS = 60, 40
"""Rows, and columns: of each class a metric may have one."""


def slice_tables(summary: Summary, width: int, sets: Sequence[str]) -> list[Text]:
    """A table a slice set, in the order asked for.

    Raises:
        ConfigError: the result has no such set.
    """
    check_names("slice set", sets, summary.metrics["slice_set"])
    return join_blocks([_slice_set(summary, name, width) for name in dict.fromkeys(sets)])


def _slice_set(summary: Summary, name: str, width: int) -> list[Text]:
    rows = summary.metrics.filter(slice_set=name).rows(named=True)
    values = {(row["slice"], row["model"], metric_of_class(row)): row_estimate(row) for row in rows}
    sizes = {(row["slice"], row["model"]): row["n"] for row in rows}
    order = {text: number for number, text in enumerate(dict.fromkeys(text for text, _ in sizes))}
    places = sorted(sizes, key=lambda place: order[place[0]])
    metrics = list(dict.fromkeys(metric for _, _, metric in values))
    shown = places[:MOST]
    names = [name for name, _ in shown]
    texts = ["" if name == last else name for name, last in zip(names, [None, *names], strict=False)]
    first = [
        [Text(printable(text)) for text in texts],
        [Text(printable(model)) for _, model in shown],
        [Text("" if sizes[place] is None else count(sizes[place])) for place in shown],
    ]
    numbers = {
        metric: align([values.get((*place, metric), ValueText("")) for place in shown])
        for metric in metrics[:MOST_METRICS]
    }
    lines = heading(f"Slices of {printable(name)}", width=width) + _fitting(summary, first, numbers, width)
    more = left_out(len(places) - MOST, "row", "metrics")
    return lines + remarks([*more, *left_out(len(metrics) - MOST_METRICS, "column", "metrics")], width)


def _fitting(
    summary: Summary, first: list[list[Text]], numbers: Mapping[str, list[Text]], width: int
) -> list[Text]:
    """A table of as many metrics as fit beside each other, and others below it."""
    names = list(numbers)
    sizes = Column(summary.row_word, "right")
    columns = [Column("slice"), Column("model"), sizes, *map(Column, names)]
    rows = [list(cells) for cells in zip(*first, *numbers.values(), strict=True)]
    lines = table(columns, rows, width)
    if lines is not None or len(names) == 1:
        return lines or table_or_stack(columns, rows, width)
    half = (len(names) + 1) // 2
    parts = ({name: numbers[name] for name in part} for part in (names[:half], names[half:]))
    return join_blocks([_fitting(summary, first, part, width) for part in parts])
