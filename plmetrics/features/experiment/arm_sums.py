"""Sizes, means, variances and rank sums of the arms of an experiment by slice: a few small plans over one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.ops import Array
from plmetrics.engine.streaming import collected_frames
from plmetrics.features.experiment.design import (
    ARM,
    UNIT,
    ArmConstants,
    Experiment,
    add_slices,
    experiment_columns,
    experiment_constants,
    slice_column,
    slices_in,
    stratum_column,
    table_with_places,
)
from plmetrics.features.experiment.exact_moments import exact_moments
from plmetrics.features.experiment.moments import (
    COLUMNS,
    ROUNDING,
    adjusted_moments,
    moments,
    quantile_moments,
    rank_sums,
    value_counts,
)
from plmetrics.features.experiment.outcomes import (
    COVARIATE,
    VALUE,
    ArmOutcome,
    centred_numbers,
    is_sound,
    part_column,
)
from plmetrics.table.joins import left_join
from plmetrics.table.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class ArmSums:
    """An outcome in every slice (first axis) and arm (second axis, the control first).

    `n` rows and `units` (rows, where no unit is named) stand behind `mean`; `variance` is that of the mean, with
    degrees of `freedom`, and `unadjusted` the same without the covariate, whose mean and its variance are
    `covariate` and `covariate_variance` (NaN without one). `above` is Mann-Whitney's U of the arm
    against the control and `ties` the sum of t^3 - t over their tied values; None where ranks are not asked for.
    `values` counts the rows of each arm by slice, `@place`, and value: none where shifts are not asked for.
    """

    outcome: ArmOutcome
    binary: bool
    n: Array
    units: Array
    mean: Array
    variance: Array
    freedom: Array
    unadjusted: Array
    covariate: Array
    covariate_variance: Array
    above: Array | None = None
    ties: Array | None = None
    values: tuple[pl.DataFrame, ...] = ()


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


def experiment_sums(source: Source, experiment: Experiment, *, separate: bool = False) -> ExperimentSums:
    """The sums of every outcome by slice and arm; `separate` says whether each plan scans the rows by itself."""
    rows = source.frame.select(**experiment_columns(source.schema, experiment))
    constants = experiment_constants(rows, experiment)
    clustered = experiment.unit is not None
    if experiment.missing == "drop":
        rows = rows.filter(pl.col(ARM).is_not_null(), *([pl.col(UNIT).is_not_null()] if clustered else []))
    number = pl.col(ARM).cast(pl.Enum(constants.arms)).to_physical().cast(pl.Int64)
    rows = rows.with_columns(number.alias(ARM))
    known = [(part.slice_set.name, tuple(part.slice_set.columns)) for part in experiment.sets]
    sets = [("overall", ()), *experiment.slices.items(), *known]
    frames = collected_frames(_plans(rows, experiment, constants, sets), separate=separate)
    if "strata" in frames:
        _refuse_several_strata(int(frames["strata"].item()), experiment)
    if experiment.reproducible:
        by = [_keys(columns, experiment.strata) for _, columns in sets]
        unit = UNIT if clustered else None
        cells = exact_moments(rows, _values(experiment.outcomes, constants), by, unit, separate=separate)
    else:
        cells = [frames[f"moments|{place}"] for place in range(len(sets))]
    adjusted = [bool(outcome.covariate) for outcome in experiment.outcomes]
    strata = [stratum_column(column) for column in experiment.strata]
    tables = [
        adjusted_moments(
            _with_quantiles(table, frames, place, _keys(columns, experiment.strata)),
            adjusted,
            [slice_column(column) for column in columns],
            strata,
        )
        for place, (table, (_, columns)) in enumerate(zip(cells, sets, strict=True))
    ]
    unknown = len(sets) - len(known)
    slices, places = slices_in(sets[:unknown], tables[:unknown])
    add_slices(experiment.sets, slices, places)
    placed = [table_with_places(table, place) for table, place in zip(tables, places, strict=True)]
    shape = (len(slices), len(constants.arms))
    sums = []
    for index, outcome in enumerate(experiment.outcomes):
        ranks = _tables_by_set(frames, f"ranks|{index}", places)
        column = {part_column(VALUE, index): "value"}
        values = [
            table.rename(column).sort("@place", "value")
            for table in _tables_by_set(frames, f"values|{index}", places)
        ]
        sums.append(_sums(outcome, index, constants, shape, placed, ranks, tuple(values)))
    shared = int(frames["shared"].item()) if clustered else 0
    return ExperimentSums(constants.arms, tuple(slices), tuple(sums), constants.sizes, shared)


def _tables_by_set(
    frames: Mapping[str, pl.DataFrame], plan: str, places: Sequence[pl.DataFrame]
) -> list[pl.DataFrame]:
    """Tables of a plan by slice set, with the places of their slices; of sets outside the plan none."""
    keys = [f"{plan}|{at}" for at in range(len(places))]
    return [
        table_with_places(frames[key], place)
        for key, place in zip(keys, places, strict=True)
        if key in frames
    ]


def _plans(
    rows: pl.LazyFrame,
    experiment: Experiment,
    constants: ArmConstants,
    sets: Sequence[tuple[str, tuple[str, ...]]],
) -> dict[str, pl.LazyFrame]:
    """The plans of a readout: moments and ranks by the place of a slice set, and shared units."""
    unit = None if experiment.unit is None else UNIT
    plans = {} if unit is None else {"shared": _units_of_several(rows, [ARM])}
    if unit is not None and experiment.strata:
        plans["strata"] = _units_of_several(rows, [stratum_column(column) for column in experiment.strata])
    values, arms = _values(experiment.outcomes, constants), len(constants.arms)
    for place, (_, columns) in enumerate(sets):
        if not experiment.reproducible:
            plans[f"moments|{place}"] = moments(rows, values, _keys(columns, experiment.strata), unit)
        asked = {"ranks": (experiment.ranks, rank_sums), "values": (experiment.shifts, value_counts)}
        for kind in (kind for kind, (wanted, _) in asked.items() if wanted and unit is None):
            keys = [slice_column(column) for column in columns]
            for index, outcome in enumerate(experiment.outcomes):
                if outcome.size is None and outcome.quantile is None:
                    sound, column = rows.filter(is_sound(outcome, index)), part_column(VALUE, index)
                    plans[f"{kind}|{index}|{place}"] = asked[kind][1](sound, column, keys, ARM, arms)
        for index, outcome in enumerate(experiment.outcomes):
            if outcome.quantile is not None:
                sound, keys = rows.filter(is_sound(outcome, index)), _keys(columns, experiment.strata)
                plans[f"quantile|{index}|{place}"] = quantile_moments(
                    sound, part_column(VALUE, index), keys, outcome.quantile, index
                )
    return plans


def _with_quantiles(
    table: pl.DataFrame, frames: dict[str, pl.DataFrame], place: int, keys: Sequence[str]
) -> pl.DataFrame:
    """The moments of a slice set, those of quantiles in place of those of the mean."""
    for name, frame in frames.items():
        kind, _, indices = name.partition("|")
        index, _, number = indices.partition("|")
        if kind == "quantile" and int(number) == place:
            table = table.drop(f"mean|{index}", f"variance|{index}")
            table = left_join(table, frame, keys)
    return table


def _keys(columns: Sequence[str], strata: Sequence[str]) -> list[str]:
    """The keys of cells: slices, strata and arms."""
    return [*map(slice_column, columns), *map(stratum_column, strata), ARM]


def _values(outcomes: Sequence[ArmOutcome], constants: ArmConstants) -> list[dict[str, pl.Expr]]:
    return [
        centred_numbers(outcome, index, constants.centres[index]) for index, outcome in enumerate(outcomes)
    ]


def _refuse_several_strata(units: int, experiment: Experiment) -> None:
    if units:
        column = ", ".join(experiment.strata)
        subject = "1 unit is" if units == 1 else f"{units:,} units are"
        msg = f"{subject} in more than one stratum of '{column}'"
        hint = "strata are known before the experiment: take one value of each unit"
        raise DataError(Problem(msg, ("strata",), hint))


def _units_of_several(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    values = rows.select(UNIT, *keys).unique().group_by(UNIT).agg(pl.len().alias("values"))
    return values.select((pl.col("values") > 1).sum().cast(pl.Int64).alias("units"))


def _sums(
    outcome: ArmOutcome,
    index: int,
    constants: ArmConstants,
    shape: tuple[int, int],
    moments: Sequence[pl.DataFrame],
    ranks: Sequence[pl.DataFrame],
    values: tuple[pl.DataFrame, ...],
) -> ArmSums:
    sums: dict[str, Array] = {}
    for name in COLUMNS:
        sums[name] = np.zeros(shape) if name in {"n", "units"} else np.full(shape, np.nan)
        for table in moments:
            column = table[f"{name}|{index}"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            sums[name][table["@place"].to_numpy(), table[ARM].to_numpy()] = column
    sums["mean"] = _moved_back(sums["mean"], constants.centres[index][VALUE])
    sums["covariate"] += constants.centres[index].get(COVARIATE, 0.0)
    for name in ("above", "ties") if ranks else ():
        sums[name] = np.zeros(shape)
        for table in ranks:
            for arm in range(1, shape[1]):
                sums[name][table["@place"].to_numpy(), arm] = table[f"{name}|{arm}"].to_numpy()
    return ArmSums(outcome, constants.binary[index], values=values, **sums)


def _moved_back(means: Array, centre: float) -> Array:
    """Means of what was centred; those that rounding alone tells from 0, or from the control's, equal that."""
    moved = means + centre
    moved = np.where(np.abs(moved) <= ROUNDING * abs(centre), 0.0, moved)
    control = moved[:, :1]
    return np.where(
        np.abs(moved - control) <= ROUNDING * np.maximum(abs(centre), np.abs(control)), control, moved
    )
