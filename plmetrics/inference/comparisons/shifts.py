"""Shifts by Hodges and Lehmann: the typical excess of one arm's values over another's, without a mean.

The estimate is the median of all differences (of pairs: of all means of two), the interval the shifts that the test of
Mann and Whitney (of Wilcoxon) does not reject: from one rank of them to another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import cycle
from math import floor, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.core.special import ndtri
from plmetrics.inference.comparisons.tests.outcome import TestResult, as_pair, level_of, numbers

_EXACT = 50
"""Below so many values of either arm ranks are those of the exact distribution."""

_LARGE = float(np.finfo(np.float64).max) / 4.0
"""Differences of larger values, and sums of two, may be no numbers: their quarters are taken."""

_AT_HAND = 1 << 22
_FEW_PAIRS = 1 << 6
"""So many pairs are sorted rather than counted again."""

_ASIDE = (-0.02, 0.02, None)
"""Where a search looks next: a share of the pairs below and above a rank's place on a straight line, then halfway."""

_TOO_FEW = "too_few_units"


def hodges_lehmann(a: Any, b: Any, *, level: float = 0.95, paired: bool = False) -> TestResult:
    """The shift of the values of one arm against those of another.

    It is the median difference of a value of a and one of b, not the difference of their medians; of arms whose
    distributions differ in place alone, it is that difference. Outliers hardly move it.

    Args:
        a: the values of one arm.
        b: those of the other; the same units in the same order where they are `paired`.
        level: two-sided level of the interval, which it has at least below 50 values without ties.
        paired: whether values are pairs: then it is the median of the means of two differences, and of each alone.

    Returns:
        `estimate`, `lower` and `upper`; `n` counts all values, or pairs. For p values see `mann_whitney` and
        `wilcoxon`. Too few values for any interval of the level: `too_few_units`.

    Raises:
        ConfigError: a value is no finite number, or pairs differ in number.

    Sources: Hodges and Lehmann (1963), Estimates of location based on rank tests, Annals of Mathematical Statistics
    34(2); Hollander, Wolfe and Chicken (2014), Nonparametric statistical methods, sections 3.2 and 4.2.

    >>> import plmetrics as plm
    >>> found = plm.tests.hodges_lehmann([5.1, 4.9, 6.2, 5.7], [4.1, 5.0, 4.4, 3.9])
    >>> round(found.estimate, 3), round(found.lower, 3), round(found.upper, 3)
    (1.1, -0.1, 2.3)
    """
    tail = (1.0 - level_of(level)) / 2.0
    if paired:
        first, second = as_pair(a, b)
        return _of_pairs(np.sort(first - second), tail)
    first, second = numbers(a, "a"), numbers(b, "b")
    values, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, other = (np.bincount(part, minlength=len(values)) for part in np.split(place, [len(first)]))
    shifts = arm_shifts(np.zeros(len(values), dtype=np.int64), values, one, other, 1, level=level)
    estimate, lower, upper = (None if np.isnan(number[0]) else float(number[0]) for number in shifts)
    status = "ok" if lower is not None else _TOO_FEW
    n = len(first) + len(second)
    return TestResult("hodges_lehmann", None, None, estimate, lower, upper, n=n, status=status)


