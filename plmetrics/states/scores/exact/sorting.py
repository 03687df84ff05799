"""Sorts of numbers by the faster of two libraries: slice by slice on all processors, and beside their weights."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.hashing import mix
from plmetrics.core.ops import Array, Codes
from plmetrics.core.threads import parallel_map, processors

if TYPE_CHECKING:
    from collections.abc import Callable

    Keys = NDArray[np.uint64]

WORTH_A_THREAD = 1 << 17
"""Fewer rows are sorted sooner than a thread has begun."""

_STEP = 1 << 17
"""So many rows are put in the order of their slices while they are in the processor's cache."""

_SHARES = 4
"""Shares of rows a processor: one that is done early takes another."""

_LONG_RUN = 64
"""Weights of so many rows of one score are sorted by themselves, those of fewer together with the scores."""

_MANY, _FEW = 1 << 16, 1 << 12
"""Of so many numbers a difference shows, in parts of so many at least."""

_TRIAL = 1 << 14

_BYTES, _BITS = 8, 64
_MAGNITUDE = np.iinfo(np.int64).max


def sort_slices(keys: Keys, offsets: Codes) -> None:
    """Sort each slice in place; long ones are split at their medians first, for an even load of processors.

    >>> keys, offsets = np.array([3, 1, 2, 9, 0], dtype=np.uint64), np.array([0, 3, 5])
    >>> sort_slices(keys, offsets)
    >>> keys.tolist()
    [1, 2, 3, 0, 9]
    """
    cuts = _segment_starts(keys, offsets)

    def sort_share(share: tuple[int, int]) -> None:
        for first, last in pairwise(cuts[share[0] : share[1] + 1].tolist()):
            sort(keys[first:last], len(keys))

    ends = np.linspace(0, len(keys), 1 + _workers(len(keys)) * _SHARES)
    parallel_map(sort_share, list(pairwise(np.unique(np.searchsorted(cuts, ends)).tolist())))


