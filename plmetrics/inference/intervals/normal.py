"""The form `normal`: the estimate with its standard error times a normal quantile on either side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import ndtri

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
