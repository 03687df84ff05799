"""Isotonic regression: the curve that never falls and fits best, with no shape of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from plmetrics.catalogue.calibrators.calibrator import Calibrator
from plmetrics.core import ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

MAX_KNOTS = 10_000


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
    found: int = field(default=0)
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
        return {"scores": self.scores.tolist(), "rates": self.rates.tolist(), "knots": self.found}
