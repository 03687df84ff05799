"""Which task a table that nobody has described is of, where its predictions are not one column of scores each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.names import number_text
from plmetrics.suite.guesses import guess_roles, pieces, require_columns
from plmetrics.table.predicted import quantile_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.suite.guesses import Facts, Roles

_QUERIES = frozenset({"query", "query_id", "qid", "query_key", "search_id", "topic", "topic_id"})
_RELEVANCE = frozenset({"relevance", "rel", "grade", "relevance_grade", "judgement", "judgment"})
_ARMS = frozenset({"treatment", "treated", "treat", "is_treated", "arm", "treatment_group", "w"})
_QUANTILE = re.compile(
    r"(?P<stem>.*?)(?:(?P<share>0?\.\d+)|(?<![0-9.])(?:q|quantile_?)_?(?P<percent>\d{1,2}))"
)
_MOST_CLASSES = 100
_FEWEST_LEVELS = 2


@dataclass(frozen=True, slots=True)
class Shape:
    """The task of a table and the reason; `parts` are the columns of the one model whose prediction has several."""

    task: str
    reason: str
    parts: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    query: str | None = None
    treatment: str | None = None

    @property
    def taken(self) -> frozenset[str]:
        """The columns that are no slices."""
        return frozenset([*self.parts.values(), *(name for name in (self.query, self.treatment) if name)])


def recognise(
    sample: pl.DataFrame, facts: Mapping[str, Facts], label: str | None, scores: Sequence[str]
) -> tuple[Shape | None, Roles]:
    """The shape of a table, None for one score a model and a label of two values or numbers; and its columns.

    Raises:
        Undecided: no column, or several, may be the label or the scores.
    """
    require_columns(facts, label, scores)
    if not scores:
        for find in (_quantiles, _classes):
            shape, target = find(sample, facts, label)
            if shape is not None:
                roles = guess_roles(sample, facts, target, tuple(shape.parts.values()))
                fits = {} if label else {"label": "it fits the columns of the model"}
                return shape, replace(roles, reasons={"scores": shape.reason, **fits})
    query = _named(facts, _QUERIES)
    if query is not None:
        target = label or _named(facts, _RELEVANCE)
        roles = guess_roles(sample, facts, target, scores)
        if facts[roles.label].numeric and query not in (roles.label, *roles.scores):
            return Shape("ranking", f"column '{query}' groups the rows by query", query=query), roles
    roles = guess_roles(sample, facts, label, scores)
    arm = _named(facts, _ARMS)
    if arm is not None and facts[arm].zero_one and arm not in (roles.label, *roles.scores, roles.weight):
        return Shape("uplift", f"column '{arm}' tells treated rows from others", treatment=arm), roles
    return None, roles


def levels_of_columns(names: Sequence[str]) -> dict[str, dict[float, str]]:
    """Columns that are named like quantiles, by what stands before the level.

    >>> levels_of_columns(["id", "pred_0.1", "pred_0.9", "q05", "q95"])
    {'pred_': {0.1: 'pred_0.1', 0.9: 'pred_0.9'}, '': {0.05: 'q05', 0.95: 'q95'}}
    """
    found: dict[str, dict[float, str]] = {}
    for name in names:
        match = _QUANTILE.fullmatch(name)
        if match is None:
            continue
        level = float(match["share"]) if match["share"] else int(match["percent"]) / 100
        if 0 < level < 1:
            found.setdefault(match["stem"], {})[level] = name
    return {
        stem: dict(sorted(levels.items())) for stem, levels in found.items() if len(levels) >= _FEWEST_LEVELS
    }


def _quantiles(
    sample: pl.DataFrame, facts: Mapping[str, Facts], label: str | None
) -> tuple[Shape | None, str | None]:
    numeric = [name for name, held in facts.items() if held.numeric and name != label]
    families = levels_of_columns(numeric)
    if not families or (label is not None and not facts[label].numeric):
        return None, label
    columns = max(families.values(), key=len)
    target = label or guess_roles(sample, facts, None, tuple(columns.values())).label
    named = ", ".join(number_text(level) for level in columns)
    parts = {quantile_part(level): column for level, column in columns.items()}
    return Shape("quantile", f"there are columns of the quantiles {named}", parts), target


def _classes(
    sample: pl.DataFrame, facts: Mapping[str, Facts], label: str | None
) -> tuple[Shape | None, str | None]:
    """Columns that are named after the values of the label, each with the same words before and behind."""
    candidates = [label] if label is not None else [name for name, held in facts.items() if _classlike(held)]
    for target in candidates:
        if not _classlike(facts[target]):
            continue
        classes = [str(value) for value in sample[target].drop_nulls().unique().sort().to_list()]
        columns = _columns_of(classes, [name for name in facts if _share(facts[name]) and name != target])
        if columns:
            order = {name: place for place, name in enumerate(facts)}
            ordered = tuple(sorted(columns, key=lambda name: order[columns[name]]))
            parts = {f"proba|{name}": columns[name] for name in ordered}
            reason = f"there is a column of probabilities for each of {len(classes)} classes"
            return Shape("multiclass", reason, parts, ordered), target
    return None, label


def _classlike(held: Facts) -> bool:
    textual = held.dtype in {pl.String, pl.Categorical, pl.Enum}
    return 2 < held.distinct <= _MOST_CLASSES and (textual or held.dtype.is_integer())


def _share(held: Facts) -> bool:
    return held.dtype.is_float() and held.low is not None and held.low >= 0 and held.high <= 1


def _columns_of(classes: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    first = classes[0]
    for name in names:
        before, found, behind = name.rpartition(first)
        if not found:
            continue
        columns = {value: f"{before}{value}{behind}" for value in classes}
        if set(columns.values()) <= set(names):
            return columns
    return {}


def _named(facts: Mapping[str, Facts], names: frozenset[str]) -> str | None:
    return next((name for name in facts if "_".join(pieces(name)) in names), None)
