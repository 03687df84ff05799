"""Curves from scores to probabilities: of a few numbers over log odds (platt, temperature, beta), or isotonic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.catalogue.calibrators.calibrator import (
    Calibrator,
    LogOddsCalibrator,
    NoFit,
    best_coefficients,
    clip_expression,
    clip_scores,
    log_odds,
    mean_log_loss,
    probability_expression,
    separates,
)
from plmetrics.core import ops

Numbers = NDArray[np.float64]

MAX_KNOTS = 10_000


@dataclass(frozen=True, slots=True)
class Platt(LogOddsCalibrator):
    """1 / (1 + exp(-(slope logit(p) + intercept))), by maximum likelihood without a penalty.

    Platt's curve is one of the raw score of a machine that gives no probabilities: that is the fit with `margin`, of
    slope margin + intercept. Of probabilities their log odds take its place: slope 1 and intercept 0 then leave them
    as they are. Probabilities are held to
    [2.220446049250313e-16, 1 - 2.220446049250313e-16] before the logit. With `smoothing` the targets are not 1 and 0
    but (P + 1) / (P + 2) and 1 / (N + 2), P and N the weights of both classes. No finite fit where no score of a
    positive is below one of a negative or none above, unless targets are smoothed. Source: Platt (1999),
    Probabilistic outputs for support vector machines, Advances in Large Margin Classifiers.

    >>> import numpy as np
    >>> score, label = np.array([0.1] * 4 + [0.9] * 4), np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    >>> round(Platt.fit(score, label).slope, 6)
    0.5
    """

    slope: float
    intercept: float
    margin: bool = False
    name = "platt"

    @classmethod
    def fit(
        cls,
        score: Numbers,
        label: Numbers,
        weight: Numbers | None = None,
        *,
        smoothing: bool = False,
        margin: bool = False,
    ) -> Self:
        """Fit slope and intercept.

        Raises:
            NoFit: the classes do not overlap, or all scores are equal.
        """
        odds = score if margin else log_odds(score)
        if odds.min() == odds.max():
            msg = "all scores are equal"
            raise NoFit(msg)
        if not smoothing and (separates(odds, label) or separates(-odds, label)):
            msg = "the scores of both classes do not overlap: use isotonic, or smoothing: true"
            raise NoFit(msg)
        target = _smooth_targets(label, weight) if smoothing else label
        centre, scale = (odds.mean(), odds.std()) if margin else (0.0, 1.0)
        features = [(odds - centre) / scale, np.ones(len(odds))]
        coefficients = best_coefficients(features, target, weight)
        if coefficients is None:
            msg = "the likelihood has no finite maximum: use isotonic"
            raise NoFit(msg)
        slope = coefficients[0] / scale
        return cls(float(slope), float(coefficients[1] - slope * centre), margin)

    def expression(self, score: pl.Expr) -> pl.Expr:
        return probability_expression(self.odds(score) * self.slope + self.intercept)

    def constants(self) -> dict[str, Any]:
        return {"slope": self.slope, "intercept": self.intercept}


def _smooth_targets(label: Numbers, weight: Numbers | None) -> Numbers:
    mass = np.ones(len(label)) if weight is None else weight
    positives, negatives = float((mass * label).sum()), float((mass * (1.0 - label)).sum())
    return np.where(label == 1, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))


@dataclass(frozen=True, slots=True)
class Temperature(LogOddsCalibrator):
    """1 / (1 + exp(-logit(p) / T)), T by maximum likelihood: above 1 it makes scores more timid, below 1 bolder.

    It moves no score across 0.5. Scores are held to [2.220446049250313e-16, 1 - 2.220446049250313e-16] before the
    logit; with `margin` they are log odds themselves, any finite numbers. No finite fit where all rows lie on the right
    side of 0.5, or more log odds on the wrong side than on the right. Source: Guo, Pleiss, Sun and Weinberger (2017),
    On calibration of modern neural networks, ICML.

    >>> import numpy as np
    >>> score, label = np.array([0.1] * 4 + [0.9] * 4), np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    >>> round(Temperature.fit(score, label).temperature, 6)
    2.0
    """

    temperature: float
    margin: bool = False
    name = "temperature"

    @classmethod
    def fit(
        cls, score: Numbers, label: Numbers, weight: Numbers | None = None, *, margin: bool = False
    ) -> Self:
        """Fit the temperature.

        Raises:
            NoFit: it would be zero, infinite or negative.
        """
        odds = score if margin else log_odds(score)
        scale = max(float(np.abs(odds).max()), 1.0)
        right = odds * (label - 0.5)
        if float((right if weight is None else right * weight).sum()) <= 0:
            msg = "scores do not rise with the label, no temperature helps: use platt"
            raise NoFit(msg)
        coefficients = None if right.min() >= 0 else best_coefficients([odds / scale], label, weight)
        if coefficients is None:
            msg = "every score is on its label's side of 0.5, no temperature is low enough: use isotonic"
            raise NoFit(msg)
        return cls(float(scale / coefficients[0]), margin)

    def expression(self, score: pl.Expr) -> pl.Expr:
        return probability_expression(self.odds(score) / self.temperature)

    def constants(self) -> dict[str, Any]:
        return {"temperature": self.temperature}


@dataclass(frozen=True, slots=True)
class Beta(Calibrator):
    """1 / (1 + exp(-(a ln p - b ln(1 - p) + c))) with a, b >= 0, by maximum likelihood under these limits.

    a = b = 1 and c = 0 leave scores as they are; with a = b it is Platt scaling of the log odds. Scores are held to
    [2.220446049250313e-16, 1 - 2.220446049250313e-16]. No finite fit where no score of a positive is below one of a
    negative. Source: Kull, Silva Filho and Flach (2017), Beta calibration: a well-founded and easily implemented
    improvement on logistic calibration for binary classifiers, AISTATS.

    >>> import numpy as np
    >>> score, label = np.array([0.1] * 4 + [0.9] * 4), np.array([0.0, 0, 0, 1, 1, 1, 1, 0])
    >>> found = Beta.fit(score, label)
    >>> round(found.a + found.b, 6)
    1.0
    """

    a: float
    b: float
    c: float
    name = "beta"

    @classmethod
    def fit(cls, score: Numbers, label: Numbers, weight: Numbers | None = None) -> Self:
        """Fit a, b and c.

        Raises:
            NoFit: the classes do not overlap.
        """
        if separates(score, label):
            msg = "no score of a positive is below one of a negative: use isotonic"
            raise NoFit(msg)
        mass = np.ones(len(label)) if weight is None else weight
        mass = mass / mass.sum()
        inner = clip_scores(score)
        design = np.stack([np.log(inner), -np.log1p(-inner), np.ones(len(inner))])
        both = best_coefficients(list(design), label, mass)
        if both is not None and (both[:2] >= 0).all():
            return cls(*map(float, both))
        edges = list(_edges(design, label, mass))
        best = min(edges, key=lambda edge: mean_log_loss(edge, design, label, mass))
        return cls(*map(float, best))

    def expression(self, score: pl.Expr) -> pl.Expr:
        inner = clip_expression(score)
        return probability_expression(inner.log() * self.a - (-inner).log1p() * self.b + self.c)

    def constants(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b, "c": self.c}


def _edges(design: Numbers, label: Numbers, mass: Numbers) -> Iterator[Numbers]:
    """The best coefficients with a = 0, with b = 0, and with both.

    The loss is convex: where its minimum is outside the limits, that under the limits is one of these.
    """
    rate = float((mass * label).sum())
    yield np.array([0.0, 0.0, np.log(rate) - np.log1p(-rate)])
    for place in (0, 1):
        coefficients = best_coefficients([design[place], design[2]], label, mass)
        if coefficients is not None and coefficients[0] > 0:
            edge = np.zeros(3)
            edge[[place, 2]] = coefficients
            yield edge


@dataclass(frozen=True, slots=True, eq=False)
class Isotonic(Calibrator):
    """The rates of positives pooled where they would fall with the score, and straight lines between their ends.

    Equal scores are pooled first; each pool has its rate at its first and last score. Scores below the first knot or
    above the last one take its rate. Any finite scores will do. Of more than 10,000 knots so many are kept, evenly by
    number, the first and the last among them; `found` is how many there were. Source: Zadrozny and Elkan (2002),
    Transforming classifier scores into accurate multiclass probability estimates, KDD.

    >>> import numpy as np
    >>> Isotonic.fit(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 1.0, 0.0, 1.0])).rates
    array([0. , 0.5, 0.5, 1. ])
    """

    scores: Numbers
    rates: Numbers
    knot_count: int = field(default=0)
    name = "isotonic"
    reads_probability = False

    @classmethod
    def fit(cls, score: Numbers, label: Numbers, weight: Numbers | None = None) -> Self:
        value, place = np.unique(score, return_inverse=True)
        mass = np.bincount(place, weights=weight, minlength=len(value)).astype(np.float64)
        positive = np.bincount(
            place, weights=label if weight is None else label * weight, minlength=len(value)
        )
        rate = ops.isotonic(positive, mass)
        ends = np.ones(len(value), dtype=np.bool_)
        ends[1:-1] = (rate[1:-1] != rate[:-2]) | (rate[1:-1] != rate[2:])
        knots = np.flatnonzero(ends)
        number = len(knots)
        if number > MAX_KNOTS:
            knots = knots[np.linspace(0, number - 1, MAX_KNOTS).round().astype(np.int64)]
        return cls(value[knots], rate[knots], number)

    def expression(self, score: pl.Expr) -> pl.Expr:
        """The calibrated score, by binary search on the knots; the lookup streams."""
        knots, rates = self.scores, self.rates

        def interpolated(values: pl.Series) -> pl.Series:
            return pl.Series(values.name, np.interp(values.to_numpy(), knots, rates))

        return score.map_batches(interpolated, return_dtype=pl.Float64, is_elementwise=True)

    @classmethod
    def read(cls, constants: Mapping[str, Any]) -> Self:
        return cls(np.array(constants["scores"]), np.array(constants["rates"]), constants["knots"])

    def constants(self) -> dict[str, Any]:
        return {"scores": self.scores.tolist(), "rates": self.rates.tolist(), "knots": self.knot_count}
