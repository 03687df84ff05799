"""Intervals in closed form, from an estimate and its size alone: of proportions, areas and root mean squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import betaincinv, chdtri, expit, ndtri
from plmetrics.core.special import logit as log_odds

Array = NDArray[np.float64]


def normal(value: Array, std_error: Array, level: float) -> tuple[Array, Array]:
    """Value -+ z SE; ends may leave the metric's range, whoever asks clips them.

    >>> lower, upper = normal(np.array([0.5]), np.array([0.1]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.304, 0.696)
    """
    half = ndtri((1 + level) / 2) * std_error
    return value - half, value + half


def share_error(value: Array, n: Array) -> Array:
    """Standard error of a proportion of n independent rows: sqrt(p (1 - p) / n); NaN where n is 0.

    >>> share_error(np.array([0.5]), np.array([25.0]))
    array([0.1])
    """
    size = np.where(n > 0, n, np.nan)
    return np.sqrt(np.maximum(value * (1 - value), 0.0) / size)


def wilson(value: Array, n: Array, level: float) -> tuple[Array, Array]:
    """All shares p with abs(value - p) <= z sqrt(p (1 - p) / n); NaN where n is 0.

    `value` and `n` are of any shapes that broadcast; `n` counts independent rows. Source: Wilson (1927), Probable
    inference, the law of succession, and statistical inference, JASA 22(158).

    >>> lower, upper = wilson(np.array([0.75]), np.array([200.0]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.686, 0.805)
    """
    share, size = np.broadcast_arrays(np.asarray(value, dtype=np.float64), np.asarray(n, dtype=np.float64))
    size = np.where(size > 0, size, np.nan)
    z = ndtri((1 + level) / 2)
    shrink = 1 + z * z / size
    centre = (share + z * z / (2 * size)) / shrink
    half = z * np.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2) / shrink
    defined = np.isfinite(half)
    lower = np.where(defined & (share == 0), 0.0, np.maximum(centre - half, 0.0))
    upper = np.where(defined & (share == 1), 1.0, np.minimum(centre + half, 1.0))
    return lower, upper


def clopper_pearson(value: Array, n: Array, level: float) -> tuple[Array, Array]:
    """All shares under which neither so few nor so many of n are a surprise; NaN where n is 0.

    The ends are quantiles of beta distributions: from 0 where none of n are counted, up to 1 where all are. `n` counts
    independent rows. Source: Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the
    case of the binomial, Biometrika 26(4).

    >>> lower, upper = clopper_pearson(np.array([0.75]), np.array([200.0]), 0.95)
    >>> round(float(lower[0]), 4), round(float(upper[0]), 4)
    (0.684, 0.8084)
    """
    share, size = np.broadcast_arrays(np.asarray(value, dtype=np.float64), np.asarray(n, dtype=np.float64))
    defined = (size > 0) & np.isfinite(share)
    size = np.where(defined, size, 1.0)
    counted = np.clip(np.where(defined, share, 0.5) * size, 0.0, size)
    rest = size - counted
    tail = (1 - level) / 2
    inside = np.maximum(counted, np.finfo(np.float64).tiny), np.maximum(rest, np.finfo(np.float64).tiny)
    lower = np.where(counted > 0, betaincinv(inside[0], rest + 1, tail), 0.0)
    upper = np.where(rest > 0, betaincinv(counted + 1, inside[1], 1 - tail), 1.0)
    return np.where(defined, lower, np.nan), np.where(defined, upper, np.nan)


def logit(area: Array, positives: Array, level: float) -> tuple[Array, Array]:
    """The area's log odds -+ z / sqrt(P a (1 - a)), transformed back.

    Args:
        area: `[slice]`, strictly between 0 and 1.
        positives: number of independent positives.
        level: two-sided confidence level, such as 0.95.

    Source: Boyd, Eng and Page (2013), Area under the precision-recall curve: point estimates and confidence intervals,
    ECML PKDD.

    >>> lower, upper = logit(np.array([0.830708]), np.array([2357.0]), 0.95)
    >>> round(float(lower[0]), 6), round(float(upper[0]), 6)
    (0.815025, 0.845313)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        half = ndtri((1 + level) / 2) / np.sqrt(positives * area * (1 - area))
        centre = log_odds(area)
        return expit(centre - half), expit(centre + half)


def chi2(value: Array, n: Array, level: float) -> tuple[Array, Array]:
    """RMSE times sqrt(n / q), q the quantiles of chi squared with n degrees of freedom.

    It is wrong where errors have heavier tails than a normal distribution has: far too narrow. `n` counts independent
    rows. Source: the distribution of a sum of squares of independent normal errors.

    >>> lower, upper = chi2(np.array([2.0]), np.array([50.0]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (1.673, 2.486)
    """
    size = np.where(n > 0, n, np.nan)
    tail = (1 - level) / 2
    return value * np.sqrt(size / chdtri(size, tail)), value * np.sqrt(size / chdtri(size, 1 - tail))
