"""The task of an undescribed table, where its predictions are not one column of scores each."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.names import number_text
from plmetrics.features.advice.column_roles import guess_roles, pieces, require_columns
from plmetrics.table.predicted import quantile_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.features.advice.column_facts import ColumnFacts
    from plmetrics.features.advice.column_roles import Facts, Roles

_QUERIES = frozenset({"query", "query_id", "qid", "query_key", "search_id", "topic", "topic_id"})
_RELEVANCE = frozenset({"relevance", "rel", "grade", "relevance_grade", "judgement", "judgment"})
_ARMS = frozenset({"treatment", "treated", "treat", "is_treated", "arm", "treatment_group", "w"})
_QUANTILE = re.compile(
    r"(?P<stem>.*?)(?:(?P<share>0?\.\d+)|(?<![0-9.])(?:q|quantile_?)_?(?P<percent>\d{1,2}))"
)
_MOST_CLASSES = 100
_FEWEST_LEVELS = 2


def recognised_roles(sample: pl.DataFrame, facts: Facts, label: str | None, scores: Sequence[str]) -> Roles:
    """The roles of columns, with the task unless it is one score a model and a label of two values or numbers.

    Raises:
        Undecided: no column, or several, may be the label or the scores.
    """
    require_columns(facts, label, scores)
    shape = None if scores else _quantiles(sample, facts, label) or _classes(sample, facts, label)
    if shape is not None:
        reason = shape.pop("reason")
        roles = guess_roles(sample, facts, shape.pop("label"), tuple(shape["parts"].values()))
        fits = {} if label else {"label": "it fits the columns of the model"}
        return replace(roles, reasons={"task": reason, "scores": reason, **fits}, **shape)
    query = _column_by_name(facts, _QUERIES)
    if query is not None:
        roles = guess_roles(sample, facts, label or _column_by_name(facts, _RELEVANCE), scores)
        if facts[roles.label].numeric and query not in (roles.label, *roles.scores):
            reasons = {**roles.reasons, "task": f"column '{query}' groups the rows by query"}
            return replace(roles, task="ranking", query=query, reasons=reasons)
    roles = guess_roles(sample, facts, label, scores)
    arm = _column_by_name(facts, _ARMS)
    if arm is not None and facts[arm].zero_one and arm not in (roles.label, *roles.scores, roles.weight):
        reasons = {**roles.reasons, "task": f"column '{arm}' tells treated rows from others"}
        return replace(roles, task="uplift", treatment=arm, reasons=reasons)
    return roles


def levels_of_columns(names: Sequence[str]) -> dict[str, dict[float, str]]:
    """Columns that are named like quantiles, by what stands before the level.

    >>> levels_of_columns(["id", "pred_0.1", "pred_0.9", "q05", "q95"])
    {'pred_': {0.1: 'pred_0.1', 0.9: 'pred_0.9'}, '': {0.05: 'q05', 0.95: 'q95'}}
    """
    by_stem: dict[str, dict[float, str]] = {}
    for name in names:
        match = _QUANTILE.fullmatch(name)
        if match is None:
            continue
        level = float(match["share"]) if match["share"] else int(match["percent"]) / 100
        if 0 < level < 1:
            by_stem.setdefault(match["stem"], {})[level] = name
    return {
        stem: dict(sorted(levels.items()))
        for stem, levels in by_stem.items()
        if len(levels) >= _FEWEST_LEVELS
    }


def _quantiles(sample: pl.DataFrame, facts: Facts, label: str | None) -> dict[str, Any] | None:
    """Columns that are named after levels of quantiles."""
    families = levels_of_columns([name for name, column in facts.items() if column.numeric and name != label])
    if not families or (label is not None and not facts[label].numeric):
        return None
    columns = max(families.values(), key=len)
    named = ", ".join(number_text(level) for level in columns)
    return {
        "task": "quantile",
        "label": label or guess_roles(sample, facts, None, tuple(columns.values())).label,
        "reason": f"there are columns of the quantiles {named}",
        "parts": {quantile_part(level): column for level, column in columns.items()},
    }


def _classes(sample: pl.DataFrame, facts: Facts, label: str | None) -> dict[str, Any] | None:
    """Columns that are named after the values of the label, each with the same words before and behind."""
    places = {name: place for place, name in enumerate(facts)}
    for target in facts if label is None else (label,):
        if not _is_classes(facts[target]):
            continue
        classes = [str(value) for value in sample[target].drop_nulls().unique().sort().to_list()]
        columns = _columns_of(classes, [name for name in facts if facts[name].is_share and name != target])
        if columns:
            ordered = tuple(sorted(columns, key=lambda name: places[columns[name]]))
            return {
                "task": "multiclass",
                "label": target,
                "reason": f"there is a column of probabilities for each of {len(classes)} classes",
                "parts": {f"proba|{name}": columns[name] for name in ordered},
                "classes": ordered,
            }
    return None


def _is_classes(column: ColumnFacts) -> bool:
    textual = column.dtype in {pl.String, pl.Categorical, pl.Enum}
    return 2 < column.distinct <= _MOST_CLASSES and (textual or column.dtype.is_integer())


def _columns_of(classes: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    first = classes[0]
    for name in names:
        before, separator, behind = name.rpartition(first)
        if not separator:
            continue
        columns = {value: f"{before}{value}{behind}" for value in classes}
        if set(columns.values()) <= set(names):
            return columns
    return {}


def _column_by_name(facts: Facts, names: frozenset[str]) -> str | None:
    return next((name for name in facts if "_".join(pieces(name)) in names), None)
