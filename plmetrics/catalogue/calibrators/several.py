"""Calibrators of the probabilities of several classes: maps from all of a row's probabilities to all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.catalogue.calibrators.calibrator import NoFit, clip_expression, clip_scores, newton
from plmetrics.catalogue.calibrators.score_curves import Isotonic
from plmetrics.core.exact_sums import are_exact
from plmetrics.core.ops import Codes
from plmetrics.table.prediction_columns import ColumnSteps

Numbers = NDArray[np.float64]

_NUMBERS_AT_ONCE = 1 << 23
_SMALL_PRODUCT = 1 << 18
"""Multiplications: so few are left to one thread by the library; the threads of more wait longer than they work."""
_LEAST_ROWS = 16


class ClassCalibrator(ABC):
    """A map between probabilities of several classes, fitted by maximum likelihood or least squares."""

    name: ClassVar[str]

    __slots__ = ()

    @classmethod
    @abstractmethod
    def fit(cls, probabilities: Numbers, label: Codes, weight: Numbers | None = None) -> Self:
        """The calibrator of some rows: `[row, class]` in [0, 1], the class of each, positive weights (1 if None).

        Raises:
            NoFit: no finite parameters are best.
        """

    @classmethod
    def coefficient_count(cls, classes: int) -> int:
        """Number of coefficients that are fitted together, at most."""
        return classes

    @abstractmethod
    def expressions(self, parts: Sequence[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
        """Calibrated probabilities, with sum 1; what they have in common is in columns of steps before."""

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """The parameters, as JSON-able values."""

    @classmethod
    def read(cls, constants: Mapping[str, Any]) -> Self:
        """The calibrator of some parameters, as `constants` gives them."""
        return cls(**constants)

    def calibrate(self, parts: Sequence[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
        """The calibrated probabilities of raw columns: null where one of a row is bad."""
        values = steps.add(part.cast(pl.Float64) for part in parts)
        (sound,) = steps.add([pl.all_horizontal(value.is_between(0, 1) for value in values)])
        return [pl.when(sound).then(value) for value in self.expressions(values, steps)]


@dataclass(frozen=True, slots=True)
class SoftmaxTemperature(ClassCalibrator):
    """softmax(ln p / temperature), by maximum likelihood: above 1 it makes probabilities more timid.

    Probabilities are held to [2.220446049250313e-16, 1 - 2.220446049250313e-16] before the logarithm. The called class
    stays the same. No finite fit where the class of every row has the largest probability, or smaller ones are
    the better. Source: Guo and others (2017), On calibration of modern neural networks, ICML.

    >>> import numpy as np
    >>> timid = np.array([[0.6, 0.2, 0.2]] * 9 + [[0.2, 0.6, 0.2]])
    >>> round(SoftmaxTemperature.fit(timid, np.zeros(10, dtype=np.int64)).temperature, 3)
    0.38
    """

    temperature: float
    name = "temperature"

    @classmethod
    def fit(cls, probabilities: Numbers, label: Codes, weight: Numbers | None = None) -> Self:
        logits = np.log(clip_scores(probabilities))
        mass, label_logits = _masses(label, weight), logits[np.arange(len(label)), label]
        if (label_logits >= logits.max(axis=1)).all():
            msg = "the class of every row has the largest probability already: use isotonic"
            raise NoFit(msg)

        def loss(factor: Numbers) -> float:
            return float(mass @ (_log_sum(factor[0] * logits) - factor[0] * label_logits))

        def derivatives(factor: Numbers) -> tuple[Numbers, Numbers]:
            chance = _softmax(factor[0] * logits)
            mean = (chance * logits).sum(axis=1)
            spread = (chance * logits**2).sum(axis=1) - mean**2
            return np.array([mass @ (mean - label_logits)]), np.array([[mass @ spread]])

        factor = newton(np.ones(1), derivatives, loss)
        if factor is None or not np.isfinite(factor[0]) or factor[0] <= 0:
            msg = "no temperature above 0 fits best: use isotonic"
            raise NoFit(msg)
        return cls(1.0 / float(factor[0]))

    def expressions(self, parts: Sequence[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
        return _softmax_expressions((clip_expression(part).log() / self.temperature for part in parts), steps)

    def constants(self) -> dict[str, Any]:
        return {"temperature": self.temperature}


@dataclass(frozen=True, slots=True)
class VectorScaling(ClassCalibrator):
    """softmax(a_k ln p_k + b_k), a slope and an intercept for each class, by maximum likelihood without a penalty.

    The intercept of the last class is 0. Probabilities are held to [2.220446049250313e-16, 1 - 2.220446049250313e-16]
    before the logarithm. No finite fit where classes do not overlap, or one has no rows. Source: Guo and others (2017),
    On calibration of modern neural networks, ICML.
    """

    slopes: tuple[float, ...]
    intercepts: tuple[float, ...]
    name = "vector"

    @classmethod
    def fit(cls, probabilities: Numbers, label: Codes, weight: Numbers | None = None) -> Self:
        number = probabilities.shape[1]
        logits, mass = np.log(clip_scores(probabilities)), _masses(label, weight)
        rows, slopes = np.arange(len(label)), np.arange(number)
        shared, intercepts = slopes[:-1], number + slopes[:-1]

        def scores(coefficients: Numbers) -> Numbers:
            lines: Numbers = logits * coefficients[:number] + np.append(coefficients[number:], 0.0)
            return lines

        def derivatives(coefficients: Numbers) -> tuple[Numbers, Numbers]:
            chance = _softmax(scores(coefficients))
            weighed = np.concatenate([chance * logits, chance[:, :-1]], axis=1)
            curvature = -_gram(weighed, mass, weighed)
            straight = np.einsum("n,np->p", mass, weighed)
            curvature[slopes, slopes] += np.einsum("n,nk,nk->k", mass, weighed[:, :number], logits)
            curvature[shared, intercepts] += straight[: number - 1]
            curvature[intercepts, shared] += straight[: number - 1]
            curvature[intercepts, intercepts] += straight[number:]
            chance[rows, label] -= 1.0
            slope = np.einsum("n,nk,nk->k", mass, chance, logits)
            return np.append(slope, np.einsum("n,nk->k", mass, chance)[:-1]), curvature

        start = np.concatenate([np.ones(number), np.zeros(number - 1)])
        optimum = _most_likely(start, scores, derivatives, label, mass, "slopes and intercepts")
        return cls(tuple(map(float, optimum[:number])), (*map(float, optimum[number:]), 0.0))

    def expressions(self, parts: Sequence[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
        lines = zip(parts, self.slopes, self.intercepts, strict=True)
        return _softmax_expressions((clip_expression(part).log() * a + b for part, a, b in lines), steps)

    def constants(self) -> dict[str, Any]:
        return {"slopes": list(self.slopes), "intercepts": list(self.intercepts)}


@dataclass(frozen=True, slots=True)
class Dirichlet(ClassCalibrator):
    """softmax(W ln p + b), a coefficient for each pair of classes and an intercept for each, by maximum likelihood.

    It is a multinomial logistic regression on ln p without a penalty; the row of the last class is 0. Probabilities are
    held to [2.220446049250313e-16, 1 - 2.220446049250313e-16] before the logarithm. No finite fit where classes do not
    overlap, or one has no rows. Source: Kull and others (2019), Beyond temperature scaling: obtaining well-calibrated
    multiclass probabilities with Dirichlet calibration, NeurIPS.
    """

    coefficients: tuple[tuple[float, ...], ...]
    intercepts: tuple[float, ...]
    name = "dirichlet"

    @classmethod
    def fit(cls, probabilities: Numbers, label: Codes, weight: Numbers | None = None) -> Self:
        number = probabilities.shape[1]
        logits, mass = np.log(clip_scores(probabilities)), _masses(label, weight)
        features = np.concatenate([logits, np.ones((len(label), 1))], axis=1)
        classes, size = number - 1, number + 1
        step = max(1, _NUMBERS_AT_ONCE // (classes * size))
        indicator = np.eye(number)[label][:, :classes]

        def scores(flat: Numbers) -> Numbers:
            lines = np.einsum("nf,kf->nk", features, flat.reshape(classes, size))
            return np.concatenate([lines, np.zeros((len(label), 1))], axis=1)

        def derivatives(flat: Numbers) -> tuple[Numbers, Numbers]:
            chance = _softmax(scores(flat))[:, :classes]
            slope = _gram(chance - indicator, mass, features)
            curvature = np.zeros((classes * size, classes * size))
            for start in range(0, len(label), step):
                part = slice(start, start + step)
                curvature += _multinomial_curvature(mass[part], chance[part], features[part])
            return slope.ravel(), curvature

        identity = np.concatenate(
            [np.eye(classes), np.full((classes, 1), -1.0), np.zeros((classes, 1))], axis=1
        )
        optimum = _most_likely(identity.ravel(), scores, derivatives, label, mass, "coefficients")
        fitted = np.concatenate([optimum.reshape(classes, size), np.zeros((1, size))])
        return cls(
            tuple(tuple(map(float, line)) for line in fitted[:, :-1]), tuple(map(float, fitted[:, -1]))
        )

    @classmethod
    def coefficient_count(cls, classes: int) -> int:
        return classes**2 - 1

    def expressions(self, parts: Sequence[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
        logs = steps.add(clip_expression(part).log() for part in parts)
        lines = (
            pl.sum_horizontal(
                [log * factor for log, factor in zip(logs, line, strict=True)], ignore_nulls=False
            )
            + b
            for line, b in zip(self.coefficients, self.intercepts, strict=True)
        )
        return _softmax_expressions(lines, steps)

    def constants(self) -> dict[str, Any]:
        return {
            "coefficients": [list(line) for line in self.coefficients],
            "intercepts": list(self.intercepts),
        }


def _most_likely(
    start: Numbers,
    scores: Callable[[Numbers], Numbers],
    derivatives: Callable[[Numbers], tuple[Numbers, Numbers]],
    label: Codes,
    mass: Numbers,
    what: str,
) -> Numbers:
    """The coefficients of smallest log loss; `scores` are those of all classes by row.

    Raises:
        NoFit: the loss falls without end, as where classes do not overlap.
    """
    rows = np.arange(len(label))

    def loss(coefficients: Numbers) -> float:
        each = scores(coefficients)
        return float(mass @ (_log_sum(each) - each[rows, label]))

    optimum = newton(start, derivatives, loss)
    if optimum is None or not np.isfinite(optimum).all() or loss(optimum) < 1e-9:
        msg = f"no finite {what} fit best: use temperature"
        raise NoFit(msg)
    return optimum


def _multinomial_curvature(mass: Numbers, chance: Numbers, features: Numbers) -> Numbers:
    """The curvature of the log loss of several classes, summed over rows."""
    classes, size = chance.shape[1], features.shape[1]
    weighed = (chance[:, :, None] * features[:, None, :]).reshape(len(mass), -1)
    curvature = np.empty((classes * size, classes * size))
    for number in range(classes):
        here, rest = slice(number * size, (number + 1) * size), slice(number * size, None)
        curvature[here, rest] = -_gram(features, mass * chance[:, number], weighed[:, rest])
        curvature[here, here] += _gram(features, mass, weighed[:, here])
        curvature[rest, here] = curvature[here, rest].T
    return curvature


def _gram(left: Numbers, mass: Numbers, right: Numbers) -> Numbers:
    """Sums over rows of the products of two columns each, times a mass."""
    if are_exact():
        exact: Numbers = np.einsum("np,n,nq->pq", left, mass, right)
        return exact
    total = np.zeros((left.shape[1], right.shape[1]))
    step = _SMALL_PRODUCT // total.size
    step = len(mass) if step < _LEAST_ROWS else step
    for start in range(0, len(mass), step):
        part = slice(start, start + step)
        total += (left[part] * mass[part, None]).T @ right[part]
    return total


@dataclass(frozen=True, slots=True)
class OneVsRestIsotonic(ClassCalibrator):
    """The isotonic curve of each class against the rest, and their values divided by their sum.

    Where all curves give 0 the classes are equally probable. Source: Zadrozny and Elkan (2002), Transforming classifier
    scores into accurate multiclass probability estimates, KDD.
    """

    curves: tuple[Isotonic, ...]
    name = "isotonic"

    @classmethod
    def fit(cls, probabilities: Numbers, label: Codes, weight: Numbers | None = None) -> Self:
        members = (np.asarray(label == number, dtype=np.float64) for number in range(probabilities.shape[1]))
        return cls(
            tuple(Isotonic.fit(p, member, weight) for p, member in zip(probabilities.T, members, strict=True))
        )

    def expressions(self, parts: Sequence[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
        each = steps.add(curve.expression(part) for curve, part in zip(self.curves, parts, strict=True))
        (total,) = steps.add([pl.sum_horizontal(*each, ignore_nulls=False)])
        return [pl.when(total > 0).then(value / total).otherwise(1.0 / len(each)) for value in each]

    @classmethod
    def read(cls, constants: Mapping[str, Any]) -> Self:
        return cls(tuple(map(Isotonic.read, constants["curves"])))

    def constants(self) -> dict[str, Any]:
        return {"curves": [curve.constants() for curve in self.curves]}


def _masses(label: Codes, weight: Numbers | None) -> Numbers:
    mass = np.ones(len(label)) if weight is None else weight
    total: Numbers = mass / mass.sum()
    return total


def _log_sum(scores: Numbers) -> Numbers:
    highest = scores.max(axis=1)
    total: Numbers = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    return total


def _softmax(scores: Numbers) -> Numbers:
    chance: Numbers = np.exp(scores - _log_sum(scores)[:, None])
    return chance


def _softmax_expressions(scores: Iterable[pl.Expr], steps: ColumnSteps) -> list[pl.Expr]:
    scores = steps.add(scores)
    (highest,) = steps.add([pl.max_horizontal(*scores)])
    each = steps.add((score - highest).exp() for score in scores)
    (total,) = steps.add([pl.sum_horizontal(*each, ignore_nulls=False)])
    return [value / total for value in each]


CLASS_CALIBRATORS: Mapping[str, type[ClassCalibrator]] = MappingProxyType(
    {kind.name: kind for kind in (SoftmaxTemperature, VectorScaling, Dirichlet, OneVsRestIsotonic)}
)
"""Calibrators of several classes by name."""
