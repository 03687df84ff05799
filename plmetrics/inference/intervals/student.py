"""Form `t`: symmetric on the scale closest to normal, with quantiles of Student."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plmetrics.core import ops
from plmetrics.core.ops import Array, Codes
from plmetrics.core.special import expit, logit, ndtri, stdtrit
from plmetrics.inference.intervals.spread import block_factor, standard_deviation

_FURTHEST = 20.0
"""Distance from the value on a logarithmic scale beyond which a replicate is at an end but for rounding."""


@dataclass(frozen=True, slots=True)
class IntervalScale:
    """A function g with its inverse and derivative; `forward` is infinite at the ends of the range."""

    name: str
    forward: Callable[[Array], Array]
    backward: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    furthest: float = _FURTHEST


def scale_of(bounds: tuple[float, float]) -> IntervalScale:
    """The scale for a metric's range: logit for [0, 1] and [-1, 1], log for [0, inf), else identity.

    >>> scale_of((0.0, float("inf"))).name, scale_of((float("-inf"), 1.0)).name
    ('log', 'identity')
    """
    return _BY_BOUNDS.get(bounds, IDENTITY)


def _exponential(value: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(value)


IDENTITY = IntervalScale("identity", lambda v: v, lambda g: g, np.ones_like, float("inf"))
_LOG = IntervalScale("log", ops.log, _exponential, lambda v: 1 / v)
_LOGIT = IntervalScale("logit", logit, expit, lambda v: 1 / (v * (1 - v)))
_CENTRED_LOGIT = IntervalScale(
    "logit of (1 + v) / 2",
    lambda v: logit((1 + v) / 2),
    lambda g: 2 * expit(g) - 1,
    lambda v: 2 / ((1 + v) * (1 - v)),
)
_BY_BOUNDS = {(0.0, 1.0): _LOGIT, (-1.0, 1.0): _CENTRED_LOGIT, (0.0, float("inf")): _LOG}


def widening(blocks: Codes, level: float) -> Array:
    """Ratio of the width of the interval of `student` to that of G blocks' normal replicates: t sqrt(G / (G - 1)) / z.

    >>> widening(np.array([4, 100]), 0.95).round(3)
    array([1.875, 1.017])
    """
    tail = (1 + level) / 2
    widths: Array = stdtrit(blocks - 1.0, tail) * block_factor(blocks) / ndtri(tail)
    return widths


def student(
    value: Array, replicates: Array, blocks: Codes, scale: IntervalScale, level: float
) -> tuple[Array, Array]:
    """g(value) -+ t sqrt(G / (G - 1)) SE(g), transformed back, with G blocks and G - 1 degrees of freedom.

    SE(g) is the standard deviation of the replicates on the scale g. Where some replicate lies at an end of
    the range, but for rounding, g has no standard deviation there, and the delta method takes its place:
    SE(g) = SE(value) |g'(value)|.

    Values `[slice]` are inside the metric's range, replicates `[replicate, slice]` NaN where they are undefined and
    left out, and there are 2 or more effective blocks.

    Source: Cameron and Miller (2015), A practitioner's guide to cluster-robust inference, Journal of Human Resources
    50(2), for G - 1 degrees of freedom and the factor G / (G - 1).

    >>> from plmetrics.inference.intervals.student import IDENTITY
    >>> around = np.array([[1.0], [2.0], [3.0]])
    >>> lower, upper = student(np.array([2.0]), around, np.array([10]), IDENTITY, 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (-0.385, 4.385)
    """
    transformed = scale.forward(replicates)
    error, centre = standard_deviation(transformed), scale.forward(value)
    with np.errstate(over="ignore", invalid="ignore"):
        at_end = (~(np.abs(transformed - centre) <= scale.furthest) & ~np.isnan(transformed)).any(axis=0)
        if at_end.any():
            error = np.where(at_end, standard_deviation(replicates) * np.abs(scale.slope(value)), error)
        half = stdtrit(blocks - 1.0, (1 + level) / 2) * block_factor(blocks) * error
        return scale.backward(centre - half), scale.backward(centre + half)


def on_scale(
    value: Array, std_error: Array, blocks: Codes, scale: IntervalScale, level: float
) -> tuple[Array, Array]:
    """g(value) -+ t SE |g'(value)|, transformed back, with G - 1 degrees of freedom for G blocks.

    The standard error is that of the delta method or the jackknife, on the value's own scale, and g is finite there.
    For a mean g is the identity.

    Source: Efron and Tibshirani (1993), An introduction to the bootstrap, chapters 11 and 21; Cameron and Miller
    (2015), A practitioner's guide to cluster-robust inference, Journal of Human Resources 50(2), for G - 1.

    >>> from plmetrics.inference.intervals.student import scale_of
    >>> given = np.array([0.8]), np.array([0.05]), np.array([40])
    >>> lower, upper = on_scale(*given, scale_of((0.0, 1.0)), 0.95)
    >>> round(float(lower[0]), 4), round(float(upper[0]), 4)
    (0.6801, 0.8827)
    """
    with np.errstate(over="ignore"):
        half = stdtrit(blocks - 1.0, (1 + level) / 2) * std_error * np.abs(scale.slope(value))
        centre = scale.forward(value)
        return scale.backward(centre - half), scale.backward(centre + half)
