"""Platt scaling: a logistic curve of the log odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plmetrics.catalogue.calibrators.calibrator import (
    LogOddsCalibrator,
    NoFit,
    log_odds,
    probability_expression,
    separates,
)
from plmetrics.catalogue.calibrators.likelihood import best_coefficients

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


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
        """The calibrated score."""
        return probability_expression(self.odds(score) * self.slope + self.intercept)

    def constants(self) -> dict[str, Any]:
        """Slope and intercept."""
        return {"slope": self.slope, "intercept": self.intercept}


def _smooth_targets(label: Numbers, weight: Numbers | None) -> Numbers:
    mass = np.ones(len(label)) if weight is None else weight
    positives, negatives = float((mass * label).sum()), float((mass * (1.0 - label)).sum())
    return np.where(label == 1, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
