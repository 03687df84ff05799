"""Bases of metrics of several classes: classes they learn from the run, sums of each, and binary metrics of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from plmetrics.catalogue.bases import OfRates, Quotient
from plmetrics.catalogue.metric import Facts, Metric, Undefined
from plmetrics.catalogue.needs import OrderedRows, Sums
from plmetrics.catalogue.parameters import fact_of, parameter
from plmetrics.core import ops
from plmetrics.states.class_probabilities import class_probability, pair_probability, pooled_probabilities
from plmetrics.states.sums import Atom, Rows, RowValue

INFINITY = float("inf")
MEASURES = (
    "Sokolova and Lapalme (2009), A systematic analysis of performance measures, Inf. Process. Manag. 45(4)"
)
_SHOWN = 8
_ROUNDING = 1e-9
"""Of a weight: less of it is what sums leave."""


class Multiclass(Metric):
    """Base of the metrics of several classes. `classes` are those of the run, in order; empty before it."""

    task = "multiclass"
    expressible = False
    reads_parts: ClassVar[bool] = False
    classes: ClassVar[tuple[str, ...]] = ()

    def with_facts(self, facts: Facts) -> Self:
        """The metric with the classes of the run."""
        settled_metric = replace(self)  # without what was made for other classes
        object.__setattr__(settled_metric, "classes", facts.classes)
        return settled_metric

    def members(self, number: int) -> Atom:
        """The rows of a class."""
        return actual(number)

    @property
    def by_class(self) -> bool:
        """With average none."""
        return getattr(self, "average", None) == "none"

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """Probabilities, where it reads them."""
        if self.reads_parts and not any(part.startswith("proba") for part in parts) and parts:
            return "a probability for each class"
        return None


def _hit_row(number: int) -> Any:
    def row(rows: Rows) -> pl.Expr:
        return rows.of_class(number) & (rows.score == float(number))

    return row


def actual(number: int) -> Atom:
    """Rows of a class, one class per row."""
    return Atom(f"actual|{number}", lambda rows: rows.of_class(number), counts=True, apart="actual")


def calls_of(number: int) -> Atom:
    """Calls of a class."""
    return Atom(f"called|{number}", lambda rows: rows.score == float(number), counts=True, apart="called")


def hits_of(number: int) -> Atom:
    """Correct calls of a class."""
    return Atom(f"hit|{number}", _hit_row(number), counts=True, apart="hit")


def class_atoms(classes: Sequence[str]) -> Mapping[str, tuple[Atom, ...]]:
    """Atoms per class: rows of it, calls of it, and both."""
    numbers = range(len(classes))
    return {
        "hit": tuple(hits_of(number) for number in numbers),
        "called": tuple(calls_of(number) for number in numbers),
        "actual": tuple(actual(number) for number in numbers),
    }


def average_parameter() -> Any:
    """Parameter `average`, common to all averages over classes."""
    return parameter(
        "macro",
        doc="how classes are put together; none gives a row per class",
        options=("macro", "micro", "weighted", "none"),
    )


def undefined_parameter() -> Any:
    """Parameter `undefined`, common to all averages over classes."""
    return parameter(
        "exclude",
        doc="what a class without a value does in an average: it is left out and named in the note, or counts as 0",
        options=("exclude", "zero"),
        name="undefined",
    )


def without_value(classes: Sequence[str], missing: Any) -> Any:
    """Names of the classes without a value; None if all have one. `missing` is `[..., class]`."""
    absent = np.asarray(missing)
    notes = np.full(absent.shape[:-1], None, dtype=object)
    if not absent.any():
        return notes
    patterns, which = np.unique(absent.reshape(-1, absent.shape[-1]), axis=0, return_inverse=True)
    texts = np.array([_omission_note(classes, pattern) for pattern in patterns], dtype=object)
    return texts[which.reshape(notes.shape)]


def rows_without_value(weight: Any, mass: Any) -> Any:
    """Weights of the rows without a value, of all rows and those with one; None where all have one.

    >>> rows_without_value(np.array([4.0, 4.0]), np.array([3.0, 4.0])).tolist()
    ['left out: rows of weight 1', None]
    """
    absent, weight = np.atleast_1d(weight - mass), np.atleast_1d(weight)
    texts = [
        f"left out: rows of weight {rows:g}" if rows > _ROUNDING * total else None
        for rows, total in zip(absent.tolist(), weight.tolist(), strict=True)
    ]
    return np.array(texts, dtype=object)


def _omission_note(classes: Sequence[str], pattern: Any) -> str | None:
    names = [name for name, missing in zip(classes, pattern, strict=True) if missing]
    if not names:
        return None
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"classes left out: {', '.join(names[:_SHOWN])}{more}"


@dataclass(frozen=True)
class OfClass(Quotient):
    """Rate of one class: a row of its own in the results, under the name of the rate."""

    rate: ClassRate
    number: int
    task = fact_of("rate.task")
    needs = Sums()
    mean = "mass"
    range = fact_of("rate.range")
    direction = fact_of("rate.direction")
    kind = fact_of("rate.kind_of_class")
    interval_form = fact_of("rate.interval_form")
    additive = fact_of("rate.additive")
    empty = fact_of("rate.empty")
    chosen_threshold = fact_of("rate.chosen_threshold")
    fixed_threshold = fact_of("rate.fixed_threshold")
    expressible = False

    def __post_init__(self) -> None:
        """The rate's parameters are checked."""

    @property
    def text(self) -> str:
        return f"{self.rate.text}|{self.number}"

    @property
    def threshold_classes(self) -> tuple[str, ...]:
        """The class."""
        return (self.rate.classes[self.number],)

    def atoms(self) -> Mapping[str, Atom]:
        return self.rate.atoms_of(self.number)

    def terms(self, state: Any) -> tuple[Any, Any]:
        return self.rate.terms(state)


