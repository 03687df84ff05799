"""Intervals in closed form, from an estimate and its size alone, or from the variance of an ROC area's placements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import betaincinv, chdtri, expit, ndtri, stdtrit
from plmetrics.core.special import logit as log_odds

Array = NDArray[np.float64]


Parts = tuple[Array, Array]
_HALVINGS = 60


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
    """All shares with neither so few nor so many of n as a surprise; NaN where n is 0.

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
    failures = size - counted
    tail = (1 - level) / 2
    inside = np.maximum(counted, np.finfo(np.float64).tiny), np.maximum(failures, np.finfo(np.float64).tiny)
    lower = np.where(counted > 0, betaincinv(inside[0], failures + 1, tail), 0.0)
    upper = np.where(failures > 0, betaincinv(counted + 1, inside[1], 1 - tail), 1.0)
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


def delong(area: Array, variances: Parts, level: float) -> Parts:
    """Area -+ z sqrt(v1 + v0), within [0, 1]; v1 and v0 are those of `placement_area`.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44(3).

    >>> lower, upper = delong(np.array([0.875]), (np.array([0.002]), np.array([0.003])), 0.95)
    >>> round(float(lower[0]), 4), float(upper[0])
    (0.7364, 1.0)
    """
    half = ndtri((1 + level) / 2) * delong_error(variances)
    return np.maximum(area - half, 0.0), np.minimum(area + half, 1.0)


def delong_logit(area: Array, variances: Parts, sizes: Parts, level: float) -> Parts:
    """DeLong's interval on the logit scale, with Student's quantiles: inside (0, 1) for any area.

    The degrees of freedom are (v1 + v0)^2 / (v1^2 / (P - 1) + v0^2 / (N - 1)), as of a difference of two means.

    Args:
        area: `[slice]`, strictly between 0 and 1.
        variances: v1 of the positives and v0 of the negatives.
        sizes: P and N, 2 or more each.
        level: two-sided confidence level, such as 0.95.

    Source: DeLong and others (1988), as above; Welch (1947), The generalization of Student's problem when several
    different population variances are involved, Biometrika 34, for the degrees of freedom.

    >>> parts = np.array([0.002]), np.array([0.003])
    >>> lower, upper = delong_logit(np.array([0.875]), parts, (np.array([20.0]), np.array([30.0])), 0.95)
    >>> round(float(lower[0]), 4), round(float(upper[0]), 4)
    (0.6561, 0.9625)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        total = variances[0] + variances[1]
        each = sum(part**2 / (size - 1) for part, size in zip(variances, sizes, strict=True))
        freedom = total**2 / each
        half = stdtrit(freedom, (1 + level) / 2) * np.sqrt(total) / (area * (1 - area))
        centre = log_odds(area)
        lower, upper = expit(centre - half), expit(centre + half)
    return lower, upper


def delong_error(variances: Parts) -> Array:
    """Standard error of an ROC area: sqrt(v1 + v0).

    >>> delong_error((np.array([0.0009]), np.array([0.0016]))).round(3)
    array([0.05])
    """
    return np.sqrt(variances[0] + variances[1])


def area_error(area: Array, positives: Array, negatives: Array) -> Array:
    """Standard error of an ROC area between exponential scores; 0 at 0 and at 1.

    Source: Hanley and McNeil (1982), The meaning and use of the area under a receiver operating characteristic
    (ROC) curve, Radiology 143(1).

    >>> round(float(area_error(np.array([0.75]), np.array([100.0]), np.array([100.0]))[0]), 4)
    0.0344
    """
    by_positives = area / (2 - area) - area**2
    by_negatives = 2 * area**2 / (1 + area) - area**2
    pairs = area * (1 - area)
    pairs = pairs + np.maximum(positives - 1, 0) * by_positives + np.maximum(negatives - 1, 0) * by_negatives
    return np.sqrt(np.maximum(pairs, 0.0) / (positives * negatives))


def hanley_mcneil(area: Array, positives: Array, negatives: Array, level: float) -> tuple[Array, Array]:
    """Area -+ z times its standard error, within [0, 1]; of no width at its ends.

    >>> lower, upper = hanley_mcneil(np.array([0.75]), np.array([100.0]), np.array([100.0]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.683, 0.817)
    """
    half = ndtri((1 + level) / 2) * area_error(area, positives, negatives)
    return np.maximum(area - half, 0.0), np.minimum(area + half, 1.0)


def hanley_mcneil_score(area: Array, positives: Array, negatives: Array, level: float) -> tuple[Array, Array]:
    """All areas t with abs(area - t) <= z times the standard error at t: one interval around the area.

    `positives` and `negatives` are numbers of independent rows of each class; NaN where one of them is 0.

    >>> lower, upper = hanley_mcneil_score(np.array([1.0]), np.array([50.0]), np.array([50.0]), 0.95)
    >>> round(float(lower[0]), 3), float(upper[0])
    (0.96, 1.0)
    """
    arrays = (np.asarray(part, dtype=np.float64) for part in (area, positives, negatives))
    middle, positive, negative = np.broadcast_arrays(*arrays)
    defined = (positive > 0) & (negative > 0) & np.isfinite(middle)
    middle = np.where(defined, middle, 0.5)
    sizes = np.where(defined, positive, 1.0), np.where(defined, negative, 1.0)
    z = ndtri((1 + level) / 2)
    lower = _edge(middle, np.zeros_like(middle), sizes, z)
    upper = _edge(middle, np.ones_like(middle), sizes, z)
    return np.where(defined, lower, np.nan), np.where(defined, upper, np.nan)


def _edge(inside: Array, outside: Array, sizes: tuple[Array, Array], z: float) -> Array:
    """The last area of the interval on the way from the estimate to an end of the range, by bisection."""
    area = inside
    for _ in range(_HALVINGS):
        trial = (inside + outside) / 2
        holds = np.abs(area - trial) <= z * area_error(trial, *sizes)
        inside, outside = np.where(holds, trial, inside), np.where(holds, outside, trial)
    return inside
