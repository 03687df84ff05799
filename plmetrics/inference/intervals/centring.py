"""The form `centred`, for metrics that are the size of a vector of estimates, such as ECE and KS.

Noise makes a size larger than it is in truth, and resampling adds the same noise once more. The lower end
therefore comes from how far replicates move away from the estimated vector, not from how large they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.intervals.percentile import quantiles

Array = NDArray[np.float64]

_TINY = float(np.finfo(np.float64).tiny)


def centred_interval(
    value: Array, replicates: Array, deviations: Array | None, least: float, level: float
) -> tuple[Array, Array]:
    """Lower end value - c, not below `least`, with c a quantile of the deviations; upper end as `percentile`.

    A handful of replicates may all lie below the value: the lower end then stops at the upper one.

    Args:
        value: `[slice]`, the size of the point's vector.
        replicates: `[replicate, slice]`, the sizes of the replicates' vectors; NaN where undefined.
        deviations: `[replicate, slice]`, the sizes of (replicate's vector - point's vector); None for a metric
            that is a single number, whose deviation is the distance of each replicate from the value.
        least: the lower end of the metric's range.
        level: two-sided confidence level, such as 0.95.

    >>> sizes, away = np.full((99, 1), 0.3), np.linspace(0.002, 0.198, 99)[:, None]
    >>> lower, upper = centred_interval(np.array([0.25]), sizes, away, 0.0, 0.9)
    >>> round(float(lower[0]), 3), float(upper[0])
    (0.06, 0.3)
    """
    tail = (1 + level) / 2
    distances = (
        np.abs(replicates - value)
        if deviations is None
        else np.where(np.isfinite(replicates), deviations, np.nan)
    )
    (reach,) = quantiles(distances, (tail,))
    (upper,) = quantiles(replicates, (tail,))
    return np.minimum(np.maximum(least, value - reach), upper), upper


def centred_ratio(
    value: Array, replicates: Array, deviations: Array | None, least: float, level: float
) -> tuple[Array, Array]:
    """The same for a smallest ratio r of at most 1, whose negative logarithm is a size: it is 0 without a difference.

    Args:
        value: `[slice]`, the ratio.
        replicates: `[replicate, slice]`, the ratios of the replicates; NaN where undefined.
        deviations: `[replicate, slice]`, in logarithms; None for the distance of each replicate from the value.
        least: the lower end of the metric's range.
        level: two-sided confidence level, such as 0.95.

    >>> ratios, away = np.full((99, 1), 0.7), np.linspace(0.002, 0.198, 99)[:, None]
    >>> lower, upper = centred_ratio(np.array([0.75]), ratios, away, 0.0, 0.9)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.7, 0.907)
    """
    size, sizes = (-np.log(np.maximum(part, _TINY)) for part in (value, replicates))
    nearest, farthest = centred_interval(size, sizes, deviations, 0.0, level)
    return np.maximum(np.exp(-farthest), least), np.exp(-nearest)