@dataclass(frozen=True)
class ClassRate(OfRates, Multiclass):
    """Base of the rates of each class against the rest: a part over a whole of sums of the class.

    `terms` read `hit`, `called`, `actual` and `weight`, with any axes.
    """

    needs = Sums()
    range = (0.0, 1.0)
    direction = "higher"
    empty: ClassVar[str] = "zero_denominator"
    kind_of_class: ClassVar[str] = "proportion"

    average: str = average_parameter()

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Numerator and denominator of the rate."""
        raise NotImplementedError

    def per_class(self) -> tuple[tuple[str, Metric], ...]:
        """With average none, each class."""
        if self.average != "none":
            return (("", self),)
        return tuple((name, OfClass(self, number)) for number, name in enumerate(self.classes))

    def atoms_of(self, number: int) -> Mapping[str, Atom]:
        """The sums of a class."""
        return {"hit": hits_of(number), "called": calls_of(number), "actual": self.members(number)}

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        of_classes = [self.atoms_of(number) for number in range(len(self.classes))]
        return {name: tuple(atoms[name] for atoms in of_classes) for name in ("hit", "called", "actual")}

    def finalise(self, state: Any) -> Any:
        """The average over classes."""
        part, total = self.terms(_Wide(state))
        if self.average == "micro":
            return ops.ratio(ops.total(part), ops.total(total))
        values = ops.ratio(part, total, otherwise=0.0)
        weight = self._class_weight(state, total)
        return ops.ratio(ops.total(values * weight), ops.total(weight))

    def _class_weight(self, state: Any, total: Any) -> Any:
        """Weight of a class in the average: 0 for a class without a value, unless that counts as 0."""
        present = np.ones_like(total) if self._zero else np.where(total > 0, 1.0, 0.0)
        return present * state.actual if self.average == "weighted" else present

    def rates(self, state: Any) -> tuple[Any, Any] | None:
        """Those of the classes, where they count alike: of rows that count once at most."""
        if self.average != "macro":
            return None
        part, whole = (np.asarray(term) / self.row_weight for term in self.terms(_Wide(state)))
        return part, whole

    @property
    def row_weight(self) -> float:
        """How often a row counts at most."""
        return 1.0

    def changes(self, state: Any, rates: Any, moved: Any) -> Any:
        weight = self._class_weight(state, self.terms(_Wide(state))[1])
        return ops.ratio((moved - rates) * weight, np.sum(weight, axis=-1, keepdims=True), otherwise=0.0)

    @property
    def _zero(self) -> bool:
        return getattr(self, "undefined_as", "exclude") == "zero"

    def undefined(self, state: Any) -> Undefined:
        """No class has a value."""
        _, total = self.terms(_Wide(state))
        weight = total if self.average == "micro" else self._class_weight(state, total)
        return [*super().undefined(state), (self.empty, ops.total(weight) == 0)]

    def remark(self, state: Any) -> Any:
        """The classes without a value."""
        if self.average not in {"macro", "weighted"} or self._zero:
            return None
        return without_value(self.classes, self.terms(_Wide(state))[1] == 0)


class _Wide:
    """State with an axis of the classes in its totals, too."""

    def __init__(self, state: Any) -> None:
        self.hit, self.called, self.actual = state.hit, state.called, state.actual
        self.weight = np.asarray(state.weight)[..., None]


@dataclass(frozen=True)
class ClassScoreMetric(Metric):
    """Binary metric of another score than the model's and another class than the label.

    `value` says which: its key is the metric's place, its rows those that take part.
    """

    inner: Metric
    value: RowValue
    task = "multiclass"
    name = fact_of("inner.name")
    range = fact_of("inner.range")
    direction = fact_of("inner.direction")
    kind = fact_of("inner.kind")
    interval_form = fact_of("inner.interval_form")
    smooth = fact_of("inner.smooth")
    probability = fact_of("inner.probability")
    finds_threshold = fact_of("inner.finds_threshold")
    finalise = fact_of("inner.finalise")
    undefined = fact_of("inner.undefined")
    denominators = fact_of("inner.denominators")
    behind_cut = fact_of("inner.behind_cut")
    bound = fact_of("inner.bound")
    cut = fact_of("inner.cut")
    deviation = fact_of("inner.deviation")
    expressible = False

    def __post_init__(self) -> None:
        """The inner metric's parameters are checked."""

    @cached_property
    def text(self) -> str:
        """Text of the inner metric, and its input."""
        return f"{self.inner.text}|{self.value.key}"

    @cached_property
    def needs(self) -> OrderedRows:
        assert isinstance(self.inner.needs, OrderedRows)
        return replace(self.inner.needs, by=self.value)

    def atoms(self) -> Mapping[str, Atom]:
        key, width = self.value.key, self.value.width
        facts: dict[str, Any] = {"counts": True} if width == 1 else {"most": float(width)}
        return {
            "positives": Atom(f"positives|{key}", lambda rows: self._member(rows, own=True), **facts),
            "negatives": Atom(f"negatives|{key}", lambda rows: self._member(rows, own=False), **facts),
        }

    def _member(self, rows: Rows, *, own: bool) -> pl.Expr:
        assert self.value.positive is not None
        positive = self.value.positive(rows)
        if self.value.width > 1:
            members = positive.list.sum().cast(pl.Float64)
            return members if own else self.value.width - members
        return (positive if own else ~positive) & self.value.build(rows).is_not_null()


