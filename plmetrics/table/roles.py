"""The roles of columns, and the names of the canonical ones that they become."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import did_you_mean, is_pattern
from plmetrics.table.prediction_columns import (
    PredictionColumns,
    label_column,
    weight_column,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from plmetrics.table.checks import (
        Requirement,
    )
    from plmetrics.table.slice_keys import SliceKey

    Transform: TypeAlias = Callable[[pl.Expr, Mapping[str, pl.Expr]], Mapping[str, pl.Expr]]

LABEL = "@label"
WEIGHT = "@weight"
UNIT = "@unit"
TREATMENT = "@treatment"
PLAIN = "@column|"


def plain_column(name: str) -> str:
    """Where the canonical table has a column that plays no role."""
    return f"{PLAIN}{name}"


@dataclass(frozen=True, slots=True)
class RoleColumns:
    """Raw columns by role, free of any suite: the inputs of a prediction table.

    `probability` are the models whose scores must lie in [0, 1]. `classes` are those of a multiclass label, in order;
    empty where they are not known yet. `unit` is the hash expression, given when intervals are asked for. `columns`
    are others that row expressions read, `made` those that are made from raw ones first, and `requirements` what must
    hold for some of them. `transform` makes further parts of each model's prediction from the label and its parts.
    `null_scores`: a model may have no score in a row, as a ranking that did not retrieve it. `unlabelled`: a row may
    have no label yet, and a null is no bad value. `label_columns` are those of a label of several classes, by class.
    """

    label: str
    models: Mapping[str, PredictionColumns]
    task: str
    positive: str | float | bool | None = None
    weight: str | None = None
    unit: pl.Expr | None = None
    unit_name: str | None = None
    probability: frozenset[str] = frozenset()
    hard: frozenset[str] = frozenset()
    missing: str = "error"
    keys: Sequence[SliceKey] = field(default_factory=tuple)
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    treatment: str | None = None
    requirements: tuple[Requirement, ...] = ()
    made: Mapping[str, pl.Expr] = field(default_factory=dict)
    transform: Transform | None = None
    null_scores: bool = False
    unlabelled: bool = False
    label_columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def binary(self) -> bool:
        """Whether labels are 0 and 1."""
        return self.task == "binary"

    @property
    def apart(self) -> bool:
        """Whether the rows that count, their labels or weights differ from model to model."""
        own = any(model.label or model.weight is not None for model in self.models.values())
        return own or self.missing == "drop_per_model"

    def label_of(self, model: str) -> str:
        """The canonical column of the label that a model is held against."""
        own = model in self.models and self.models[model].label is not None
        return label_column(model) if own else LABEL

    def weight_of(self, model: str) -> str | None:
        """The canonical column of the weights of a model's rows; None where they count once."""
        weight = self.models[model].weight if model in self.models else None
        if weight is None:
            return None if self.weight is None else WEIGHT
        return weight_column(model) if weight else None


def require(schema: pl.Schema, name: str, role: str, path: tuple[str | int, ...]) -> pl.DataType:
    """The type of a column.

    Raises:
        DataError: it is absent, and the message names the nearest one; or it has values of another library's type.
    """
    if name not in schema:
        raise DataError(
            Problem(f"column '{name}' ({role}) is not in the data", path, did_you_mean(name, schema))
        )
    if is_pattern(name):
        msg = f"column '{name}' ({role}): Polars takes such a name for a pattern of names"
        raise DataError(Problem(msg, path, "rename the column"))
    if isinstance(schema[name], pl.BaseExtension):
        msg = f"column '{name}' ({role}) is of type {schema[name]}, of another library"
        raise DataError(Problem(msg, path, "store it as text, numbers or dates"))
    return schema[name]
