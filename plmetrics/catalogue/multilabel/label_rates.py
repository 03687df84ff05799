"""Rates of each class where rows have several: per class, averaged over classes, pooled, or row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import polars as pl

from plmetrics.catalogue.metric import IntervalForm, Mean, Metric, Undefined
from plmetrics.catalogue.multiclass import rates
from plmetrics.catalogue.multiclass.base import ClassRate, Multiclass, rows_without_value
from plmetrics.catalogue.parameters import ThresholdRule, parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.thresholds import threshold_text
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows

MINING = "Tsoumakas, Katakis and Vlahavas (2010), Mining multi-label data, Data Mining and Knowledge Discovery Handbook"


def threshold_parameter() -> Any:
    """The parameter `threshold`, the same for every metric of called classes."""
    return parameter(
        0.5,
        doc="score from which on a class is called",
        check=lambda value: isinstance(value, ThresholdRule) or isfinite(value),
        domain="a number, or a rule such as max(f1) that chooses one for each class",
    )


class LabelSet(Multiclass):
    """Base of the metrics of several classes a row."""

    task = "multilabel"

    @property
    def threshold_classes(self) -> tuple[str, ...]:
        """Each class has a threshold of its own, where a rule chooses it."""
        return self.classes

    def members(self, number: int) -> Atom:
        return Atom(f"actual|{number}", lambda rows: rows.of_class(number), counts=True)


def call(rows: Rows, threshold: float | ThresholdRule, name: str) -> pl.Expr:
    """Whether a class is called."""
    return rows.part(f"proba|{name}") >= pl.lit(rows.threshold_of(threshold, name))


def calls(rows: Rows, threshold: float | ThresholdRule) -> list[pl.Expr]:
    """Whether each class is called."""
    return [call(rows, threshold, name) for name in rows.classes]


def truths(rows: Rows) -> list[pl.Expr]:
    """Whether a row has each class."""
    return [rows.of_class(number) for number in range(len(rows.classes))]


class _RowCounts:
    """Counts for `terms` of a rate, of a single row: its classes take the place of rows."""

    def __init__(self, rows: Rows, threshold: float | ThresholdRule) -> None:
        called, actual = calls(rows, threshold), truths(rows)
        hits = (each & truth for each, truth in zip(called, actual, strict=True))
        self.hit, self.called, self.actual = (_number(each) for each in (hits, called, actual))
        self.weight = float(len(actual))


def _number(conditions: Any) -> pl.Expr:
    return pl.sum_horizontal(condition.cast(pl.Float64) for condition in conditions)


@dataclass(frozen=True)
class LabelRate(LabelSet, ClassRate):
    """Base of the one-vs-rest rates of each class, for rows with several classes."""

    threshold_free = False

    average: str = parameter(
        "macro",
        doc="how classes are put together; samples: the mean over rows of the rate among a row's classes; none gives a "
        "row per class",
        options=("macro", "micro", "weighted", "samples", "none"),
    )
    threshold: float | ThresholdRule = threshold_parameter()

    def atoms_of(self, number: int) -> Mapping[str, Atom]:
        limit = threshold_text(self.threshold)

        def called(rows: Rows) -> pl.Expr:
            return call(rows, self.threshold, rows.classes[number])

        def hit(rows: Rows) -> pl.Expr:
            return called(rows) & rows.of_class(number)

        return {
            "hit": Atom(f"hit|{number}|{limit}", hit, counts=True),
            "called": Atom(f"called|{number}|{limit}", called, counts=True),
            "actual": self.members(number),
        }

    @property
    def _by_row(self) -> bool:
        return self.average == "samples"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The sums of every class, or of the rows' own rates."""
        if not self._by_row:
            return super().atoms()
        text = f"{self.name}|{getattr(self, 'beta', 1.0)}|{threshold_text(self.threshold)}"
        atoms = {"score_sum": Atom(f"of_rows|{text}", self._of_row, most=1.0)}
        return (
            atoms if self._zero else {**atoms, "mass": Atom(f"defined|{text}", self._is_defined, counts=True)}
        )

    def _of_row(self, rows: Rows) -> pl.Expr:
        part, whole = self.terms(_RowCounts(rows, self.threshold))
        return pl.when(whole > 0).then(part / whole).otherwise(0.0)

    def _is_defined(self, rows: Rows) -> pl.Expr:
        defined: pl.Expr = self.terms(_RowCounts(rows, self.threshold))[1] > 0
        return defined

    def finalise(self, state: Any) -> Any:
        """The average over classes, or over rows."""
        return ops.ratio(state.score_sum, self._mass(state)) if self._by_row else super().finalise(state)

    def _mass(self, state: Any) -> Any:
        return state.weight if self._zero else state.mass

    def undefined(self, state: Any) -> Undefined:
        """No class, or no row, has a value."""
        if self._by_row:
            return [*Metric.undefined(self, state), (self.empty, self._mass(state) == 0)]
        return super().undefined(state)

    def remark(self, state: Any) -> Any:
        """Classes, or rows, without a value."""
        if not self._by_row:
            return super().remark(state)
        return rows_without_value(state.weight, self._mass(state))

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Rows with a value."""
        return (self._mass(state),) if self._by_row else super().denominators(state)

    @property
    def interval_form(self) -> IntervalForm | None:  # type: ignore[override]
        """The interval of a mean over rows, if it is one."""
        return "t" if self._by_row else super().interval_form

    @property
    def mean(self) -> Mean | None:
        """Mean of all rows, or of those with a value."""
        if not self._by_row:
            return None
        return "rows" if self._zero else "mass"


@register
@dataclass(frozen=True)
class Precision(LabelRate, rates.Precision):
    """Share of rows with a class among those predicted to have it, averaged over classes or rows.

    Per class hits_c / called_c, with the classes called whose score is at least `threshold`. A class (or row) without
    calls has no value: it is left out, classes by name and rows by their weight in the note, or counts as 0 with
    `undefined` zero, as in scikit-learn. macro, weighted: mean over classes; micro: of all pairs of row and class;
    samples: mean over rows of the rate among the row's classes; none: a row per class. Weighted by row; in [0, 1];
    undefined (`zero_denominator`) where no class, or no row, has a value. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["precision"]).metrics["value"].item(), 6)
    0.75
    """

    rewards = "refusals"


@register
@dataclass(frozen=True)
class Recall(LabelRate, rates.Recall):
    """Share of the rows with a class predicted to have it, averaged over classes or rows.

    Per class hits_c / rows with c, with the classes called whose score is at least `threshold`. A class without rows
    (a row without classes) has no value, see precision. macro, weighted: mean over classes; micro: of all pairs of row
    and class; samples: mean over rows of the rate among the row's classes; none: a row per class. Weighted by row; in
    [0, 1]; undefined (`no_positives`) where no class, or no row, has a value. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["recall"]).metrics["value"].item(), 6)
    0.75
    """

    rewards = "calls"


@register
@dataclass(frozen=True)
class Specificity(LabelRate, rates.Specificity):
    """Share of the rows without a class not predicted to have it, averaged over classes or rows.

    Per class TN_c / (TN_c + FP_c), with the classes called whose score is at least `threshold`. A class that all rows
    have (a row with all classes) has no value, see precision. macro, weighted: mean over classes; micro: of all pairs
    of row and class; samples: mean over rows of the rate among the row's classes; none: a row per class. Weighted by
    row; in [0, 1]; undefined (`no_negatives`) where no class, or no row, has a value. Source: Sokolova and Lapalme
    (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["specificity"]).metrics["value"].item(), 6)
    0.5
    """

    rewards = "refusals"


@register
@dataclass(frozen=True)
class NegativePredictiveValue(LabelRate, rates.NegativePredictiveValue):
    """Share of rows without a class among those not predicted to have it, averaged over classes or rows.

    Per class TN_c / (TN_c + FN_c), with the classes called whose score is at least `threshold`. A class that is always
    called has no value, see precision. macro, weighted: mean over classes; micro: of all pairs of row and class;
    samples: mean over rows of the rate among the row's classes; none: a row per class. Weighted by row; in [0, 1];
    undefined (`zero_denominator`) where no class, or no row, has a value. Source: Sokolova and Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["npv"]).metrics["value"].item(), 6)
    0.5
    """

    rewards = "calls"


@register
@dataclass(frozen=True)
class F1(LabelRate, rates.F1):  # type: ignore[misc]
    """Harmonic mean of precision and recall, from counts, put together over classes or rows.

    Per class 2 hits_c / (rows with c + called_c), with the classes called whose score is at least `threshold`. A class
    that no row has and that is never called has no value, see precision. macro, weighted: mean over classes; micro: of
    all pairs of row and class; samples: mean over rows of the rate among the row's classes; none: a row per class.
    Weighted by row; in [0, 1]; undefined (`zero_denominator`) where no class, or no row, has a value. Source: van
    Rijsbergen (1979).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["f1"]).metrics["value"].item(), 6)
    0.75
    """


@register
@dataclass(frozen=True)
class FBeta(LabelRate, rates.FBeta):  # type: ignore[misc]
    """Weighted harmonic mean of precision and recall, from counts, put together over classes or rows.

    Per class (1 + beta^2) hits_c / (beta^2 rows with c + called_c), with the classes called whose score is at least
    `threshold`. beta above 1 leans to recall; undefined values as for f1. macro, weighted: mean over classes; micro:
    of all pairs of row and class; samples: mean over rows of the rate among the row's classes; none: a row per class.
    Weighted by row; in [0, 1]; undefined (`zero_denominator`) where no class, or no row, has a value. Source: van
    Rijsbergen (1979).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["fbeta(beta=2)"]).metrics["value"].item(), 6)
    0.75
    """


@register
@dataclass(frozen=True)
class Jaccard(LabelRate, rates.Jaccard):  # type: ignore[misc]
    """Hits over the union of rows with a class and predicted to have it, averaged over classes or rows.

    Per class hits_c / (rows with c + called_c - hits_c), with the classes called whose score is at least `threshold`.
    Undefined values as for f1. macro, weighted: mean over classes; micro: of all pairs of row and class; samples: mean
    over rows of the rate among the row's classes; none: a row per class. Weighted by row; in [0, 1]; undefined
    (`zero_denominator`) where no class, or no row, has a value. Source: Jaccard (1912).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y_a": [1, 1, 0], "y_b": [0, 1, 1], "p_a": [0.9, 0.4, 0.6], "p_b": [0.2, 0.8, 0.7]})
    >>> asked = {"task": "multilabel", "label": "y_", "models": {"m": {"proba": "p_"}}}
    >>> round(plm.evaluate(rows, **asked, metrics=["jaccard(average=samples)"]).metrics["value"].item(), 6)
    0.666667
    """


@register
class Support(LabelSet, rates.Support):
    """Number of rows with each class: a row per class.

    Their weight, where rows have one. 0 or more; undefined (`no_rows`) without rows in the slice. Source: Sokolova and
    Lapalme (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [["a"], ["a", "b"], []], "p": [["a"], ["b"], ["b"]]})
    >>> asked = {"classes": ["a", "b"], "models": {"m": {"prediction": "p"}}}
    >>> found = plm.evaluate(rows, task="multilabel", label="y", metrics=["support"], **asked).metrics
    >>> found.select("class", "value").rows()
    [('a', 2.0), ('b', 1.0)]
    """
