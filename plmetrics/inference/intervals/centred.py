"""The form `centred`, for metrics that are the size of a vector of estimates, such as ECE and KS.

Noise makes a size larger than it is in truth, and resampling adds the same noise once more. The lower end
therefore comes from how far replicates move away from the estimated vector, not from how large they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.intervals.percentile import quantiles

Array = NDArray[np.float64]


def centred(
    value: Array, replicates: Array, deviations: Array | None, least: float, level: float
) -> tuple[Array, Array]:
    """Lower end value - c, not below `least`, with c a quantile of the deviations; upper end as `percentile`.

    `deviations` `[replicate, slice]` are the sizes of (replicate's vector - point's vector); without them,
    for a metric that is a single number, the distance of each replicate from the value.
    """
    tail = (1 + level) / 2
    moved = (
        np.abs(replicates - value)
        if deviations is None
        else np.where(np.isfinite(replicates), deviations, np.nan)
    )
    (reach,) = quantiles(moved, (tail,))
    (upper,) = quantiles(replicates, (tail,))
    return np.maximum(least, value - reach), upper
