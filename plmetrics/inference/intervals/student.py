"""The form `t`: symmetric on a scale where the estimate is close to normal, with Student's quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import stdtrit
from plmetrics.inference.intervals.spread import block_factor, standard_deviation

if TYPE_CHECKING:
    from plmetrics.inference.intervals.scale import Scale


__all__ = ["block_factor", "student"]

Array = NDArray[np.float64]


def student(
    value: Array, replicates: Array, blocks: NDArray[np.int64], scale: Scale, level: float
) -> tuple[Array, Array]:
    """g(value) -+ t sqrt(G / (G - 1)) SE(g), transformed back, with G blocks and G - 1 degrees of freedom.

    SE(g) is the standard deviation of the replicates on the scale g. Where some replicate lies at an end of
    the range, g has no standard deviation there, and the delta method takes its place: SE(g) = SE(value)
    |g'(value)|.

    Args:
        value: `[slice]`, inside the metric's range.
        replicates: `[replicate, slice]`; NaN where undefined, which leaves the replicate out.
        blocks: `[slice]`, effective numbers of blocks, 2 or more.
        scale: g, with its inverse and derivative.
        level: two-sided confidence level, such as 0.95.

    Returns:
        Lower and upper ends `[slice]`, in the metric's own unit.

    Source: Cameron and Miller (2015), A practitioner's guide to cluster-robust inference, Journal of Human Resources
    50(2), for G - 1 degrees of freedom and the factor G / (G - 1).

    >>> from plmetrics.inference.intervals.scale import IDENTITY
    >>> around = np.array([[1.0], [2.0], [3.0]])
    >>> lower, upper = student(np.array([2.0]), around, np.array([10]), IDENTITY, 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (-0.385, 4.385)
    """
    transformed = scale.forward(replicates)
    at_end = np.isinf(transformed).any(axis=0)
    error = standard_deviation(transformed)
    with np.errstate(over="ignore"):
        if at_end.any():
            error = np.where(at_end, standard_deviation(replicates) * np.abs(scale.slope(value)), error)
        centre = scale.forward(value)
        half = stdtrit(blocks - 1.0, (1 + level) / 2) * block_factor(blocks) * error
        return scale.backward(centre - half), scale.backward(centre + half)


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
