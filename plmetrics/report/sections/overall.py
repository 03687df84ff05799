"""The value of every metric for every model on all rows, and by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import Column, align, heading, table, table_in_parts, table_or_stack
from plmetrics.report.numbers import Row, ValueText, row_estimate

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_LABEL = 20
MOST_MODELS = 8
"""More models have a row each, the best first."""


def overall(summary: Summary, width: int) -> list[Text]:
    """Models as columns where they fit, else a line per metric and model; none of many models."""
    rows = summary.overall.rows(named=True)
    if not rows:
        return []
    values = {(metric_label(row), printable(row["model"])): row_estimate(row) for row in rows}
    metrics = list(dict.fromkeys(metric for metric, _ in values))
    models = list(dict.fromkeys(model for _, model in values))
    if len(models) > MOST_MODELS:
        return []
    return heading("Overall", width=width) + (
        _wide(values, metrics, models, width) or _long(values, metrics, width)
    )


def metric_label(row: Row) -> str:
    """Metric with its class and its slice set across slices, if any."""
    over = row["slice"] == "all" and row["slice_set"] != "overall"
    return metric_of_class(row) + (printable(f" over {row['slice_set']}") if over else "")


def metric_of_class(row: Row) -> str:
    """The metric, with the class it is of, if any."""
    return printable(row["metric"] if row["class"] is None else f"{row['metric']} [{row['class']}]")


Values = dict[tuple[str, str], ValueText]


def _wide(values: Values, metrics: list[str], models: list[str], width: int) -> list[Text] | None:
    columns = [Column("metric"), *map(Column, models)]
    absent = ValueText("")
    by_model = [align([values.get((metric, model), absent) for metric in metrics]) for model in models]
    rows = [[Text(metric), *cells] for metric, *cells in zip(metrics, *by_model, strict=True)]
    return table(columns, rows, width, least=_LABEL)


def _long(values: Values, metrics: list[str], width: int) -> list[Text]:
    ordered = sorted(values, key=lambda place: metrics.index(place[0]))
    cells = align([values[place] for place in ordered])
    rows = []
    before = None
    for (metric, model), value in zip(ordered, cells, strict=True):
        rows.append([Text("" if metric == before else metric), Text(model), value])
        before = metric
    return table_or_stack([Column("metric"), Column("model"), Column("value")], rows, width)


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
        align([values[name, metric] for name in listed if (name, metric) in values]) for metric in metrics
    ]
    lines = table_in_parts(
        [Column("class"), *(Column(_short(metric)) for metric in metrics)],
        [[Text(printable(name)), *row] for name, *row in zip(listed, *cells, strict=True)],
        width,
    )
    more = len(names) - len(listed)
    return [*lines, Text(f"  and {more:,} classes more, in the table of metrics")] if more else lines


def _short(metric: str) -> str:
    return metric.replace("(average=none)", "").replace("average=none, ", "")
