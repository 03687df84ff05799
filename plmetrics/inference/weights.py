"""W, the resampling weights of a run: how often each block is drawn in each replicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.hashing import DRAW_SALT, mix, mix_int

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_DRAWS_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class ResamplingWeights:
    """How often each block is drawn, and what one drawn unit stands for.

    `counts` is W `[replicates, blocks]`: multinomial, as many draws as there are blocks. `scale`
    `[replicates]` is units in the table / units drawn: ratios do not need it, totals are multiplied by it.
    """

    counts: NDArray[np.int32]
    scale: NDArray[np.float64]

    @property
    def scaled(self) -> NDArray[np.float64]:
        """W with each replicate scaled to the number of units in the table."""
        return self.counts * self.scale[:, None]


def draw_weights(units_per_block: NDArray[np.int64], replicates: int, seed: int) -> ResamplingWeights:
    """Draw blocks with replacement, each draw a hash of (seed, replicate, number of the draw).

    A replicate's row depends on the seed, its own number and the number of blocks, and on nothing else:
    asking for more replicates leaves the earlier ones as they are.

    Args:
        units_per_block: units in each block that has any.
        replicates: how many times to resample.
        seed: any whole number; taken modulo 2^64.

    >>> draw_weights(np.array([1, 1, 1]), replicates=2, seed=7).counts.sum(axis=1)
    array([3, 3])
    """
    blocks = len(units_per_block)
    counts = np.zeros((replicates, blocks), dtype=np.int32)
    drawn = np.zeros(replicates)
    keys = mix(np.uint64(mix_int(seed ^ DRAW_SALT)) + _strides(replicates))
    steps = _strides(blocks)
    at_once = max(1, _DRAWS_AT_ONCE // max(1, blocks))
    for first in range(0, replicates if blocks else 0, at_once):
        part = _count(keys[first : first + at_once, None] + steps)
        counts[first : first + at_once] = part
        drawn[first : first + at_once] = part @ units_per_block.astype(np.float64)
    scale = np.ones(replicates)
    np.divide(units_per_block.sum(), drawn, out=scale, where=drawn > 0)
    return ResamplingWeights(counts, scale)


def _strides(size: int) -> NDArray[np.uint64]:
    return np.arange(1, size + 1, dtype=np.uint64) * _STRIDE


def _count(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Turn words `[replicate, draw]` into how often each block was drawn `[replicate, block]`."""
    replicates, blocks = words.shape
    cell = (mix(words) % np.uint64(blocks)).view(np.int64)
    cell += np.arange(replicates)[:, None] * blocks
    return np.bincount(cell.ravel(), minlength=words.size).reshape(words.shape)
