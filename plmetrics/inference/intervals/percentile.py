"""Intervals from the quantiles of replicates: as they are (`percentile`), mirrored (`basic`), corrected or centred.

`bca` takes quantiles at levels that make up for bias, and for an error that grows with the value. `centred` is for
metrics that are the size of a vector of estimates, such as ECE and KS.
"""

from __future__ import annotations

import numpy as np

from plmetrics.core.ops import Array, Codes
from plmetrics.core.special import ndtr, ndtri
from plmetrics.inference.intervals.spread import is_finite

_WORTH_A_PARTITION = 64


_TINY = float(np.finfo(np.float64).tiny)
_ROUNDING = 1e-12
"""A lower end nearer to the end of the range than this share of the value is there but for rounding."""


def percentile(replicates: Array, level: float) -> tuple[Array, Array]:
    """Ends with a probability of (1 - level)/2 of a further replicate beyond each.

    The replicates are `[replicate, slice]`; those that are undefined play no part.

    >>> percentile(np.arange(1.0, 100.0)[:, None], 0.9)
    (array([5.]), array([95.]))
    """
    lower, upper = quantiles(replicates, ((1 - level) / 2, (1 + level) / 2))
    return lower, upper


def quantiles(replicates: Array, probabilities: tuple[float, ...] | Array) -> Array:
    """Quantiles `[probability, slice]` of the finite replicates at ranks p (R + 1), type 6; NaN where there are none.

    Probabilities are numbers, or `[probability, slice]` where each slice has its own. Between ranks they are linear,
    and beyond the first and the last they stay there. Of R draws of anything a further one lies below that of p with
    probability p. Ranks 1 + p (R - 1), type 7, would leave 3.4 % of them beyond the end of 2.5 % with 100 replicates,
    and 3.0 % with 200: intervals would be too narrow.

    Sources: Hyndman and Fan (1996), Sample quantiles in statistical packages, The American Statistician 50(4);
    Davison and Hinkley (1997), Bootstrap methods and their application, section 5.2, for the ranks.

    >>> quantiles(np.array([[1.0], [2.0], [3.0], [np.nan]]), (0.25, 0.5, 0.9))
    array([[1.],
           [2.],
           [3.]])
    """
    levels = np.asarray(probabilities, dtype=np.float64)
    if levels.ndim == 1 and is_finite(replicates):
        place = np.clip(levels * (len(replicates) + 1) - 1, 0, len(replicates) - 1)
        low, high = _neighbours(replicates, np.floor(place).astype(np.int64))
        return low + (high - low) * (place - np.floor(place))[:, None]
    ranked, number = _rank_replicates(replicates)
    levels = levels[:, None] if levels.ndim == 1 else levels
    place = np.clip(levels * (number + 1) - 1, 0, np.maximum(number - 1, 0))
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(number - 1, 0))
    low = np.take_along_axis(ranked, below, axis=0)
    high = np.take_along_axis(ranked, above, axis=0)
    return low + (high - low) * (place - below)


def _neighbours(replicates: Array, ranks: Codes) -> tuple[Array, Array]:
    """The replicates of some ranks, counted from 0, and those of the next ones `[rank, slice]`; all are defined.

    Ranks that are apart are found one after another, from the highest, and the others stay out of order: that takes
    half the time.
    """
    last = len(replicates) - 1
    if last < _WORTH_A_PARTITION or (np.diff(ranks) <= 1).any():
        ranked = np.sort(replicates, axis=0)
        return ranked[ranks], ranked[np.minimum(ranks + 1, last)]
    remaining = replicates.copy(order="K")
    low, high = np.empty((2, len(ranks), replicates.shape[1]))
    for place in reversed(range(len(ranks))):
        rank = int(ranks[place])
        if rank == last:
            low[place] = high[place] = remaining.max(axis=0)
        elif 2 * rank < len(remaining):
            remaining.partition(rank + 1, axis=0)
            low[place], high[place] = remaining[: rank + 1].max(axis=0), remaining[rank + 1]
        else:
            remaining.partition(rank, axis=0)
            low[place], high[place] = remaining[rank], remaining[rank + 1 :].min(axis=0)
        remaining = remaining[: rank + 1]
    return low, high


def _rank_replicates(replicates: Array) -> tuple[Array, Codes]:
    """Replicates in ascending order, undefined ones last, and the number of defined ones, by slice."""
    if is_finite(replicates):
        return np.sort(replicates, axis=0), np.full(replicates.shape[1], len(replicates))
    finite = np.isfinite(replicates)
    return np.sort(np.where(finite, replicates, np.nan), axis=0), finite.sum(axis=0)


def basic(value: Array, replicates: Array, level: float) -> tuple[Array, Array]:
    """2 value - the replicates' upper and lower quantiles; ends may leave the metric's range, whoever asks clips them.

    Source: Davison and Hinkley (1997), Bootstrap methods and their application, section 5.2.

    >>> basic(np.array([40.0]), np.arange(1.0, 100.0)[:, None], 0.9)
    (array([-15.]), array([75.]))
    """
    lower, upper = percentile(replicates, level)
    return 2 * value - upper, 2 * value - lower


