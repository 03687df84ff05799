"""Wilcoxon's signed-rank test of paired differences."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import ndtr
from plmetrics.inference.comparisons.orders import order_within, rounded, run_starts
from plmetrics.inference.comparisons.outcome import Array, Tested, paired, statuses

if TYPE_CHECKING:
    from plmetrics.inference.comparisons.outcome import TestResult

Codes = NDArray[np.int64]

EXACT_UP_TO = 50
_NOTHING = 1e-13
"""A difference of this part of the largest is one of rounding."""


def wilcoxon(model: Any, baseline: Any) -> TestResult:
    """Whether paired differences lie around 0, by the ranks of their sizes.

    Differences of 0 are dropped. The p value is exact for up to 50 others without ties, else from the normal
    distribution, corrected for ties and without correction for continuity. Differences that agree to ten digits are
    ties, so that rounding in their last bits decides nothing.

    Args:
        model: the model's value in each place, such as the loss of a row or the score of a fold.
        baseline: the baseline's, in the same order.

    Returns:
        `statistic` is the smaller of the two sums of ranks, `estimate` the median of model - baseline, and `n` the
        number of differences that are not 0; without any p is 1.

    Raises:
        ConfigError: the columns differ in length or hold something that is no finite number.

    Source: Wilcoxon (1945), Individual comparisons by ranking methods, Biometrics Bulletin 1(6).

    >>> import plmetrics as plm
    >>> found = plm.tests.wilcoxon([8.0, 6.5, 7.0, 9.0, 5.5], [7.0, 6.0, 9.5, 5.0, 7.0])
    >>> found.statistic, found.p_value
    (7.0, 1.0)
    """
    one, other = paired(model, baseline)
    found = wilcoxon_tests(one - other).only("wilcoxon")
    return replace(found, estimate=float(np.median(one - other)) if len(one) else None)


def wilcoxon_tests(differences: Array, code: Codes | None = None, slices: int = 1) -> Tested:
    """Signed-rank tests in S slices, `code` being the slice of each difference."""
    place = np.zeros(len(differences), dtype=np.int64) if code is None else code
    rows = np.bincount(place, minlength=slices)
    sizes = rounded(np.abs(differences))
    largest = np.zeros(slices)
    np.maximum.at(largest, place, sizes)
    some = sizes > _NOTHING * largest[place]
    values, place = differences[some], place[some]
    rank, ties = middle_ranks(sizes[some], place, slices)
    n = np.bincount(place, minlength=slices)
    up = np.bincount(place, weights=np.where(values > 0, rank, 0.0), minlength=slices)
    smaller = np.minimum(up, n * (n + 1) / 2.0 - up)
    variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0
    z = (smaller - n * (n + 1) / 4.0) / np.sqrt(np.where(n > 0, variance, 1.0))
    exact = (n <= EXACT_UP_TO) & (ties == 0)
    p = np.where(exact, _exact(smaller, n, exact), 2.0 * ndtr(z))
    p = np.where(n == 0, 1.0, np.minimum(p, 1.0))
    none = rows == 0
    return Tested(
        np.where(none, np.nan, smaller), np.where(none, np.nan, p), n, statuses(n, ("no_rows", none))
    )


def middle_ranks(values: Array, code: Codes, slices: int) -> tuple[Array, Array]:
    """The rank of each value in its slice, from 1, ties sharing the middle; and sum (t^3 - t) over ties, by slice."""
    order = order_within(values, code if slices > 1 else None)
    ordered = code[order]
    starts = run_starts(values[order], ordered)
    sizes = np.diff(np.append(starts, len(order)))
    first = np.concatenate(([0], np.cumsum(np.bincount(code, minlength=slices))))
    slice_of = ordered[starts]
    middle = starts - first[slice_of] + (sizes + 1) / 2.0
    rank = np.empty(len(order))
    rank[order] = np.repeat(middle, sizes)
    tied = sizes.astype(np.float64)
    ties = np.bincount(slice_of, weights=tied**3 - tied, minlength=slices).astype(np.float64, copy=False)
    return rank, ties


def _exact(smaller: Array, n: Codes, exact: NDArray[np.bool_]) -> Array:
    """Two-sided p values from the distribution of the rank sum, where it is asked for."""
    p = np.ones(len(n))
    for size in np.unique(n[exact & (n > 0)]).tolist():
        here = exact & (n == size)
        p[here] = 2.0 * _distribution(size)[smaller[here].astype(np.int64)]
    return p


@lru_cache(maxsize=EXACT_UP_TO)
def _distribution(n: int) -> Array:
    """P(W <= w) of the sum of the ranks 1 to n, each in with probability 1/2."""
    chance = np.zeros(n * (n + 1) // 2 + 1)
    chance[0] = 1.0
    for rank in range(1, n + 1):
        moved = np.zeros_like(chance)
        moved[rank:] = chance[:-rank]
        chance = (chance + moved) / 2.0
    return np.cumsum(chance)
