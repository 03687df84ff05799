"""Experiments in an undescribed table: the column of arms, the control, outcomes and what was known before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.features.advice.column_names import (
    ARMS,
    GROUPS,
    bare_name,
    column_by_name,
    is_control,
    is_earlier,
    is_outcome_name,
    is_unit_name,
    is_weight_name,
)
from plmetrics.features.advice.column_roles import attribute_roles, named_scores
from plmetrics.features.advice.table_roles import Arms, Roles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from plmetrics.features.advice.column_facts import ColumnFacts
    from plmetrics.features.advice.column_roles import Facts
    from plmetrics.features.advice.table_roles import Wishes

_MOST_ARMS = 20
_MOST_OUTCOMES = 5


def experiment_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """The roles of a table with arms and outcomes, and no score of a model."""
    told = wishes.task == "experiment"
    if not told and (wishes.scores or named_scores(facts, wishes.label)):
        return None
    fit = [name for name, column in facts.items() if _is_arm(column) and name != wishes.label]
    names = ARMS | GROUPS if told else ARMS
    arm = wishes.treatment or column_by_name(fit, names)
    if arm is None or not _is_arm(facts[arm]):
        return None
    outcomes = _outcomes(facts, arm)
    if wishes.label is not None:
        outcomes = [wishes.label] if _is_outcome(facts[wishes.label]) else []
    if not outcomes or (not told and not any(map(is_outcome_name, outcomes))):
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
    """Whether a column can be an outcome, which is a name in results too."""
    return (column.numeric or column.zero_one) and column.low is not None and column.name.isprintable()


def _outcomes(facts: Facts, arm: str) -> list[str]:
    """The columns that are called like outcomes, else all numbers that are no keys, ages or things from before."""
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
