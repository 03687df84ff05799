"""Which column of an undescribed table is what: guesses from names, types and a sample of rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean, is_pattern, number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_LABELS: tuple[frozenset[str], ...] = (
    frozenset({"label", "target", "y", "y_true", "truth", "ground_truth"}),
    frozenset(
        [
            "outcome",
            "actual",
            "observed",
            "response",
            "class",
            "result",
            "default",
            "defaulted",
            "churn",
            "churned",
            "converted",
            "clicked",
            "fraud",
            "is_fraud",
            "event",
            "obs",
        ]
    ),
)
_SCORES = frozenset(
    [
        "score",
        "scores",
        "prob",
        "proba",
        "probability",
        "pred",
        "prediction",
        "predicted",
        "predictions",
        "yhat",
        "phat",
        "forecast",
    ]
)
_SCORE_NAMES = frozenset({"p", "p_hat", "y_hat", "y_pred", "y_score"})
_WEIGHTS = frozenset(
    [
        "weight",
        "weights",
        "w",
        "wt",
        "sample_weight",
        "case_weight",
        "row_weight",
        "instance_weight",
        "exposure",
    ]
)
_UNIT_ENDS = frozenset({"id", "uuid", "guid"})
_UNITS = frozenset(["customer", "user", "patient", "account", "client", "household", "session", "member"])
_POSITIVE = frozenset(
    [
        "1",
        "yes",
        "y",
        "true",
        "t",
        "positive",
        "pos",
        "bad",
        "default",
        "fraud",
        "churn",
        "spam",
        "abnorm",
        "event",
    ]
)
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MOST_SLICES = 20
_MOST_NUMBERS = 10
_SHOWN = 10
_LONGEST = 40
_REPEATS = 0.9
_FEWEST_UNITS = 30


class Undecided(ConfigError):  # noqa: N818
    """The table leaves open what is what: the caller must say."""

    title = "the table leaves open what to evaluate"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a column: finite values only in `low` and `high`, which are texts unless it holds numbers."""

    name: str
    dtype: pl.DataType
    rows: int
    nulls: int
    bad: int
    distinct: int
    low: Any
    high: Any

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.dtype.is_numeric()

    @property
    def zero_one(self) -> bool:
        """Whether it holds nothing but 0 and 1, or booleans."""
        whole = self.numeric and self.distinct <= 2 and {self.low, self.high} <= {0, 1}
        return self.dtype == pl.Boolean or whole

    @property
    def two_valued(self) -> bool:
        """Whether it can be a binary label."""
        return self.zero_one or self.distinct == 2


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns of a table are taken for. `reasons` say why, by role."""

    label: str
    scores: tuple[str, ...]
    weight: str | None
    units: tuple[str, ...]
    slices: tuple[str, ...]
    ages: tuple[str, ...]
    reasons: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them."""
        weight = () if self.weight is None else (self.weight,)
        return (self.label, *self.scores, *weight, *self.units, *self.slices, *self.ages)