def bca(value: Array, replicates: Array, acceleration: Array, level: float) -> tuple[Array, Array]:
    """Replicates' quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z the normal quantiles of the level.

    z0 is the normal quantile of the share of replicates below the value, half of those at it included. It is NaN
    where it has none: with no replicate on one side of the value, or where the acceleration is NaN or too large.

    Source: Efron (1987), Better bootstrap confidence intervals, JASA 82(397).

    >>> drawn = np.linspace(0.01, 0.99, 99)[:, None]
    >>> lower, upper = bca(np.array([0.5]), drawn, np.array([0.0]), 0.9)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.05, 0.95)
    """
    finite = np.isfinite(replicates)
    number = np.maximum(finite.sum(axis=0), 1)
    below = np.sum((replicates < value) & finite, axis=0) + np.sum((replicates == value) & finite, axis=0) / 2
    share = below / number
    usable = (share > 0) & (share < 1) & np.isfinite(acceleration)
    bias = ndtri(np.where(usable, share, 0.5))
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        shifted = bias + ndtri(tail)
        slack = 1 - np.where(usable, acceleration, 0.0) * shifted
        usable &= slack > 0
        ends.append(ndtr(bias + shifted / np.where(slack > 0, slack, 1.0)))
    lower, upper = quantiles(replicates, np.stack(ends))
    return np.where(usable, lower, np.nan), np.where(usable, upper, np.nan)


def acceleration(left_out: Array, value: Array, groups: Codes | None = None) -> Array:
    """Acceleration: the rate of change of the standard error with the value, from a jackknife over blocks.

    a = sum u^3 / (6 (sum u^2)^1.5), u the mean of the `left_out` `[block, slice]` less each of them; NaN where one of
    them is undefined or all are equal. `groups` are the numbers of blocks that count, all if not given.

    >>> acceleration(np.array([[1.0], [2.0], [6.0]]), np.array([3.0])).round(4)
    array([-0.0573])
    """
    number = np.maximum(len(left_out) if groups is None else groups, 1)
    away = value - left_out
    counts = away != 0
    mean = np.sum(away, axis=0) / number
    remainder = np.maximum(number - counts.sum(axis=0), 0)
    u = np.where(counts, away - mean, 0.0)
    squares = np.sum(u**2, axis=0) + remainder * mean**2
    cubes = np.sum(u**3, axis=0) - remainder * mean**3
    defined = (squares > 0) & np.isfinite(squares)
    safe = np.where(defined, squares, 1.0)
    return np.where(defined, cubes / (6 * safe**1.5), np.nan)


def centred_interval(
    value: Array,
    replicates: Array,
    deviations: Array | None,
    least: float,
    level: float,
    widening: Array | float = 1.0,
) -> tuple[Array, Array]:
    """Lower end value - c, not below `least`, with c a quantile of the deviations; upper end as `percentile`.

    A handful of replicates may all lie below the value: the lower end then stops at the upper one.

    Values and replicates are sizes of vectors, and `deviations` those of (replicate's vector - point's vector), or how
    far the most of several estimates rose; None for a metric that is a single number, whose deviation is the distance
    of each replicate from the value. Either end is by `widening` farther away, as replicates of few blocks vary too
    little.

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
    lower, upper = value - widening * reach, upper + (widening - 1) * np.maximum(upper - value, 0.0)
    lower = np.where(lower - least <= _ROUNDING * np.abs(value), least, lower)
    return np.minimum(lower, upper), upper


def centred_minimum(
    value: Array,
    replicates: Array,
    deviations: Array | None,
    least: float,
    level: float,
    widening: Array | float = 1.0,
) -> tuple[Array, Array]:
    """Centred interval of a minimum of estimates, biased downwards by noise: upper end value + c.

    Arguments are as those of `centred_interval`, of the smallest estimates: `deviations` are how far estimates fell.

    >>> smallest, away = np.full((99, 1), 0.7), np.linspace(0.002, 0.198, 99)[:, None]
    >>> lower, upper = centred_minimum(np.array([0.75]), smallest, away, 0.0, 0.9)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.7, 0.94)
    """
    lower, upper = centred_interval(-value, -replicates, deviations, -np.inf, level, widening)
    return np.maximum(-upper, least), -lower


def centred_ratio(
    value: Array,
    replicates: Array,
    deviations: Array | None,
    least: float,
    level: float,
    widening: Array | float = 1.0,
) -> tuple[Array, Array]:
    """Centred interval of a smallest ratio r of at most 1, its negative logarithm a size: 0 without a difference.

    Arguments are as those of `centred_interval`, of the ratios: `deviations` and `widening` are in logarithms.

    >>> ratios, away = np.full((99, 1), 0.7), np.linspace(0.002, 0.198, 99)[:, None]
    >>> lower, upper = centred_ratio(np.array([0.75]), ratios, away, 0.0, 0.9)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.7, 0.907)
    """
    size, sizes = (-np.log(np.maximum(part, _TINY)) for part in (value, replicates))
    nearest, farthest = centred_interval(size, sizes, deviations, 0.0, level, widening)
    return np.maximum(np.exp(-farthest), least), np.exp(-nearest)
