"""The sums of an experiment's arms, in every slice: a few small plans over one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.engine.exact_moments import exact_moments
from plmetrics.engine.exponents import exact_means
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
    """What is asked: outcomes, the column of arms and its control, slice sets by name, and the unit, if any."""

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
class Measured:
    """The arms by name, the control first; the slices as (set, slice); and the sums of each outcome.

    `sizes` are the units of each arm, whatever their outcomes, and `shared` is how many are in more than one.
    """

    arms: tuple[str, ...]
    slices: tuple[tuple[str, str], ...]
    sums: tuple[ArmSums, ...]
    sizes: Array
    shared: int


@dataclass(frozen=True, slots=True)
class _Known:
    """What the first look at the table found."""

    arms: tuple[str, ...]
    binary: tuple[bool, ...]
    centres: tuple[float, ...]


def measure(source: Source, asked: Experiment) -> Measured:
    """The sums of every outcome by slice and arm.

    Raises:
        ConfigError: the control is no arm, or there are more than 100 arms or 10,000 slices.
        DataError: a column is absent or of a type that its role cannot take, or values are missing.
    """
    rows = source.frame.select(**_columns(source.schema, asked))
    known = _look(rows, asked)
    if asked.missing == "drop":
        rows = rows.filter(pl.col(ARM).is_not_null(), *([pl.col(UNIT).is_not_null()] if asked.unit else []))
    number = pl.col(ARM).cast(pl.Enum(known.arms)).to_physical().cast(pl.Int64)
    rows = rows.with_columns(number.alias(ARM))
    sets = [("overall", ()), *asked.slices.items()]
    plans = [] if asked.reproducible else [_moments(rows, asked, columns, known) for _, columns in sets]
    ranks = [
        [_ranks(rows, index, columns, len(known.arms)) for _, columns in sets]
        for index in range(len(asked.outcomes))
        if asked.ranks and asked.unit is None
    ]
    whole = [_sizes(rows, asked), _shared(rows, asked)]
    collected = pl.collect_all([*plans, *(plan for group in ranks for plan in group), *whole])
    tables = collected[: len(plans)]
    if asked.reproducible:
        by = [[*map(_slice, columns), ARM] for _, columns in sets]
        unit = None if asked.unit is None else UNIT
        tables = exact_moments(rows, _values(asked, known), by, unit)
    slices, places = _slices(sets, tables)
    held = [_place(table, place) for table, place in zip(tables, places, strict=True)]
    sums = []
    for index, outcome in enumerate(asked.outcomes):
        first = len(plans) + len(sets) * index
        parts = collected[first : first + len(sets)] if ranks else []
        ranked = [_place(table, place) for table, place in zip(parts, places, strict=False)]
        sums.append(_sums(outcome, index, known, (len(slices), len(known.arms)), held, ranked))
    sizes = collected[-2].sort(ARM)[_ROWS].to_numpy().astype(np.float64)
    return Measured(known.arms, tuple(slices), tuple(sums), sizes, int(collected[-1].item()))


def _columns(schema: pl.Schema, asked: Experiment) -> dict[str, pl.Expr]:
    columns = {ARM: _arm_text(require(schema, asked.arm, "arm", ("arm",)), asked.arm)}
    if asked.unit is not None:
        if not is_key(require(schema, asked.unit, "unit", ("unit",))):
            msg = f"column '{asked.unit}' (unit) is of type {schema[asked.unit]}, which is no key"
            raise DataError(Problem(msg, ("unit",)))
        columns[UNIT] = pl.col(asked.unit)
    for index, outcome in enumerate(asked.outcomes):
        dtype = require(schema, outcome, "outcome", ("outcome",))
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            msg = f"column '{outcome}' (outcome) is of type {dtype}, but must hold numbers or booleans"
            raise DataError(Problem(msg, ("outcome",)))
        columns[_outcome(index)] = pl.col(outcome).cast(pl.Float64)
    for column in dict.fromkeys(column for held in asked.slices.values() for column in held):
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
        whole = pl.col(name).cast(pl.Int64, strict=False)
        return (
            pl.when(whole == pl.col(name)).then(whole.cast(pl.String)).otherwise(pl.col(name).cast(pl.String))
        )
    if dtype.is_nested() or dtype in {pl.Binary, pl.Object}:
        raise DataError(Problem(f"column '{name}' (arm) is of type {dtype}, which names no arms", ("arm",)))
    return pl.col(name).cast(pl.String)


def _look(rows: pl.LazyFrame, asked: Experiment) -> _Known:
    """Arms, kinds and centres of outcomes, and what is missing."""
    plans = [pl.len().cast(pl.Int64).alias(_ROWS)]
    if asked.unit is not None:
        plans.append(pl.col(UNIT).null_count().cast(pl.Int64).alias("units"))
    for index in range(len(asked.outcomes)):
        value = pl.col(_outcome(index))
        sound = value.is_finite().fill_null(value=False)
        plans += [
            (~sound).sum().cast(pl.Int64).alias(f"bad|{index}"),
            pl.when(sound).then(value).sum().alias(f"sum|{index}"),
            (sound & (value != 0) & (value != 1)).sum().cast(pl.Int64).alias(f"other|{index}"),
        ]
    found = rows.group_by(ARM).agg(plans).sort(ARM).collect()
    _refuse_missing(found, asked)
    arms = found[ARM].drop_nulls().to_list()
    control = value_text(asked.control)
    if control not in arms:
        msg = f"control '{control}' is none of the arms in column '{asked.arm}'"
        raise ConfigError(Problem(msg, ("control",), did_you_mean(control, arms) or f"known: {_few(arms)}"))
    if not 2 <= len(arms) <= MOST_ARMS:
        msg = f"column '{asked.arm}' holds {len(arms):,} of the 2 to {MOST_ARMS} arms that a readout compares"
        raise ConfigError(Problem(msg, ("arm",)))
    rest = [arm for arm in arms if arm != control]
    total = found.sum()
    sums = [total[f"sum|{index}"].item() or 0.0 for index in range(len(asked.outcomes))]
    sizes = [total[_ROWS].item() - total[f"bad|{index}"].item() for index in range(len(asked.outcomes))]
    binary = tuple(total[f"other|{index}"].item() == 0 for index in range(len(asked.outcomes)))
    means = [part / max(size, 1) for part, size in zip(sums, sizes, strict=True)]
    if asked.reproducible:
        numbers = {_outcome(index): pl.col(_outcome(index)) for index in range(len(asked.outcomes))}
        means = list(exact_means(rows, numbers).values())
    near = [0.0 if shares else mean for mean, shares in zip(means, binary, strict=True)]
    return _Known((control, *rest), binary, tuple(near))


def _refuse_missing(found: pl.DataFrame, asked: Experiment) -> None:
    if not found.height:
        msg = "the table has no rows"
        raise DataError(msg)
    counts = {("arm", asked.arm, "null"): int(found.filter(pl.col(ARM).is_null())[_ROWS].sum())}
    if asked.unit is not None:
        counts["unit", asked.unit, "null"] = int(found["units"].sum())
    for index, outcome in enumerate(asked.outcomes):
        counts["outcome", outcome, "null, NaN or infinite"] = int(found[f"bad|{index}"].sum())
    total = int(found[_ROWS].sum())
    problems = [
        Problem(
            f"column '{column}' ({role}): {count:,} of {total:,} values are {kind}",
            (role,),
            "missing='drop' leaves these rows out",
        )
        for (role, column, kind), count in counts.items()
        if count
    ]
    if problems and asked.missing == "error":
        raise DataError(problems)


def _moments(rows: pl.LazyFrame, asked: Experiment, columns: Sequence[str], known: _Known) -> pl.LazyFrame:
    """Size, mean and variance of the mean of every outcome, by slice and arm."""
    keys = [*(pl.col(_slice(column)) for column in columns), pl.col(ARM)]
    values = _values(asked, known)
    rows = rows.with_columns(values)
    if asked.unit is None:
        return rows.group_by(keys).agg(part for index in range(len(values)) for part in _of_rows(index))
    names = [_outcome(index) for index in range(len(values))]
    per_unit = rows.group_by(*keys, UNIT).agg(
        *(pl.col(name).sum() for name in names),
        *(pl.col(name).count().cast(pl.Float64).alias(f"{name}|n") for name in names),
    )
    return per_unit.group_by(keys).agg(part for index in range(len(values)) for part in _of_units(index))


def _values(asked: Experiment, known: _Known) -> list[pl.Expr]:
    """The outcomes of a row less their centres, null where there are none."""
    values = []
    for index in range(len(asked.outcomes)):
        value = pl.col(_outcome(index))
        near = pl.when(value.is_finite()).then(value - known.centres[index])
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
    held = pl.col(f"{_outcome(index)}|n")
    value, size = pl.col(_outcome(index)), held
    units, total = (held > 0).sum().cast(pl.Float64), held.sum()
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
        own = pl.col(f"arm|{arm}")
        wide, both = own.cast(pl.Int128), (own + control).cast(pl.Int128)
        above = (wide * below).sum() - 2 * before.cast(pl.Int128) * wide.sum()
        parts += [
            (above.cast(pl.Float64) / 2).alias(f"above|{arm}"),
            (both * both * both - both).sum().cast(pl.Float64).alias(f"ties|{arm}"),
        ]
    return plan.agg(parts).drop("@all", strict=False)


def _sizes(rows: pl.LazyFrame, asked: Experiment) -> pl.LazyFrame:
    """The units of each arm."""
    held = pl.len() if asked.unit is None else pl.col(UNIT).n_unique()
    return rows.group_by(ARM).agg(held.cast(pl.Int64).alias(_ROWS))


def _shared(rows: pl.LazyFrame, asked: Experiment) -> pl.LazyFrame:
    """How many units are in more than one arm."""
    if asked.unit is None:
        return rows.select(pl.lit(0, dtype=pl.Int64).alias(_ROWS)).head(1)
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
    known: _Known,
    shape: tuple[int, int],
    held: Sequence[pl.DataFrame],
    ranked: Sequence[pl.DataFrame],
) -> ArmSums:
    found: dict[str, Array] = {}
    for name in ("n", "units", "mean", "variance"):
        found[name] = np.zeros(shape) if name in {"n", "units"} else np.full(shape, np.nan)
        for table in held:
            column = table[f"{name}|{index}"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            found[name][table["@place"].to_numpy(), table[ARM].to_numpy()] = column
    found["mean"] += known.centres[index]
    if not ranked:
        return ArmSums(outcome, known.binary[index], **found)
    for name in ("above", "ties"):
        found[name] = np.zeros(shape)
        for table in ranked:
            for arm in range(1, shape[1]):
                found[name][table["@place"].to_numpy(), arm] = table[f"{name}|{arm}"].to_numpy()
    return ArmSums(outcome, known.binary[index], **found)


def _outcome(index: int) -> str:
    return f"@outcome|{index}"


def _slice(column: str) -> str:
    return f"@slice|{column}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
