"""Metrics of a binary task seen in several classes: one class against the rest, or against one other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.metric import Metric, fact_of
from plmetrics.catalogue.needs import OrderedRows, Sums
from plmetrics.states.class_probabilities import class_probability, pair_probability, pooled_probabilities
from plmetrics.states.sums import Atom, RowValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.states.sums import Rows


@dataclass(frozen=True)
class ClassScoreMetric(Metric):
    """A binary metric that reads another number than the model's score, and another class than the label.

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
    bound = fact_of("inner.bound")
    cut = fact_of("inner.cut")
    deviation = fact_of("inner.deviation")
    expressible = False

    def __post_init__(self) -> None:
        """The inner metric's parameters are checked."""

    @cached_property
    def text(self) -> str:
        """The inner metric's, and what it reads."""
        return f"{self.inner.text}|{self.value.key}"

    @cached_property
    def needs(self) -> OrderedRows:
        """That of the inner metric, in the order of the value."""
        assert isinstance(self.inner.needs, OrderedRows)
        return replace(self.inner.needs, by=self.value)

    def atoms(self) -> Mapping[str, Atom]:
        """The weight of both classes."""
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


def one_vs_rest(inner: Metric, classes: tuple[str, ...], number: int) -> ClassScoreMetric:
    """The inner metric of the probability of one class."""
    return ClassScoreMetric(inner, class_probability(classes, number))


def one_vs_one(inner: Metric, classes: tuple[str, ...], number: int, other: int) -> ClassScoreMetric:
    """The inner metric of the probability of one class, on the rows of that class and one other."""
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
    """The weight of a class, by which averages over classes are weighed."""

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
        """The key of its sum."""
        return self.atom.key

    def atoms(self) -> Mapping[str, Atom]:
        """The rows of the class."""
        return {"mass": self.atom}

    def finalise(self, state: Any) -> Any:
        """Their weight."""
        return state.mass
