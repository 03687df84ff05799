"""Statistics of two samples counted by value or by bin, in many slices at once.

All functions take weights as segments, one segment a slice: by value in ascending order, or by bin in any. Weight 2 is
a row twice. A slice in which a sample has no weight has no result: callers mask it.

Sources: Lin (1991), Divergence measures based on the Shannon entropy, IEEE Transactions on Information Theory 37(1);
Siddiqi (2006), Credit Risk Scorecards (the population stability index).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plmetrics.core.ops import Array, Flags
from plmetrics.core.quantiles import averaged_inverse
from plmetrics.core.segments import Segments, Values

_TIE = 1e-12
_FEW_EXPECTED = 5


def shares(weight: Segments) -> Segments:
    """Share of each point in its segment's total, 0 for a total of 0."""
    totals = weight.total()
    divisor = np.where(totals > 0, totals, 1.0)
    if len(divisor) > 1:
        divisor = np.repeat(divisor, weight.sizes)
    return Segments(weight.values / divisor, weight.offsets)


def bin_edges(ascending: Array, weight: Array, bins: int, running: Array | None = None) -> Array:
    """Edges of bins [edge, next) with open ends: quantiles of a reference at i / bins, equal ones once.

    A reference with at most so many values has a bin for each, and one between each two of them: a value that is new
    does not fall to one that was known. Quantiles are averaged inverses of the weighted distribution, whose `running`
    totals may be known.

    >>> bin_edges(np.arange(1.0, 9.0), np.ones(8), 4)
    array([2.5, 4.5, 6.5])
    """
    if np.count_nonzero(weight) <= bins:
        defined = ascending[weight > 0]
        return np.unique(np.concatenate([defined, np.nextafter(defined, np.inf)]))
    return np.unique(averaged_inverse(ascending, weight, np.arange(1, bins) / bins, running))


def by_bin(values: Segments, weight: Segments, edges: Array, absent: Array) -> Segments:
    """Weights of ascending values by bin, and in one more bin the weight `absent` of each slice: its nulls."""
    counted = np.column_stack([weight.between(values.places(edges)), absent])
    return Segments(counted.ravel(), np.arange(len(counted) + 1) * counted.shape[1])


def psi(reference: Segments, current: Segments, floor: float) -> Array:
    """Population stability index: sum of (c - r) ln(c / r) over bins, with shares of at least `floor`."""
    before, now = (np.maximum(shares(sample).values, floor) for sample in (reference, current))
    return Segments((now - before) * np.log(now / before), reference.offsets).total()


def jensen_shannon(reference: Segments, current: Segments) -> Array:
    """Jensen-Shannon distance: root of the divergence to base 2, from 0 (the same) to 1 (nothing in common)."""
    before, now = shares(reference), shares(current)
    middle = (before + now) / 2
    divergence = (_against(before, middle) + _against(now, middle)) / 2
    return np.sqrt(np.clip(divergence, 0.0, 1.0))


def _against(distribution: Segments, middle: Segments) -> Array:
    """Sum of p log2(p / m), 0 log 0 being 0."""
    positive = distribution.values > 0
    ratio = np.divide(
        distribution.values, middle.values, out=np.ones_like(distribution.values), where=positive
    )
    return Segments(distribution.values * np.log2(ratio), distribution.offsets).total()


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Pearson's test of a common distribution over bins; `few_rows` for an expected count below 5."""

    statistic: Array
    p_value: Array
    few_rows: Flags


def chi2_homogeneity(reference: Segments, current: Segments) -> Homogeneity:
    """Pearson's chi2 of a table of two rows, over nonempty bins, without a continuity correction.

    With one bin the samples are the same: statistic 0, p 1. Where an expected count is below 5, p is that of the gamma
    distribution with the mean and the variance that the statistic has among all tables of these totals: rare bins of
    uneven samples make it far larger than that of chi2, and pooled they would hide what is new.

    Source: Haldane (1940), The mean and variance of chi2, when used as a test of homogeneity, when expectations are
    small, Biometrika 31(3/4).
    """
    from scipy.special import chdtrc

    both = reference + current
    total = both.total()
    statistic = np.zeros(len(total))
    least = np.full(len(total), np.inf)
    for sample in (reference, current):
        part = sample.total() / np.where(total > 0, total, 1.0)
        expected = both * both.spread(part)
        squares = (sample - expected).values ** 2
        parts = np.divide(squares, expected.values, out=np.zeros_like(squares), where=expected.values > 0)
        statistic = statistic + Segments(parts, both.offsets).total()
        least_expected = np.where(both.values > 0, -expected.values, -np.inf)
        least = np.minimum(least, -Segments(least_expected, both.offsets).largest())
    degrees = Segments((both.values > 0).astype(np.float64), both.offsets).total() - 1
    tested = degrees > 0
    few_rows = tested & (least < _FEW_EXPECTED)
    mean, variance = _chi2_moments((reference.total(), current.total()), both, degrees + 1)
    by_moments = few_rows & (variance > 0)
    scale = np.where(by_moments, 2 * mean / np.where(by_moments, variance, 1.0), 1.0)
    freedom = np.where(by_moments, mean * scale, np.maximum(degrees, 1.0))
    p_value = np.where(tested, chdtrc(freedom, statistic * scale), 1.0)
    return Homogeneity(np.where(tested, statistic, 0.0), p_value, few_rows)


