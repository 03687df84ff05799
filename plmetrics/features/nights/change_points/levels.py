"""Levels of series: the means of the stretches between their change points.

Functions take series as rows. Level shifts hardly show in the noise of a series, the pattern of its week and its single
outliers: these compare each value with those next to it.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from plmetrics.core.ops import Array

SHORTEST = 4
"""The fewest values of a level: one that lasts for less is an outlier."""
_FEWEST = 2 * SHORTEST
_BLOCK = 256
"""How many series are looked at together: windows of all values of them are in memory."""
_REACH = 3
"""An outlier is held against the median of as many values before it, and after it."""
_FAR = 4.0
FEWEST_PERIODS = 4
"""A season is removed where so many of its periods are there."""
_OF_EACH = 3
_MOST_CORRELATED = 0.6
_RESOLUTION, _TINY = 1e-9, 1e-200
_NEGLIGIBLE = 1e-9
"""Factor of the weights of values in segments too short for a level, and the least weight beside the largest."""
_MEAN_TO_SD = np.sqrt(np.pi / 2)
"""The standard deviation of a normal variable by its mean absolute value."""


def levels(values: Array, errors: Array, season: NDArray[np.int64] | None = None, period: int = 1) -> Array:
    """The level of each value; NaN where there is none, or in series of fewer than 8 values.

    The partition into levels is the cheapest one: squared distances from the levels by their variance, and a penalty
    of 12 + ln n for each change among n values. Of series of independent normal values without a change, one in 100 or
    fewer have one (found by simulation). A season takes p - 1 of n values for its effects: variances are
    n / (n - p + 1) times larger then.

    Args:
        values: (series, intervals), NaN where there is none.
        errors: their standard errors, NaN where unknown.
        season: (intervals,), the place of each interval in its period, from 0; None if there is no season.
        period: how many intervals a period has.

    >>> days = np.array([0.91, 0.92, 0.9, 0.91, 0.9, 0.92, 0.87, 0.86, 0.87, 0.88, 0.87])
    >>> levels(days[None], np.full((1, 11), np.nan)).round(3).tolist()[0]
    [0.91, 0.91, 0.91, 0.91, 0.91, 0.91, 0.87, 0.87, 0.87, 0.87, 0.87]
    """
    if len(values) > _BLOCK:
        blocks = range(0, len(values), _BLOCK)
        return np.concatenate(
            [levels(values[at : at + _BLOCK], errors[at : at + _BLOCK], season, period) for at in blocks]
        )
    there = np.isfinite(values)
    plain = np.where(there, values, np.nan)
    effects = 0
    if season is not None and values.shape[1] >= FEWEST_PERIODS * period:
        plain, effects = without_season(plain, season, period), period - 1
    result = np.full(values.shape, np.nan)
    counts = there.sum(axis=1)
    for count in np.unique(counts[counts >= _FEWEST]).tolist():
        picked = there & (counts == count)[:, None]
        parts = (part[picked].reshape(-1, count) for part in (plain, errors))
        result[picked] = _levels_of_full(*parts, inflation=count / max(count - effects, 1)).ravel()
    return result


def _levels_of_full(values: Array, errors: Array, *, inflation: float) -> Array:
    """Levels of series without gaps."""
    variance = without_dependence(_squared_errors(values, errors), values)
    clean = without_outliers(values, variance)
    weights = 1 / (noise_variance(clean, variance) * inflation)
    weights = np.maximum(weights, _NEGLIGIBLE * weights.max(axis=1, keepdims=True))
    penalty = 12 + np.log(values.shape[1])
    number = segments(clean, weights, penalty, 1)
    brief = (_sizes(number) < SHORTEST).any(axis=1)
    weights[brief] *= np.where(_passing(number[brief]), _NEGLIGIBLE, 1.0)
    number[brief] = segments(clean[brief], weights[brief], penalty, SHORTEST)
    place = number + (np.arange(len(values)) * values.shape[1])[:, None]
    sums, total = (np.bincount(place.ravel(), part.ravel())[place] for part in (weights * clean, weights))
    return np.asarray(sums / total)


def _passing(number: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mask of the values of segments too short for a level, also together with their neighbours."""
    short = _sizes(number) < SHORTEST
    runs = np.cumsum(short[:, 1:] != short[:, :-1], axis=1)
    return short & (_sizes(np.pad(runs, ((0, 0), (1, 0)))) < SHORTEST)