def guess_roles(
    sample: pl.DataFrame, facts: Mapping[str, Facts], label: str | None = None, scores: Sequence[str] = ()
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
    taken = {label, *scores, *(name for name in facts if _is_score(name))}
    weight = next((name for name, held in facts.items() if _is_weight(held) and name not in taken), None)
    free = {name: held for name, held in facts.items() if name not in taken and name != weight}
    units = tuple(name for name, held in free.items() if _is_unit(held))
    ages = tuple(name for name, held in free.items() if held.numeric and "age" in pieces(name))
    others = {name: held for name, held in free.items() if name not in (*units, *ages)}
    copies = {name for name in others if _is_copy(sample, name, facts[label])}
    slices = tuple(name for name, held in others.items() if has_slices(held) and name not in copies)
    ranked = sorted(slices, key=lambda name: facts[name].distinct)
    return Roles(label, tuple(scores), weight, units, tuple(ranked), ages, reasons)


def require_columns(facts: Mapping[str, Facts], label: str | None, scores: Sequence[str]) -> None:
    """See that columns that were named are there.

    Raises:
        Undecided: one is not, or cannot be named.
    """
    for name in (*([label] if label is not None else []), *scores):
        if is_pattern(name):
            msg = f"column '{name}': Polars takes such a name for a pattern of names"
            raise Undecided(Problem(msg, hint="rename the column"))
        if name not in facts:
            raise Undecided(Problem(f"column '{name}' is not in the data", hint=did_you_mean(name, facts)))


def pieces(name: str) -> list[str]:
    """The words of a name, lower case.

    >>> pieces("predRegression_RF2")
    ['pred', 'regression', 'rf', '2']
    """
    return [piece.lower() for piece in _PIECES.findall(name)]


def has_slices(held: Facts) -> bool:
    """Whether a column has few enough values to slice by."""
    if held.numeric:
        return held.dtype.is_integer() and 2 <= held.distinct <= _MOST_NUMBERS
    return not held.dtype.is_temporal() and 2 <= held.distinct <= _MOST_SLICES


def choose_unit(units: Iterable[str], facts: Mapping[str, Facts]) -> str | None:
    """The key that repeats and has the fewest values, of those that have enough to resample."""
    found = [facts[name] for name in units]
    fit = [held for held in found if _FEWEST_UNITS <= held.distinct < _REPEATS * held.rows and not held.nulls]
    return min(fit, key=lambda held: held.distinct).name if fit else None


def choose_positive(held: Facts) -> Any:
    """The label that counts as positive; None where that goes without saying."""
    if held.zero_one:
        return None
    if held.numeric:
        return held.high
    known = [value for value in (held.low, held.high) if str(value).lower() in _POSITIVE]
    return known[0] if len(known) == 1 else held.high


def span(held: Facts) -> str:
    """The range of a column, as text."""
    return f"{short(held.low)} to {short(held.high)}"


def short(value: Any) -> str:
    """A value for a comment: four digits of a number, the beginning of a long text.

    >>> short(0.123456), short("north")
    ('0.1235', 'north')
    """
    if isinstance(value, (int, float)):
        return number_text(float(f"{value:.4g}"))
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


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


def _is_weight(held: Facts) -> bool:
    return held.numeric and _bare(held.name) in _WEIGHTS and held.low is not None and held.low >= 0


def _is_unit(held: Facts) -> bool:
    named = pieces(held.name)[-1:] and (pieces(held.name)[-1] in _UNIT_ENDS or _bare(held.name) in _UNITS)
    return bool(named) and (held.dtype.is_integer() or held.dtype == pl.String)


def _named_scores(facts: Mapping[str, Facts], label: str | None) -> list[str]:
    """Numeric columns with names of scores; whole numbers only where there are no others."""
    numeric = [
        held
        for name, held in facts.items()
        if held.numeric and _is_score(name) and name != label and held.low is not None
    ]
    floats = [held.name for held in numeric if held.dtype.is_float()]
    return floats or [held.name for held in numeric]


def _guess_label(sample: pl.DataFrame, facts: Mapping[str, Facts], scores: Sequence[str]) -> tuple[str, str]:
    usable = [
        held for name, held in facts.items() if name not in scores and (held.numeric or held.two_valued)
    ]
    for names in _LABELS:
        named = [held.name for held in usable if _bare(held.name) in names]
        if len(named) > 1:
            msg = "several columns may be the label"
            raise _question(msg, named, "--label")
        if named:
            return named[0], "by its name"
    binary = [held.name for held in usable if held.zero_one]
    if len(binary) == 1:
        return binary[0], "the only column of 0 and 1"
    likely = [held.name for held in usable if held.numeric and _explained(sample, held.name, scores) > 0]
    if not binary and len(likely) == 1:
        return likely[0], "the only column that the predictions are near to"
    candidates = binary or likely or [held.name for held in usable]
    msg = "no column is the label for certain"
    raise _question(msg, candidates, "--label")


def _guess_scores(
    facts: Mapping[str, Facts], label: str, named: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    if named:
        return tuple(named), "by their names" if len(named) > 1 else "by its name"
    floats = [
        held.name
        for name, held in facts.items()
        if name != label and held.dtype.is_float() and held.distinct > 2 and not _is_weight(held)
    ]
    if len(floats) == 1:
        return tuple(floats), "the only other column of decimal numbers"
    candidates = floats or [name for name, held in facts.items() if held.numeric and name != label]
    msg = "no column is the score of a model for certain"
    raise _question(msg, candidates, "--score")


def _question(message: str, candidates: Sequence[str], option: str) -> Undecided:
    if not candidates:
        return Undecided(
            Problem(f"{message}: none has a fitting type", hint=f"name one with {option} COLUMN")
        )
    more = len(candidates) - _SHOWN
    listed = ", ".join(candidates[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return Undecided(Problem(f"{message}: {listed}", hint=f"name it: {option} {candidates[0]}"))


def _explained(sample: pl.DataFrame, column: str, scores: Sequence[str]) -> float:
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


def _is_copy(sample: pl.DataFrame, name: str, label: Facts) -> bool:
    """Whether each value of a column comes with one label only: then its slices say nothing."""
    if not label.two_valued or sample[name].n_unique() > _MOST_SLICES + 1:
        return False
    groups = sample.group_by(name).agg(pl.col(label.name).drop_nulls().n_unique().alias("labels"))
    return groups["labels"].max() == 1