def one_vs_rest(inner: Metric, classes: tuple[str, ...]) -> tuple[ClassScoreMetric, ...]:
    """Inner metric of the probability of each class."""
    return tuple(
        ClassScoreMetric(inner, class_probability(classes, number)) for number in range(len(classes))
    )


def one_vs_one(inner: Metric, classes: tuple[str, ...], number: int, other: int) -> ClassScoreMetric:
    """Inner metric of the probability of one class, on the rows of two classes."""
    return ClassScoreMetric(inner, pair_probability(classes, number, other))


def of_pool(inner: Metric, classes: tuple[str, ...]) -> ClassScoreMetric:
    """The inner metric of all pairs of row and class, by the probability of the class."""
    return ClassScoreMetric(inner, pooled_probabilities(classes))


def confidence(inner: Metric) -> ClassScoreMetric:
    """The inner metric of the called class's probability, with rows called rightly as the positive class."""

    def value(rows: Rows) -> pl.Expr:
        parts = [rows.part(f"proba|{name}") for name in rows.classes]
        if not rows.thresholds:
            return pl.max_horizontal(parts)
        return pl.coalesce(pl.when(rows.score == number).then(part) for number, part in enumerate(parts))

    def positive(rows: Rows) -> pl.Expr:
        return rows.label == rows.score

    return ClassScoreMetric(inner, RowValue("confidence", value, positive))


@dataclass(frozen=True)
class ClassWeight(Metric):
    """Weight of a class, for averages over classes."""

    atom: Atom
    name = "class_weight"
    task = "multiclass"
    needs = Sums()
    range = (0.0, float("inf"))
    direction = "none"
    additive = True
    expressible = False

    def __post_init__(self) -> None:
        """Nothing to check."""

    @property
    def text(self) -> str:
        return self.atom.key

    def atoms(self) -> Mapping[str, Atom]:
        return {"mass": self.atom}

    def finalise(self, state: Any) -> Any:
        return state.mass
