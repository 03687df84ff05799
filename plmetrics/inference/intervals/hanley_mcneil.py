"""The forms `hanley_mcneil` and `hanley_mcneil_score`: an ROC area's intervals from its size and those of classes.

Scores of either class are taken to be exponential. The latter form has a width also at 0 and at 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import ndtri

Array = NDArray[np.float64]

_HALVINGS = 60


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