def _sizes(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of values in the segment of each value."""
    place = number + (np.arange(len(number)) * number.shape[1])[:, None]
    return np.asarray(np.bincount(place.ravel())[place])


def _squared_errors(values: Array, errors: Array) -> Array:
    """Squares of standard errors; unknown ones are as the others of the series are on average, 0 if none is known.

    One of 0 is unknown: where all of few rows are right, the value is not certain.
    """
    known = np.isfinite(errors) & (errors > _RESOLUTION * np.abs(values))
    squares = np.where(known, errors, 0.0) ** 2
    mean = squares.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.where(known, squares, mean)


def without_dependence(squares: Array, values: Array) -> Array:
    """Squared errors without the part that goes with the values, of the same mean.

    Of skew rows small values have small errors: weights by these pull levels down, and runs of small values look like
    levels. So the logarithms of the squares are regressed on the ranks of the values, both as distances from running
    medians, and of the residuals the share counts that the ranks do not explain: none where they explain all.

    Args:
        squares: (series, intervals), 0 in series where no error is known.
        values: (series, intervals), all finite, 7 or more.

    >>> rates = np.array([[0.01, 0.02, 0.04, 0.02, 0.01, 0.04, 0.01, 0.02]])
    >>> free = without_dependence(rates / 100, rates)
    >>> bool(free.max() < 1.1 * free.min())
    True
    """
    mean = squares.mean(axis=1, keepdims=True)
    logs = np.log(np.maximum(squares / np.where(mean > 0, mean, 1.0), _TINY))
    ranks = (
        (values - _running_medians(values)).argsort(axis=1, kind="stable").argsort(axis=1).astype(np.float64)
    )
    local = logs - _running_medians(logs)
    ranks, local = (part - part.mean(axis=1, keepdims=True) for part in (ranks, local))
    explained = ranks * ((ranks * local).sum(axis=1) / (ranks**2).sum(axis=1))[:, None]
    total = (local**2).sum(axis=1, keepdims=True)
    share = (explained**2).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
    free = np.exp((logs - explained) * (1 - share))
    return np.asarray(free * (mean / free.mean(axis=1, keepdims=True)))


def _running_medians(values: Array) -> Array:
    """Medians of the 7 values around each; at the ends those of the nearest 7."""
    inner = np.median(sliding_window_view(values, 2 * _REACH + 1, axis=1), axis=2)
    return np.pad(inner, ((0, 0), (_REACH, _REACH)), mode="edge")


def without_season(values: Array, season: NDArray[np.int64], period: int) -> Array:
    """Values less the seasonal effects of their places in a period, with sum zero.

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
    local = _running_medians(values)
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
    variance_of_steps = variance[:, 1:] + variance[:, :-1]
    precise = 1 / (variance_of_steps + np.median(squares, axis=1, keepdims=True) + _TINY)
    total = precise.sum(axis=1)
    shared = (precise * squares).sum(axis=1) / total
    correlation = _correlation(values)
    surplus = shared / (1 - correlation) - (precise * variance_of_steps).sum(axis=1) / total
    inflation = (1 + correlation) / (1 - correlation)
    together = (variance + np.maximum(surplus / 2, 0)[:, None]) * inflation[:, None]
    finest: Array = (_RESOLUTION * np.abs(values).max(axis=1, keepdims=True)) ** 2 + _TINY
    return np.asarray(np.maximum(together, finest))


def _correlation(values: Array) -> Array:
    """Correlation of neighbours, less its standard error: by distances of two steps and of one.

    The largest distances, in which changes of level are, do not count: one change is in two of two steps.
    """
    changes = 2 * _most_changes(values)
    one, two = (_trimmed_mean(np.abs(values[:, lag:] - values[:, :-lag]), changes) for lag in (1, 2))
    ratio = np.divide(two, one, out=np.ones_like(one), where=one > 0)
    return np.asarray(np.clip(ratio**2 - 1 - 1 / np.sqrt(values.shape[1]), 0, _MOST_CORRELATED))


def _trimmed_mean(distances: Array, left_out: int) -> Array:
    return np.asarray(np.sort(distances, axis=1)[:, :-left_out].mean(axis=1))


def _most_changes(values: Array) -> int:
    """Number of changes of level allowed in the estimate of noise: one, and one more in 20 values."""
    return 1 + len(values.T) // 20


def segments(values: Array, weights: Array, penalty: float, least: int) -> NDArray[np.int64]:
    """Number of each value's segment, of the cheapest partition, an exact optimum.

    A segment costs the weighted squared distances from its weighted mean, which is -2 log likelihood of a normal
    distribution where weights are reciprocal variances. Optimal partitioning: the cheapest partition of the first t
    values ends with a segment (s, t], and what is before s is the cheapest partition of s values. Quadratic in the
    length of a series, and of many series at once. Source: Jackson et al. (2005), An algorithm for optimal partitioning
    of data on an interval, IEEE Signal Processing Letters 12; Killick, Fearnhead and Eckley (2012), Optimal detection
    of changepoints, JASA 107.

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
