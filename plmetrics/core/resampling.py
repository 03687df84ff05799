"""Sums of blocks under resampling weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import product

if TYPE_CHECKING:
    from plmetrics.core.segments import Values

Array = NDArray[np.float64]

WHOLE_IN_SINGLE = 1 << 24
"""Whole numbers below it are exact in single precision."""


def resample(weights: Values, counts: Values) -> Array:
    """Replicates of dense counts: `[replicate, block] x [slice, block, ...] -> [slice, replicate, ...]`."""
    sums: Array = product(weights, counts.reshape(*counts.shape[:2], -1))
    return sums.reshape(counts.shape[0], len(weights), *counts.shape[2:])


def exact_in_single(counts: Values) -> bool:
    """Whether any sum of as many blocks `[slice, block, ...]` as there are is exact in single precision.

    >>> exact_in_single(np.array([[1.0, 2.0]])), exact_in_single(np.array([[0.5]])), exact_in_single(np.array([[1e9]]))
    (True, False, False)
    """
    largest = np.max(counts, initial=0.0) * counts.shape[1]
    if not largest < WHOLE_IN_SINGLE or np.min(counts, initial=0.0) < 0:
        return False
    return bool((counts == np.rint(counts)).all())
