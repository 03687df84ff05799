"""The form `wilson`: a proportion's score interval, which has a width also at 0 and at 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import ndtri

Array = NDArray[np.float64]


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
    known = np.isfinite(half)
    lower = np.where(known & (share == 0), 0.0, np.maximum(centre - half, 0.0))
    upper = np.where(known & (share == 1), 1.0, np.minimum(centre + half, 1.0))
    return lower, upper
