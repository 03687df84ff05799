"""Compared columns of drift, and the kinds of their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.table.common_types import is_text
from plmetrics.table.prediction_columns import LABEL, part_column, plain_column, require

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.engine.request import TableView
    from plmetrics.features.drift.drift_section import Drift

_PATH = ("drift",)
_DAY = 86_400_000_000
_BITS: Mapping[pl.DataType, int] = {pl.Float32(): 32, pl.Float16(): 16}

Kind = Literal["number", "days", "seconds", "category"]


@dataclass(frozen=True, slots=True)
class Subject:
    """One compared column: a score, the label, or another. `model` is that of a score.

    `kind` says what its values are taken for: numbers, moments as days since 1970 and durations in days, times of
    day in seconds, or categories. `bits` are those of its floats in the window with fewer: 0.1 has other digits in 64
    bits than in 32, and both windows are compared in these.
    """

    subject: Literal["score", "label", "column"]
    column: str
    kind: Kind
    model: str | None = None
    part: str = ""
    bits: int = 64

    @property
    def of_numbers(self) -> bool:
        """Whether it has an order and differences."""
        return self.kind != "category"


def subjects_of(
    current: TableView, models: Iterable[str], spec: Drift, there: pl.Schema
) -> Iterator[Subject]:
    """Scores by model, the label, and columns as they are named."""
    roles, task, here = current.roles, current.suite.task, current.schema
    for name in models:
        for part, column in roles.models[name].columns.items():
            classes = name in roles.hard or (task == "multiclass" and part == "prediction")
            kind: Kind = "category" if classes else "number"
            yield Subject("score", column, kind, name, part, _common_bits(column, here, there))
    if spec.label:
        kind = "category" if task in {"binary", "multiclass"} else "number"
        yield Subject("label", roles.label, kind, bits=_common_bits(roles.label, here, there))
    for place, column in enumerate(dict.fromkeys(spec.columns)):
        kind = common_kind(column, here, there, (*_PATH, "columns", place))
        yield Subject("column", column, kind, bits=_common_bits(column, here, there))


def bits_of(dtype: pl.DataType) -> int:
    """Number of bits of floats; 64 of others."""
    return _BITS.get(dtype, 64)


def _common_bits(name: str, here: pl.Schema, there: pl.Schema) -> int:
    return min(bits_of(schema[name]) for schema in (here, there) if name in schema)


def in_bits(number: pl.Expr, bits: int) -> pl.Expr:
    """Floats of 64 bits as those of fewer have them; what is too large for these stays."""
    narrow = number.cast({32: pl.Float32, 16: pl.Float16}.get(bits, pl.Float64)).cast(pl.Float64)
    return number if bits == 64 else pl.when(narrow.is_finite()).then(narrow).otherwise(number)


def common_kind(name: str, schema: pl.Schema, there: pl.Schema, path: SuitePath) -> Kind:
    """Kind of the values of a column, in both windows."""
    here = require(schema, name, "drift's columns", path)
    if name not in there:
        hint = f"it has {', '.join(list(there)[:12])}"
        raise DataError(Problem(f"column '{name}' is not in the reference", path, hint))
    kinds = {_kind_of(name, dtype, path) for dtype in (here, there[name]) if dtype != pl.Null}
    if len(kinds) > 1 or not _same_zone(here, there[name]):
        msg = f"column '{name}' is of type {here}, but of type {there[name]} in the reference"
        raise DataError(Problem(msg, path, "store it in one type in both"))
    return kinds.pop() if kinds else "category"


def _same_zone(here: pl.DataType, there: pl.DataType) -> bool:
    """Whether neither or both of two moments have a time zone."""
    if not (isinstance(here, pl.Datetime) and isinstance(there, pl.Datetime)):
        return True
    return (here.time_zone is None) == (there.time_zone is None)


def _kind_of(name: str, dtype: pl.DataType, path: SuitePath) -> Kind:
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, (pl.Date, pl.Datetime, pl.Duration)):
        return "days"
    if dtype == pl.Time:
        return "seconds"
    if dtype == pl.Boolean or is_text(dtype):
        return "category"
    msg = f"column '{name}' is of type {dtype}, which has neither an order nor categories"
    raise DataError(Problem(msg, path, "name columns of numbers, texts, booleans or times"))


def from_raw(subject: Subject, task: str) -> bool:
    """Whether its values are those of the raw column, not of a role."""
    return subject.subject == "column" or (subject.kind == "category" and task == "multiclass")


def value_of(subject: Subject, schema: pl.Schema, task: str) -> pl.Expr:
    """A number or a text, null where a row has none."""
    if from_raw(subject, task):
        column, dtype = pl.col(plain_column(subject.column)), schema[subject.column]
        if subject.of_numbers:
            return (
                pl.lit(None, dtype=pl.Float64) if dtype == pl.Null else _number(column, dtype, subject.bits)
            )
        return column.cast(pl.String)
    role = LABEL if subject.subject == "label" else part_column(subject.model or "", subject.part)
    if subject.of_numbers:
        return _number(pl.col(role), pl.Float64(), subject.bits)
    of_class = (pl.col(role) == 0) | (pl.col(role) == 1) if task == "binary" else pl.lit(value=True)
    return pl.when(of_class).then(pl.col(role).cast(pl.Int64, strict=False).cast(pl.String))


def _number(column: pl.Expr, dtype: pl.DataType, bits: int) -> pl.Expr:
    """Ordered values as Float64; null for non-finite ones."""
    if dtype == pl.Date:
        return column.to_physical().cast(pl.Float64)
    if isinstance(dtype, pl.Datetime):
        return column.dt.epoch("us").cast(pl.Float64) / _DAY
    if dtype == pl.Duration:
        return column.dt.total_microseconds().cast(pl.Float64) / _DAY
    if dtype == pl.Time:
        return column.to_physical().cast(pl.Float64) / 1e9
    number = in_bits(column.cast(pl.Float64), bits)
    finite = pl.when(number.is_finite()).then(number)
    return pl.when(finite == 0).then(0.0).otherwise(finite)
