"""The columns of a label of several classes a row, found in the table where the suite names a prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.table.classes import holds_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from plmetrics.suite.model import Suite

_PATH = ("columns", "label")


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
    if problems:
        raise DataError(problems)
    return columns


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
    """Indicator of each predicted class, for a model with a column of lists of classes.

    Raises:
        ConfigError: nothing says which classes there are.
    """
    classes = suite.classes or tuple(suite.columns.label_columns)
    _require_classes(classes)
    return {f"proba|{name}": column for name in classes}


def _require_classes(classes: Sequence[str]) -> None:
    if not classes:
        msg = "nothing says which classes there are"
        raise ConfigError(Problem(msg, (), "name them: classes: [spam, urgent]"))
