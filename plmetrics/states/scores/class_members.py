"""The rows of one class at the points of a score, as replicates weigh them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

_ROOM = 1 << 19
"""So many weights are drawn at a time: they stay near the processor."""


@dataclass(frozen=True, slots=True)
class Members:
    """The rows of one class by point.

    `block` is that of the first row of each point, -1 where there is none, and `weight` its weight, None where every
    row counts once. Most points have a single row, whose drawn weight is just looked up. The others' further rows are
    `blocks` and `weights`, from `starts` on those of the points `shared`.
    """

    block: NDArray[np.int64]
    weight: Array | None
    blocks: Codes
    weights: Array | None
    starts: NDArray[np.int64]
    shared: NDArray[np.int64]

    @classmethod
    def of(cls, block: Codes, weight: Array | None, point: NDArray[np.int64], points: int) -> Members:
        """From the block and weight of each row, and its point, ascending."""
        first = np.diff(point, prepend=-1) != 0
        firsts, weights = np.full(points, -1, dtype=np.int64), None
        firsts[point[first]] = block[first]
        if weight is not None:
            weights = np.zeros(points)
            weights[point[first]] = weight[first]
        further = point[~first]
        starts = np.flatnonzero(np.diff(further, prepend=-1))
        more = None if weight is None else weight[~first]
        return cls(firsts, weights, block[~first], more, starts, further[starts])

    def drawn(self, weights: Array) -> Array:
        """The drawn weight at each point `[replicate, point]`, from that of each block `[replicate, block]`.

        >>> rows = Members.of(np.array([0, 1, 1]), None, np.array([0, 2, 2]), 4)
        >>> rows.drawn(np.array([[2.0, 1.0], [0.0, 3.0]]))
        array([[2., 0., 2., 0.],
               [0., 0., 6., 0.]])
        """
        none = np.zeros((len(weights), 1))
        out = np.concatenate([weights, none], axis=1).take(self.block, axis=1)
        if self.weight is not None:
            out *= self.weight
        if len(self.starts):
            each = weights.take(self.blocks, axis=1)
            if self.weights is not None:
                each *= self.weights
            out[:, self.shared] += np.add.reduceat(each, self.starts, axis=1)
        return out


def in_parts(weights: Array, size: int) -> Iterator[Array]:
    """Some replicates at a time, where each takes room for so many numbers."""
    step = max(1, _ROOM // max(1, size))
    for first in range(0, len(weights), step):
        yield weights[first : first + step]
