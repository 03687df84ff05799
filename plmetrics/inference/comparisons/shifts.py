"""Shifts by Hodges and Lehmann: by how much values of one arm lie above those of another, without a mean.

The estimate is the median of all differences (of pairs: of all means of two), the interval the shifts that the test of
Mann and Whitney (of Wilcoxon) does not reject: from one rank of them to another.
"""

from __future__ import annotations

from functools import lru_cache
from math import floor, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import ndtri
from plmetrics.inference.comparisons.tests.outcome import TestResult, as_pair, level_of, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = NDArray[np.float64]

_EXACT = 50
"""Below so many values of either arm ranks are those of the exact distribution."""

_AT_HAND = 1 << 22
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
    first, second = np.sort(numbers(a, "a")), np.sort(numbers(b, "b"))
    pairs, n = len(first) * len(second), len(first) + len(second)
    if pairs == 0:
        return TestResult("hodges_lehmann", n=n, status=_TOO_FEW)
    ties = len(np.unique(np.concatenate([first, second]))) < n
    if max(len(first), len(second)) < _EXACT and not ties:
        rank = _exact_rank(_rank_sums(len(first), len(second)), tail)
    else:
        rank = floor(pairs / 2.0 - float(ndtri(1.0 - tail)) * sqrt(pairs * (n + 1) / 12.0))
    at = _differences(first, second)
    return _result(at, pairs, rank, n)


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


def _differences(first: Array, second: Array) -> Callable[[int], float]:
    """What gives a difference by its rank."""
    if len(first) * len(second) <= _AT_HAND:
        return _ranks_of(np.subtract.outer(first, second).ravel())

    def below(value: float) -> int:
        return int((len(second) - np.searchsorted(second, first - value)).sum())

    return lambda rank: _smallest(below, rank, first[0] - second[-1], first[-1] - second[0])


def _walsh_means(values: Array) -> Callable[[int], float]:
    """What gives a mean of two values by its rank."""
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
    """The smallest number that so many lie at or below, to a rounding of it."""
    for _ in range(200):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if below(middle) >= rank else (middle, high)
    return float(high)


def _exact_rank(ways: Sequence[int], tail: float) -> int:
    """The rank of an interval's lower end: the smallest number of which the chance of no more is above the tail."""
    total, running = sum(ways), 0
    for number, count in enumerate(ways):
        running += count
        if running > tail * total:
            return number
    return 0


@lru_cache(maxsize=16)
def _rank_sums(first: int, second: int) -> tuple[int, ...]:
    """In how many orders of two arms each number of pairs has the first arm's value above."""
    ways = [1] + [0] * (first * second)
    for step in range(1, first + 1):
        for place in range(len(ways) - 1, second + step - 1, -1):
            ways[place] -= ways[place - second - step]
        for place in range(step, len(ways)):
            ways[place] += ways[place - step]
    return tuple(ways)


@lru_cache(maxsize=16)
def _signed_ranks(n: int) -> tuple[int, ...]:
    """In how many ways signs of ranks give each sum of the positive ones."""
    ways = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for place in range(len(ways) - 1, rank - 1, -1):
            ways[place] += ways[place - rank]
    return tuple(ways)
