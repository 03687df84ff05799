"""The form `clopper_pearson`: a proportion's exact interval, which covers at least its level, often more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import betaincinv

Array = NDArray[np.float64]


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
    known = (size > 0) & np.isfinite(share)
    size = np.where(known, size, 1.0)
    counted = np.clip(np.where(known, share, 0.5) * size, 0.0, size)
    rest = size - counted
    tail = (1 - level) / 2
    inside = np.maximum(counted, np.finfo(np.float64).tiny), np.maximum(rest, np.finfo(np.float64).tiny)
    lower = np.where(counted > 0, betaincinv(inside[0], rest + 1, tail), 0.0)
    upper = np.where(rest > 0, betaincinv(counted + 1, inside[1], 1 - tail), 1.0)
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)
