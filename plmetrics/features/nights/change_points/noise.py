"""Noise in series of intervals: the pattern of the week, single outliers, and the variance about a level.

Functions take series as rows. Level shifts hardly show in them: they compare each value with those next to it.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[np.float64]

_REACH = 3
"""An outlier is held against the median of as many values before it, and after it."""
_FAR = 4.0
FEWEST_PERIODS = 4
"""A season is removed where so many of its periods are there."""
_OF_EACH = 3
_MOST_CORRELATED = 0.6
_RESOLUTION, _TINY = 1e-9, 1e-200
_MEAN_TO_SD = np.sqrt(np.pi / 2)
"""The standard deviation of a normal variable by its mean absolute value."""


def without_season(values: Array, season: NDArray[np.int64], period: int) -> Array:
    """Values less the effects of their places in a period, which sum to zero.

    An effect is the median distance of the values of a place from the running median of a period around each. Series
    with a place of fewer than 3 such distances stay as they are.

    Args:
        values: (series, intervals), NaN where there is none; a period of them or more.
        season: (intervals,), the place of each interval in its period, from 0.
        period: how many intervals a period has.

    >>> week = np.array([[0, 0, 0, 0, 0, 7.0, 7.0] * 4])
    >>> without_season(week, np.arange(28) % 7, 7).round(9).tolist() == [[2.0] * 28]
    True
    """
    windows = sliding_window_view(values, period, axis=1)
    inner = slice(period // 2, period // 2 + windows.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # A window without a value has no median.
        local: Array = np.nanmedian(windows, axis=2)
        distances = values[:, inner] - local
        by_place = [distances[:, season[inner] == place] for place in range(period)]
        effects = np.stack([np.nanmedian(part, axis=1) for part in by_place], axis=1)
    least = np.min([np.isfinite(part).sum(axis=1) for part in by_place], axis=0)[:, None]
    effects = np.where(least >= _OF_EACH, effects - effects.mean(axis=1, keepdims=True), 0.0)
    return np.asarray(values - effects[:, season])


def without_outliers(values: Array, variance: Array) -> Array:
    """Values, those of single outliers replaced by the median of the 7 around them (Hampel's filter).

    An outlier is further from that median than 4 times its own standard error, and 4 times the mean distance as a
    standard deviation. A level that lasts for 4 values is none: it is the median itself.

    Args:
        values: (series, intervals), all finite, 7 or more.
        variance: (series, intervals), the squared standard errors.

    >>> without_outliers(np.array([[0.0] * 6 + [9.0] + [0.0] * 6 + [3.0] * 4]), np.zeros((1, 17))).tolist()[0][-6:]
    [0.0, 0.0, 3.0, 3.0, 3.0, 3.0]
    """
    inner = np.median(sliding_window_view(values, 2 * _REACH + 1, axis=1), axis=2)
    local = np.pad(inner, ((0, 0), (_REACH, _REACH)), mode="edge")
    distances = np.abs(values - local)
    spread = _MEAN_TO_SD * distances.mean(axis=1, keepdims=True)
    far = distances > _FAR * np.sqrt(np.maximum(spread**2, variance))
    return np.where(far, local, values)


def noise_variance(values: Array, variance: Array) -> Array:
    """The variance of values about their level, for means of many of them.

    It is v_t + s^2, with v_t the squared standard errors and s^2 >= 0 what the squared differences of neighbours have
    beyond these, times (1 + r) / (1 - r) where neighbours correlate by r. The largest differences, as many as there may
    be changes of level, count as the one below them.

    Args:
        values: (series, intervals), all finite, three or more.
        variance: (series, intervals), the squared standard errors, 0 where unknown.

    Source: von Neumann (1941), Distribution of the ratio of the mean square successive difference to the variance;
    Chakar et al. (2017), A robust approach for estimating change-points in the mean of an AR(1) process.

    >>> noise_variance(np.array([[0.0, 2.0, 0.0, 2.0, 0.0]]), np.zeros((1, 5))).tolist()
    [[2.0, 2.0, 2.0, 2.0, 2.0]]
    """
    changes = _most_changes(values)
    squares = np.diff(values) ** 2
    squares = np.minimum(squares, np.sort(squares, axis=1)[:, -1 - changes, None])
    known = variance[:, 1:] + variance[:, :-1]
    precise = 1 / (known + np.median(squares, axis=1, keepdims=True) + _TINY)
    total = precise.sum(axis=1)
    shared = (precise * squares).sum(axis=1) / total
    correlation = _correlation(values)
    surplus = shared / (1 - correlation) - (precise * known).sum(axis=1) / total
    inflation = (1 + correlation) / (1 - correlation)
    together = (variance + np.maximum(surplus / 2, 0)[:, None]) * inflation[:, None]
    finest: Array = (_RESOLUTION * np.abs(values).max(axis=1, keepdims=True)) ** 2 + _TINY
    return np.asarray(np.maximum(together, finest))


def _correlation(values: Array) -> Array:
    """How neighbours correlate, less the standard error of that: by distances of two steps and of one.

    The largest distances, in which changes of level are, do not count: one change is in two of two steps.
    """
    changes = 2 * _most_changes(values)
    one, two = (_trimmed_mean(np.abs(values[:, lag:] - values[:, :-lag]), changes) for lag in (1, 2))
    ratio = np.divide(two, one, out=np.ones_like(one), where=one > 0)
    return np.asarray(np.clip(ratio**2 - 1 - 1 / np.sqrt(values.shape[1]), 0, _MOST_CORRELATED))


def _trimmed_mean(distances: Array, left_out: int) -> Array:
    return np.asarray(np.sort(distances, axis=1)[:, :-left_out].mean(axis=1))


def _most_changes(values: Array) -> int:
    """How many changes of level the noise is looked for beside: one, and one more in 20 values."""
    return 1 + len(values.T) // 20