def _segment_starts(keys: Keys, offsets: Codes) -> Codes:
    """Starts of independent sorts: slices, and keys already in place within long ones."""
    share = -(-len(keys) // _workers(len(keys)))
    cuts = offsets

    def halved(first: int) -> int:
        """Partition a long stretch at its median key: one cut at a time is several times as fast as many."""
        last = int(cuts[np.searchsorted(cuts, first, side="right")])
        middle = (last - first) // 2
        keys[first:last].partition(middle)
        return first + middle

    while share < len(keys) and len(long := np.flatnonzero(np.diff(cuts) > share)):
        cuts = np.unique(np.append(cuts, parallel_map(halved, cuts[long].tolist())))
    return cuts


def by_slice(keys: Keys, codes: Codes, slices: int) -> tuple[Keys, Codes]:
    """The keys slice by slice in their order, and the slices' boundaries; -1 is the code of a key of none.

    >>> keys, codes = np.array([5, 6, 7, 8], dtype=np.uint64), np.array([1, 0, -1, 1])
    >>> [part.tolist() for part in by_slice(keys, codes, 2)]
    [[6, 5, 8], [0, 1, 3]]
    """
    step = max(_STEP, 4 * slices)
    small = np.min_scalar_type(slices)
    firsts = range(0, len(keys), step)
    counts = np.zeros((len(firsts), slices + 1), dtype=np.int64)
    parts = [(codes[first : first + step] + 1).astype(small) for first in firsts]
    for place, part in enumerate(parts):
        counts[place] = np.bincount(part, minlength=slices + 1)
    ends = np.cumsum(counts.sum(axis=0))
    begins = np.append(0, ends[:-1]) + np.cumsum(counts, axis=0) - counts
    out = np.empty(len(keys), dtype=keys.dtype)

    def put(place: int) -> None:
        sizes = counts[place]
        to = np.repeat(begins[place] - (np.cumsum(sizes) - sizes), sizes)
        to += np.arange(len(to))
        part = keys[firsts[place] : firsts[place] + step]
        out[to] = part[np.argsort(parts[place], kind="stable")]

    parallel_map(put, range(len(firsts)))
    none = int(ends[0])
    return out[none:], ends - none


def _workers(rows: int) -> int:
    """Number of processors for so many rows."""
    return max(1, min(processors(), rows // WORTH_A_THREAD))


def ascending_order(score: Array) -> Codes:
    """The rows by ascending score, equal ones as they came.

    >>> ascending_order(np.array([2.0, -1.0, 2.0, 0.5])).tolist()
    [1, 3, 0, 2]
    """
    order, upper = _by_upper_bits(score)
    ascending = score[order]
    falls = np.flatnonzero(ascending[1:] < ascending[:-1])
    if len(falls):
        first = np.unique(np.searchsorted(upper, upper[falls]))
        sizes = np.searchsorted(upper, upper[first], side="right") - first
        rows = np.repeat(first - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        order[rows] = order[rows][np.lexsort((ascending[rows], upper[rows]))]
    return order


def _by_upper_bits(score: Array) -> tuple[Codes, Codes]:
    """Rows by the upper bits of their scores, in a stable order, and these bits in that order.

    The upper bits of a score and the place of its row are one whole number: these sort several times faster than pairs.
    """
    room = len(score).bit_length()
    keys = score.view(np.int64)
    if score.min(initial=0.0) < 0:
        keys = _ascending_bits(keys)
    keys = (keys >> room << room) | np.arange(len(score))
    sort(keys)
    return keys & ((1 << room) - 1), keys >> room


def sort_with_weights(score: Array, weight: Array) -> tuple[Array, Array]:
    """Scores ascending with their weights, and those of equal scores ascending as well.

    >>> [part.tolist() for part in sort_with_weights(np.array([2.0, -1.0, 2.0]), np.array([5.0, 4.0, 3.0]))]
    [[-1.0, 2.0, 2.0], [4.0, 3.0, 5.0]]
    """
    place, upper = _by_upper_bits(score)
    score, weight = score[place], weight[place]
    starts = np.flatnonzero(np.concatenate(([True], upper[1:] != upper[:-1], [True])))
    sizes = np.diff(starts)
    tied = sizes > 1
    for run in np.flatnonzero(sizes > _LONG_RUN).tolist():
        first, last = starts[run : run + 2]
        if score[first:last].min() == score[first:last].max():
            sort(weight[first:last])
            tied[run] = False
    if tied.any():
        rows = np.flatnonzero(np.repeat(tied, sizes))
        pairs = np.empty(len(rows), dtype=np.complex128)
        pairs.real, pairs.imag = score[rows], weight[rows]
        pairs.sort()
        score[rows], weight[rows] = pairs.real, pairs.imag
    return score, weight


def sort(values: NDArray[np.generic], among: int = 0) -> None:
    """Sort numbers in place, none of them NaN; those of 64 bits may take the sort of Polars.

    NumPy's vectorised sort takes a few nanoseconds a number, but a multiple of that of Polars on some processors with
    AVX-512 (AMD Zen 4, whose compressed stores are slow). `among` is how many numbers are sorted in all, part by part:
    which is faster is tried where they are many.

    >>> values = np.array([0.5, -1.0, 0.0])
    >>> sort(values)
    >>> values.tolist()
    [-1.0, 0.0, 0.5]
    """
    many = len(values) >= _FEW and max(len(values), among) >= _MANY
    if many and values.itemsize == _BYTES and _polars_is_faster():
        _sort_with_polars(values)
    else:
        values.sort()


def argsort(keys: NDArray[np.generic]) -> Codes:
    """Places of whole numbers, none of them negative, in ascending order.

    A number and its place are one whole number where both fit into 63 bits, which sorts faster than pairs.

    >>> argsort(np.array([5, 0, 3])).tolist()
    [1, 2, 0]
    """
    room = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + room < _BITS:
        packed = (keys.astype(np.int64) << room) | np.arange(len(keys))
        sort(packed)
        packed &= (1 << room) - 1
        return packed
    if len(keys) >= _MANY and _polars_is_faster():
        return pl.Series(keys).arg_sort().to_numpy().astype(np.int64)
    return np.argsort(keys)


def _sort_with_polars(values: NDArray[np.generic]) -> None:
    """The sort of Polars: twice as fast for whole numbers as for floats, whose bits are such numbers."""
    bits, floats = values.view(np.int64), values.dtype == np.float64
    negative = floats and int(bits.min(initial=0)) < 0
    if negative:
        bits[:] = _ascending_bits(bits)
    keys = bits if floats else values
    keys[:] = pl.Series(keys).sort(multithreaded=False).to_numpy()
    if negative:
        bits[:] = _ascending_bits(bits)


def _ascending_bits(bits: Codes) -> Codes:
    """Whole numbers that ascend as floats do, from the bits of these; and the bits, from such numbers."""
    return bits ^ ((bits >> 63) & _MAGNITUDE)


@cache
def _polars_is_faster() -> bool:
    """Whether Polars sorts some random whole numbers in less time, the better of two tries."""
    numbers = mix(np.arange(_TRIAL, dtype=np.uint64))

    def seconds(sort_numbers: Callable[[NDArray[np.generic]], None]) -> float:
        values, start = numbers.copy(), perf_counter()
        sort_numbers(values)
        return perf_counter() - start

    quickest = [min(seconds(way) for _ in range(2)) for way in (_sort_with_polars, np.ndarray.sort)]
    return quickest[0] < quickest[1]
