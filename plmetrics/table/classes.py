"""Classes as numbers: of single-label and of multilabel rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import SuitePath, name_list, number_text
from plmetrics.table.checks import Check
from plmetrics.table.common_types import are_numbers, is_text
from plmetrics.table.prediction_columns import (
    PredictionColumns,
    RoleColumns,
    part_path,
    part_role,
    score_column,
    truth_column,
)

_PATH = ("columns", "label")
_SHOWN_CLASSES = 10
_NO_CLASSES = "classes are texts, numbers or booleans: derive such a column from it"


def class_number(column: pl.Expr, dtype: pl.DataType, classes: Sequence[str]) -> pl.Expr:
    """Index of each value among the classes, as Float64: -1 for an unknown one, null for null.

    Texts, whole numbers and booleans are compared as texts: class `1` is the number 1, class `true` is true.
    """
    if not classes:
        return pl.when(column.is_not_null()).then(0.0)
    if dtype == pl.Null:
        return column.cast(pl.Float64)
    first = _first_of_a_row(classes)
    if dtype.is_integer() and first is not None and _within_64_bits(first, len(classes)):
        # A number beyond 64 bits is none of these classes, and none that is null is subtracted from.
        number = column.cast(pl.Int64, strict=False)
        here = number.is_between(first, first + len(classes) - 1)
        within = pl.when(here).then(number - first).otherwise(-1)
        return pl.when(column.is_not_null()).then(within).cast(pl.Float64)
    place = class_text(column).cast(pl.Enum(list(classes)), strict=False).to_physical().cast(pl.Float64)
    return pl.when(column.is_not_null()).then(place.fill_null(-1.0))


def positive_class(
    name: str,
    dtype: pl.DataType,
    role: str,
    path: SuitePath,
    *,
    positive: str | float | bool | None,
    unlabelled: bool,
) -> pl.Expr:
    """Whether each value is the positive class, as 1 and 0; with `unlabelled` a NaN stays one.

    Raises:
        DataError: the column cannot hold the positive class.
    """
    if positive is None:
        if are_numbers(dtype):
            return pl.col(name).cast(pl.Float64)
        msg = f"column '{name}' ({role}) is of type {dtype}, but must hold 0 and 1 or booleans"
        hint = (
            "name the class that counts as positive, e.g. positive: 'yes'" if is_text(dtype) else _NO_CLASSES
        )
        raise DataError(Problem(msg, path, hint))
    textual = is_text(dtype)
    if isinstance(positive, bool):
        comparable = dtype == pl.Boolean
    else:
        comparable = textual if isinstance(positive, str) else dtype.is_numeric()
    if not comparable and dtype != pl.Null:
        msg = f"column '{name}' ({role}) is of type {dtype}, which cannot equal positive: {positive!r}"
        raise DataError(Problem(msg, ("positive",), _positive_hint(positive, dtype)))
    column = pl.col(name).cast(pl.String) if isinstance(positive, str) else pl.col(name)
    if not dtype.is_float():
        return (column == positive).cast(pl.Float64)
    if unlabelled:  # A NaN is the trace of a computation that failed, not of a label to come.
        return pl.when(column.is_nan()).then(float("nan")).otherwise((column == positive).cast(pl.Float64))
    return (column.fill_nan(None) == positive).cast(pl.Float64)


def _positive_hint(positive: str | float, dtype: pl.DataType) -> str:
    """Form of a positive class in a column of a type, by the value that was given if that has such a form."""
    start = "write a value that stands there: positive:"
    if is_text(dtype):
        text = str(positive).lower() if isinstance(positive, (bool, str)) else number_text(positive)
        return f"{start} '{text}', in quotes, since the column holds texts"
    if dtype == pl.Boolean:
        return f"{start} true, or false"
    if not dtype.is_numeric():
        return _NO_CLASSES
    number = str(positive).strip()
    is_number = isinstance(positive, str) and re.fullmatch(r"[+-]?\d+(\.\d+)?", number) is not None
    return f"{start} {number if is_number else 1}, without quotes, since the column holds numbers"


def class_text(column: pl.Expr) -> pl.Expr:
    """A class as a text."""
    return column.cast(pl.String)


def require_classes(dtype: pl.DataType, name: str, role: str, path: SuitePath) -> None:
    """Check that a column's type can hold classes.

    Raises:
        DataError: it holds numbers with fractions, dates, lists or structs.
    """
    textual = is_text(dtype)
    if textual or dtype.is_integer() or dtype in {pl.Boolean, pl.Null}:
        return
    msg = f"column '{name}' ({role}) is of type {dtype}, but classes are texts, whole numbers or booleans"
    hint = "store the classes as whole numbers" if dtype.is_float() else None
    raise DataError(Problem(msg, path, hint))


def _first_of_a_row(classes: Sequence[str]) -> int | None:
    """First of classes named by consecutive whole numbers; None for other names."""
    try:
        numbers = [int(name) for name in classes]
    except ValueError:
        return None
    in_a_row = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return numbers[0] if in_a_row and [str(number) for number in numbers] == list(classes) else None


def _within_64_bits(first: int, number: int) -> bool:
    return first >= -(1 << 63) and first + number <= 1 << 63


def holds_lists(dtype: pl.DataType) -> TypeGuard[pl.List | pl.Array]:
    """Whether a column holds lists, such as the classes or tags of a row."""
    return isinstance(dtype, (pl.List, pl.Array))


def require_lists(dtype: pl.DataType, name: str, role: str, path: SuitePath) -> None:
    """Check that a column holds lists.

    Raises:
        DataError: it holds single values.
    """
    if not holds_lists(dtype):
        msg = f"column '{name}' ({role}) is of type {dtype}, but must hold lists of classes"
        hint = "split a text into a list, or give a column of 0 and 1 for each class"
        raise DataError(Problem(msg, path, hint))


def membership(name: str, dtype: pl.DataType, role: str, path: SuitePath, of_class: str) -> pl.Expr:
    """Indicator of a class: membership in a column of lists, or the number in the column of that class.

    Raises:
        DataError: the column holds neither lists of classes nor numbers.
    """
    if holds_lists(dtype):
        return _texts(name).list.contains(of_class).cast(pl.Float64)
    if are_numbers(dtype):
        return pl.col(name).cast(pl.Float64)
    msg = f"column '{name}' ({role}) is of type {dtype}, but must hold 0 and 1, or lists of classes"
    raise DataError(
        Problem(msg, path, "split a text into a list, or give a column of 0 and 1 for each class")
    )


def label_and_truths(label: str, columns: Mapping[str, str], schema: pl.Schema) -> dict[str, pl.Expr]:
    """Canonical columns of the label, the number of classes of a row, and of each class."""
    return {label: label_number(columns, schema), **truths(columns, schema)}


def truths(columns: Mapping[str, str], schema: pl.Schema) -> dict[str, pl.Expr]:
    """Canonical indicator columns of classes: 0 or 1, null if unknown."""
    return {
        truth_column(of_class): membership(name, schema[name], "label", _PATH, of_class)
        for of_class, name in columns.items()
    }


def label_number(columns: Mapping[str, str], schema: pl.Schema) -> pl.Expr:
    """Number of classes of a row: null with an unknown one, -1 for an invalid value or a nameless class."""
    values = list(truths(columns, schema).values())
    number = pl.sum_horizontal(*values, ignore_nulls=False)
    name = next(iter(columns.values()))
    if holds_lists(schema[name]):
        sound = ~is_nameless(name, values)
    else:
        sound = pl.all_horizontal((value == 0) | (value == 1) for value in values)
    return pl.when(number.is_null()).then(None).when(sound).then(number).otherwise(-1.0)


def is_nameless(name: str, members: Iterable[pl.Expr]) -> pl.Expr:
    """Whether a list holds more than the classes that have these indicators."""
    return _texts(name).list.n_unique() != pl.sum_horizontal(*members, ignore_nulls=False)


def nameless_text(classes: Iterable[str]) -> str:
    """Problem of lists with other classes."""
    return f"with a class that is none of {name_list(list(map(repr, classes)), _SHOWN_CLASSES)}"


def _texts(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.List(pl.String))


def truth_checks(columns: Mapping[str, str], label: pl.Expr) -> Iterator[Check]:
    """Checks of the classes of a row."""
    if len(set(columns.values())) == 1:
        name = next(iter(columns.values()))
        yield Check("label", name, "null", label.is_null(), _PATH)
        yield Check("label", name, nameless_text(columns), label < 0, _PATH)
        return
    for of_class, name in columns.items():
        value, role = pl.col(truth_column(of_class)), f"label of class '{of_class}'"
        yield Check(role, name, "null", value.is_null(), _PATH)
        yield Check(role, name, "neither 0 nor 1", (value != 0) & (value != 1), _PATH)


def class_checks(roles: RoleColumns, model: str, predicted: PredictionColumns) -> list[Check]:
    """Checks of a predicted class, or of a list of them."""
    part, name = next(iter(predicted.columns.items()))
    part = "prediction" if predicted.lists else part
    score, path, role = pl.col(score_column(model)), part_path(model, part), part_role(model, part)
    null = Check(role, name, "null", score.is_null(), path, model)
    if predicted.lists:
        return [null, Check(role, name, nameless_text(roles.label_columns), score < 0, path, model)]
    return [null, no_class(roles, role, name, score, path, model)]


def no_class(
    roles: RoleColumns, role: str, name: str, value: pl.Expr, path: SuitePath, model: str | None = None
) -> Check:
    """Check of a value among the classes."""
    classes = name_list([repr(name) for name in roles.classes], _SHOWN_CLASSES)
    return Check(role, name, f"none of the classes ({classes})", value < 0, path, model)
