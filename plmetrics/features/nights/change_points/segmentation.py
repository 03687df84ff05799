"""The cheapest partition of series into segments of constant mean, found exactly.

A segment costs the weighted squared distances from its weighted mean, which is -2 log likelihood of a normal
distribution where weights are reciprocal variances; each segment after the first costs a penalty more. Optimal
partitioning: the cheapest partition of the first t values ends with a segment (s, t], and what is before s is the
cheapest partition of s values. Quadratic in the length of a series, and of many series at once.

Source: Jackson et al. (2005), An algorithm for optimal partitioning of data on an interval, IEEE Signal Processing
Letters 12; Killick, Fearnhead and Eckley (2012), Optimal detection of changepoints, JASA 107.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def segments(values: Array, weights: Array, penalty: float, least: int) -> NDArray[np.int64]:
    """The number of the segment that each value is in.

    Args:
        values: (series, intervals), all finite.
        weights: (series, intervals), all positive.
        penalty: what a segment after the first costs.
        least: the fewest values of a segment; a series has at least as many.

    Returns:
        (series, intervals), from 0 upwards.

    >>> values = np.array([[1.0, 1.2, 0.9, 5.1, 4.9, 5.0, 5.2]])
    >>> segments(values, np.ones_like(values), penalty=4.0, least=2).tolist()
    [[0, 0, 0, 1, 1, 1, 1]]
    """
    count, length = values.shape
    everyone = np.arange(count)
    centred = values - np.average(values, axis=1, weights=weights)[:, None]
    weight, total = _running_sums(weights), _running_sums(weights * centred)
    # The sum of squares is the same for all partitions: costs are counted without it.
    cost = np.full((count, length + 1), np.inf)
    cost[:, 0] = -penalty
    start = np.zeros((count, length + 1), dtype=np.int64)
    for end in range(least, length + 1):
        first = slice(end - least + 1)
        candidates = total[:, end, None] - total[:, first]
        candidates *= candidates
        candidates /= weight[:, end, None] - weight[:, first]
        np.subtract(cost[:, first], candidates, out=candidates)
        start[:, end] = candidates.argmin(axis=1)
        cost[:, end] = candidates[everyone, start[:, end]] + penalty
    return _numbers(start)


def _running_sums(values: Array) -> Array:
    """Sums of the first 0, 1, 2, ... values."""
    sums = np.zeros((values.shape[0], values.shape[1] + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums


def _numbers(start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Segments counted from the left, by where the last segment of each prefix begins."""
    everyone = np.arange(start.shape[0])
    begins = np.zeros((start.shape[0], start.shape[1] - 1), dtype=np.int64)
    end = start[:, -1]
    while end.any():
        begins[everyone, end] = end > 0
        end = start[everyone, end]
    return begins.cumsum(axis=1)
