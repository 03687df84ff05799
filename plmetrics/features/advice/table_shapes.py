"""Undescribed tables of other shapes than a row a prediction: experiments with arms, and a row per quantile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from plmetrics.core.names import number_text
from plmetrics.features.advice.column_names import (
    ARMS,
    GROUPS,
    LEVELS,
    bare_name,
    column_by_name,
    is_control,
    is_earlier,
    is_label_name,
    is_outcome_name,
    is_unit_name,
    is_value_name,
    is_weight_name,
)
from plmetrics.features.advice.column_roles import attribute_roles, guess_roles, named_scores
from plmetrics.features.advice.table_roles import Arms, LongTable, Roles, Wishes
from plmetrics.table.prediction_columns import quantile_part

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.advice.column_facts import ColumnFacts
    from plmetrics.features.advice.column_roles import Facts

_MOST_ARMS = 20
_MOST_OUTCOMES = 5
_MOST_LEVELS = 200
_FEWEST_LEVELS = 2


def experiment_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """The roles of a table with arms and outcomes, and no score of a model."""
    is_experiment = wishes.task == "experiment"
    if not is_experiment and (wishes.scores or named_scores(facts, wishes.label)):
        return None
    fit = [name for name, column in facts.items() if _is_arm(column) and name != wishes.label]
    names = ARMS | GROUPS if is_experiment else ARMS
    arm = wishes.treatment or column_by_name(fit, names)
    if arm is None or not _is_arm(facts[arm]):
        return None
    outcomes = _outcomes(facts, arm)
    if wishes.label is not None:
        outcomes = [wishes.label] if _is_outcome(facts[wishes.label]) else []
    if not outcomes or (not is_experiment and not any(map(is_outcome_name, outcomes))):
        return None
    values = sample[arm].drop_nulls().unique().sort().to_list()
    control = next((value for value in values if is_control(value)), values[0])
    notes = (
        () if is_control(control) else (f"Which arm is the control is not said: {control} is the first one.",)
    )
    covariates = _covariates(facts, outcomes)
    others = attribute_roles(sample, facts, outcomes[0], (arm, *outcomes, *covariates.values()))
    others["weight"] = None
    return Roles(
        label=outcomes[0],
        scores=(),
        task="experiment",
        treatment=arm,
        arms=Arms(arm, control, tuple(outcomes), covariates),
        reasons={"task": f"column '{arm}' holds {len(values)} arms, and no column is a score"},
        notes=notes,
        **others,
    )


def _is_arm(column: ColumnFacts) -> bool:
    fractions = column.dtype.is_float() or column.dtype.is_decimal()
    return not fractions and not column.dtype.is_temporal() and 2 <= column.distinct <= _MOST_ARMS


def _is_outcome(column: ColumnFacts) -> bool:
    """Whether a column can be an outcome, a name in results too."""
    return (column.numeric or column.zero_one) and column.low is not None and column.name.isprintable()


def _outcomes(facts: Facts, arm: str) -> list[str]:
    """Columns with names of outcomes, else all numbers other than keys, ages or pre-experiment values."""
    numbers = [
        name
        for name, column in facts.items()
        if _is_outcome(column)
        and name != arm
        and not is_earlier(name)
        and not is_unit_name(name)
        and not is_weight_name(name)
    ]
    named = [name for name in numbers if is_outcome_name(name)]
    return (named or [name for name in numbers if "age" not in name.lower().split("_")])[:_MOST_OUTCOMES]


def _covariates(facts: Facts, outcomes: Sequence[str]) -> Mapping[str, str]:
    """By outcome the column of the same thing before."""
    earlier = {bare_name(name).partition("_")[2]: name for name in facts if is_earlier(name)}
    return {name: earlier[bare_name(name)] for name in outcomes if bare_name(name) in earlier}


def long_forecast_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """The roles of a table with a column of levels between 0 and 1, and one of the values of these quantiles."""
    level = column_by_name([name for name in facts if _is_level(facts, name)], LEVELS)
    if level is None or level == wishes.label:
        return None
    numeric = [name for name, column in facts.items() if column.numeric and name not in (level, wishes.label)]
    values = wishes.scores or [name for name in numeric if is_value_name(name)]
    if len(values) != 1:
        return None
    (value,) = values
    label = wishes.label or _label(sample, facts, wishes, level, value)
    by = _forecast_columns(sample, facts, level, value, label)
    if not by:
        return None
    levels = tuple(sorted(sample[level].drop_nulls().unique().to_list()))
    parts = {quantile_part(number): f"{value}_{number_text(number)}" for number in levels}
    reason = f"a row per quantile: column '{level}' holds {len(levels)} levels, '{value}' their values"
    others = attribute_roles(sample, facts, label, (value, level))
    reasons = (
        {} if wishes.label else {"label": "by its name" if is_label_name(label) else "the other numbers"}
    )
    others["dates"] = tuple(name for name in others["dates"] if name in by)
    return Roles(
        label=label,
        scores=(value,),
        task="quantile",
        models={"forecast": parts},
        long=LongTable(by, level, value, levels),
        reasons={"task": reason, "scores": f"the quantiles of column '{value}'", **reasons},
        **others,
    )


def _is_level(facts: Facts, name: str) -> bool:
    column = facts[name]
    inside = column.is_share and column.low > 0 and column.high < 1
    return inside and _FEWEST_LEVELS <= column.distinct <= _MOST_LEVELS


def _label(sample: pl.DataFrame, facts: Facts, wishes: Wishes, level: str, value: str) -> str:
    others = {name: column for name, column in facts.items() if name != level}
    return guess_roles(sample, others, type(wishes)(scores=(value,))).label


def _forecast_columns(
    sample: pl.DataFrame, facts: Facts, level: str, value: str, label: str
) -> tuple[str, ...]:
    """Key columns of forecasts: all but columns of fractions, and columns that vary within a forecast.

    Empty where rows of one forecast have a level twice: then this is no table of quantiles.
    """
    by = [
        name
        for name, column in facts.items()
        if name not in (level, value, label) and not column.dtype.is_float()
    ]
    rows = sample.drop_nulls(level)
    by = [name for name in by if rows[name].n_unique() < rows.height]
    by = [name for name in by if _is_constant(rows, name, [other for other in by if other != name], level)]
    keys = rows.select(*by, level)
    return tuple(by) if by and keys.n_unique() == rows.height else ()


def _is_constant(rows: pl.DataFrame, name: str, others: list[str], level: str) -> bool:
    """Whether a column tells forecasts apart: without it levels would stand twice, or it goes with the others."""
    return bool(others) and (
        rows.select(*others, name).n_unique() == rows.select(*others).n_unique()
        or rows.select(*others, level).n_unique() < rows.height
    )
