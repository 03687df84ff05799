"""The task of an undescribed table: by its columns, or as the caller says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.core.names import sql_name
from plmetrics.features.advice.column_names import (
    ARMS,
    GROUPS,
    QUERIES,
    RELEVANCE,
    column_by_name,
    is_control,
)
from plmetrics.features.advice.column_roles import (
    class_columns,
    explained_variance,
    guess_roles,
    named_scores,
    question,
    require_columns,
)
from plmetrics.features.advice.label_columns import label_set_roles
from plmetrics.features.advice.prediction_columns import called_roles, class_roles, quantile_roles
from plmetrics.features.advice.table_roles import AmbiguousRoles, Roles, Wishes
from plmetrics.features.advice.table_shapes import experiment_roles, long_forecast_roles

if TYPE_CHECKING:
    from plmetrics.features.advice.column_roles import Facts

    Recogniser = Callable[[pl.DataFrame, Facts, Wishes], Roles | None]

_FEWEST_QUERIES = 5
_MOST_DOCUMENTS = 2000
_MOST_SHARES = 11
_RARE = 0.05
_OF_NUMBERS = ("regression", "quantile", "ranking", "uplift")


def recognised_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles:
    """The roles of columns, with the task where more than a label and scores tells it.

    Raises:
        AmbiguousRoles: no column, or several, may be the label or the scores; or the task that is asked for does not
            fit the table.
    """
    require_columns(facts, wishes)
    if wishes.task is not None:
        roles = next(filter(None, (fit(sample, facts, wishes) for fit in _BY_TASK[wishes.task])), None)
        if roles is None:
            raise _unfit(facts, wishes)
        _require_numbers(facts, roles)
        return replace(roles, reasons={**roles.reasons, "task": _task_reason(roles)})
    if wishes.query is not None:
        return recognised_roles(sample, facts, replace(wishes, task="ranking"))
    roles = next(roles for fit in _IN_ORDER if (roles := fit(sample, facts, wishes)) is not None)
    _require_numbers(facts, roles)
    return roles


def _require_numbers(facts: Facts, roles: Roles) -> None:
    """Check that labels of a numeric task are numbers, and queries are none with fractions."""
    label, query = facts[roles.label], roles.query
    if roles.task in _OF_NUMBERS and not (label.numeric or (roles.task == "uplift" and label.zero_one)):
        msg = f"column '{label.name}' holds {label.kind}, but labels of task '{roles.task}' are numbers"
        raise AmbiguousRoles(Problem(msg, hint="choose another column with --label, or another --task"))
    if query is not None and facts[query].dtype.is_float():
        msg = f"column '{query}' holds numbers with fractions, which name no queries"
        raise AmbiguousRoles(
            Problem(msg, hint="choose another column with --query, or cast it to whole numbers")
        )


def _task_reason(roles: Roles) -> str:
    reason = roles.reasons.get("task")
    return f"as you said; {reason}" if reason else "as you said"


def _unfit(facts: Facts, wishes: Wishes) -> AmbiguousRoles:
    """Error of a table unfit for the requested task, with its facts."""
    shown = ", ".join(list(facts)[:12]) + (" ..." if len(facts) > 12 else "")
    msg = f"the table does not look like one of task '{wishes.task}': {_WANTED[wishes.task or '']}"
    return AmbiguousRoles(Problem(f"{msg}; its columns are {shown}", hint=_HINTS.get(wishes.task or "")))


_WANTED: Mapping[str, str] = {
    "multiclass": "that takes a label of classes, and a column of probabilities for each (p_cat, p_dog), or one of "
    "classes that were called",
    "multilabel": "that takes a column of 0 and 1 and a column of scores for each class, called alike (is_cat, p_cat)",
    "quantile": "that takes a column for each quantile (q_0.1, q_0.9), or a column of levels and one of values",
    "experiment": "that takes a column of arms, with 2 to 20 values, and outcomes",
    "ranking": "that takes a column of queries, a label of numbers and a score",
    "uplift": "that takes a column of 0 and 1 for the treatment, an outcome and a score",
    "binary": "that takes a label of two values",
    "regression": "that takes a label of numbers",
}
_HINTS = {
    "experiment": "name the column of arms: --treatment COLUMN",
    "binary": "name the label: --label COLUMN",
    "regression": "name the label: --label COLUMN",
}


def _ranking(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    named = wishes.query or column_by_name(facts, QUERIES)
    group = named or column_by_name(facts, GROUPS)
    if group is None and wishes.task != "ranking":
        return None
    label = wishes.label or column_by_name((name for name in facts if facts[name].numeric), RELEVANCE)
    roles = _roles_without(group, sample, facts, replace(wishes, label=label))
    if group is None:
        raise _no_query(sample, facts, roles)
    reason = f"column '{group}' groups the rows by query"
    if named is None and wishes.task is None:
        if not _is_ranked(sample, facts, roles, group):
            return None
        size = sample.height / max(sample[group].n_unique(), 1)
        reason = f"column '{group}' has about {size:.0f} rows a value, and scores only order the labels in it"
    if not facts[roles.label].numeric or group in (roles.label, *roles.scores):
        return None
    weights = () if roles.weight is None else (roles.weight,)
    return replace(
        roles,
        task="ranking",
        query=group,
        positive=None,
        reasons={**roles.reasons, "task": reason},
        slices=_of_queries(sample, group, roles.slices),
        ages=_of_queries(sample, group, roles.ages),
        weight=next(iter(_of_queries(sample, group, weights)), None),
    )


def _roles_without(column: str | None, sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles:
    """Roles of all columns but that of queries or arms."""
    others = {name: facts[name] for name in facts if name != column}
    return guess_roles(sample, others, replace(wishes, query=None, treatment=None))


def _of_queries(sample: pl.DataFrame, query: str, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    values = sample.group_by(query).agg(pl.col(*names).n_unique()).select(names)
    return tuple(name for name in names if values[name].max() == 1)


def _is_ranked(sample: pl.DataFrame, facts: Facts, roles: Roles, group: str) -> bool:
    """Whether rows of a group are ranked: it is no slice, its labels differ, and scores are no estimates of them."""
    label = facts[roles.label]
    if not label.numeric or label.has_two_values or not all(facts[name].numeric for name in roles.scores):
        return False
    sizes = sample.group_by(group).agg(pl.len().alias("rows"), pl.col(roles.label).n_unique().alias("labels"))
    documents = sizes["rows"].median()
    several = documents is not None and 2 <= float(documents) <= _MOST_DOCUMENTS  # type: ignore[arg-type]
    differ = float((sizes["labels"] > 1).to_numpy().mean()) > 1 / 2
    near = explained_variance(sample, roles.label, roles.scores) > 0
    return sizes.height >= _FEWEST_QUERIES and several and differ and not near


def _no_query(sample: pl.DataFrame, facts: Facts, roles: Roles) -> AmbiguousRoles:
    occupied = (roles.label, *roles.scores)
    columns = [
        column for name, column in facts.items() if name not in occupied and not column.dtype.is_float()
    ]
    fit = [column for column in columns if 1 < column.distinct < sample.height]
    return question(
        "no column is the query for certain", sorted(fit, key=lambda column: -column.distinct), "--query"
    )


def _uplift(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """The roles of treated rows and others, with a score of the effect."""
    arm = wishes.treatment or column_by_name((name for name in facts if facts[name].zero_one), ARMS)
    if arm is None and wishes.task == "uplift":
        flags = [column for column in facts.values() if column.zero_one and column.name != wishes.label]
        msg = "no column tells treated rows from others for certain"
        raise question(msg, flags, "--treatment")
    if arm is None or not facts[arm].zero_one or arm == wishes.label:
        return None
    roles = _roles_without(arm, sample, facts, wishes)
    if arm in roles.scores:
        return None
    reasons = {**roles.reasons, "task": f"column '{arm}' tells treated rows from others"}
    return replace(roles, task="uplift", treatment=arm, positive=None, reasons=reasons)


def _plain(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """The roles of a label and a score each model; labels between 0 and 1 may be those of two classes."""
    decimal = any(facts[name].dtype.is_float() for name in named_scores(facts, wishes.label))
    if not decimal and wishes.task != "regression":
        called = called_roles(sample, facts, wishes)
        if called is not None and not class_columns(facts, called.label):
            return called
    roles = guess_roles(sample, facts, wishes)
    label = facts[roles.label]
    fits = label.has_two_values if wishes.task == "binary" else label.numeric
    if _is_soft(facts, roles):
        return _soft_roles(sample, roles, wishes)
    if wishes.task is not None:
        return replace(roles, task=wishes.task) if fits else None
    others = [name for name in facts if name not in (roles.label, *roles.scores)]
    group = column_by_name(others, GROUPS)
    if group is not None and label.numeric:
        note = f"If rows of one value of '{group}' are ranked together: --query {group} (task ranking)."
        return replace(roles, notes=(note,))
    arm = column_by_name((name for name in others if facts[name].has_two_values), ARMS)
    return roles if arm is None else replace(roles, notes=(_arm_note(arm, sample[arm]),))


def _arm_note(arm: str, values: pl.Series) -> str:
    """Note on a column that may say in words who was treated."""
    words = values.drop_nulls().unique().sort().to_list()
    treated = words[0] if is_control(words[-1]) else words[-1]
    value = str(treated) if values.dtype.is_numeric() else "'" + str(treated).replace("'", "''") + "'"
    derived = f'derive: {{treated: "{sql_name(arm)} = {value}"}} and columns: {{treatment: treated}}'
    return f"If '{arm}' says who was treated, and scores are effects: task: uplift, {derived}."


def _is_soft(facts: Facts, roles: Roles) -> bool:
    """Whether labels run from 0 to 1 in few steps, and scores are probabilities."""
    label = facts[roles.label]
    inside = label.numeric and 2 < label.distinct <= _MOST_SHARES and (label.low, label.high) == (0, 1)
    return inside and all(facts[name].is_share for name in roles.scores)


def _soft_roles(sample: pl.DataFrame, roles: Roles, wishes: Wishes) -> Roles:
    """Roles of a label between 0 and 1: of two classes if values between are rare, else of numbers."""
    label = sample[roles.label]
    between = float(((label > 0) & (label < 1)).to_numpy().mean())
    amount = f"{100 * between:.2g} %"
    task = wishes.task or ("binary" if between < _RARE else "regression")
    if task == "regression":
        note = (
            f"{amount} of the labels lie between 0 and 1: mse is the Brier score of such labels. "
            "For those of 0 and 1 alone: --task binary."
        )
        reason = "labels and predictions are numbers from 0 to 1"
        return replace(roles, task=task, reasons={**roles.reasons, "task": reason}, notes=(note,))
    note = (
        f"{amount} of the labels lie between 0 and 1, such as draws, and are left out (data.where). "
        "With them, as numbers: --task regression, where mse is the Brier score."
    )
    reason = f"labels are 0 or 1 but for {amount}, and scores are probabilities"
    where = f"{sql_name(roles.label)} IN (0, 1)"
    return replace(
        roles, task="binary", where=where, reasons={**roles.reasons, "task": reason}, notes=(note,)
    )


_IN_ORDER: tuple[Recogniser, ...] = (
    long_forecast_roles,
    quantile_roles,
    label_set_roles,
    class_roles,
    _ranking,
    experiment_roles,
    _uplift,
    _plain,
)
_BY_TASK: Mapping[str, tuple[Recogniser, ...]] = {
    "binary": (_plain,),
    "multiclass": (class_roles, called_roles),
    "multilabel": (label_set_roles,),
    "regression": (_plain,),
    "quantile": (long_forecast_roles, quantile_roles),
    "ranking": (_ranking,),
    "uplift": (_uplift,),
    "experiment": (experiment_roles,),
}
