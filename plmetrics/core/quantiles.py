"""Quantiles of weighted values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_TIE = 1e-12


def averaged_inverse(ascending: Array, weight: Array, shares: Array, running: Array | None = None) -> Array:
    """The averaged inverse of a weighted distribution function at some shares between 0 and 1.

    The first value at which the share is reached, averaged with the first at which it is passed; shares are compared
    with a relative tolerance of 1e-12. Values must ascend, and one must have weight; `running` are the running totals
    of weights, where these are known.

    >>> averaged_inverse(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0]), np.array([0.25, 0.5, 0.9]))
    array([1.5, 3. , 4. ])
    """
    running = np.cumsum(weight) if running is None else running
    targets = shares * running[-1]
    last = np.searchsorted(running, running[-1])
    reached = np.minimum(np.searchsorted(running, targets * (1 - _TIE)), last)
    passed = np.minimum(np.searchsorted(running, targets * (1 + _TIE), side="right"), last)
    low, high = ascending[reached], ascending[passed]
    middle: Array = np.where(low == high, low, low / 2.0 + high / 2.0)  # the sum may be larger than any float
    return middle
