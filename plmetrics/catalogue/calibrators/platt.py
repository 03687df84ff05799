"""Platt scaling: a logistic curve of the log odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plmetrics.catalogue.calibrators.calibrator import (
    Calibrator,
    NoFit,
    log_odds,
    log_odds_expression,
    probability_expression,
    separates,
)
from plmetrics.catalogue.calibrators.likelihood import best_coefficients

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Platt(Calibrator):
    """1 / (1 + exp(-(slope logit(p) + intercept))), by maximum likelihood without a penalty.

    Platt's curve is one of the raw score of a machine that gives no probabilities; scores here are probabilities, and
    their log odds take its place: slope 1 and intercept 0 then leave them as they are. Scores are held to
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
    name = "platt"

    @classmethod
    def fit(
        cls, score: Numbers, label: Numbers, weight: Numbers | None = None, *, smoothing: bool = False
    ) -> Self:
        """Fit slope and intercept.

        Raises:
            NoFit: the classes do not overlap, or all scores are equal.
        """
        odds = log_odds(score)
        if odds.min() == odds.max():
            msg = "all scores are equal"
            raise NoFit(msg)
        if not smoothing and (separates(odds, label) or separates(-odds, label)):
            msg = "the scores of both classes do not overlap: use isotonic, or smoothing: true"
            raise NoFit(msg)
        target = _smooth_targets(label, weight) if smoothing else label
        coefficients = best_coefficients([odds, np.ones(len(odds))], target, weight)
        if coefficients is None:
            msg = "the likelihood has no finite maximum: use isotonic"
            raise NoFit(msg)
        return cls(float(coefficients[0]), float(coefficients[1]))

    def expression(self, score: pl.Expr) -> pl.Expr:
        """The calibrated score."""
        return probability_expression(log_odds_expression(score) * self.slope + self.intercept)

    def constants(self) -> dict[str, Any]:
        """Slope and intercept."""
        return {"slope": self.slope, "intercept": self.intercept}


def _smooth_targets(label: Numbers, weight: Numbers | None) -> Numbers:
    mass = np.ones(len(label)) if weight is None else weight
    positives, negatives = float((mass * label).sum()), float((mass * (1.0 - label)).sum())
    return np.where(label == 1, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
