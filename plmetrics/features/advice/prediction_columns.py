"""Predictions of several columns in an undescribed table: quantiles, probabilities of classes, calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.names import number_text, plain_text
from plmetrics.features.advice.column_names import is_label_name, is_score_name
from plmetrics.features.advice.column_roles import (
    are_shares_of_one,
    attribute_roles,
    guess_roles,
    named_scores,
)
from plmetrics.features.advice.table_roles import Roles, Wishes
from plmetrics.table.common_types import is_text
from plmetrics.table.prediction_columns import quantile_part

if TYPE_CHECKING:
    from plmetrics.features.advice.column_facts import ColumnFacts
    from plmetrics.features.advice.column_roles import Facts

_QUANTILE = re.compile(
    r"(?P<stem>.*?)(?:(?P<share>0?\.\d+)|(?<![0-9.])(?:q|quantile_?)_?(?P<percent>\d{1,2}))"
)
_MOST_CLASSES = 100
_MOST_CODES = 10
_FEWEST = 2
_TRIMMED = "_-. :()[]*"


def quantile_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """Roles of a table with columns named after levels of quantiles."""
    label = wishes.label
    names = [name for name, column in facts.items() if column.numeric and name != label]
    families = levels_of_columns(names)
    if wishes.scores:
        chosen = {stem: set(levels.values()) & {*wishes.scores} for stem, levels in families.items()}
        families = {stem: levels for stem, levels in families.items() if chosen[stem]}
    if not families or (label is not None and not facts[label].numeric):
        return None
    most = max(len(levels) for levels in families.values())
    families = {stem: levels for stem, levels in families.items() if len(levels) == most}
    columns = [column for levels in families.values() for column in levels.values()]
    levels = ", ".join(number_text(level) for level in next(iter(families.values())))
    parts = {
        stem: {quantile_part(level): column for level, column in levels.items()}
        for stem, levels in families.items()
    }
    wishes = replace(wishes, scores=tuple(columns))
    roles = guess_roles(sample, facts, wishes)
    reason = f"there are columns of the quantiles {levels}"
    reasons = {**roles.reasons, "task": reason, "scores": reason}
    return replace(
        roles,
        task="quantile",
        models=model_names(parts),
        scores=tuple(columns),
        positive=None,
        reasons=reasons,
    )


def levels_of_columns(names: Sequence[str]) -> dict[str, dict[float, str]]:
    """Columns with names of quantiles, by the prefix of the level.

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
    return {stem: dict(sorted(levels.items())) for stem, levels in by_stem.items() if len(levels) >= _FEWEST}


def class_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """The roles of a table with a column of probabilities for each value of the label."""
    for target in facts if wishes.label is None else (wishes.label,):
        if not _is_classes(facts[target], wishes):
            continue
        classes = _classes(sample, target)
        names = [name for name in facts if facts[name].is_share and name != target]
        families = dict(_columns_by_affix(classes, names))
        notes: tuple[str, ...] = ()
        reason = f"there is a column of probabilities for each of {len(classes)} classes"
        if not families and (wishes.label is not None or is_label_name(target)):
            families = _columns_in_order(sample, classes, names)
            reason = f"{len(classes)} columns of decimal numbers sum to 1 in every row, and there are as many classes"
            notes = (
                "The columns of probabilities are taken in the order of the sorted classes: see that they are.",
            )
        if families:
            return _class_roles(sample, facts, wishes, target, families, reason, notes)
    return None


def called_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """Roles of a table with classes and no scores of models."""
    targets = [wishes.label] if wishes.label is not None else [name for name in facts if is_label_name(name)]
    if wishes.label is None and not targets:
        targets = list(facts)
    for target in targets:
        column = facts[target]
        called = _call_columns(sample, facts, target, wishes)
        by_name = is_label_name(target) or all(map(is_score_name, called))
        if not called or (wishes.label is None and not by_name):
            continue
        names = f"column{'s' if len(called) > 1 else ''} {', '.join(called)}"
        what = "values" if column.has_two_values else "classes"
        reason = f"{names} hold{'' if len(called) > 1 else 's'} {what} of the label: classes that were called"
        binary = column.has_two_values and wishes.task != "multiclass"
        notes: tuple[str, ...] = ()
        if column.numeric and wishes.task is None:
            notes = (
                "Whole numbers as labels and predictions were taken for classes: if they are amounts, "
                "--task regression.",
            )
        return Roles(
            label=target,
            scores=tuple(called),
            task="binary" if binary else "multiclass",
            models={name: {"prediction": name} for name in called},
            classes=() if binary else tuple(_classes(sample, target)),
            reasons={"task": reason, "scores": reason, **_label_reason(wishes, target, "by its name")},
            notes=notes,
            **attribute_roles(sample, facts, target, called),
        )
    return None


