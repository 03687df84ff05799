"""Temperature scaling: log odds divided by one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plmetrics.catalogue.calibrators.calibrator import (
    LogOddsCalibrator,
    NoFit,
    log_odds,
    probability_expression,
)
from plmetrics.catalogue.calibrators.likelihood import best_coefficients

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


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
        """The calibrated score."""
        return probability_expression(self.odds(score) / self.temperature)

    def constants(self) -> dict[str, Any]:
        """The temperature."""
        return {"temperature": self.temperature}
