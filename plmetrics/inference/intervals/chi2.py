"""The form `chi2`: the interval of a root mean squared error under normal errors around 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import chdtri

Array = NDArray[np.float64]


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
