"""Beta calibration: a curve that also fits scores which are already calibrated, or too timid at one end only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plmetrics.catalogue.calibrators.calibrator import (
    Calibrator,
    NoFit,
    clip_scores,
    held_expression,
    probability_expression,
    separates,
)
from plmetrics.catalogue.calibrators.likelihood import best_coefficients, mean_log_loss

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


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
        """The calibrated score."""
        inner = held_expression(score)
        return probability_expression(inner.log() * self.a - (-inner).log1p() * self.b + self.c)

    def constants(self) -> dict[str, Any]:
        """The three coefficients."""
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
