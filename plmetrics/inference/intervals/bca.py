"""The form `bca`: the replicates' quantiles at levels that make up for bias, and for an error that grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import ndtr, ndtri
from plmetrics.inference.intervals.percentile import quantiles

Array = NDArray[np.float64]


def bca(value: Array, replicates: Array, acceleration: Array, level: float) -> tuple[Array, Array]:
    """Replicates' quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z the normal quantiles of the level.

    z0 is the normal quantile of the share of replicates below the value, half of those at it included. It is NaN
    where it has none: with no replicate on one side of the value, or where the acceleration is NaN or too large.

    Args:
        value: `[slice]`.
        replicates: `[replicate, slice]` of a bootstrap; NaN where undefined.
        acceleration: `[slice]`, as `acceleration` finds it.
        level: two-sided confidence level, such as 0.95.

    Source: Efron (1987), Better bootstrap confidence intervals, JASA 82(397).

    >>> drawn = np.linspace(0.01, 0.99, 99)[:, None]
    >>> lower, upper = bca(np.array([0.5]), drawn, np.array([0.0]), 0.9)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.05, 0.95)
    """
    finite = np.isfinite(replicates)
    number = np.maximum(finite.sum(axis=0), 1)
    below = np.sum((replicates < value) & finite, axis=0) + np.sum((replicates == value) & finite, axis=0) / 2
    share = below / number
    usable = (share > 0) & (share < 1) & np.isfinite(acceleration)
    bias = ndtri(np.where(usable, share, 0.5))
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        shifted = bias + ndtri(tail)
        slack = 1 - np.where(usable, acceleration, 0.0) * shifted
        usable &= slack > 0
        ends.append(ndtr(bias + shifted / np.where(slack > 0, slack, 1.0)))
    lower, upper = quantiles(replicates, np.stack(ends))
    return np.where(usable, lower, np.nan), np.where(usable, upper, np.nan)


def acceleration(left_out: Array, value: Array, groups: NDArray[np.int64] | None = None) -> Array:
    """How fast the standard error grows with the value, from the values without one block each.

    a = sum u^3 / (6 (sum u^2)^1.5), u the mean of the `left_out` `[block, slice]` less each of them; NaN where one of
    them is undefined or all are equal. `groups` are the numbers of blocks that count, all if not given.

    >>> acceleration(np.array([[1.0], [2.0], [6.0]]), np.array([3.0])).round(4)
    array([-0.0573])
    """
    number = np.maximum(len(left_out) if groups is None else groups, 1)
    away = value - left_out
    counts = away != 0
    mean = np.sum(away, axis=0) / number
    rest = np.maximum(number - counts.sum(axis=0), 0)
    u = np.where(counts, away - mean, 0.0)
    squares = np.sum(u**2, axis=0) + rest * mean**2
    cubes = np.sum(u**3, axis=0) - rest * mean**3
    defined = (squares > 0) & np.isfinite(squares)
    safe = np.where(defined, squares, 1.0)
    ratio: Array = np.where(defined, cubes / (6 * safe**1.5), np.nan)
    return ratio
