"""The columns of an experiment, under names of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.hashing import is_key
from plmetrics.features.experiment.outcomes import Outcome, outcome_columns
from plmetrics.table.prediction_columns import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.table.slices import Slices

ARM, UNIT = "@arm", "@unit"


@dataclass(frozen=True, slots=True)
class Experiment:
    """The columns of an experiment: outcomes, arm and its control, slice sets by name, and the unit, if any.

    Means are those of `strata`, weighted by the share of their units, where there are any. `sets` are further
    slice sets, whose slices are known, on keys that the rows hold.
    """

    outcomes: tuple[Outcome, ...]
    arm: str
    control: Any
    slices: Mapping[str, tuple[str, ...]]
    unit: str | None = None
    missing: str = "error"
    ranks: bool = True
    reproducible: bool = False
    strata: tuple[str, ...] = ()
    sets: tuple[Slices, ...] = ()
    shifts: bool = False


def experiment_columns(schema: pl.Schema, experiment: Experiment) -> dict[str, pl.Expr]:
    """Columns of a row that a readout reads.

    Raises:
        DataError: a column is absent, or of a type that its role cannot take.
    """
    columns = {ARM: _arm_text(require(schema, experiment.arm, "arm", ("arm",)), experiment.arm)}
    if experiment.unit is not None:
        if not is_key(require(schema, experiment.unit, "unit", ("unit",))):
            msg = f"column '{experiment.unit}' (unit) is of type {schema[experiment.unit]}, which is no key"
            raise DataError(Problem(msg, ("unit",)))
        columns[UNIT] = pl.col(experiment.unit)
    columns |= outcome_columns(schema, experiment.outcomes)
    further = (column for part in experiment.sets for column in part.slice_set.columns)
    slices = dict.fromkeys([*(column for by in experiment.slices.values() for column in by), *further])
    for names, role, alias in ((slices, "by", slice_column), (experiment.strata, "strata", stratum_column)):
        for column in names:
            columns[alias(column)] = _key(schema, column, role)
    return columns


def _key(schema: pl.Schema, column: str, role: str) -> pl.Expr:
    """The values of a column that rows are grouped by."""
    dtype = require(schema, column, "slices" if role == "by" else role, (role,))
    if dtype.is_nested() or dtype in {pl.Binary, pl.Object}:
        what = "slices" if role == "by" else role
        raise DataError(Problem(f"column '{column}' is of type {dtype}, which has no {what}", (role,)))
    value = pl.col(column)
    return value.cast(pl.String) if isinstance(dtype, (pl.Categorical, pl.Enum)) else value


def _arm_text(dtype: pl.DataType, name: str) -> pl.Expr:
    """The name of a row's arm, as results have it."""
    if dtype == pl.Boolean:
        return pl.when(pl.col(name)).then(pl.lit("true")).when(~pl.col(name)).then(pl.lit("false"))
    if dtype.is_float():
        integer = pl.col(name).cast(pl.Int64, strict=False)
        return (
            pl.when(integer == pl.col(name))
            .then(integer.cast(pl.String))
            .otherwise(pl.col(name).cast(pl.String))
        )
    if dtype.is_nested() or dtype in {pl.Binary, pl.Object}:
        raise DataError(Problem(f"column '{name}' (arm) is of type {dtype}, which names no arms", ("arm",)))
    return pl.col(name).cast(pl.String)


def slice_column(column: str) -> str:
    """The key of slices by a column."""
    return f"@slice|{column}"


def stratum_column(column: str) -> str:
    """The key of strata by a column."""
    return f"@stratum|{column}"
