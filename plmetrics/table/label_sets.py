"""Labels of which a row may have several: each class as a column of 0 and 1, or all in one column of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import name_list
from plmetrics.table.checks import Check
from plmetrics.table.prediction_columns import truth_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from plmetrics.core.names import SuitePath

_PATH = ("columns", "label")


def holds_lists(dtype: pl.DataType) -> bool:
    """Whether a column holds the classes of a row as a list."""
    return isinstance(dtype, (pl.List, pl.Array))


def membership(name: str, dtype: pl.DataType, role: str, path: SuitePath, of_class: str) -> pl.Expr:
    """1 where the list of a column has a class, or the number that the column of that class holds.

    Raises:
        DataError: the column holds neither lists of classes nor numbers.
    """
    if holds_lists(dtype):
        return _texts(name).list.contains(of_class).cast(pl.Float64)
    if dtype.is_numeric() or dtype in {pl.Boolean, pl.Null}:
        return pl.col(name).cast(pl.Float64)
    msg = f"column '{name}' ({role}) is of type {dtype}, but must hold 0 and 1, or lists of classes"
    raise DataError(
        Problem(msg, path, "split a text into a list, or give a column of 0 and 1 for each class")
    )


def label_and_truths(label: str, columns: Mapping[str, str], schema: pl.Schema) -> dict[str, pl.Expr]:
    """The canonical columns of the label, how many classes a row has, and of each class."""
    return {label: label_number(columns, schema), **truths(columns, schema)}


def truths(columns: Mapping[str, str], schema: pl.Schema) -> dict[str, pl.Expr]:
    """The canonical columns of the classes that a row has: 0 or 1, null where that is not known."""
    return {
        truth_column(of_class): membership(name, schema[name], "label", _PATH, of_class)
        for of_class, name in columns.items()
    }


def label_number(columns: Mapping[str, str], schema: pl.Schema) -> pl.Expr:
    """How many classes a row has: null where one is not known, -1 where a value is none or a class has no name."""
    values = list(truths(columns, schema).values())
    number = pl.sum_horizontal(*values, ignore_nulls=False)
    name = next(iter(columns.values()))
    if holds_lists(schema[name]):
        sound = _texts(name).list.n_unique() == number
    else:
        sound = pl.all_horizontal((value == 0) | (value == 1) for value in values)
    return pl.when(number.is_null()).then(None).when(sound).then(number).otherwise(-1.0)


def _texts(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.List(pl.String))


def truth_checks(columns: Mapping[str, str], label: pl.Expr) -> Iterator[Check]:
    """The ways in which the classes of a row can be bad."""
    if len(set(columns.values())) == 1:
        name = next(iter(columns.values()))
        yield Check("label", name, "null", label.is_null(), _PATH)
        yield Check(
            "label",
            name,
            f"with a class that is none of {name_list(list(map(repr, columns)))}",
            label < 0,
            _PATH,
        )
        return
    for of_class, name in columns.items():
        value, role = pl.col(truth_column(of_class)), f"label of class '{of_class}'"
        yield Check(role, name, "null", value.is_null(), _PATH)
        yield Check(role, name, "neither 0 nor 1", (value != 0) & (value != 1), _PATH)
