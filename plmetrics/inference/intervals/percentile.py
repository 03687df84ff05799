"""The form `percentile`: the replicates' own quantiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.intervals.spread import is_finite

Array = NDArray[np.float64]

_WORTH_A_PARTITION = 64


def percentile(replicates: Array, level: float) -> tuple[Array, Array]:
    """Ends that a further replicate falls outside of with probability (1 - level)/2 on each side.

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
        between: Array = low + (high - low) * (place - np.floor(place))[:, None]
        return between
    ranked, number = _rank_replicates(replicates)
    levels = levels[:, None] if levels.ndim == 1 else levels
    place = np.clip(levels * (number + 1) - 1, 0, np.maximum(number - 1, 0))
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(number - 1, 0))
    low = np.take_along_axis(ranked, below, axis=0)
    high = np.take_along_axis(ranked, above, axis=0)
    values: Array = low + (high - low) * (place - below)
    return values


def _neighbours(replicates: Array, ranks: NDArray[np.int64]) -> tuple[Array, Array]:
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


def _rank_replicates(replicates: Array) -> tuple[Array, NDArray[np.int64]]:
    """Replicates in ascending order, those that are undefined last, and how many are defined, by slice."""
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
