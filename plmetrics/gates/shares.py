"""Joint tests of shares: exact binomial tests and intervals at the effective number of units of each share.

Far out in the tails, where corrected tests read, neither Student's t nor Wilson's form is near its level for shares of
fewer than some hundred rows. Where rows count alike, the number of rows behind a share is that of its interval:
Wilson's, or the exact one. Else it is the number that would give its standard error, less what Student's quantiles add
for few blocks. Under weights it is at most Kish's size, (sum w)^2 / sum w^2: the standard error of a weighted share is
small just where the share is high or low by chance.

Sources: Kish (1965), Survey Sampling, section 11.7. Korn and Graubard (1998), Confidence intervals for proportions
with small expected number of positive counts estimated from survey data, Survey Methodology 24(2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from plmetrics.core.ops import Array, Codes
from plmetrics.core.special import betainc, betaincinv, ndtri, stdtrit

WILSON, EXACT = "wilson", "clopper_pearson"
_WHOLE = 1e-6


@dataclass(frozen=True, slots=True)
class Shares:
    """Rows with shares as values: `hits` of `size` units, not necessarily whole numbers."""

    rows: Codes
    hits: Array
    size: Array

    def tails(self, limit: float) -> tuple[Array, Array]:
        """One-sided p values of the tests of a truth above the limit, and below it."""
        some, others = self.hits > 0, self.size > self.hits
        above = betainc(np.where(some, self.hits, 1.0), self.size - self.hits + 1, limit)
        below = betainc(np.where(others, self.size - self.hits, 1.0), self.hits + 1, 1 - limit)
        return np.where(some, above, 1.0), np.where(others, below, 1.0)

    def ends(self, beneath: Array, beyond: Array) -> tuple[Array, Array]:
        """Interval ends for a tail probability on either side, of Clopper and Pearson."""
        some, others = self.hits > 0, self.size > self.hits
        lower = betaincinv(np.where(some, self.hits, 1.0), self.size - self.hits + 1, beneath)
        upper = 1 - betaincinv(np.where(others, self.size - self.hits, 1.0), self.hits + 1, beyond)
        return np.where(some, lower, 0.0), np.where(others, upper, 1.0)


def shares_of(rows: pl.DataFrame, level: float) -> Shares:
    """Rows judged as shares: those with an interval, and a spread or a form that counts rows.

    >>> import polars as pl
    >>> from plmetrics.inference.intervals.closed_forms import wilson
    >>> lower, upper = wilson(np.array([0.75]), np.array([200.0]), 0.95)
    >>> known = {"observed": 0.75, "lower": lower, "upper": upper, "std_error": 0.03}
    >>> known |= {"blocks": 200, "kish_size": None, "method": "wilson"}
    >>> found = shares_of(pl.DataFrame(known), 0.95)
    >>> found.hits.tolist(), found.size.tolist()
    ([150.0], [200.0])
    """
    value, lower, upper, error, blocks, kish = (
        rows[name].cast(float).fill_null(np.nan).to_numpy()
        for name in ("observed", "lower", "upper", "std_error", "blocks", "kish_size")
    )
    score, exact = ((rows["method"] == form).fill_null(value=False).to_numpy() for form in (WILSON, EXACT))
    closed = score | exact
    with np.errstate(divide="ignore", invalid="ignore"):
        size = _of_error(value, error, blocks, kish, level)
        size = np.where(score, _of_wilson(value, lower, upper, level), size)
        size = np.where(exact, _of_exact(value, lower, upper, error, level), size)
    defined = np.isfinite(lower) & np.isfinite(upper) & np.isfinite(size) & (size > 0)
    index = np.flatnonzero(defined & (closed | ((value > 0) & (value < 1))))
    size = np.where(np.abs(size - np.rint(size)) < _WHOLE * size, np.rint(size), size)[index]
    hits = value[index] * size
    return Shares(index, np.where(np.abs(hits - np.rint(hits)) < _WHOLE, np.rint(hits), hits), size)


def _of_wilson(value: Array, lower: Array, upper: Array, level: float) -> Array:
    """The rows behind a Wilson interval of a share: with k = z^2 / n its width solves a quadratic equation in k."""
    square = (upper - lower) ** 2
    a, b, c = (square - 1) / 4, square / 2 - value * (1 - value), square / 4
    k = (-b - np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))) / (2 * a)
    size: Array = ndtri((1 + level) / 2) ** 2 / k
    return size


def _of_exact(value: Array, lower: Array, upper: Array, error: Array, level: float) -> Array:
    """The rows behind an exact interval of a share: those of its standard error, of shares of 0 and 1 of its width."""
    inside = (lower > 0) & (upper < 1)
    return np.where(inside, value * (1 - value) / error**2, np.log((1 - level) / 2) / np.log1p(lower - upper))


def _of_error(value: Array, error: Array, blocks: Array, kish: Array, level: float) -> Array:
    """Effective number of rows for a standard error of a share: at most Kish's size, less the cost of few blocks.

    The error is that of replicates, too small by the root of 1 - 1 / blocks.
    """
    freedom = np.maximum(blocks - 1, 1.0)
    size = np.fmin(value * (1 - value) / error**2 * freedom / (freedom + 1), kish)
    quantile = (1 + level) / 2
    cost = stdtrit(np.maximum(size - 1, 1.0), quantile) / stdtrit(freedom, quantile)
    rows: Array = size * np.minimum(cost, 1.0) ** 2
    return rows
