"""Levels of series: the means of the stretches between their change points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.features.nights.change_points.noise import (
    FEWEST_PERIODS,
    noise_variance,
    without_outliers,
    without_season,
)
from plmetrics.features.nights.change_points.segmentation import segments

Array = NDArray[np.float64]

SHORTEST = 4
"""The fewest values of a level: one that lasts for less is an outlier."""
_FEWEST = 2 * SHORTEST
_BLOCK = 256
"""How many series are looked at together: windows of all values of them are in memory."""


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
    variance = _squared_errors(errors)
    clean = without_outliers(values, variance)
    weights = 1 / (noise_variance(clean, variance) * inflation)
    number = segments(clean, weights, 12 + np.log(values.shape[1]), SHORTEST)
    place = number + (np.arange(len(values)) * values.shape[1])[:, None]
    sums, total = (np.bincount(place.ravel(), part.ravel())[place] for part in (weights * clean, weights))
    return np.asarray(sums / total)


def _squared_errors(errors: Array) -> Array:
    """Squares of standard errors; unknown ones are as the others of the series are on average, 0 if none is known."""
    known = np.isfinite(errors)
    squares = np.where(known, errors, 0.0) ** 2
    mean = squares.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.where(known, squares, mean)
