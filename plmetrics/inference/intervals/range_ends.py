"""Shares and ROC areas at an end of their range: no replicate moves them, and a closed form says how sure they are.

A share of 1 is 1 in every replicate. Its standard error of 0 is true of the replicates alone: after ten hits of ten,
shares from 0.72 on are plausible, as Wilson's interval says. Where such an estimate is held against one of other
rows, the length of that interval stands in for its spread.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.hashing import mix
from plmetrics.core.special import stdtrit
from plmetrics.inference.intervals.closed_forms import hanley_mcneil_score, wilson

if TYPE_CHECKING:
    from plmetrics.catalogue.needs import Bounds, ValueKind

Array = NDArray[np.float64]
Ends = tuple[Array, Array]

_TOLERANCE = 1e-12
_STRIDE = np.uint64(0x9E3779B97F4A7C15)


def at_end(value: Array, kind: ValueKind) -> NDArray[np.bool_]:
    """Whether a value is an end of its range, up to rounding.

    Near 0 there is no rounding to forgive, except for shares and areas, where nothing real is that small.
    """
    low, high = (end if np.isfinite(end) else 0.0 for end in kind.bounds)
    share = kind.is_share or kind.is_area
    slack = [_TOLERANCE * (1.0 if share else abs(end)) for end in (low, high)]
    return (value <= kind.bounds[0] + slack[0]) | (value >= kind.bounds[1] - slack[1])


def in_range(shares: Ends, bounds: Bounds) -> Ends:
    """Values at positions in a range, from 0 to 1: the inverse of `share_of`."""
    low, width = bounds[0], bounds[1] - bounds[0]
    return low + width * shares[0], low + width * shares[1]


def share_of(value: Array, bounds: Bounds) -> Array:
    """Position of a value in its range, from 0 to 1, exactly 0 or 1 for an end up to rounding."""
    share = (value - bounds[0]) / (bounds[1] - bounds[0])
    return np.where(share <= _TOLERANCE, 0.0, np.where(share >= 1 - _TOLERANCE, 1.0, share))


def end_interval(value: Array, sizes: tuple[Array, ...], kind: ValueKind, level: float) -> Ends:
    """Wilson's interval of a share, or that of Hanley and McNeil of an area; `sizes` are those of the estimate."""
    if kind.is_share:
        return wilson(share_of(value, (0.0, 1.0)), reduce(np.minimum, sizes), level)
    shares = hanley_mcneil_score(share_of(value, kind.bounds), sizes[0], sizes[-1], level)
    return in_range(shares, kind.bounds)


def plausible_end(value: Array, sizes: tuple[Array, ...], kind: ValueKind, level: float) -> Array | None:
    """The other end of the interval of values at an end of their range, and the value itself elsewhere.

    None for metrics without such an interval.

    >>> from plmetrics.catalogue.needs import ValueKind
    >>> hits = np.array([1.0, 0.5, 0.0]), (np.full(3, 10.0),)
    >>> plausible_end(*hits, ValueKind("proportion", (0.0, 1.0)), 0.95).round(3).tolist()
    [0.722, 0.5, 0.278]
    """
    if kind.end_form is None or not sizes:
        return None
    ends = value.copy()
    index = np.flatnonzero(at_end(value, kind))
    if len(index):
        lower, upper = end_interval(value[index], tuple(size[index] for size in sizes), kind, level)
        high = value[index] >= np.mean(kind.bounds)
        ends[index] = np.where(high, lower, upper)
    return ends


def hidden_error(reaches: tuple[Array | None, ...], blocks: NDArray[np.int64], level: float) -> Array:
    """Standard error that replicates of several estimates hide, each with its `reach` to the end of its interval.

    Student's quantile of `blocks` - 1 degrees of freedom makes the reach of it again, put together as those of
    independent samples are: root of the sum of squares.

    >>> hidden_error((np.array([0.3, 0.0]), None), np.array([10, 10]), 0.95).round(3).tolist()
    [0.133, 0.0]
    """
    squares = sum((reach**2 for reach in reaches if reach is not None), start=np.zeros(blocks.shape))
    quantile = stdtrit(np.maximum(blocks, 2) - 1.0, (1 + level) / 2)
    error: Array = np.sqrt(squares) / quantile
    return error


def plausible_replicates(replicates: Array, value: Array, ends: Array | None, level: float) -> Array:
    """Replicates `[replicate, slice]`, drawn anew between value and plausible end where these differ.

    Distances from the value are exponential, as those of a share without a miss nearly are, and at most 1. They exceed
    the length of the interval with the probability of one of its tails. The draws depend on the numbers of replicate
    and slice alone.

    >>> hits = np.full((999, 2), 1.0), np.ones(2), np.array([0.7, 1.0])
    >>> drawn = plausible_replicates(*hits, 0.95)
    >>> np.quantile(drawn[:, 0], [0.025, 0.5]).round(1).tolist(), drawn[:, 1].min()
    ([0.7, 0.9], 1.0)
    """
    index = np.flatnonzero(ends != value) if ends is not None else np.zeros(0, dtype=np.int64)
    index = index[np.isfinite(value[index])]
    if ends is None or not len(index):
        return replicates
    rows = mix(np.arange(1, len(replicates) + 1, dtype=np.uint64) * _STRIDE)
    words = mix(rows[:, None] + (index.astype(np.uint64) + np.uint64(1)) * _STRIDE)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    drawn = replicates.copy()
    reach = (ends - value)[index]
    distance = np.minimum(np.log(uniform) / np.log((1 - level) / 2) * np.abs(reach), 1.0)
    drawn[:, index] = value[index] + np.sign(reach) * distance
    return drawn
