"""Roles of the columns of an undescribed table: guesses from names, types and a sample of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING, Any, TypedDict

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.core.names import did_you_mean, is_pattern, name_list
from plmetrics.features.advice.column_names import (
    LABELS,
    bare_name,
    is_fold_name,
    is_positive,
    is_score_name,
    is_unit_name,
    is_weight_name,
    pieces,
    predicted_name,
)
from plmetrics.features.advice.table_roles import AmbiguousRoles, Roles, Wishes

if TYPE_CHECKING:
    from plmetrics.features.advice.column_facts import ColumnFacts

    Facts = Mapping[str, ColumnFacts]

_MOST_SLICES = 20
_MOST_NUMBERS = 10
_SHOWN = 6
_REPEATS = 0.9
_FEWEST_UNITS = 30
_TOLERANCE = 1e-6
_FEWEST_COLUMNS = 2
_NAMELESS = "''"


class AttributeRoles(TypedDict):
    """Roles of the columns other than label and prediction."""

    weight: str | None
    units: tuple[str, ...]
    ages: tuple[str, ...]
    slices: tuple[str, ...]
    dates: tuple[str, ...]
    folds: tuple[str, ...]


def guess_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles:
    """Choose the columns of a label and of a score each model."""
    require_columns(facts, wishes)
    label, scores = wishes.label, wishes.scores
    reasons = {}
    named = scores or tuple(named_scores(facts, label))
    if label is None:
        label, reasons["label"] = _guess_label(sample, facts, named)
    if not scores:
        scores, reasons["scores"] = _guess_scores(facts, label, named)
    scores, positive = _positive_scores(sample, facts[label], scores)
    others = attribute_roles(sample, facts, label, scores)
    return Roles(label=label, scores=tuple(scores), reasons=reasons, positive=positive, **others)


def attribute_roles(
    sample: pl.DataFrame, facts: Facts, label: str, predictions: Iterable[str]
) -> AttributeRoles:
    """Weight, units, folds, dates and slices among the columns other than label and prediction."""
    occupied = {label, *predictions, *(name for name in facts if is_score_name(name))}
    weight = next(
        (name for name, column in facts.items() if _is_weight(column) and name not in occupied), None
    )
    free = {name: column for name, column in facts.items() if name not in occupied and name != weight}
    units = tuple(name for name, column in free.items() if _is_unit(column))
    ages = tuple(name for name, column in free.items() if column.numeric and "age" in pieces(name))
    folds = tuple(name for name, column in free.items() if is_fold_name(name) and has_slices(column))
    dates = tuple(name for name, column in free.items() if column.is_date and column.distinct > 1)
    others = [
        name for name in free if name not in (*units, *ages, *folds, *dates) and has_slices(facts[name])
    ]
    others = [name for name in others if not _is_copy(sample, name, facts[label])]
    slices = sorted(_without_synonyms(sample, others), key=lambda name: facts[name].distinct)
    return AttributeRoles(
        weight=weight, units=units, ages=ages, folds=folds, dates=dates, slices=tuple(slices)
    )


def require_columns(facts: Facts, wishes: Wishes) -> None:
    """Check that named columns exist.

    Raises:
        AmbiguousRoles: one is not, or cannot be named.
    """
    if len(facts) < _FEWEST_COLUMNS:
        what = f"one column, '{', '.join(facts)}'," if facts else "no column with a name"
        msg = f"the table has {what} that can be evaluated: it takes a label and a prediction"
        raise AmbiguousRoles(
            Problem(msg, hint="put the labels and the scores of the same rows into one table")
        )
    for name in wishes.columns:
        if is_pattern(name):
            msg = f"column '{name}': Polars takes such a name for a pattern of names"
            raise AmbiguousRoles(Problem(msg, hint="rename the column"))
        if name not in facts:
            raise AmbiguousRoles(
                Problem(f"column '{name}' is not in the data", hint=did_you_mean(name, facts))
            )


def has_slices(column: ColumnFacts) -> bool:
    """Whether a column has few enough values to slice by."""
    if column.numeric:
        return column.dtype.is_integer() and 2 <= column.distinct <= _MOST_NUMBERS
    return not column.dtype.is_temporal() and 2 <= column.distinct <= _MOST_SLICES


def choose_unit(units: Sequence[str], facts: Facts) -> str | None:
    """Repeated key with the fewest values, of those with enough to resample."""
    columns = [facts[name] for name in units]
    fit = [
        candidate
        for candidate in columns
        if _FEWEST_UNITS <= candidate.distinct < _REPEATS * candidate.rows and not candidate.nulls
    ]
    return min(fit, key=lambda column: column.distinct).name if fit else None


def choose_positive(label: ColumnFacts, name: str | None = None) -> Any:
    """Positive label; None for an obvious one. `name` is its text, if known."""
    if label.zero_one:
        return None
    ends = (label.low, label.high)
    if name is not None and name in map(str, ends):
        return ends[[str(value) for value in ends].index(name)]
    if label.numeric:
        return label.high
    named = [value for value in ends if is_positive(value)]
    return named[0] if len(named) == 1 else label.high


def named_scores(facts: Facts, label: str | None) -> list[str]:
    """Numeric columns with names of scores; whole numbers only where there are no others."""
    numeric = [
        column
        for name, column in facts.items()
        if column.numeric and is_score_name(name) and name != label and column.low is not None
    ]
    floats = [column.name for column in numeric if column.dtype.is_float()]
    return floats or [column.name for column in numeric]


def question(message: str, candidates: Sequence[ColumnFacts], option: str) -> AmbiguousRoles:
    """Open question as an error: the candidate columns, the best guesses first, and the option for a decision."""
    if not candidates:
        return AmbiguousRoles(
            Problem(f"{message}: none has a fitting type", hint=f"name one with {option} COLUMN")
        )
    listed = name_list([column.name or _NAMELESS for column in candidates], _SHOWN)
    seen = "; ".join(f"{column.name or _NAMELESS} holds {column.words}" for column in candidates[:2])
    guesses = " or ".join(f"{option} {quote(column.name or _NAMELESS)}" for column in candidates[:2])
    both = ", or both for two models" if option == "--score" and len(candidates) > 1 else ""
    return AmbiguousRoles(Problem(f"{message}: {listed}", hint=f"name it: {guesses}{both} ({seen})"))


def explained_variance(sample: pl.DataFrame, column: str, scores: Sequence[str]) -> float:
    """Largest share of a column's variance explained by one of the scores as it stands."""
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


