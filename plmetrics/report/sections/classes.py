"""What metrics say of each class on all rows: the usual report of a classification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from plmetrics.report.layout import Column, aligned, heading, printable, table_or_stack
from plmetrics.report.numbers import row_estimate

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

Row = dict[str, Any]
_SHOWN = 50


def classes(summary: Summary, width: int) -> list[Text]:
    """A table for each model: a row per class, a column per metric."""
    rows = summary.metrics.filter(slice_set="overall").drop_nulls("class").rows(named=True)
    lines: list[Text] = []
    for model in dict.fromkeys(row["model"] for row in rows):
        model_rows = [row for row in rows if row["model"] == model]
        lines += heading(f"Classes of {printable(model)}", width=width) + _table(model_rows, width)
    return lines


def _table(rows: list[Row], width: int) -> list[Text]:
    values = {(row["class"], row["metric"]): row_estimate(row) for row in rows}
    names = list(dict.fromkeys(name for name, _ in values))
    metrics = list(dict.fromkeys(metric for _, metric in values))
    listed = names[:_SHOWN]
    cells = [
        aligned([values[name, metric] for name in listed if (name, metric) in values]) for metric in metrics
    ]
    lines = table_or_stack(
        [Column("class"), *(Column(_short(metric)) for metric in metrics)],
        [[Text(printable(name)), *row] for name, *row in zip(listed, *cells, strict=True)],
        width,
    )
    more = len(names) - len(listed)
    return [*lines, Text(f"  and {more:,} classes more, in the table of metrics")] if more else lines


def _short(metric: str) -> str:
    """The metric without what all of the table share."""
    return metric.replace("(average=none)", "").replace("average=none, ", "")
