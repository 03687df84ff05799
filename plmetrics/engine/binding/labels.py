"""Label of a suite in its data: its classes, and the metrics without a need of labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.labels import needs_label
from plmetrics.catalogue.thresholds import threshold_keys
from plmetrics.core.errors import DataError, Problem
from plmetrics.engine.run_plan import rows_of
from plmetrics.table.classes import class_text

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import TableView
    from plmetrics.table.prediction_columns import RoleColumns

MAX_CLASSES = 1000


def classes_in(rows: pl.LazyFrame, roles: RoleColumns) -> Question[tuple[str, ...]]:
    """Classes in the labels and predictions of some rows, in order.

    Raises:
        DataError: there are fewer than two classes, or more than 1,000.
    """
    named = dict.fromkeys(
        [roles.label, *(name for model in roles.models.values() for name in model.columns.values())]
    )
    plans = [
        rows.select(class_text(pl.col(name)).alias("class")).unique().head(MAX_CLASSES + 1) for name in named
    ]
    labels = pl.concat((yield plans))["class"].drop_nulls().unique().to_list()
    path = ("columns", "label")
    if len(labels) > MAX_CLASSES:
        msg = f"column '{roles.label}' (label) has more than {MAX_CLASSES:,} classes"
        raise DataError(Problem(msg, path, "name those that count with classes:"))
    if len(labels) < 2:
        msg = f"column '{roles.label}' (label) holds {len(labels)} classes, and a comparison needs two"
        raise DataError(Problem(msg, path, "name all that there can be with classes: [a, b]"))
    return tuple(sorted(labels, key=_natural))


def _natural(name: str) -> tuple[bool, int, str]:
    """Whole numbers by size, before texts."""
    number = name.removeprefix("-").isdecimal()
    return (not number, int(name) if number else 0, name)


def label_free(view: TableView) -> frozenset[str]:
    """Texts of metrics without a need of labels; metrics of label-free rows declare it."""
    table, metrics = view.table(), view.suite.needed("overall", *view.suite.slices)
    thresholds = {key: 0.0 for metric in metrics for key in threshold_keys(metric)}
    rows = [replace(rows_of(model, table), thresholds=thresholds) for model in table.models]
    label = view.roles.label
    return frozenset(
        metric.text
        for metric in metrics
        if not metric.every_row
        and label not in metric.columns()
        and not any(needs_label(metric, each) for each in rows)
    )
