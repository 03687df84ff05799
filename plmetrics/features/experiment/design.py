"""An experiment before it is counted: its columns under names of their own, slices, arms, and centres of outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from plmetrics.core.errors import AbsentDataError, ConfigError, DataError, Problem
from plmetrics.core.hashing import is_key
from plmetrics.core.names import did_you_mean, name_list
from plmetrics.core.ops import Array
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.experiment.outcomes import (
    COVARIATE,
    SIZES,
    VALUE,
    ArmOutcome,
    is_sound,
    outcome_columns,
    part_column,
)
from plmetrics.table.common_types import is_opaque
from plmetrics.table.joins import inner_join
from plmetrics.table.prediction_columns import require
from plmetrics.table.slice_keys import SliceKey, value_text
from plmetrics.table.slices import Slices, SliceSet

ARM, UNIT = "@arm", "@unit"
MOST_SLICES = 10_000
MOST_ARMS = 100
_ROWS = "@rows"


@dataclass(frozen=True, slots=True)
class Experiment:
    """The columns of an experiment: outcomes, arm and its control, slice sets by name, and the unit, if any.

    Means are those of `strata`, weighted by the share of their units, where there are any. `sets` are further
    slice sets, whose slices are known, on keys that the rows hold.
    """

    outcomes: tuple[ArmOutcome, ...]
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
    """Columns of a row for a readout.

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
    dtype = require(schema, column, "slices" if role == "by" else role, (role,))
    if is_opaque(dtype):
        what = "slices" if role == "by" else role
        raise DataError(Problem(f"column '{column}' is of type {dtype}, which has no {what}", (role,)))
    value = pl.col(column)
    return value.cast(pl.String) if isinstance(dtype, (pl.Categorical, pl.Enum)) else value


def _arm_text(dtype: pl.DataType, name: str) -> pl.Expr:
    """The name of a row's arm, as results have it."""
    if dtype == pl.Boolean:
        return pl.when(pl.col(name)).then(pl.lit("true")).when(~pl.col(name)).then(pl.lit("false"))
    if dtype.is_float() or dtype.is_decimal():
        number = pl.col(name).cast(pl.Float64) if dtype.is_decimal() else pl.col(name)
        integer = number.cast(pl.Int64, strict=False)
        whole = pl.when(integer == number).then(integer.cast(pl.String))
        return whole.when(number.is_not_nan()).then(number.cast(pl.String))
    if is_opaque(dtype) or dtype == pl.Duration:  # without a text in Polars
        raise DataError(Problem(f"column '{name}' (arm) is of type {dtype}, which names no arms", ("arm",)))
    return pl.col(name).cast(pl.String)


def slice_column(column: str) -> str:
    """The key of slices by a column."""
    return f"@slice|{column}"


def stratum_column(column: str) -> str:
    """The key of strata by a column."""
    return f"@stratum|{column}"


def slices_in(
    sets: Sequence[tuple[str, tuple[str, ...]]], tables: Sequence[pl.DataFrame]
) -> tuple[list[tuple[str, str]], list[pl.DataFrame]]:
    """The slices as (set, slice) in the order of results, and for each set the place of its keys among them."""
    slices: list[tuple[str, str]] = []
    places = []
    for (name, columns), table in zip(sets, tables, strict=True):
        keys = [slice_column(column) for column in columns]
        values = (
            table.select(keys).unique().sort(keys, nulls_last=True) if keys else pl.DataFrame({"@one": [0]})
        )
        first = len(slices)
        named = tuple(
            SliceKey(key, column, pl.col(key), "column") for key, column in zip(keys, columns, strict=True)
        )
        slices += [(name, text) for text in Slices(SliceSet(name, named), values).texts()]
        places.append(values.with_columns(pl.int_range(first, len(slices), dtype=pl.Int64).alias("@place")))
    if len(slices) > MOST_SLICES:
        msg = f"there are {len(slices):,} slices, more than {MOST_SLICES:,}"
        raise ConfigError(Problem(msg, ("by",), "slice by columns of fewer values"))
    return slices, places


def add_slices(sets: Sequence[Slices], slices: list[tuple[str, str]], places: list[pl.DataFrame]) -> None:
    """Append known slices: lines of others, such as rows where a condition does not hold, have no place."""
    for part in sets:
        first = len(slices)
        slices += [(part.slice_set.name, text) for text in part.texts()]
        values = part.values.rename({name: slice_column(name) for name in part.values.columns})
        places.append(values.with_columns(pl.int_range(first, len(slices), dtype=pl.Int64).alias("@place")))


def table_with_places(table: pl.DataFrame, place: pl.DataFrame) -> pl.DataFrame:
    """The table with the place of each line's slice."""
    keys = [column for column in place.columns if column not in {"@place", "@one"}]
    if not keys:
        return table.with_columns(pl.lit(place["@place"][0]).alias("@place"))
    return inner_join(table, place, keys)


@dataclass(frozen=True, slots=True)
class ArmConstants:
    """Arms of the table, the control first, and their units; of each outcome whether it is binary, and its centres."""

    arms: tuple[str, ...]
    sizes: Array
    binary: tuple[bool, ...]
    centres: tuple[dict[str, float], ...]