def arm_shifts(
    cell: Codes, value: Array, first: Codes, second: Codes, cells: int, *, level: float
) -> tuple[Array, Array, Array]:
    """The estimate and the interval's ends of the shift in each of many cells, NaN where there is no finite one.

    Distinct values ascend within their cell, and cells ascend; `first` and `second` are how many values of either arm
    are equal to each.
    """
    tail = (1.0 - level) / 2.0
    n, m = (np.bincount(cell, counts, cells).astype(np.int64) for counts in (first, second))
    ties = np.bincount(cell, first + second > 1, cells) > 0
    pairs = n * m
    rank = np.floor(pairs / 2.0 - float(ndtri(1.0 - tail)) * np.sqrt(pairs * (n + m + 1.0) / 12.0))
    small = np.flatnonzero((np.maximum(n, m) < _EXACT) & ~ties & (pairs > 0))
    sizes, inverse = np.unique(np.stack([n[small], m[small]]), axis=1, return_inverse=True)
    exact = [_exact_rank(_rank_sums(int(one), int(other)), tail) for one, other in sizes.T]
    rank[small] = np.array(exact, dtype=np.float64)[inverse.reshape(-1)]
    low = rank.astype(np.int64)
    ranks = np.stack([(pairs + 1) // 2, pairs // 2 + 1, low, pairs + 1 - low])
    wanted = (pairs > 0) & ((np.arange(4)[:, None] < 2) | (low >= 1))
    differences = np.full(ranks.shape, np.nan)
    place, kind = np.nonzero(wanted.T)
    part = 0.25 if np.abs(value).max(initial=0.0) > _LARGE else 1.0
    differences[kind, place] = _differences_at(cell, value * part, first, second, place, ranks[kind, place])
    with np.errstate(over="ignore"):
        shifts = np.stack([(differences[0] + differences[1]) / 2.0, differences[2], differences[3]]) / part
    estimate, lower, upper = np.where(np.isfinite(shifts), shifts, np.nan)
    return estimate, lower, upper


def _of_pairs(difference: Array, tail: float) -> TestResult:
    n = len(difference)
    means = n * (n + 1) // 2
    if n == 0:
        return TestResult("hodges_lehmann", n=0, status=_TOO_FEW)
    if n < _EXACT and len(np.unique(np.abs(difference))) == n:
        rank = _exact_rank(_signed_ranks(n), tail)
    else:
        rank = floor(means / 2.0 - float(ndtri(1.0 - tail)) * sqrt(means * (2 * n + 1) / 12.0))
    return _result(_walsh_means(difference), means, rank, n)


def _result(at: Callable[[int], float], size: int, rank: int, n: int) -> TestResult:
    """The middle of so many numbers, by their rank from 1, and those of a rank from either end."""
    estimate = (at((size + 1) // 2) + at(size // 2 + 1)) / 2.0
    if rank < 1:
        return TestResult("hodges_lehmann", estimate=estimate, n=n, status=_TOO_FEW)
    return TestResult("hodges_lehmann", None, None, estimate, at(rank), at(size + 1 - rank), n=n)


def _differences_at(
    cell: Codes, value: Array, first: Codes, second: Codes, place: Codes, rank: Codes
) -> Array:
    """Differences of two arms' values by their rank in a cell; `place` are the cells, ascending."""
    if not len(place):
        return np.empty(0)
    one, other = np.flatnonzero(first), np.flatnonzero(second)
    pools = _Values(cell[one], value[one], first[one]), _Values(cell[other], value[other], second[other])
    size = np.cumsum(pools[0].sizes(place))
    parts = np.split(np.arange(len(place)), np.flatnonzero(np.diff(size // _AT_HAND)) + 1)
    return np.concatenate([_Search(*pools, place[part], rank[part]).differences() for part in parts])


class _Values:
    """Distinct values of an arm by cell, with their multiplicities."""

    def __init__(self, cell: Codes, value: Array, count: Codes) -> None:
        self.value, self.count = value, count
        self.running = np.concatenate([[0], np.cumsum(count)])
        self._cell = cell
        self._key = _keys(cell, value)

    def ends(self, place: Codes) -> tuple[Codes, Codes]:
        """The first value of cells, and the one behind the last."""
        return np.searchsorted(self._cell, place), np.searchsorted(self._cell, place, side="right")

    def sizes(self, place: Codes) -> Codes:
        """Number of distinct values of cells."""
        first, last = self.ends(place)
        return last - first

    def lower_bound(self, place: Codes, value: Array) -> Codes:
        """First value of a cell at or above a bound."""
        return np.searchsorted(self._key, _keys(place, value))


def _keys(cell: Codes, value: Array) -> NDArray[np.complex128]:
    """Numbers in the order of cells, and of values within them."""
    keys = np.empty(len(value), dtype=np.complex128)
    keys.real, keys.imag = cell, value
    return keys


class _Search:
    """Search for differences by rank, each bracketed by two numbers until few pairs are left.

    A line is a value of the first arm, for each difference that is looked for in its cell; those of the second arm that
    make a difference above the lower and not above the upper number are a range of places.
    """

    def __init__(self, first: _Values, second: _Values, place: Codes, rank: Codes) -> None:
        start, end = first.ends(place)
        self._second, self._rank, self._size = second, rank, end - start
        self._begin = np.concatenate([[0], np.cumsum(self._size)])
        lines = np.repeat(start - self._begin[:-1], self._size) + np.arange(self._begin[-1])
        self._value, self._count = first.value[lines], first.count[lines]
        low, high = second.ends(place)
        self._place, self._last = np.repeat(place, self._size), np.repeat(high, self._size)
        self._from, self._to = np.repeat(low, self._size), self._last.copy()
        self._lower = np.nextafter(first.value[start] - second.value[high - 1], -np.inf)
        self._upper = first.value[end - 1] - second.value[low]
        self._below = np.zeros(len(place), dtype=np.int64)
        self._above = (
            np.add.reduceat(self._count, self._begin[:-1]) * np.diff(second.running[[low, high]], axis=0)[0]
        )
        self._limit = np.maximum(_FEW_PAIRS, self._size + high - low)

    def differences(self) -> Array:
        """The differences."""
        searched = np.arange(len(self._rank))
        for aside in cycle(_ASIDE):
            middle = self._between(searched, aside)
            inside = (self._lower[searched] < middle) & (middle < self._upper[searched])
            goes_on = inside & (self._pairs()[searched] > self._limit[searched])
            searched, middle = searched[goes_on], middle[goes_on]
            if not searched.size:
                break
            self._narrow(searched, middle)
        return self._among_pairs()

    def _between(self, searched: Codes, aside: float | None) -> Array:
        """Numbers between the lower and the upper ones: halfway, or interpolated by ranks."""
        lower, upper, below = self._lower[searched], self._upper[searched], self._below[searched]
        halfway = lower / 2.0 + upper / 2.0
        if aside is None:
            return halfway
        share = (self._rank[searched] - below) / (self._above[searched] - below) + aside
        number = lower + np.clip(share, 0.0, 1.0) * (upper - lower)
        return np.where((lower < number) & (number < upper), number, halfway)

    def _lines(self, searched: Codes) -> Codes:
        size = self._size[searched]
        begin = np.cumsum(size) - size
        return np.repeat(self._begin[searched] - begin, size) + np.arange(size.sum())

    def _pairs(self) -> Codes:
        """Number of distinct pairs left of each."""
        return np.add.reduceat(self._to - self._from, self._begin[:-1])

    def _narrow(self, searched: Codes, middle: Array) -> None:
        lines, size = self._lines(searched), self._size[searched]
        at = self._second.lower_bound(self._place[lines], self._value[lines] - np.repeat(middle, size))
        at = np.clip(at, self._from[lines], self._to[lines])
        running = self._second.running
        counted = self._count[lines] * (running[self._last[lines]] - running[at])
        below = np.add.reduceat(counted, np.cumsum(size) - size)
        higher = below < self._rank[searched]
        self._lower[searched[higher]], self._upper[searched[~higher]] = middle[higher], middle[~higher]
        self._below[searched[higher]], self._above[searched[~higher]] = below[higher], below[~higher]
        goes_up = np.repeat(higher, size)
        self._to[lines[goes_up]], self._from[lines[~goes_up]] = at[goes_up], at[~goes_up]

    def _among_pairs(self) -> Array:
        """Selection by a sort of the remaining pairs; the upper bound if it is the only one left."""
        selection = self._upper.copy()
        pairs = self._pairs()
        short = np.flatnonzero(pairs <= self._limit)
        for part in np.split(short, np.flatnonzero(np.diff(np.cumsum(pairs[short]) // _AT_HAND)) + 1):
            lines = self._lines(part)
            width = (self._to - self._from)[lines]
            begin = np.cumsum(width) - width
            other = np.repeat(self._from[lines] - begin, width) + np.arange(width.sum())
            each = np.repeat(lines, width)
            task = np.repeat(np.arange(len(part)), pairs[part])
            difference = self._value[each] - self._second.value[other]
            order = np.lexsort((difference, task))
            running = np.cumsum((self._count[each] * self._second.count[other])[order])
            last = np.cumsum(pairs[part]) - 1
            before = np.concatenate([[0], running[last[:-1]]])
            place = np.searchsorted(running, before + self._rank[part] - self._below[part])
            selection[part] = difference[order][np.minimum(place, last)]
        return selection


def _walsh_means(values: Array) -> Callable[[int], float]:
    """Walsh averages by rank, as a function."""
    n = len(values)
    if n * n <= _AT_HAND:
        return _ranks_of(((values[:, None] + values) / 2.0)[np.triu_indices(n)])

    def below(value: float) -> int:
        partners = np.searchsorted(values, 2.0 * value - values, side="right")
        return int(np.maximum(partners - np.arange(n), 0).sum())

    return lambda rank: _smallest(below, rank, values[0], values[-1])


def _ranks_of(values: Array) -> Callable[[int], float]:
    values.sort()
    return lambda rank: float(values[rank - 1])


def _smallest(below: Callable[[float], int], rank: int, low: float, high: float) -> float:
    """Smallest number with so many at or below it, to a rounding of it."""
    for _ in range(200):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if below(middle) >= rank else (middle, high)
    return float(high)


def _exact_rank(ways: Sequence[int] | Array, tail: float) -> int:
    """Rank of an interval's lower end: the smallest with a lower tail probability above the level."""
    running = np.cumsum(np.asarray(ways, dtype=np.float64))
    return int(np.searchsorted(running, tail * running[-1], side="right"))


@lru_cache(maxsize=16)
def _rank_sums(first: int, second: int) -> Array:
    """Number of orders of two arms for each value of the Mann-Whitney statistic.

    The product over i of (1 - q^(second + i)) / (1 - q^i), a power series.
    """
    size = first * second + 1
    ways = np.zeros(size)
    ways[0] = 1.0
    for step in range(1, first + 1):
        ways[second + step :] -= ways[: max(size - second - step, 0)].copy()
        whole = np.concatenate([ways, np.zeros(-size % step)]).reshape(-1, step)
        ways = whole.cumsum(axis=0).reshape(-1)[:size]
    return ways


@lru_cache(maxsize=16)
def _signed_ranks(n: int) -> tuple[int, ...]:
    """Number of sign patterns for each sum of the positive ranks."""
    ways = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for place in range(len(ways) - 1, rank - 1, -1):
            ways[place] += ways[place - rank]
    return tuple(ways)
