"""Permutation test of paired differences under random signs (Fisher's randomisation test)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from plmetrics.core.hashing import DRAW_SALT, mix, mix_int, strides
from plmetrics.core.ops import Array, Codes
from plmetrics.core.special import ndtr
from plmetrics.inference.comparisons.tests.outcome import (
    TestOutcomes,
    TestResult,
    as_pair,
    check_minimum,
    order_within,
    statuses,
    where,
)

_MOST_SIGNS = 1024
"""So many of the largest differences of a slice change signs one by one; the sum of all others is normal."""

_AT_ONCE = 1 << 22
_SIGNS_AT_ONCE = 1 << 19
"""So many signs stay in the processor's cache."""
_SIGNS_OF_BYTE = np.where(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) == 1, 1.0, -1.0)
_WORD = 64
_ROUNDING = 1e-12


def paired_permutation(model: Any, baseline: Any, *, permutations: int = 9999, seed: int = 0) -> TestResult:
    """Whether the mean of paired differences is 0, among the means under random signs of the differences.

    Under the null hypothesis the two values of a place may change sides. Where there are at most as many choices of
    signs as permutations, all are counted and p is exact; else p is (1 + signs with a sum as extreme) / (1 +
    permutations), so it is never 0. Of more than 1,024 differences the signs of the largest are drawn; the sum of
    the others, each of less than 1/1,024 of the variance, is taken as normal.

    Args:
        model: the model's value in each place, such as the loss of a row or the value of a query.
        baseline: the baseline's, in the same order.
        permutations: how many choices of signs are drawn.
        seed: of the draws.

    Returns:
        `estimate` and `statistic` are the mean of model - baseline, `n` the number of differences; p is 1 if all are 0.

    Raises:
        ConfigError: the columns differ in length or hold something that is no finite number, or there are no
            permutations.

    Sources: Fisher (1935), The design of experiments, section 21; Smucker, Allan and Carterette (2007), A comparison of
    statistical significance tests for information retrieval evaluation, CIKM; Phipson and Smyth (2010), Permutation
    p-values should never be zero, Statistical Applications in Genetics and Molecular Biology 9(1).

    >>> import plmetrics as plm
    >>> found = plm.tests.paired_permutation([8.0, 6.5, 7.0, 9.0, 5.5], [7.0, 6.0, 6.5, 5.0, 5.0])
    >>> round(found.estimate, 2), found.p_value
    (1.3, 0.0625)
    """
    first, second = as_pair(model, baseline)
    check_minimum(permutations, "permutations", 1)
    differences = first - second
    tested = paired_permutation_tests(differences, permutations=permutations, seed=seed)
    return tested.only("paired_permutation")


def paired_permutation_tests(
    differences: Array, code: Codes | None = None, slices: int = 1, *, permutations: int = 9999, seed: int = 0
) -> TestOutcomes:
    """Permutation tests in S slices, `code` being the slice of each difference.

    Signs belong to the places of differences by size, so that the order of rows and the other slices change nothing.
    """
    place = np.zeros(len(differences), dtype=np.int64) if code is None else code
    n = np.bincount(place, minlength=slices)
    total = np.bincount(place, weights=differences, minlength=slices)
    sizes, row, column = _by_size(np.abs(differences), place, slices)
    used = column < _MOST_SIGNS
    rest = np.bincount(row[~used], weights=sizes[~used] ** 2, minlength=slices)
    slack = _ROUNDING * np.bincount(row, weights=sizes, minlength=slices)
    observed = np.maximum(np.abs(total) - slack, 0.0)
    width = np.minimum(np.bincount(row, minlength=slices), _MOST_SIGNS)
    p = np.ones(slices)
    for members in _groups(width, permutations):
        terms = np.zeros((len(members), int(width[members].max())))
        number = np.full(slices, -1)
        number[members] = np.arange(len(members))
        here = used & (number[row] >= 0)
        terms[number[row[here]], column[here]] = sizes[here]
        p[members] = _p_values(terms, observed[members], np.sqrt(rest[members]), permutations, seed)
    mean = where(n > 0, total / np.maximum(n, 1))
    return TestOutcomes(mean, where(n > 0, p), n, statuses(n, ("no_rows", n == 0)), mean)