def are_shares_of_one(sample: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether columns of decimal numbers in [0, 1] sum to 1 in every row of a sample."""
    if not all(sample[name].dtype.is_float() for name in columns):
        return False
    total = sample.select(pl.sum_horizontal(pl.col(columns).fill_nan(None).cast(pl.Float64))).to_series()
    ends = sample.select(pl.min_horizontal(columns).min().alias("low")).item()
    return bool(((total - 1).abs() < _TOLERANCE).all()) and ends is not None and ends >= 0


def _is_weight(column: ColumnFacts) -> bool:
    return column.numeric and is_weight_name(column.name) and column.low is not None and column.low >= 0


def _is_unit(column: ColumnFacts) -> bool:
    return is_unit_name(column.name) and (column.dtype.is_integer() or column.dtype == pl.String)


def _guess_label(sample: pl.DataFrame, facts: Facts, scores: Sequence[str]) -> tuple[str, str]:
    usable = [
        candidate
        for candidate in facts.values()
        if candidate.name not in scores and (candidate.numeric or candidate.has_two_values)
    ]
    for names in LABELS:
        named = [column for column in usable if bare_name(column.name) in names]
        if len(named) > 1:
            msg = "several columns may be the label"
            raise question(msg, named, "--label")
        if named:
            return named[0].name, "by its name"
    predicted = {predicted_name(name) for name in scores}
    named = [column for column in usable if "_".join(pieces(column.name)) in predicted]
    if len(named) == 1:
        return named[0].name, "the scores are called after it"
    binary = [column for column in usable if column.zero_one]
    if len(binary) == 1:
        return binary[0].name, "the only column of 0 and 1"
    likely = [
        candidate
        for candidate in usable
        if candidate.numeric and explained_variance(sample, candidate.name, scores) > 0
    ]
    if not binary and len(likely) == 1:
        return likely[0].name, "the only column that the predictions are near to"
    if len(usable) == 1 and not (_is_weight(usable[0]) or _is_unit(usable[0])):
        return usable[0].name, "the only column that may be one"
    msg = "no column is the label for certain"
    of_two = [column for column in usable if column.has_two_values]
    raise question(msg, binary or likely or of_two or usable, "--label")


def _guess_scores(facts: Facts, label: str, named: Sequence[str]) -> tuple[tuple[str, ...], str]:
    if named:
        return tuple(named), "by their names" if len(named) > 1 else "by its name"
    floats = _decimal_columns(facts, label)
    if len(floats) == 1:
        return (floats[0].name,), "the only other column of decimal numbers"
    classes = class_columns(facts, label)
    if classes:
        return tuple(classes), "called like the values of the label"
    rest = [column for name, column in facts.items() if name != label]
    texts = [column for column in rest if column.kind == "texts" and is_score_name(column.name)]
    if texts and not floats:
        msg = f"column '{texts[0].name}' is called like a score, but holds texts: {texts[0].span}"
        hint = "store it as numbers: without units, a % or words such as n/a"
        raise AmbiguousRoles(Problem(msg, hint=hint))
    others = [column for column in rest if column.numeric]
    likely = [column for column in others if not (_is_weight(column) or _is_unit(column))]
    msg = "no column is the score of a model for certain"
    raise question(msg, floats or likely or others, "--score")


def class_columns(facts: Facts, label: str) -> list[str]:
    """Columns of decimal numbers with the name of one of the two values of the label."""
    if not facts[label].has_two_values:
        return []
    values = {str(facts[label].low), str(facts[label].high)}
    return [column.name for column in _decimal_columns(facts, label) if _class_of(column.name, values)]


def _decimal_columns(facts: Facts, label: str) -> list[ColumnFacts]:
    return [
        candidate
        for name, candidate in facts.items()
        if name != label
        and candidate.dtype.is_float()
        and candidate.distinct > 2
        and not _is_weight(candidate)
    ]


def _class_of(name: str, values: Iterable[str]) -> str | None:
    """Value of a label in the name of a column."""
    fitting = [value for value in values if name == value or pieces(name)[-1:] == [value.lower()]]
    return fitting[0] if len(fitting) == 1 else None


def _positive_scores(
    sample: pl.DataFrame, label: ColumnFacts, scores: Sequence[str]
) -> tuple[tuple[str, ...], str | None]:
    """Scores without the complements of others, and the text of the positive label in their names."""
    if not label.has_two_values:
        return tuple(scores), None
    values = [str(value) for value in (label.low, label.high)]
    classes = {name: value for name in scores if (value := _class_of(name, values)) is not None}
    positive = choose_positive(label)
    text = str(label.high if positive is None else positive)
    if set(classes.values()) == set(values):
        names = tuple(name for name in scores if classes.get(name, text) == text)
        pairs = [(name, other) for name in names for other in scores if other not in names]
        if any(are_shares_of_one(sample, pair) for pair in pairs):
            return names, text
    single = set(classes.values())
    if len(single) == 1 and len(classes) == len(scores) and not label.numeric:
        return tuple(scores), single.pop()
    return tuple(scores), None


def _without_synonyms(sample: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Columns without one-to-one duplicates of earlier ones: the first row of each row's value tells them."""
    chosen: dict[bytes, str] = {}
    numbered = sample.with_row_index("@row")
    for name in names:
        first_rows = numbered.select(pl.col("@row").first().over(name)).to_series()
        chosen.setdefault(sha256(first_rows.to_numpy().tobytes()).digest(), name)
    return list(chosen.values())


def _is_copy(sample: pl.DataFrame, name: str, label: ColumnFacts) -> bool:
    """Whether each value of a column comes with one label only: then its slices say nothing."""
    if not label.has_two_values or sample[name].n_unique() > _MOST_SLICES + 1:
        return False
    groups = sample.group_by(name).agg(pl.col(label.name).drop_nulls().n_unique().alias("labels"))
    return groups["labels"].max() == 1
