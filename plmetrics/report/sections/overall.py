"""The value of every metric for every model on all rows, and by class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import (
    Column,
    align,
    heading,
    join_blocks,
    remarks,
    table,
    table_in_parts,
    table_or_stack,
)
from plmetrics.report.numbers import Row, ValueText, left_out, row_estimate

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
    return join_blocks(
        heading(f"Classes of {printable(model)}", width=width) + _table(rows, width)
        for model, rows in values_of_classes(summary).items()
    )


def values_of_classes(summary: Summary) -> dict[str, dict[tuple[str, str], Row]]:
    """The rows of single classes on all rows, by metrics across slices as well: by model, then class and metric."""
    of_models: dict[str, dict[tuple[str, str], Row]] = {}
    for row in summary.metrics.filter(slice="all").drop_nulls("class").iter_rows(named=True):
        of_models.setdefault(row["model"], {})[row["class"], metric_label(row | {"class": None})] = row
    return of_models


def _table(rows: Mapping[tuple[str, str], Row], width: int) -> list[Text]:
    names, metrics = (list(dict.fromkeys(part)) for part in zip(*rows, strict=True))
    listed, absent = names[:_SHOWN], ValueText("")
    values = {place: row_estimate(row) for place, row in rows.items()}
    cells = [align([values.get((name, metric), absent) for name in listed]) for metric in metrics]
    lines = table_in_parts(
        [Column("class"), *(Column(_short(metric)) for metric in metrics)],
        [[Text(printable(name)), *row] for name, *row in zip(listed, *cells, strict=True)],
        width,
    )
    return lines + remarks(left_out(len(names) - _SHOWN, "class", "metrics"), width)


def _short(metric: str) -> str:
    return metric.replace("(average=none)", "").replace("average=none, ", "")
