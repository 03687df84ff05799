"""Coarse bins of scores for counts by block, with edges of their own for every slice; and their limits.

An area's standard error is blind to the order inside a bin, so bins must be small wherever the order matters: by
rows, by positives, and, for average precision, ever smaller towards the highest scores, where each positive moves
it. A slice whose scores lie close together would fall into few bins of edges made for the whole table. A set of one
slice, as `overall` is, has finer bins: differences of models that hardly differ live on the order inside bins.

A score that many rows share has a bin of its own. Several edges fall on it: one of them stays, and the others close
such bins, those of most rows first. An operating point moves into a bin of several scores little by little, into one
of a single score as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags

_PARTS = (48, 48, 32)
_FINER = 4


EXACT_REPLICATES = 20_000_000
"""Up to so many rows x replicates, replicates of ordered metrics are made from the rows themselves."""
_OF_A_SLICE = 160_000
"""So many rows x replicates take as long as the coarse bins of a slice, which are as many however few its rows are."""
_COUNTS_OF_A_ROW = 8
"""So many counts take as long to be multiplied with draws as a row takes to be added up."""
DENSE_LIMIT = 1 << 24
RANK_BINS = 32
"""Bins of ranks on each side, for replicates of rank correlations."""

_SLICES_AT_ONCE = 512
_DRAWN_AT_ONCE = 1 << 19
"""So many replicates of slices, times the number of sums, are held at once: with more replicates, of fewer slices."""

_NUMBERS_AT_ONCE = 1 << 27
"""And so many sums by block and replicate: with more sums, of fewer slices."""


def coarse_number(slices: int) -> int:
    """Number of coarse bins of the slices of a set."""
    return sum(_parts(slices)) - 2


def coarse_edges(score: Array, positive: Flags, offsets: Codes) -> Array:
    """The edges of each slice's bins `[slice, bin - 1]`, ascending.

    The bin of a score is the number of edges at or below it. Rows lie slice after slice, each ascending by score;
    a bin of several scores holds at most about 1/48 of the rows, 1/48 of the positives, and close to the top a single
    positive.
    """
    by_rows, by_positives, near_top = (np.arange(1, parts) / parts for parts in _parts(len(offsets) - 1))
    starts, members = distinct_starts(score, offsets), np.flatnonzero(positive)
    if len(starts) == 0:
        return np.zeros((len(offsets) - 1, coarse_number(len(offsets) - 1) - 1))
    positions = np.searchsorted(members, offsets)
    members = members if len(members) else offsets[:1]
    rows = np.hstack(
        [
            _from_top(offsets, lambda rows: rows * by_rows),
            members.take(_from_top(positions, lambda rows: rows * by_positives), mode="clip"),
            members.take(_from_top(positions, lambda rows: (1.0 + rows) ** near_top - 1.0), mode="clip"),
        ]
    )
    first, end = (np.searchsorted(starts, part)[:, None] for part in (offsets[:-1], offsets[1:]))
    opened = np.clip(np.searchsorted(starts, rows, side="right") - 1, first, end - 1)
    opened.sort(axis=1)
    after = np.append(starts, len(score))[opened + 1]
    edges = _bin_edges(opened, after - starts[opened], first, end)
    return score.take(starts.take(edges, mode="clip"))


def distinct_starts(score: Array, offsets: Codes) -> Codes:
    """The first row of each distinct score of each slice; rows lie slice after slice, each ascending by score."""
    if len(score) == 0:
        return np.zeros(0, dtype=np.int64)
    change = np.empty(len(score), dtype=np.bool_)
    change[0] = True
    np.not_equal(score[1:], score[:-1], out=change[1:])
    change[offsets[:-1][np.diff(offsets) > 0]] = True
    return np.flatnonzero(change)


def coarse_bins(score: Array, offsets: Codes, edges: Array) -> NDArray[np.uint16]:
    """The coarse bin of each row; rows lie slice after slice."""
    out = np.empty(len(score), dtype=np.uint16)
    for index, (first, last) in enumerate(pairwise(offsets.tolist())):
        out[first:last] = np.searchsorted(edges[index], score[first:last], side="right")
    return out


def coarse_of_fine(fine: Array, slices: int) -> NDArray[np.uint16]:
    """The coarse bin of each fine bin, from the weight of negatives and positives there: `[slice, bin, class]`.

    `fine` has the counts of some slices of a set, `slices` is the number in the whole set.
    """
    by_rows, by_positives, near_top = _parts(slices)
    mass = fine[..., 0] + fine[..., 1]
    rows, (above, total) = _above(mass), _above(fine[..., 1])
    from_top = _place(*rows, by_rows) + _place(above, total, by_positives)
    from_top += _place(np.log1p(above), np.log1p(total), near_top)
    steps = np.arange(1, coarse_number(slices))
    out = np.zeros(mass.shape, dtype=np.uint16)
    for masses, row, bins in zip(mass, coarse_number(slices) - 1 - from_top, out, strict=True):
        occupied = np.flatnonzero(masses)
        if len(occupied):
            opened = np.searchsorted(row[occupied], steps)[None]
            edges = _bin_edges(
                opened, masses[occupied[opened]], np.zeros((1, 1), dtype=np.int64), len(occupied)
            )
            np.cumsum(np.bincount(occupied[edges[0]], minlength=len(bins)), out=bins)
    return out


def bins_of_places(edges: Codes, size: int) -> NDArray[np.uint16]:
    """The bin of each of so many places, by the edges at or below it: `[slice, place]`."""
    every = np.arange(size)
    out = np.empty((len(edges), size), dtype=np.uint16)
    for target, row in zip(out, edges, strict=True):
        target[:] = np.searchsorted(row, every, side="right")
    return out


def tied_bins(code: Codes, bins: NDArray[Any], shape: tuple[int, int]) -> Flags:
    """Mask `[slice, bin]` of the coarse bins with a single score or none, from the slice and bin of each score."""
    scores = np.bincount(code * shape[1] + bins, minlength=shape[0] * shape[1])
    return (scores <= 1).reshape(shape)


def _bin_edges(opened: Codes, mass: Array, lowest: Codes, end: Codes | int) -> Codes:
    """Edges of some slices `[slice, edge]`, ascending: the distinct first scores of bins, and the ends.

    A bin is closed by the score after the one that opens it. As many are closed as there are edges that open no bin of
    their own, those of most rows first, from the top among equals. Scores are numbered: `opened` open a bin, `mass`
    rows have each of them, `lowest` `[slice, 1]` is the first of a slice, `end` the number after its last.
    """
    following = np.hstack([opened[:, 1:], np.broadcast_to(end, lowest.shape)])
    last = opened != following
    once = np.where(last, opened, lowest)
    closable = last & (opened + 1 < following)
    order = np.argsort(np.where(closable, -mass, 1.0)[:, ::-1], axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
    spare = np.sum(once == lowest, axis=1, keepdims=True)
    closing = np.where(closable & (rank[:, ::-1] < spare), opened + 1, lowest)
    edges = np.hstack([once, closing])
    edges.sort(axis=1)
    return edges[:, opened.shape[1] :]


def _parts(slices: int) -> tuple[int, int, int]:
    """Number of quantile shares of rows and of positives, and of steps between the numbers of positives."""
    finer = _FINER if slices == 1 else 1
    by_rows, by_positives, near_top = _PARTS
    return finer * by_rows, finer * by_positives, finer * near_top


def _from_top(offsets: Codes, ranks: Callable[[Array], Array]) -> Codes:
    """The places of some ranks of each slice, counted from its end."""
    sizes = np.diff(offsets)[:, None]
    rank = np.ceil(ranks(sizes.astype(np.float64))).astype(np.int64)
    return offsets[1:, None] - np.clip(rank, 1, np.maximum(sizes, 1))


def _above(mass: Array) -> tuple[Array, Array]:
    """Counts above each bin of a slice, and of all."""
    running = np.cumsum(mass, axis=1)
    return running[:, -1:] - running, running[:, -1:]


def _place(above: Array, total: Array, parts: int) -> Codes:
    share = np.divide(above, total, out=np.zeros_like(above), where=total > 0)
    share *= parts
    return np.minimum(share.astype(np.int64), parts - 1)


def replicates_rows(rows: int, replicates: int, slices: int) -> bool:
    """Whether replicates of a slice set are made from its rows, not from coarse bins: these would take longer.

    >>> [replicates_rows(120_000, 1000, slices) for slices in (1, 100, 1000)]
    [False, False, True]
    """
    return rows * replicates <= max(EXACT_REPLICATES, slices * _OF_A_SLICE)


def slices_at_once(columns: int, blocks: int, replicates: int) -> int:
    """Number of slices whose sums, so many each, are there by block and in all replicates at a time.

    >>> slices_at_once(30, 1000, 1), slices_at_once(30, 1000, 2000), slices_at_once(300_000, 1000, 1000)
    (512, 262, 1)
    """
    of_slice = columns * (blocks + replicates)
    return max(
        1, min(_SLICES_AT_ONCE, _DRAWN_AT_ONCE // max(1, replicates), _NUMBERS_AT_ONCE // max(1, of_slice))
    )


def is_sparse(rows: int, slices: int, blocks: int) -> bool:
    """Whether most coarse counts of classes by block are 0: the rows are added up faster than all counts.

    >>> is_sparse(10_000, 1, 10_000), is_sparse(10_000_000, 1, 1000)
    (True, False)
    """
    return rows * _COUNTS_OF_A_ROW < slices * blocks * coarse_number(slices) * 2