def model_names(families: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Families of columns by the name of a model: the common part of their names, without marks at the ends."""
    names = [stem.strip(_TRIMMED) for stem in families]
    plain = len(families) == 1 or len({*names}) < len(names) or not all(names)
    if plain:
        names = ["model"] if len(families) == 1 else [f"model_{place + 1}" for place in range(len(families))]
    return dict(zip(names, families.values(), strict=True))


def _class_roles(
    sample: pl.DataFrame,
    facts: Facts,
    wishes: Wishes,
    target: str,
    families: Mapping[str, Mapping[str, str]],
    reason: str,
    notes: tuple[str, ...],
) -> Roles:
    first = next(iter(families.values()))
    ordered = tuple(sorted(first, key=lambda name: list(facts).index(first[name])))
    parts = {stem: {f"proba|{name}": columns[name] for name in ordered} for stem, columns in families.items()}
    columns = tuple(column for model in parts.values() for column in model.values())
    return Roles(
        label=target,
        scores=columns,
        task="multiclass",
        models=model_names(parts),
        classes=ordered,
        reasons={
            "task": reason,
            "scores": reason,
            **_label_reason(wishes, target, "it fits the columns of the model"),
        },
        notes=notes,
        **attribute_roles(sample, facts, target, columns),
    )


def _label_reason(wishes: Wishes, label: str, reason: str) -> dict[str, str]:
    return {} if wishes.label == label else {"label": reason}


def _is_classes(column: ColumnFacts, wishes: Wishes) -> bool:
    textual = is_text(column.dtype)
    least = 2 if wishes.task == "multiclass" else 3
    return least <= column.distinct <= _MOST_CLASSES and (textual or column.dtype.is_integer())


def _classes(sample: pl.DataFrame, column: str) -> list[str]:
    """The values of a column as texts, in their order."""
    return [plain_text(value) for value in sample[column].drop_nulls().unique().sort().to_list()]


def _columns_by_affix(classes: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Columns named after every class, with common words before and behind; by these words."""
    present = set(names)
    for name in names:
        before, separator, behind = name.rpartition(classes[0])
        columns = {value: f"{before}{value}{behind}" for value in classes} if separator else {}
        if columns and set(columns.values()) <= present:
            yield f"{before}{behind}", columns


def _columns_in_order(
    sample: pl.DataFrame, classes: Sequence[str], names: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Adjacent columns with sum 1, for the classes in their order."""
    size = len(classes)
    runs = [names[start : start + size] for start in range(len(names) - size + 1)]
    run = next((run for run in runs if are_shares_of_one(sample, run)), None)
    return {} if run is None else {"": dict(zip(classes, run, strict=True))}


def _call_columns(sample: pl.DataFrame, facts: Facts, label: str, wishes: Wishes) -> list[str]:
    """Columns of the label's type with values of the label alone."""
    column = facts[label]
    most = _MOST_CODES if column.numeric else _MOST_CLASSES
    if not 2 <= column.distinct <= most or (column.numeric and not column.dtype.is_integer()):
        return []
    if column.numeric and (
        column.zero_one or any(facts[name].dtype.is_float() for name in named_scores(facts, label))
    ):
        return []
    values = set(_classes(sample, label))
    names = [
        name
        for name, other in facts.items()
        if name != label
        and _same_kind(other, column)
        and set(_classes(sample, name)) <= values
        and other.distinct > 1
    ]
    if wishes.scores:
        return [name for name in names if name in wishes.scores]
    called = [name for name in names if is_score_name(name)]
    return called or (names if len(names) == 1 and not column.numeric else [])


def _same_kind(column: ColumnFacts, other: ColumnFacts) -> bool:
    if is_text(other.dtype):
        return is_text(column.dtype)
    return column.dtype == other.dtype == pl.Boolean or (
        column.dtype.is_integer() and other.dtype.is_integer()
    )
