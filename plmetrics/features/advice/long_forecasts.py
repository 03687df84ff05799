"""Forecasts with a row per quantile in an undescribed table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.names import number_text
from plmetrics.features.advice.column_names import LEVELS, column_by_name, is_label_name, is_value_name
from plmetrics.features.advice.column_roles import attribute_roles, guess_roles
from plmetrics.features.advice.table_roles import LongTable, Roles
from plmetrics.table.prediction_columns import quantile_part

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.advice.column_roles import Facts
    from plmetrics.features.advice.table_roles import Wishes

_MOST_LEVELS = 200
_FEWEST_LEVELS = 2


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
    found = {} if wishes.label else {"label": "by its name" if is_label_name(label) else "the other numbers"}
    others["dates"] = tuple(name for name in others["dates"] if name in by)
    return Roles(
        label=label,
        scores=(value,),
        task="quantile",
        models={"forecast": parts},
        long=LongTable(by, level, value, levels),
        reasons={"task": reason, "scores": f"the quantiles of column '{value}'", **found},
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
    """The columns that tell forecasts apart: all that are no numbers with fractions, less what a row or level has.

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
