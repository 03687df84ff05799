"""Wilcoxon's signed-rank test of paired differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.special import ndtr
from plmetrics.inference.comparisons.tests.outcome import (
    TestOutcomes,
    TestResult,
    as_pair,
    one_of,
    order_within,
    round_digits,
    run_starts,
    statuses,
)

EXACT_UP_TO = 50
ZEROS = ("drop", "pratt", "split")
_NOTHING = 1e-13
"""A difference of this part of the largest is one of rounding."""


def wilcoxon(model: Any, baseline: Any, *, zeros: str = "drop", continuity: bool = False) -> TestResult:
    """Whether paired differences lie around 0, by the ranks of their sizes.

    The p value is exact for up to 50 differences that are not 0, ties or not: that of all signs of their middle ranks.
    Else it is from the normal distribution, corrected for ties. Differences that agree to ten digits are ties, so that
    rounding in their last bits decides nothing.

    Args:
        model: the model's value in each place, such as the loss of a row or the score of a fold.
        baseline: the baseline's, in the same order.
        zeros: what differences of 0 do: "drop" (Wilcoxon), "pratt" (they are ranked with the others and then dropped)
            or "split" (half of their ranks counts for either side; Demsar). The exact p of the last two is the same.
        continuity: whether the normal approximation is corrected for continuity, by 1/2 towards the middle.

    Returns:
        `statistic` is the smaller of the two sums of ranks, `estimate` the median of model - baseline, and `n` the
        number of differences that are not 0; without any p is 1.

    Raises:
        ConfigError: the columns differ in length or hold something that is no finite number, or `zeros` is wrong.

    Sources: Wilcoxon (1945), Individual comparisons by ranking methods, Biometrics Bulletin 1(6); Pratt and Gibbons
    (1981), Concepts of Nonparametric Theory, section 3.7, for the exact distribution with ties; Pratt (1959), JASA
    54(287), and Demsar (2006), JMLR 7, for zeros.

    >>> import plmetrics as plm
    >>> found = plm.tests.wilcoxon([8.0, 6.5, 7.0, 9.0, 5.5], [7.0, 6.0, 9.5, 5.0, 7.0])
    >>> found.statistic, found.p_value
    (7.0, 1.0)
    """
    first, second = as_pair(model, baseline)
    one_of(zeros, "zeros", *ZEROS)
    result = wilcoxon_tests(first - second, zeros=zeros, continuity=continuity).only("wilcoxon")
    return replace(result, estimate=float(np.median(first - second)) if len(first) else None)


def wilcoxon_tests(
    differences: Array,
    code: Codes | None = None,
    slices: int = 1,
    *,
    zeros: str = "drop",
    continuity: bool = False,
) -> TestOutcomes:
    """Signed-rank tests in S slices, `code` being the slice of each difference."""
    place = np.zeros(len(differences), dtype=np.int64) if code is None else code
    rows = np.bincount(place, minlength=slices)
    sizes = round_digits(np.abs(differences))
    largest = np.zeros(slices)
    np.maximum.at(largest, place, sizes)
    some = sizes > _NOTHING * largest[place]
    ranked = some if zeros == "drop" else np.ones(len(some), dtype=np.bool_)
    levels = np.where(some, sizes, 0.0)
    rank, ties = middle_ranks(levels[ranked], place[ranked], slices)
    rank, all_ranked = rank[some[ranked]], np.bincount(place[ranked], minlength=slices)
    values, place = differences[some], place[some]
    n = np.bincount(place, minlength=slices)
    up = np.bincount(place, weights=np.where(values > 0, rank, 0.0), minlength=slices)
    total = np.bincount(place, weights=rank, minlength=slices)
    smaller = np.minimum(up, total - up)
    z = _z_scores(smaller, total, all_ranked, all_ranked - n, ties, zeros=zeros, continuity=continuity)
    exact = (n > 0) & (n <= EXACT_UP_TO)
    p = 2.0 * ndtr(z)
    if exact.any():
        p[exact] = _exact(smaller[exact], *_by_slice(rank, place, n, exact))
    p = np.where(n == 0, 1.0, np.minimum(p, 1.0))
    none = rows == 0
    without = all_ranked - n
    shown = smaller + (without * (without + 1.0) / 4.0 if zeros == "split" else 0.0)
    return TestOutcomes(
        np.where(none, np.nan, shown), np.where(none, np.nan, p), n, statuses(n, ("no_rows", none))
    )


def _z_scores(
    smaller: Array, total: Any, count: Codes, dropped: Codes, ties: Array, *, zeros: str, continuity: bool
) -> Array:
    """The smaller rank sum in standard deviations below its mean; `dropped` of the ranked are zeros."""
    variance = count * (count + 1.0) * (2.0 * count + 1.0) / 24.0 - ties / 48.0
    if zeros == "pratt":
        # The ranks of zeros, each the middle one, are in no sum: the tie of theirs is not one of ranks.
        variance = variance - dropped * (dropped + 1.0) * (2.0 * dropped + 1.0) / 24.0
        variance = variance + (dropped**3.0 - dropped) / 48.0
    away = smaller - total / 2.0
    away = np.minimum(away + 0.5, 0.0) if continuity else away
    scores: Array = away / np.sqrt(np.where(variance > 0, variance, 1.0))
    return scores


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


def _by_slice(rank: Array, place: Codes, n: Codes, exact: Flags) -> tuple[Codes, Codes]:
    """Twice the middle ranks `[pattern, rank]` of some slices, each pattern once, and the pattern of each slice."""
    small = exact[place]
    twice, code = np.rint(2 * rank[small]).astype(np.int64), place[small]
    order = np.lexsort((twice, code))
    row = (np.cumsum(exact) - 1)[code[order]]
    first = np.cumsum(n[exact]) - n[exact]
    ranks = np.zeros((len(first), int(n[exact].max(initial=0))), dtype=np.int64)
    ranks[row, np.arange(len(order)) - first[row]] = twice[order]
    patterns, pattern = np.unique(ranks, axis=0, return_inverse=True)
    return patterns, pattern.reshape(-1)


def _exact(smaller: Array, patterns: Codes, pattern: Codes) -> Array:
    """Two-sided p values from the distribution of the rank sum under all signs; each pattern's is made once."""
    p = np.ones(len(smaller))
    twice = np.rint(2 * smaller).astype(np.int64)
    order = np.argsort(pattern, kind="stable")
    for ranks, members in zip(patterns, np.split(order, np.cumsum(np.bincount(pattern))[:-1]), strict=True):
        p[members] = 2.0 * _distribution(ranks[ranks > 0], int(twice[members].max()))[twice[members]]
    return p


def _distribution(ranks: Codes, last: int) -> Array:
    """P(W <= w), w up to `last`, of the sum of some whole ranks, each in with probability 1/2."""
    ways = np.zeros(last + 1, dtype=np.int64)
    ways[0] = 1
    for rank in ranks[ranks <= last].tolist():
        ways[rank:] += ways[:-rank].copy()
    return np.cumsum(ways) / 2.0 ** len(ranks)
