"""Sizes, means, variances and rank sums of the arms of an experiment by slice: a few small plans over one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.engine.arithmetic import Arithmetic
from plmetrics.engine.inquiry import answer
from plmetrics.engine.streaming import collected_frame, collected_frames
from plmetrics.features.experiment.exact_moments import exact_moments
from plmetrics.table.roles import require
from plmetrics.table.slice_keys import SliceKey, value_text
from plmetrics.table.slices import Slices, SliceSet
from plmetrics.table.units import is_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.table.source import Source

    Array = NDArray[np.float64]

ARM, UNIT = "@arm", "@unit"
MOST_ARMS, MOST_SLICES = 100, 10_000
_ROWS = "@rows"


@dataclass(frozen=True, slots=True)
class Experiment:
    """The columns of an experiment: outcomes, arm and its control, slice sets by name, and the unit, if any."""

    outcomes: tuple[str, ...]
    arm: str
    control: Any
    slices: Mapping[str, tuple[str, ...]]
    unit: str | None = None
    missing: str = "error"
    ranks: bool = True
    reproducible: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ArmSums:
    """An outcome in every slice (first axis) and arm (second axis, the control first).

    `n` rows and `units` (rows, where no unit is named) stand behind `mean`; `variance` is that of the mean. `above` is
    Mann-Whitney's U of the arm against the control and `ties` the sum of t^3 - t over their tied values; None where
    ranks are not asked for.
    """

    outcome: str
    binary: bool
    n: Array
    units: Array
    mean: Array
    variance: Array
    above: Array | None = None
    ties: Array | None = None


@dataclass(frozen=True, slots=True)
class ExperimentSums:
    """The arms by name, the control first; the slices as (set, slice); and the sums of each outcome.

    `sizes` are the units of each arm, whatever their outcomes, and `shared` is how many are in more than one.
    """

    arms: tuple[str, ...]
    slices: tuple[tuple[str, str], ...]
    sums: tuple[ArmSums, ...]
    sizes: Array
    shared: int


@dataclass(frozen=True, slots=True)
class _Constants:
    """Arms of the table, the control first, and their units; of each outcome whether it is binary, and its centre."""

    arms: tuple[str, ...]
    sizes: Array
    binary: tuple[bool, ...]
    centres: tuple[float, ...]


def experiment_sums(source: Source, experiment: Experiment) -> ExperimentSums:
    """The sums of every outcome by slice and arm.

    Raises:
        ConfigError: the control is no arm, or there are more than 100 arms or 10,000 slices.
        DataError: a column is absent or of a type that its role cannot take, or values are missing.
    """
    rows = source.frame.select(**_columns(source.schema, experiment))
    constants = _constants(rows, experiment)
    clustered = experiment.unit is not None
    if experiment.missing == "drop":
        rows = rows.filter(pl.col(ARM).is_not_null(), *([pl.col(UNIT).is_not_null()] if clustered else []))
    number = pl.col(ARM).cast(pl.Enum(constants.arms)).to_physical().cast(pl.Int64)
    rows = rows.with_columns(number.alias(ARM))
    sets = [("overall", ()), *experiment.slices.items()]
    frames = collected_frames(_plans(rows, experiment, constants, sets))
    if experiment.reproducible:
        by = [[*map(_slice, columns), ARM] for _, columns in sets]
        moments = exact_moments(rows, _values(experiment, constants), by, UNIT if clustered else None)
    else:
        moments = [frames[f"moments|{place}"] for place in range(len(sets))]
    slices, places = _slices(sets, moments)
    placed = [_place(table, place) for table, place in zip(moments, places, strict=True)]
    shape = (len(slices), len(constants.arms))
    sums = []
    for index, outcome in enumerate(experiment.outcomes):
        ranks = [
            _place(frames[f"ranks|{index}|{at}"], place)
            for at, place in enumerate(places)
            if f"ranks|{index}|{at}" in frames
        ]
        sums.append(_sums(outcome, index, constants, shape, placed, ranks))
    shared = int(frames["shared"].item()) if clustered else 0
    return ExperimentSums(constants.arms, tuple(slices), tuple(sums), constants.sizes, shared)


def _plans(
    rows: pl.LazyFrame,
    experiment: Experiment,
    constants: _Constants,
    sets: Sequence[tuple[str, tuple[str, ...]]],
) -> dict[str, pl.LazyFrame]:
    """The plans of a readout: moments and ranks by the place of a slice set, and shared units."""
    plans = {} if experiment.unit is None else {"shared": _shared_units(rows)}
    for place, (_, columns) in enumerate(sets):
        if not experiment.reproducible:
            plans[f"moments|{place}"] = _moments(rows, experiment, columns, constants)
        if experiment.ranks and experiment.unit is None:
            for index in range(len(experiment.outcomes)):
                plans[f"ranks|{index}|{place}"] = _ranks(rows, index, columns, len(constants.arms))
    return plans


def _columns(schema: pl.Schema, experiment: Experiment) -> dict[str, pl.Expr]:
    columns = {ARM: _arm_text(require(schema, experiment.arm, "arm", ("arm",)), experiment.arm)}
    if experiment.unit is not None:
        if not is_key(require(schema, experiment.unit, "unit", ("unit",))):
            msg = f"column '{experiment.unit}' (unit) is of type {schema[experiment.unit]}, which is no key"
            raise DataError(Problem(msg, ("unit",)))
        columns[UNIT] = pl.col(experiment.unit)
    for index, outcome in enumerate(experiment.outcomes):
        dtype = require(schema, outcome, "outcome", ("outcome",))
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            msg = f"column '{outcome}' (outcome) is of type {dtype}, but must hold numbers or booleans"
            raise DataError(Problem(msg, ("outcome",)))
        columns[_outcome(index)] = pl.col(outcome).cast(pl.Float64)
    for column in dict.fromkeys(column for by in experiment.slices.values() for column in by):
        dtype = require(schema, column, "slices", ("by",))
        if dtype.is_nested() or dtype in {pl.Binary, pl.Object}:
            raise DataError(Problem(f"column '{column}' is of type {dtype}, which has no slices", ("by",)))
        value = pl.col(column)
        textual = isinstance(dtype, (pl.Categorical, pl.Enum))
        columns[_slice(column)] = value.cast(pl.String) if textual else value
    return columns


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


def _constants(rows: pl.LazyFrame, experiment: Experiment) -> _Constants:
    """Arms, and kinds and centres of outcomes; missing values are refused."""
    plans = [pl.len().cast(pl.Int64).alias(_ROWS)]
    if experiment.unit is not None:
        units = pl.col(UNIT).drop_nulls().n_unique().cast(pl.Int64)
        plans += [pl.col(UNIT).null_count().cast(pl.Int64).alias("units"), units.alias("size")]
    for index in range(len(experiment.outcomes)):
        value = pl.col(_outcome(index))
        sound = value.is_finite().fill_null(value=False)
        plans += [
            (~sound).sum().cast(pl.Int64).alias(f"bad|{index}"),
            pl.when(sound).then(value).sum().alias(f"sum|{index}"),
            (sound & (value != 0) & (value != 1)).sum().cast(pl.Int64).alias(f"other|{index}"),
        ]
    counts = collected_frame(rows.group_by(ARM).agg(plans).sort(ARM))
    _refuse_missing(counts, experiment)
    arms = counts[ARM].drop_nulls().to_list()
    control = value_text(experiment.control)
    if control not in arms:
        msg = f"control '{control}' is none of the arms in column '{experiment.arm}'"
        raise ConfigError(Problem(msg, ("control",), did_you_mean(control, arms) or f"known: {_names(arms)}"))
    if not 2 <= len(arms) <= MOST_ARMS:
        msg = f"column '{experiment.arm}' holds {len(arms):,} of the 2 to {MOST_ARMS} arms that a readout compares"
        raise ConfigError(Problem(msg, ("arm",)))
    total = counts.sum()
    sums = [total[f"sum|{index}"].item() or 0.0 for index in range(len(experiment.outcomes))]
    sizes = [total[_ROWS].item() - total[f"bad|{index}"].item() for index in range(len(experiment.outcomes))]
    binary = tuple(total[f"other|{index}"].item() == 0 for index in range(len(experiment.outcomes)))
    means = [part / max(size, 1) for part, size in zip(sums, sizes, strict=True)]
    if experiment.reproducible:
        numbers = {_outcome(index): pl.col(_outcome(index)) for index in range(len(experiment.outcomes))}
        means = list(answer(Arithmetic(any_order=True).means(rows, numbers)).values())
    near = [0.0 if shares else mean for mean, shares in zip(means, binary, strict=True)]
    arms = [control, *(arm for arm in arms if arm != control)]
    of_arm = dict(counts.select(ARM, _ROWS if experiment.unit is None else "size").iter_rows())
    units_each = np.array([of_arm[arm] for arm in arms], dtype=np.float64)
    return _Constants(tuple(arms), units_each, binary, tuple(near))


def _refuse_missing(arms: pl.DataFrame, experiment: Experiment) -> None:
    if not arms.height:
        msg = "the table has no rows"
        raise DataError(msg)
    counts = {("arm", experiment.arm, "null"): int(arms.filter(pl.col(ARM).is_null())[_ROWS].sum())}
    if experiment.unit is not None:
        counts["unit", experiment.unit, "null"] = int(arms["units"].sum())
    for index, outcome in enumerate(experiment.outcomes):
        counts["outcome", outcome, "null, NaN or infinite"] = int(arms[f"bad|{index}"].sum())
    total = int(arms[_ROWS].sum())
    problems = [
        Problem(
            f"column '{column}' ({role}): {count:,} of {total:,} values are {kind}",
            (role,),
            "missing='drop' leaves these rows out",
        )
        for (role, column, kind), count in counts.items()
        if count
    ]
    if problems and experiment.missing == "error":
        raise DataError(problems)


def _moments(
    rows: pl.LazyFrame, experiment: Experiment, columns: Sequence[str], constants: _Constants
) -> pl.LazyFrame:
    """Size, mean and variance of the mean of every outcome, by slice and arm."""
    keys = [*(pl.col(_slice(column)) for column in columns), pl.col(ARM)]
    values = _values(experiment, constants)
    rows = rows.with_columns(values)
    if experiment.unit is None:
        return rows.group_by(keys).agg(part for index in range(len(values)) for part in _of_rows(index))
    names = [_outcome(index) for index in range(len(values))]
    per_unit = rows.group_by(*keys, UNIT).agg(
        *(pl.col(name).sum() for name in names),
        *(pl.col(name).count().cast(pl.Float64).alias(f"{name}|n") for name in names),
    )
    return per_unit.group_by(keys).agg(part for index in range(len(values)) for part in _of_units(index))


def _values(experiment: Experiment, constants: _Constants) -> list[pl.Expr]:
    """The outcomes of a row less their centres, null where there are none."""
    values = []
    for index in range(len(experiment.outcomes)):
        value = pl.col(_outcome(index))
        near = pl.when(value.is_finite()).then(value - constants.centres[index])
        values.append(near.alias(_outcome(index)))
    return values


def _of_rows(index: int) -> list[pl.Expr]:
    value, size = pl.col(_outcome(index)), pl.col(_outcome(index)).count().cast(pl.Float64)
    return [
        size.alias(f"n|{index}"),
        size.alias(f"units|{index}"),
        value.mean().alias(f"mean|{index}"),
        (value.var() / size).alias(f"variance|{index}"),
    ]


def _of_units(index: int) -> list[pl.Expr]:
    """The mean as a ratio of two sums over units, and its variance by the delta method."""
    value, size = pl.col(_outcome(index)), pl.col(f"{_outcome(index)}|n")
    units, total = (size > 0).sum().cast(pl.Float64), size.sum()
    ratio = value.sum() / total
    squares = (value * value).sum() - 2 * ratio * (value * size).sum() + ratio * ratio * (size * size).sum()
    return [
        total.alias(f"n|{index}"),
        units.alias(f"units|{index}"),
        ratio.alias(f"mean|{index}"),
        (units / (units - 1) * squares.clip(lower_bound=0.0) / (total * total)).alias(f"variance|{index}"),
    ]


def _ranks(rows: pl.LazyFrame, index: int, columns: Sequence[str], arms: int) -> pl.LazyFrame:
    """Mann-Whitney's U of each arm against the control, and the ties, from counts of values.

    Controls below a value are counted from the first row of the table: those before a slice are taken off at the end,
    which is cheaper than a count within each slice.
    """
    keys = [_slice(column) for column in columns] or ["@all"]
    value = pl.col(_outcome(index))
    counted = (
        rows.filter(value.is_finite())
        .with_columns(pl.lit(0, dtype=pl.Int8).alias("@all"))
        .group_by(*keys, _outcome(index))
        .agg((pl.col(ARM) == arm).sum().cast(pl.Int64).alias(f"arm|{arm}") for arm in range(arms))
        .sort(*keys, _outcome(index), nulls_last=True)
    )
    control = pl.col("arm|0")
    below, before = 2 * pl.col("@below") - control, (pl.col("@below") - control).min()
    plan = counted.with_columns(control.cum_sum().alias("@below")).group_by(keys)
    parts = []
    for arm in range(1, arms):
        arm_ranks = pl.col(f"arm|{arm}")
        wide, both = arm_ranks.cast(pl.Int128), (arm_ranks + control).cast(pl.Int128)
        above = (wide * below).sum() - 2 * before.cast(pl.Int128) * wide.sum()
        parts += [
            (above.cast(pl.Float64) / 2).alias(f"above|{arm}"),
            (both * both * both - both).sum().cast(pl.Float64).alias(f"ties|{arm}"),
        ]
    return plan.agg(parts).drop("@all", strict=False)


def _shared_units(rows: pl.LazyFrame) -> pl.LazyFrame:
    """How many units are in more than one arm."""
    arms = rows.group_by(UNIT).agg((pl.col(ARM).min() != pl.col(ARM).max()).alias("mixed"))
    return arms.select(pl.col("mixed").sum().cast(pl.Int64).alias(_ROWS))


def _slices(
    sets: Sequence[tuple[str, tuple[str, ...]]], tables: Sequence[pl.DataFrame]
) -> tuple[list[tuple[str, str]], list[pl.DataFrame]]:
    """The slices as (set, slice) in the order of results, and for each set the place of its keys among them."""
    slices: list[tuple[str, str]] = []
    places = []
    for (name, columns), table in zip(sets, tables, strict=True):
        keys = [_slice(column) for column in columns]
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


def _place(table: pl.DataFrame, place: pl.DataFrame) -> pl.DataFrame:
    """The table with the place of each line's slice."""
    keys = [column for column in place.columns if column not in {"@place", "@one"}]
    if not keys:
        return table.with_columns(pl.lit(place["@place"][0]).alias("@place"))
    return table.join(place, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _sums(
    outcome: str,
    index: int,
    constants: _Constants,
    shape: tuple[int, int],
    moments: Sequence[pl.DataFrame],
    ranks: Sequence[pl.DataFrame],
) -> ArmSums:
    sums: dict[str, Array] = {}
    for name in ("n", "units", "mean", "variance"):
        sums[name] = np.zeros(shape) if name in {"n", "units"} else np.full(shape, np.nan)
        for table in moments:
            column = table[f"{name}|{index}"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            sums[name][table["@place"].to_numpy(), table[ARM].to_numpy()] = column
    sums["mean"] += constants.centres[index]
    if not ranks:
        return ArmSums(outcome, constants.binary[index], **sums)
    for name in ("above", "ties"):
        sums[name] = np.zeros(shape)
        for table in ranks:
            for arm in range(1, shape[1]):
                sums[name][table["@place"].to_numpy(), arm] = table[f"{name}|{arm}"].to_numpy()
    return ArmSums(outcome, constants.binary[index], **sums)


def _outcome(index: int) -> str:
    return f"@outcome|{index}"


def _slice(column: str) -> str:
    return f"@slice|{column}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