def _by_size(sizes: Array, place: Codes, slices: int) -> tuple[Array, Codes, Codes]:
    """Sizes above 0, the largest of a slice first, with their slices and their places in these."""
    some = sizes > 0
    sizes, place = sizes[some], place[some]
    order = order_within(-sizes, place)
    row = place[order]
    counts = np.bincount(row, minlength=slices)
    return sizes[order], row, np.arange(len(row)) - (np.cumsum(counts) - counts)[row]


def _groups(width: Codes, permutations: int) -> Iterator[Codes]:
    """Slices of about as many differences, as many at once as memory allows; none that is without a difference."""
    order = np.argsort(-width, kind="stable")
    order = order[width[order] > 0]
    exact = _all_signs(width[order], permutations)
    for part in (order[~exact], order[exact]):
        start = 0
        while start < len(part):
            stop = start + max(1, _AT_ONCE // _signs_at_once(int(width[part[start]]), permutations))
            yield part[start:stop]
            start = stop


def _all_signs(width: Any, permutations: int) -> Any:
    """Whether all choices of signs are no more than the permutations."""
    return np.exp2(np.minimum(width, _WORD)) <= permutations + 1


def _signs_at_once(width: int, permutations: int) -> int:
    """Signs of so many differences held at once, as sums of a slice are under them."""
    return 1 << width if _all_signs(width, permutations) else _words_at_once(width) * _WORD


def _words_at_once(width: int) -> int:
    return max(1, _SIGNS_AT_ONCE // width // _WORD)


def _p_values(terms: Array, observed: Array, deviation: Array, permutations: int, seed: int) -> Array:
    """P values of sums `terms` `[slice, difference]` under random signs beside a normal part of some deviation."""
    exact = bool(_all_signs(terms.shape[1], permutations))
    extreme = np.zeros(len(terms))
    count = 0
    normal = deviation > 0
    scale, above = deviation[normal, None], observed[:, None]
    for signs in _every_sign(terms.shape[1]) if exact else _signs(terms.shape[1], permutations, seed):
        sums = np.abs(terms @ signs)
        extreme[~normal] += (sums[~normal] >= above[~normal]).sum(axis=1)
        if normal.any():
            near, far = (sums[normal] - above[normal]) / scale, (-sums[normal] - above[normal]) / scale
            extreme[normal] += (ndtr(near) + ndtr(far)).sum(axis=1)
        count += signs.shape[1]
    return extreme / count if exact else (1.0 + extreme) / (1.0 + count)


def _every_sign(width: int) -> Iterator[Array]:
    """All choices of signs `[difference, choice]`."""
    numbers = np.arange(1 << width)
    yield np.where(numbers >> np.arange(width)[:, None] & 1, 1.0, -1.0)


def _signs(width: int, permutations: int, seed: int) -> Iterator[Array]:
    """Random signs `[difference, permutation]`, some at a time; each depends on the seed and both numbers only.

    The next ones take the place of those before.
    """
    places = mix(strides(np.arange(1, width + 1, dtype=np.uint64)))[:, None]
    start = np.uint64(mix_int(seed ^ DRAW_SALT))
    step = _words_at_once(width)
    words = -(-permutations // _WORD)
    room = np.empty((width, step * _WORD // 8, 8))
    for first in range(0, words, step):
        numbers = np.arange(first + 1, min(first + step, words) + 1, dtype=np.uint64)
        drawn = mix(places ^ mix(strides(numbers) + start)).astype("<u8").view(np.uint8)
        fits = drawn.shape == room.shape[:2]
        signs = np.take(_SIGNS_OF_BYTE, drawn, axis=0, out=room if fits else None, mode="clip")
        yield signs.reshape(width, -1)[:, : permutations - first * _WORD]
