"""The forms `delta`, `jackknife` and `t`: a standard error from rows or blocks, on a scale, with Student's t."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import stdtrit

if TYPE_CHECKING:
    from plmetrics.inference.intervals.scale import Scale

Array = NDArray[np.float64]


def on_scale(
    value: Array, std_error: Array, blocks: NDArray[np.int64], scale: Scale, level: float
) -> tuple[Array, Array]:
    """g(value) -+ t SE |g'(value)|, transformed back, with G - 1 degrees of freedom for G blocks.

    Args:
        value: `[slice]`, where g is finite.
        std_error: on the value's own scale: the delta method's or the jackknife's.
        blocks: effective numbers of blocks, 2 or more.
        scale: g, with its inverse and derivative; the identity for a mean.
        level: two-sided confidence level, such as 0.95.

    Source: Efron and Tibshirani (1993), An introduction to the bootstrap, chapters 11 and 21; Cameron and Miller
    (2015), A practitioner's guide to cluster-robust inference, Journal of Human Resources 50(2), for G - 1.

    >>> from plmetrics.inference.intervals.scale import scale_of
    >>> given = np.array([0.8]), np.array([0.05]), np.array([40])
    >>> lower, upper = on_scale(*given, scale_of((0.0, 1.0)), 0.95)
    >>> round(float(lower[0]), 4), round(float(upper[0]), 4)
    (0.6801, 0.8827)
    """
    with np.errstate(over="ignore"):
        half = stdtrit(blocks - 1.0, (1 + level) / 2) * std_error * np.abs(scale.slope(value))
        centre = scale.forward(value)
        return scale.backward(centre - half), scale.backward(centre + half)
