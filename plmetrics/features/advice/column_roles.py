"""Roles of the columns of an undescribed table: guesses from names, types and a sample of rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean, is_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.features.advice.column_facts import ColumnFacts

    Facts = Mapping[str, ColumnFacts]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LABELS = (
    _words("label target y y_true truth ground_truth"),
    _words(
        "outcome actual observed response class result default defaulted churn churned converted clicked fraud "
        "is_fraud event obs"
    ),
)
_SCORES = _words(
    "score scores prob proba probability pred prediction predicted predictions yhat phat forecast"
)
_SCORE_NAMES = _words("p p_hat y_hat y_pred y_score")
_WEIGHTS = _words("weight weights w wt sample_weight case_weight row_weight instance_weight exposure")
_UNIT_ENDS = _words("id uuid guid")
_UNITS = _words("customer user patient account client household session member")
_POSITIVE = _words("1 yes y true t positive pos bad default fraud churn spam abnorm event")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MOST_SLICES = 20
_MOST_NUMBERS = 10
_SHOWN = 10
_REPEATS = 0.9
_FEWEST_UNITS = 30


class AmbiguousRoles(ConfigError):  # noqa: N818
    """The table leaves open what is what: the caller must say."""

    title = "the table leaves open what to evaluate"


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles of columns, with the reasons by role.

    `task` is given where other columns than label and scores tell it: those of `query` or `treatment`, or the `parts`
    of the one model whose prediction has several columns, for `classes` where these are probabilities.
    """

    label: str
    scores: tuple[str, ...]
    weight: str | None
    units: tuple[str, ...]
    slices: tuple[str, ...]
    ages: tuple[str, ...]
    reasons: Mapping[str, str]
    task: str | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    query: str | None = None
    treatment: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of label, models, weight, units and slices."""
        weight = () if self.weight is None else (self.weight,)
        return (self.label, *self.scores, *weight, *self.units, *self.slices, *self.ages)


def guess_roles(
    sample: pl.DataFrame, facts: Facts, label: str | None = None, scores: Sequence[str] = ()
) -> Roles:
    """Choose columns; `label` and `scores` are those that are known.

    Raises:
        Undecided: no column, or several, may be the label or the scores.
    """
    require_columns(facts, label, scores)
    reasons = {}
    named = scores or tuple(_named_scores(facts, label))
    if label is None:
        label, reasons["label"] = _guess_label(sample, facts, named)
    if not scores:
        scores, reasons["scores"] = _guess_scores(facts, label, named)
    occupied = {label, *scores, *(name for name in facts if _is_score(name))}
    weight = next(
        (name for name, column in facts.items() if _is_weight(column) and name not in occupied), None
    )
    free = {name: column for name, column in facts.items() if name not in occupied and name != weight}
    units = tuple(name for name, column in free.items() if _is_unit(column))
    ages = tuple(name for name, column in free.items() if column.numeric and "age" in pieces(name))
    others = {name: column for name, column in free.items() if name not in (*units, *ages)}
    copies = {name for name in others if _is_copy(sample, name, facts[label])}
    slices = (name for name, column in others.items() if has_slices(column) and name not in copies)
    ranked = sorted(slices, key=lambda name: facts[name].distinct)
    return Roles(label, tuple(scores), weight, units, tuple(ranked), ages, reasons)


def require_columns(facts: Facts, label: str | None, scores: Sequence[str]) -> None:
    """See that columns that were named are there.

    Raises:
        Undecided: one is not, or cannot be named.
    """
    for name in (*([label] if label is not None else []), *scores):
        if is_pattern(name):
            msg = f"column '{name}': Polars takes such a name for a pattern of names"
            raise AmbiguousRoles(Problem(msg, hint="rename the column"))
        if name not in facts:
            raise AmbiguousRoles(
                Problem(f"column '{name}' is not in the data", hint=did_you_mean(name, facts))
            )


def pieces(name: str) -> list[str]:
    """The words of a name, lower case.

    >>> pieces("predRegression_RF2")
    ['pred', 'regression', 'rf', '2']
    """
    return [piece.lower() for piece in _PIECES.findall(name)]


def has_slices(column: ColumnFacts) -> bool:
    """Whether a column has few enough values to slice by."""
    if column.numeric:
        return column.dtype.is_integer() and 2 <= column.distinct <= _MOST_NUMBERS
    return not column.dtype.is_temporal() and 2 <= column.distinct <= _MOST_SLICES


def choose_unit(units: Sequence[str], facts: Facts) -> str | None:
    """The key that repeats and has the fewest values, of those that have enough to resample."""
    columns = [facts[name] for name in units]
    fit = [
        candidate
        for candidate in columns
        if _FEWEST_UNITS <= candidate.distinct < _REPEATS * candidate.rows and not candidate.nulls
    ]
    return min(fit, key=lambda column: column.distinct).name if fit else None


def choose_positive(label: ColumnFacts) -> Any:
    """The label that counts as positive; None where that goes without saying."""
    if label.zero_one:
        return None
    if label.numeric:
        return label.high
    named = [value for value in (label.low, label.high) if str(value).lower() in _POSITIVE]
    return named[0] if len(named) == 1 else label.high


def _bare(name: str) -> str:
    """A name for look-ups: words joined, digits at the end gone."""
    words = pieces(name)
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return "_".join(words)


def _is_score(name: str) -> bool:
    words = pieces(name)
    return (
        bool(_SCORES & set(words)) or _bare(name) in _SCORE_NAMES or (words[:1] == ["p"] and len(words) > 1)
    )


def _is_weight(column: ColumnFacts) -> bool:
    return column.numeric and _bare(column.name) in _WEIGHTS and column.low is not None and column.low >= 0


def _is_unit(column: ColumnFacts) -> bool:
    last = pieces(column.name)[-1:]
    named = last and (last[0] in _UNIT_ENDS or _bare(column.name) in _UNITS)
    return bool(named) and (column.dtype.is_integer() or column.dtype == pl.String)


def _named_scores(facts: Facts, label: str | None) -> list[str]:
    """Numeric columns with names of scores; whole numbers only where there are no others."""
    numeric = [
        column
        for name, column in facts.items()
        if column.numeric and _is_score(name) and name != label and column.low is not None
    ]
    floats = [column.name for column in numeric if column.dtype.is_float()]
    return floats or [column.name for column in numeric]


def _guess_label(sample: pl.DataFrame, facts: Facts, scores: Sequence[str]) -> tuple[str, str]:
    usable = [
        candidate
        for candidate in facts.values()
        if candidate.name not in scores and (candidate.numeric or candidate.two_valued)
    ]
    for names in _LABELS:
        named = [column.name for column in usable if _bare(column.name) in names]
        if len(named) > 1:
            msg = "several columns may be the label"
            raise _question(msg, named, "--label")
        if named:
            return named[0], "by its name"
    binary = [column.name for column in usable if column.zero_one]
    if len(binary) == 1:
        return binary[0], "the only column of 0 and 1"
    likely = [
        candidate.name
        for candidate in usable
        if candidate.numeric and _explained_variance(sample, candidate.name, scores) > 0
    ]
    if not binary and len(likely) == 1:
        return likely[0], "the only column that the predictions are near to"
    candidates = binary or likely or [column.name for column in usable]
    msg = "no column is the label for certain"
    raise _question(msg, candidates, "--label")


def _guess_scores(facts: Facts, label: str, named: Sequence[str]) -> tuple[tuple[str, ...], str]:
    if named:
        return tuple(named), "by their names" if len(named) > 1 else "by its name"
    others = [column for name, column in facts.items() if name != label and column.numeric]
    floats = [
        candidate.name
        for candidate in others
        if candidate.dtype.is_float() and candidate.distinct > 2 and not _is_weight(candidate)
    ]
    if len(floats) == 1:
        return tuple(floats), "the only other column of decimal numbers"
    candidates = floats or [column.name for column in others]
    msg = "no column is the score of a model for certain"
    raise _question(msg, candidates, "--score")


def _question(message: str, candidates: Sequence[str], option: str) -> AmbiguousRoles:
    if not candidates:
        return AmbiguousRoles(
            Problem(f"{message}: none has a fitting type", hint=f"name one with {option} COLUMN")
        )
    more = len(candidates) - _SHOWN
    listed = ", ".join(candidates[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return AmbiguousRoles(Problem(f"{message}: {listed}", hint=f"name it: {option} {candidates[0]}"))


def _explained_variance(sample: pl.DataFrame, column: str, scores: Sequence[str]) -> float:
    """The largest share of a column's variance that one of the scores explains as it stands."""
    shares = [-1.0]
    for score in scores:
        pair = sample.select(pl.col(column, score).cast(pl.Float64)).filter(
            pl.all_horizontal(pl.all().is_finite())
        )
        error = pair.select((pl.col(column) - pl.col(score)).pow(2).mean()).item()
        spread = pair.select(pl.col(column).var(ddof=0)).item()
        if error is not None and spread:
            shares.append(1 - error / spread)
    return max(shares)


def _is_copy(sample: pl.DataFrame, name: str, label: ColumnFacts) -> bool:
    """Whether each value of a column comes with one label only: then its slices say nothing."""
    if not label.two_valued or sample[name].n_unique() > _MOST_SLICES + 1:
        return False
    groups = sample.group_by(name).agg(pl.col(label.name).drop_nulls().n_unique().alias("labels"))
    return groups["labels"].max() == 1
