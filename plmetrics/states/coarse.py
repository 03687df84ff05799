"""Coarse bins of scores, those that counts by block use: edges of their own for every slice.

An area's standard error is blind to the order inside a bin, so bins must be small wherever the order matters: by
rows, by positives, and, for average precision, ever smaller towards the highest scores, where each positive moves
it. A slice whose scores lie close together would fall into few bins of edges made for the whole table.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_BY_ROWS, _BY_POSITIVES, _FROM_TOP = 32, 32, 64
COARSE_BINS = _BY_ROWS + _BY_POSITIVES + _FROM_TOP - 2


def coarse_edges(score: Array, positive: NDArray[np.bool_], offsets: Codes) -> Array:
    """The edges of each slice's bins `[slice, COARSE_BINS - 1]`, ascending.

    The bin of a score is the number of edges at or below it. Rows lie slice after slice, each ascending by score;
    a bin holds at most about 1/32 of the rows, 1/32 of the positives, and close to the top a single positive.
    """
    members = np.flatnonzero(positive)
    held = np.searchsorted(members, offsets)
    edges = np.concatenate(
        [
            _from_top(score, offsets, lambda rows: rows * _shares(_BY_ROWS)),
            _from_top(score[members], held, lambda rows: rows * _shares(_BY_POSITIVES)),
            _from_top(score[members], held, lambda rows: (1.0 + rows) ** _shares(_FROM_TOP) - 1.0),
        ],
        axis=1,
    )
    edges.sort(axis=1)
    return edges


def coarse_bins(score: Array, offsets: Codes, edges: Array) -> NDArray[np.uint8]:
    """The coarse bin of each row; rows lie slice after slice."""
    out = np.empty(len(score), dtype=np.uint8)
    for index, (first, last) in enumerate(pairwise(offsets.tolist())):
        out[first:last] = np.searchsorted(edges[index], score[first:last], side="right")
    return out


def coarse_of_fine(fine: Array) -> NDArray[np.uint8]:
    """The coarse bin of each fine bin, from the weight of negatives and positives there: `[slice, bin, class]`."""
    rows, positives = (_above(mass) for mass in (fine.sum(axis=-1), fine[..., 1]))
    above, total = positives
    near_top = _place(np.log1p(above), np.log1p(total), _FROM_TOP)
    from_top = _place(*rows, _BY_ROWS) + _place(above, total, _BY_POSITIVES) + near_top
    return (COARSE_BINS - 1 - from_top).astype(np.uint8)


def _shares(parts: int) -> Array:
    return np.arange(1, parts) / parts


def _from_top(score: Array, offsets: Codes, ranks: Callable[[Array], Array]) -> Array:
    """The scores at some ranks of each slice, counted from its highest."""
    sizes = np.diff(offsets)[:, None]
    rank = np.ceil(ranks(sizes.astype(np.float64))).astype(np.int64)
    index = offsets[1:, None] - np.clip(rank, 1, np.maximum(sizes, 1))
    return score[np.clip(index, 0, len(score) - 1)] if len(score) else np.zeros(index.shape)


def _above(mass: Array) -> tuple[Array, Array]:
    """What lies above each bin of a slice, and all there is."""
    running = np.cumsum(mass, axis=1)
    return running[:, -1:] - running, running[:, -1:]


def _place(above: Array, total: Array, parts: int) -> Codes:
    share = np.divide(above, total, out=np.zeros_like(above), where=total > 0)
    place: Codes = np.clip(np.floor(parts * share), 0, parts - 1).astype(np.int64)
    return place
