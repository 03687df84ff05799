"""Coarse bins of scores, those that counts by block use: edges of their own for every slice.

An area's standard error is blind to the order inside a bin, so bins must be small wherever the order matters: by
rows, by positives, and, for average precision, ever smaller towards the highest scores, where each positive moves
it. A slice whose scores lie close together would fall into few bins of edges made for the whole table. A set of one
slice, as `overall` is, has finer bins: differences of models that hardly differ live on the order inside bins.
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

_PARTS = (48, 48, 32)
_FINER = 4


def coarse_number(slices: int) -> int:
    """How many bins the slices of a set have."""
    return sum(_parts(slices)) - 2


def coarse_edges(score: Array, positive: NDArray[np.bool_], offsets: Codes) -> Array:
    """The edges of each slice's bins `[slice, bin - 1]`, ascending.

    The bin of a score is the number of edges at or below it. Rows lie slice after slice, each ascending by score;
    a bin holds at most about 1/48 of the rows, 1/48 of the positives, and close to the top a single positive.
    """
    by_rows, by_positives, near_top = map(_shares, _parts(len(offsets) - 1))
    members = np.flatnonzero(positive)
    held = np.searchsorted(members, offsets)
    edges = np.concatenate(
        [
            _from_top(score, offsets, lambda rows: rows * by_rows),
            _from_top(score[members], held, lambda rows: rows * by_positives),
            _from_top(score[members], held, lambda rows: (1.0 + rows) ** near_top - 1.0),
        ],
        axis=1,
    )
    edges.sort(axis=1)
    return edges


def coarse_bins(score: Array, offsets: Codes, edges: Array) -> NDArray[np.uint16]:
    """The coarse bin of each row; rows lie slice after slice."""
    out = np.empty(len(score), dtype=np.uint16)
    for index, (first, last) in enumerate(pairwise(offsets.tolist())):
        out[first:last] = np.searchsorted(edges[index], score[first:last], side="right")
    return out


def coarse_of_fine(fine: Array, slices: int) -> NDArray[np.uint16]:
    """The coarse bin of each fine bin, from the weight of negatives and positives there: `[slice, bin, class]`.

    Args:
        fine: counts of some slices of a set.
        slices: number of slices in the whole set.
    """
    by_rows, by_positives, near_top = _parts(slices)
    rows, (above, total) = _above(fine[..., 0] + fine[..., 1]), _above(fine[..., 1])
    from_top = _place(*rows, by_rows) + _place(above, total, by_positives)
    from_top += _place(np.log1p(above), np.log1p(total), near_top)
    return (coarse_number(slices) - 1 - from_top).astype(np.uint16)


def _parts(slices: int) -> tuple[int, int, int]:
    """Into how many shares rows and positives are cut, and on how many steps the numbers of positives grow."""
    finer = _FINER if slices == 1 else 1
    by_rows, by_positives, near_top = _PARTS
    return finer * by_rows, finer * by_positives, finer * near_top


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
    share *= parts
    return np.minimum(share.astype(np.int64), parts - 1)
