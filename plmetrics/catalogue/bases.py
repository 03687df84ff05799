"""Bases of metrics of several tasks: means over rows, quotients, sizes of vectors, quantiles; row values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, ClassVar, TypeGuard

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import IntervalForm, Metric, Nonzero, Undefined
from plmetrics.catalogue.needs import Kind, Quantiles, Sums
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows, View, as_tuple

_TIE = 1e-12
_INFINITY = float("inf")
BOTH_CLASSES = (("no_positives", "positives"), ("no_negatives", "negatives"))
"""Statuses of a metric that compares positives with negatives."""

_MEMBERS = ("taking", "mass")
_RIGHT = ("tp", "tn", "hit")


class RowMean(Metric):
    """Base of the means over rows of a per-row value: `row_atom`, or a function of it and of parameters."""

    needs = Sums()
    kind: ClassVar[Kind] = "mean"
    interval_form: ClassVar[IntervalForm | None] = "t"
    row_atom: ClassVar[Atom]

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return {"row_sum": self._atom()}

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.row_sum, state.weight)

    def _atom(self) -> Atom:
        return self.row_atom


class Positives(Metric):
    """Base of the metrics relative to the positives."""

    nonzero: ClassVar[Nonzero] = (("no_positives", "positives"),)
    masses: ClassVar[tuple[str, ...]] = ("positives",)


class BothClasses(Metric):
    """Base of the comparisons of positives with negatives."""

    nonzero = BOTH_CLASSES
    masses = ("positives", "negatives")


class Quotient(Metric):
    """Base of the ratios of two numbers, undefined with status `empty` for a denominator of 0."""

    empty: ClassVar[str] = "zero_denominator"

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Numerator and denominator."""
        raise NotImplementedError

    def finalise(self, state: Any) -> Any:
        return ops.ratio(*self.terms(state))

    def undefined(self, state: Any) -> Undefined:
        return [*super().undefined(state), (self.empty, self.terms(state)[1] == 0)]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        return (self.terms(state)[1],)


class OfRates(Metric):
    """Base of the functions of rates. Where one of these is 0 or 1, no replicate shows what it adds to the spread."""

    def rates(self, state: Any) -> tuple[Any, Any] | None:
        """Parts and wholes of the rates, which are the last axis; None where replicates show all."""
        raise NotImplementedError

    def changes(self, state: Any, rates: Any, moved: Any) -> Any:
        """Changes of the value by each rate that moves alone."""
        raise NotImplementedError


def is_of_rates(metric: Metric) -> TypeGuard[OfRates]:
    """Whether a metric is a function of rates."""
    return isinstance(metric, OfRates)


class Norm(Metric):
    """Norm of a vector of linear estimates, such as the gaps of a reliability diagram.

    Noise makes such a value larger than it is in truth, so its interval is centred: it needs the size of
    (replicate's gaps - point's gaps), which is `deviation`.
    """

    kind = "norm"

    def gaps(self, state: Any) -> Any:
        """The signed gaps along the points or bins."""
        raise NotImplementedError

    def size(self, state: Any, gaps: Any) -> Any:
        """The size of a vector of gaps, weighed as in the state."""
        raise NotImplementedError

    def finalise(self, state: Any) -> Any:
        return self.size(state, self.gaps(state))

    def deviation(self, replicate: Any, point: Any) -> Any:
        """Size of the difference between the two vectors of gaps, weighed as in the replicate."""
        return self.size(replicate, self.gaps(replicate) - self.gaps(point))


class Quantile(Metric):
    """Base of the quantiles: the averaged inverse of the weighted distribution of a number of each row at a level.

    The smallest value with more than level W of the weight at or below it, averaged with the value before where
    exactly level W is reached: NumPy's median for level 0.5. Limits are compared with a relative tolerance of 1e-12.
    The state of a slice holds the distinct values, ascending, with the weight of each.
    """

    family = "scores"
    smooth = False
    needs_score = True
    expressible = False

    @property
    def needs(self) -> Quantiles:
        """The quantile, and the number of each row."""
        raise NotImplementedError

    def finalise(self, state: Any) -> Any:
        """Mean of the first value at or above the level and the first above it."""
        running = ops.cumulative(state.mass)
        target = ops.broadcast(ops.largest(running), running) * self.needs.level
        occupied = state.mass > 0
        low = self._minimum(state, occupied & (running >= target * (1 - _TIE)))
        high = self._minimum(state, occupied & (running > target * (1 + _TIE)))
        middle = low / 2.0 + high / 2.0  # the sum may be larger than any float
        return ops.where((high == _INFINITY) | (high == low), low, middle)

    @staticmethod
    def _minimum(state: Any, condition: Any) -> Any:
        return -ops.largest(ops.where(condition, -state.value, -_INFINITY))


def row_value(metric: Metric) -> Callable[[Rows], pl.Expr] | None:
    """Number of each row with the metric as its mean over rows; None if it is no such mean.

    A row where the number is null takes no part in the mean.

    >>> import plmetrics as plm
    >>> row_value(plm.metric("brier")) is None, row_value(plm.metric("f1")) is None
    (False, True)
    """
    if not isinstance(metric.needs, Sums) or metric.interval_form != "t":
        return None
    atoms = metric.atoms()
    summed = [part for part in atoms.values() if not all(atom.counts for atom in as_tuple(part))]
    if len(summed) != 1 or isinstance(summed[0], tuple):
        return None
    total, unit = summed[0], _unit(metric)
    named = member_of(metric)
    if named is None:
        return total.build if unit == 1.0 else lambda rows: total.build(rows) * unit
    member = named[1]
    return lambda rows: pl.when(member.build(rows)).then(total.build(rows) * unit)


def member_of(metric: Metric) -> tuple[str, Atom] | None:
    """The name of the sum of the rows of a mean over some rows; None where all take part."""
    atoms = metric.atoms()
    named = ((name, part) for name in _MEMBERS if isinstance(part := atoms.get(name), Atom))
    return next(named, None)


def _unit(metric: Metric) -> float:
    """Value of the metric on a single row with sum 1: 100 for a percentage."""
    ones = dict.fromkeys(("n", "weight", *metric.atoms()), np.array(1.0))
    return float(metric.finalise(View(ones)))


def called_rightly(metric: Metric) -> Callable[[Rows], pl.Expr] | None:
    """Whether each row is called rightly, where the metric is the accuracy; else None."""
    if metric.paired_test != "mcnemar":
        return None
    atoms_of_metric = metric.atoms()
    atoms = [atom for name in _RIGHT if name in atoms_of_metric for atom in as_tuple(atoms_of_metric[name])]
    return lambda rows: reduce(or_, (atom.build(rows) for atom in atoms))
