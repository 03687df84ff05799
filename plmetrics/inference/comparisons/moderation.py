"""Moderated standard errors: a slice of few blocks borrows from the spread of the larger one that it is compared with.

Values that happen to be small vary little as well, so that few blocks find them too certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plmetrics.core.ops import Array, Codes
from plmetrics.inference.estimate import Estimate
from plmetrics.inference.intervals.spread import standard_error

_PRIOR_BLOCKS = 20
"""So many blocks the spread of the larger sample counts for."""

_LEAST_SHARE = 0.01
"""The least part of a moderated error that its own degrees of freedom are counted for."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleErrors:
    """Standard errors of values, their effective blocks and their effective numbers of independent units.

    >>> few = SampleErrors(np.array([0.05, 0.01]), np.array([10, 500]), np.array([10.0, 500.0]))
    >>> many = SampleErrors(np.array([0.01, 0.01]), np.array([1000, 1000]), np.array([1e3, 1e3]))
    >>> few.moderating_error(many).round(4).tolist(), many.moderating_error(few).tolist()
    ([0.0719, 0.002], [0.0, 0.0])
    """

    error: Array
    blocks: Codes
    size: Array

    @classmethod
    def of(cls, estimate: Estimate) -> SampleErrors:
        """From the replicates of an estimate."""
        error = standard_error(
            np.asarray(estimate.replicates), estimate.kind, estimate.value, estimate.spread_groups
        )
        return cls(error, estimate.blocks, np.min(estimate.sizes or [estimate.blocks], axis=0))

    def moderating_error(self, other: SampleErrors) -> Array:
        """Error to add, as independent ones add, where the other sample is larger and varies more.

        The squares are weighted as in a moderated t: e^2 of G blocks by G - 1, and by 20 what the other says of as
        many units, e'^2 n' / n. No error becomes smaller, and of hundreds of blocks hardly one larger.

        Source: Smyth (2004), Linear models and empirical Bayes methods for assessing differential expression in
        microarray experiments, Statistical Applications in Genetics and Molecular Biology 3(1).
        """
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            lacking = other.error**2 * (other.size / self.size) - self.error**2
        share = _PRIOR_BLOCKS / (_PRIOR_BLOCKS + np.maximum(self.blocks, 1) - 1.0)
        usable = (lacking > 0) & np.isfinite(lacking) & (self.size <= other.size)
        return np.sqrt(np.where(usable, share * lacking, 0.0))


def moderating_errors(first: SampleErrors, second: SampleErrors) -> Array:
    """The moderating errors of two samples together."""
    return np.hypot(first.moderating_error(second), second.moderating_error(first))


def widen(error: Array, added: Array, freedom: Array) -> tuple[Array, Array]:
    """Errors with others added, and their degrees of freedom: Satterthwaite's, for what is added is of many blocks.

    An error of 0 stays what it is: one of values that nothing moves.

    >>> widen(np.array([0.3, 0.0]), np.array([0.4, 0.4]), np.array([9.0, 9.0]))[0].round(3).tolist()
    [0.5, 0.0]
    """
    total = np.where(error > 0, np.hypot(error, added), error)
    least = np.maximum(error, _LEAST_SHARE * total)
    more = np.divide(total, least, out=np.ones_like(total), where=least > 0) ** 4
    return total, freedom * more