def experiment_constants(rows: pl.LazyFrame, experiment: Experiment) -> ArmConstants:
    """Arms, and kinds and centres of outcomes.

    Raises:
        ConfigError: the control is no arm, or there are more than 100 arms.
        AbsentDataError: there are no rows.
        DataError: values are missing, or all rows are in one arm.
    """
    plans = [pl.len().cast(pl.Int64).alias(_ROWS)]
    if experiment.unit is not None:
        units = pl.col(UNIT).drop_nulls().n_unique().cast(pl.Int64)
        plans += [pl.col(UNIT).null_count().cast(pl.Int64).alias("units"), units.alias("size")]
    for index, outcome in enumerate(experiment.outcomes):
        plans += _facts(outcome, index)
    counts = collected_frame(rows.group_by(ARM).agg(plans).sort(ARM))
    _refuse_missing(counts, experiment)
    arms = counts[ARM].drop_nulls().to_list()
    control = value_text(experiment.control)
    if control not in arms:
        msg = f"control '{control}' is none of the arms in column '{experiment.arm}'"
        raise ConfigError(
            Problem(msg, ("control",), did_you_mean(control, arms) or f"known: {name_list(arms, 12)}")
        )
    if len(arms) < 2:
        msg = f"all rows are in arm '{control}' of column '{experiment.arm}': there is no other to compare"
        raise DataError(Problem(msg, ("arm",)))
    if len(arms) > MOST_ARMS:
        msg = f"column '{experiment.arm}' holds {len(arms):,} arms, more than {MOST_ARMS}"
        raise ConfigError(Problem(msg, ("arm",), "name the column that says which arm a row is in"))
    binary = tuple(
        outcome.is_plain and counts[f"other|{index}"].sum() == 0
        for index, outcome in enumerate(experiment.outcomes)
    )
    centres = [
        dict.fromkeys((VALUE, COVARIATE), 0.0)
        if binary[index] or outcome.quantile is not None
        else _centres(outcome, index, counts)
        for index, outcome in enumerate(experiment.outcomes)
    ]
    arms = [control, *(arm for arm in arms if arm != control)]
    of_arm = dict(counts.select(ARM, _ROWS if experiment.unit is None else "size").iter_rows())
    units_each = np.array([of_arm[arm] for arm in arms], dtype=np.float64)
    return ArmConstants(tuple(arms), units_each, binary, tuple(centres))


def _facts(outcome: ArmOutcome, index: int) -> list[pl.Expr]:
    """Facts of one outcome: missing numbers, the values next to 0 of complete rows, and those other than 0 and 1."""
    sound, facts = is_sound(outcome, index), []
    for part in outcome.columns():
        name, number = part_column(part, index), pl.col(part_column(part, index))
        absent = ~number.is_finite().fill_null(value=False)
        facts.append(absent.sum().cast(pl.Int64).alias(f"bad{name}"))
        if part in SIZES:
            sized = SIZES[part] in outcome.columns()
            ratio = number / pl.col(part_column(SIZES[part], index)) if sized else number.cast(pl.Float64)
            ratio = ratio.filter(sound & ratio.is_finite())
            facts += [
                ratio.filter(ratio >= 0).min().alias(f"above{name}"),
                ratio.filter(ratio < 0).max().alias(f"below{name}"),
            ]
    value = pl.col(part_column(VALUE, index))
    other = (sound & (value != 0) & (value != 1)).sum().cast(pl.Int64)
    return [*facts, other.alias(f"other|{index}")]


def _centres(outcome: ArmOutcome, index: int, counts: pl.DataFrame) -> dict[str, float]:
    """The values next to 0 of the outcome and its covariate: less these, no other number loses digits to an outlier."""
    centres = {}
    for part in SIZES:
        if part in outcome.columns():
            name = part_column(part, index)
            ends = [
                end for side in ("above", "below") for end in counts[f"{side}{name}"].drop_nulls().to_list()
            ]
            centres[part] = min(ends, key=abs, default=0.0)
    return centres


def _refuse_missing(arms: pl.DataFrame, experiment: Experiment) -> None:
    if not arms.height:
        msg = "the table has no rows"
        raise AbsentDataError(msg)
    counts = {("arm", experiment.arm, "null or NaN"): int(arms.filter(pl.col(ARM).is_null())[_ROWS].sum())}
    if experiment.unit is not None:
        counts["unit", experiment.unit, "null"] = int(arms["units"].sum())
    for index, outcome in enumerate(experiment.outcomes):
        for part, (column, role) in outcome.columns().items():
            absent = int(arms[f"bad{part_column(part, index)}"].sum())
            counts[role, column, "null, NaN or infinite"] = absent
    total = int(arms[_ROWS].sum())
    problems = [
        Problem(
            f"column '{column}' ({role}): {count:,} of {total:,} values are {kind}",
            (role,),
            "missing='drop' leaves these rows out, as does --missing drop",
        )
        for (role, column, kind), count in counts.items()
        if count
    ]
    if problems and experiment.missing == "error":
        raise DataError(problems)
