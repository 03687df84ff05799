"""The forms `delong` and `delong_logit`: an ROC area's intervals from how placement values vary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import expit, logit, ndtri, stdtrit

Array = NDArray[np.float64]
Parts = tuple[Array, Array]


def delong(area: Array, variances: Parts, level: float) -> Parts:
    """Area -+ z sqrt(v1 + v0), within [0, 1]; v1 and v0 are those of `core.placements.placed`.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44(3).

    >>> lower, upper = delong(np.array([0.875]), (np.array([0.002]), np.array([0.003])), 0.95)
    >>> round(float(lower[0]), 4), float(upper[0])
    (0.7364, 1.0)
    """
    half = ndtri((1 + level) / 2) * delong_error(variances)
    return np.maximum(area - half, 0.0), np.minimum(area + half, 1.0)


def delong_logit(area: Array, variances: Parts, sizes: Parts, level: float) -> Parts:
    """The same on the logit scale, with Student's quantiles: inside (0, 1) whatever the area.

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
        centre = logit(area)
        lower, upper = expit(centre - half), expit(centre + half)
    return lower, upper


def delong_error(variances: Parts) -> Array:
    """Standard error of an ROC area: sqrt(v1 + v0).

    >>> delong_error((np.array([0.0009]), np.array([0.0016]))).round(3)
    array([0.05])
    """
    return np.sqrt(variances[0] + variances[1])
