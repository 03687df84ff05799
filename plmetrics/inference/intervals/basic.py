"""The form `basic`: the replicates' quantiles reflected at the estimate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.intervals.percentile import percentile

Array = NDArray[np.float64]


def basic(value: Array, replicates: Array, level: float) -> tuple[Array, Array]:
    """2 value - the replicates' upper and lower quantiles; ends may leave the metric's range, whoever asks clips them.

    Source: Davison and Hinkley (1997), Bootstrap methods and their application, section 5.2.

    >>> basic(np.array([40.0]), np.arange(1.0, 100.0)[:, None], 0.9)
    (array([-15.]), array([75.]))
    """
    lower, upper = percentile(replicates, level)
    return 2 * value - upper, 2 * value - lower
