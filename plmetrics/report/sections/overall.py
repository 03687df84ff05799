"""The value of every metric for every model on all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.report.layout import INDENT, Column, aligned, heading, printable, stack, table
from plmetrics.report.numbers import Estimate, estimate

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

Row = dict[str, Any]


def overall(summary: Summary, width: int) -> list[Text]:
    """Models as columns where they fit, else a line per metric and model, else stacked by metric."""
    rows = summary.metrics.filter(pl.col("slice_set") == "overall").rows(named=True)
    if not rows:
        return []
    values = {(metric_label(row), row["model"]): shown(row) for row in rows}
    metrics = list(dict.fromkeys(metric for metric, _ in values))
    models = list(dict.fromkeys(model for _, model in values))
    lines = _wide(values, metrics, models, width) or _long(values, width) or _stacked(values, metrics, width)
    return heading("Overall", width=width) + lines


def shown(row: Row) -> Estimate:
    """A row of `metrics` as value and interval."""
    return estimate(
        row["value"],
        row["lower"],
        row["upper"],
        status=row["status"],
        interval_status=row["interval_status"],
    )


def metric_label(row: Row) -> str:
    """The metric, and the class it is of, if any."""
    suffix = "" if row["class"] is None else f" [{row['class']}]"
    return printable(f"{row['metric']}{suffix}")


Values = dict[tuple[str, str], Estimate]


def _wide(values: Values, metrics: list[str], models: list[str], width: int) -> list[Text] | None:
    columns = [Column("metric"), *(Column(printable(model)) for model in models)]
    absent = Estimate("")
    by_model = [aligned([values.get((metric, model), absent) for metric in metrics]) for model in models]
    rows = [[Text(metric), *cells] for metric, *cells in zip(metrics, *by_model, strict=True)]
    return table(columns, rows, width)


def _long(values: Values, width: int) -> list[Text] | None:
    columns = [Column("metric"), Column("model", flexible=True, least=10), Column("value")]
    rows = []
    before = None
    for ((metric, model), _), value in zip(values.items(), aligned(list(values.values())), strict=True):
        rows.append([Text("" if metric == before else metric), Text(printable(model)), value])
        before = metric
    return table(columns, rows, width)


def _stacked(values: Values, metrics: list[str], width: int) -> list[Text]:
    lines = []
    for metric in metrics:
        own = {model: value for (name, model), value in values.items() if name == metric}
        cells = aligned(list(own.values()))
        lines += stack(Text(metric), [], width)
        longest = max(Text(printable(model)).cell_len for model in own)
        for model, value in zip(own, cells, strict=True):
            name = Text(printable(model))
            name.append(" " * (longest - name.cell_len))
            line = Text(" " * 2 * INDENT) + name + Text("  ") + value
            lines += [line] if line.cell_len <= width else stack(name, [value], width, indent=2 * INDENT)
    return lines
