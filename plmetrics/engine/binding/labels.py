"""Label of a suite in its data: its classes, columns of several classes a row, and metrics without a need of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.labels import needs_label
from plmetrics.catalogue.thresholds import threshold_keys
from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean, name_list, sql_name
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.run_plan import rows_of
from plmetrics.table.classes import class_text, holds_lists, require_lists

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import TableView
    from plmetrics.suite.model import Suite
    from plmetrics.table.prediction_columns import RoleColumns

MAX_CLASSES = 1000
_PATH = ("columns", "label")


def classes_in(rows: pl.LazyFrame, roles: RoleColumns) -> Question[tuple[str, ...]]:
    """Classes in the labels and predictions of some rows, in order.

    Raises:
        DataError: there are fewer than two classes, or more than 1,000, or one without a name.
    """
    named = dict.fromkeys(
        [roles.label, *(name for model in roles.models.values() for name in model.columns.values())]
    )
    plans = [
        rows.select(class_text(pl.col(name)).alias("class")).unique().head(MAX_CLASSES + 1) for name in named
    ]
    labels = pl.concat((yield plans))["class"].drop_nulls().unique().to_list()
    if len(labels) > MAX_CLASSES:
        msg = f"column '{roles.label}' (label) has more than {MAX_CLASSES:,} classes"
        raise DataError(Problem(msg, _PATH, "name those that count with classes:"))
    if "" in labels:
        msg = f"an empty text in {name_list(list(map(repr, named)))} is the name of no class"
        name = sql_name(roles.label)
        hint = f"where it stands for no value, derive CASE WHEN {name} <> '' THEN {name} END, with data.missing: drop"
        raise DataError(Problem(msg, _PATH, hint))
    if len(labels) < 2:
        only = f"one class, {labels[0]!r}" if labels else "no class"
        msg = f"column '{roles.label}' (label) holds {only}, and a comparison needs two"
        raise DataError(Problem(msg, _PATH, "name all that there can be with classes: [a, b]"))
    return tuple(sorted(labels, key=_natural))


def _natural(name: str) -> tuple[bool, int, str]:
    """Whole numbers by size, before texts."""
    number = name.removeprefix("-").isdecimal()
    return (not number, int(name) if number else 0, name)


def label_free(view: TableView) -> frozenset[str]:
    """Texts of metrics without a need of labels; metrics of label-free rows declare it."""
    table, metrics = view.table(), view.suite.state_metrics("overall", *view.suite.slices)
    thresholds = {key: 0.0 for metric in metrics for key in threshold_keys(metric)}
    rows = [replace(rows_of(model, table), thresholds=thresholds) for model in table.models]
    label = _columns_of_label(view)
    return frozenset(
        metric.text
        for metric in metrics
        if not metric.every_row
        and label.isdisjoint(metric.columns())
        and not any(needs_label(metric, each) for each in rows)
    )


def _columns_of_label(view: TableView) -> set[str]:
    """Column of the label, and those derived from it that do not ask whether there is one."""
    names = {view.roles.label}
    for path, text in view.suite.expressions.items():
        row = compile_row(text)
        if not row.tests_null and not names.isdisjoint(row.columns):
            names.add(str(path[-1]))
    return names


def label_columns(suite: Suite, schema: pl.Schema, classes: tuple[str, ...]) -> dict[str, str]:
    """The column of each class: one of lists for all of them, or one of 0 and 1 each.

    Raises:
        ConfigError: nothing says which classes there are, or the label has other ones.
        DataError: a column is absent.
    """
    _require_classes(classes)
    named = suite.columns.label_columns
    if named:
        _same_classes(tuple(named), classes)
        columns = {name: named[name] for name in classes}
    elif suite.columns.label in schema and holds_lists(schema[suite.columns.label]):
        columns = dict.fromkeys(classes, suite.columns.label)
    else:
        prefix = suite.columns.label.removesuffix("*")
        columns = {name: f"{prefix}{name}" for name in classes}
    problems = [
        Problem(
            f"column '{column}' (label of class '{name}') is not in the data",
            _PATH,
            did_you_mean(column, schema),
        )
        for name, column in columns.items()
        if column not in schema
    ]
    if len(problems) == len(columns) and suite.columns.label in schema:
        require_lists(schema[suite.columns.label], suite.columns.label, "label", _PATH)
    if problems:
        raise DataError(problems)
    return columns


def columns_without_class(view: TableView) -> list[str]:
    """Warning of columns that begin as those of the label do, but are of no class that models have a score for."""
    suite, classes = view.suite, view.roles.label_columns
    if suite.classes or suite.columns.label_columns or not classes or suite.columns.label in view.schema:
        return []
    prefix = suite.columns.label.removesuffix("*")
    others = [
        name
        for name, dtype in view.schema.items()
        if name.startswith(prefix)
        and name not in classes.values()
        and (dtype.is_integer() or dtype == pl.Boolean)
    ]
    if not others:
        return []
    left_out = f"{name_list(list(map(repr, others)))} begin{'s' if len(others) == 1 else ''} with '{prefix}'"
    return [
        f"label: {left_out}, but no model has such a class, which counts in no metric; name those in classes"
    ]


def _same_classes(named: tuple[str, ...], classes: tuple[str, ...]) -> None:
    problems = [
        Problem(f"the label has no column of class '{name}'", _PATH, did_you_mean(name, named))
        for name in classes
        if name not in named
    ]
    problems += [
        Problem(f"'{name}' is not one of the classes", _PATH, did_you_mean(name, classes))
        for name in named
        if name not in classes
    ]
    if problems:
        raise ConfigError(problems)


def prediction_by_class(column: str, suite: Suite) -> dict[str, str]:
    """Indicator of each predicted class, for a model with a column of lists of classes."""
    classes = suite.classes or tuple(suite.columns.label_columns)
    _require_classes(classes)
    return {f"proba|{name}": column for name in classes}


def _require_classes(classes: Sequence[str]) -> None:
    if not classes:
        msg = "nothing says which classes there are"
        raise ConfigError(Problem(msg, (), "name them: classes: [spam, urgent]"))