def _chi2_moments(sizes: tuple[Array, Array], both: Segments, bins: Array) -> tuple[Array, Array]:
    """Mean and variance of Pearson's chi2 among all tables of the same totals of rows; variance 0 below 4 rows."""
    n = np.maximum(sum(sizes), 4.0)
    inverse = (both.values > 0) / np.maximum(both.values, 1.0)
    of_rows = (n * sum(1 / np.maximum(size, 1.0) for size in sizes) - 4) / (n - 2)
    of_bins = (n * Segments(inverse, both.offsets).total() - bins**2) / (n - 2)
    even_rows, even_bins = (n - 2) / (n - 1), (bins - 1) * (n - bins) / (n - 1)
    variance = 2 * n / (n - 3) * (even_rows - of_rows) * (even_bins - of_bins)
    variance += n**2 / (n - 1) * of_rows * of_bins
    return n * (bins - 1) / (n - 1), np.where(sum(sizes) >= 4, variance, 0.0)


def ks_distance(reference: Segments, current: Segments) -> Array:
    """The largest distance of two distribution functions, by ascending value."""
    return np.clip(_distance(reference, current).largest(), 0.0, 1.0)


def _distance(reference: Segments, current: Segments) -> Segments:
    """The distance of two distribution functions at each point."""
    distance = _distribution(reference)
    distance.values -= _distribution(current).values
    np.abs(distance.values, out=distance.values)
    return distance


def _distribution(weight: Segments) -> Segments:
    """The distribution function at each point, 0 in segments without weight."""
    total = weight.total()
    function: Segments = weight.cumulative() / weight.spread(np.where(total > 0, total, 1.0))
    return function


def wasserstein(values: Segments, reference: Segments, current: Segments) -> Array:
    """The area between two distribution functions, in the unit of the values."""
    width = values.above(0.0)
    width.values -= values.values
    width.values[values.offsets[1:][values.sizes > 0] - 1] = 0.0  # Behind a slice's last value both are 1.
    area: Array = (_distance(reference, current) * width).total()
    return area + 0.0  # Not -0.0.


def quantile(values: Segments, weight: Segments, share: float) -> Array:
    """Averaged inverse of the weighted distribution of each slice, NaN where there is none."""
    running, totals = weight.cumulative(), weight.total()
    below = running < running.spread(totals * share * (1 - _TIE))
    reached = running <= running.spread(totals * share * (1 + _TIE))
    low, high = _first_without(below, values), _first_without(reached, values)
    middle = np.where(low == high, low, low / 2 + high / 2)  # The sum may be larger than any float.
    return np.where(totals > 0, middle, np.nan)


def _first_without(passed: Segments, values: Segments) -> Array:
    """First value of each segment not passed, else its last; any number for an empty one."""
    count = np.minimum(Segments(passed.values.astype(np.int64), passed.offsets).total(), passed.sizes - 1)
    place = values.offsets[:-1] + np.maximum(count, 0).astype(np.int64)
    padded = np.append(values.values, 0.0)
    first_free: Array = padded[np.minimum(place, len(padded) - 1)]
    return first_free


@dataclass(frozen=True, slots=True)
class SampleMoments:
    """Mean and variance (divided by the weight, not by one less) of each slice; NaN without weight.

    Also NaN where sums are larger than any number, or the squares of what differs smaller.
    """

    mean: Array
    variance: Array


def moments(
    values: Segments, weight: Segments, offset: Segments | None = None, square: Segments | None = None
) -> SampleMoments:
    """Mean and variance by slice, of ascending values.

    Where values are lower edges of bins, `offset` is the sum of weight x (value - edge) at each, and `square` likewise.
    """
    totals = weight.total()
    occupied = totals > 0
    safe = np.where(occupied, totals, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        masses = weight * values
        mean = (masses if offset is None else masses + offset).total() / safe
        low, high = _ends(values, weight)
        if offset is None:
            within = np.clip(mean, low, high)  # So that a constant has exactly its mean, and variance 0.
            mean = np.where(np.isfinite(mean), within, np.nan)
        apart = values - values.spread(mean)
        squares = weight * apart**2
        if offset is not None and square is not None:
            squares = squares + 2 * apart * offset + square
        variance = np.maximum(squares.total() / safe, 0.0)
    defined = occupied & np.isfinite(variance) & ~((low < high) & (variance == 0))
    return SampleMoments(np.where(occupied, mean, np.nan), np.where(defined, variance, np.nan))


def _ends(values: Segments, weight: Segments) -> tuple[Values, Values]:
    """Least and largest of ascending values with weight; 0 without one."""
    occupied = np.flatnonzero(weight.values > 0)
    if not len(occupied):
        return np.zeros(len(values.sizes)), np.zeros(len(values.sizes))
    first, end = (np.searchsorted(occupied, side) for side in (values.offsets[:-1], values.offsets[1:]))
    low, high = (values.values[occupied.take(place, mode="clip")] for place in (first, end - 1))
    return np.where(first == end, 0.0, low), np.where(first == end, 0.0, high)
