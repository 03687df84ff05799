"""Constants of a readout, found before it counts: arms, kinds of outcomes, and numbers near them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.engine.arithmetic import Arithmetic
from plmetrics.engine.inquiry import answer
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.experiment.design import ARM, UNIT
from plmetrics.features.experiment.outcomes import (
    COVARIATE,
    COVARIATE_SIZE,
    SIZE,
    VALUE,
    is_sound,
    part_column,
)
from plmetrics.table.slice_keys import value_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.features.experiment.design import Experiment
    from plmetrics.features.experiment.outcomes import Outcome

    Array = NDArray[np.float64]

MOST_ARMS = 100
_ROWS = "@rows"


@dataclass(frozen=True, slots=True)
class Constants:
    """Arms of the table, the control first, and their units; of each outcome whether it is binary, and its centres."""

    arms: tuple[str, ...]
    sizes: Array
    binary: tuple[bool, ...]
    centres: tuple[dict[str, float], ...]


def experiment_constants(rows: pl.LazyFrame, experiment: Experiment) -> Constants:
    """Arms, and kinds and centres of outcomes.

    Raises:
        ConfigError: the control is no arm, or there are more than 100 arms.
        DataError: there are no rows, or values are missing.
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
        raise ConfigError(Problem(msg, ("control",), did_you_mean(control, arms) or f"known: {_names(arms)}"))
    if not 2 <= len(arms) <= MOST_ARMS:
        msg = f"column '{experiment.arm}' holds {len(arms):,} of the 2 to {MOST_ARMS} arms that a readout compares"
        raise ConfigError(Problem(msg, ("arm",)))
    binary = tuple(
        outcome.is_plain and counts[f"other|{index}"].sum() == 0
        for index, outcome in enumerate(experiment.outcomes)
    )
    totals = _totals(rows, counts, experiment)
    centres = [
        dict.fromkeys((VALUE, COVARIATE), 0.0)
        if binary[index] or outcome.quantile is not None
        else _centres(outcome, index, totals)
        for index, outcome in enumerate(experiment.outcomes)
    ]
    arms = [control, *(arm for arm in arms if arm != control)]
    of_arm = dict(counts.select(ARM, _ROWS if experiment.unit is None else "size").iter_rows())
    units_each = np.array([of_arm[arm] for arm in arms], dtype=np.float64)
    return Constants(tuple(arms), units_each, binary, tuple(centres))


def _facts(outcome: Outcome, index: int) -> list[pl.Expr]:
    """Of one outcome: missing numbers, sums of those of rows that miss none, and values other than 0 and 1."""
    sound, facts = is_sound(outcome, index), []
    for part in outcome.columns():
        name, number = part_column(part, index), pl.col(part_column(part, index))
        absent = ~number.is_finite().fill_null(value=False)
        facts += [
            absent.sum().cast(pl.Int64).alias(f"bad{name}"),
            pl.when(sound).then(number).sum().alias(f"sum{name}"),
        ]
    value = pl.col(part_column(VALUE, index))
    other = (sound & (value != 0) & (value != 1)).sum().cast(pl.Int64)
    return [*facts, sound.sum().cast(pl.Float64).alias(f"sum@rows|{index}"), other.alias(f"other|{index}")]


def _totals(rows: pl.LazyFrame, counts: pl.DataFrame, experiment: Experiment) -> dict[str, float]:
    """Sums of the numbers of all outcomes, or their means, in any order of the rows if so asked."""
    if not experiment.reproducible:
        sums = counts.select(pl.col("^sum@.*$").sum()).row(0, named=True)
        return {name.removeprefix("sum"): float(total) for name, total in sums.items()}
    numbers = {
        part_column(part, index): pl.when(is_sound(outcome, index)).then(pl.col(part_column(part, index)))
        for index, outcome in enumerate(experiment.outcomes)
        for part in outcome.columns()
    }
    means = answer(Arithmetic(any_order=True).means(rows, numbers))
    return means | {f"@rows|{index}": 1.0 for index in range(len(experiment.outcomes))}


def _centres(outcome: Outcome, index: int, totals: Mapping[str, float]) -> dict[str, float]:
    """The outcome and its covariate among all rows: constants near those of the arms."""
    centres = {}
    for part, size in ((VALUE, SIZE), (COVARIATE, COVARIATE_SIZE)):
        if part in outcome.columns():
            sized = part_column(size, index) if size in outcome.columns() else f"@rows|{index}"
            centres[part] = totals[part_column(part, index)] / totals[sized] if totals[sized] else 0.0
    return centres


def _refuse_missing(arms: pl.DataFrame, experiment: Experiment) -> None:
    if not arms.height:
        msg = "the table has no rows"
        raise DataError(msg)
    counts = {("arm", experiment.arm, "null"): int(arms.filter(pl.col(ARM).is_null())[_ROWS].sum())}
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
            "missing='drop' leaves these rows out",
        )
        for (role, column, kind), count in counts.items()
        if count
    ]
    if problems and experiment.missing == "error":
        raise DataError(problems)


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
