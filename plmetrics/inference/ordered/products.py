"""Replicates of dense counts by block: W times the counts of each slice, in products no longer than they need be.

A small slice has rows in few of the blocks: the others add nothing. And whole numbers are multiplied in single
precision, which takes half the time, where nothing of them is lost in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.weights import Nudges, exact_in_single, replicate_counts, resample

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = NDArray[np.float64]
BlockIndex: TypeAlias = NDArray[np.int64]


_WORTH_LEAVING_OUT = 0.7
_FEW_COLUMNS = 16
_NUMBERS = 2
"""So many channels of fixed bins are numbers of rows, where rows carry no weights."""


def occupied_blocks(counts: NDArray[Any]) -> list[BlockIndex] | None:
    """The blocks in which each slice of `[slice, block, ...]` has anything; None where leaving others out saves little.

    >>> occupied_blocks(np.eye(4)[:2, :, None] * np.ones(16))
    [array([0]), array([1])]
    """
    slices, blocks = counts.shape[:2]
    if slices == 0 or counts.size < _FEW_COLUMNS * slices * blocks:
        return None
    occupied: NDArray[np.bool_] = np.any(counts.reshape(slices, blocks, -1), axis=2)
    if np.count_nonzero(occupied) > _WORTH_LEAVING_OUT * occupied.size:
        return None
    return [np.flatnonzero(occupied[place]) for place in range(slices)]


def exact_occupied_blocks(counts: NDArray[Any]) -> list[BlockIndex] | None:
    """The same where products are exact in single precision: there weights would be rounded in another order."""
    occupied = occupied_blocks(counts)
    return occupied if occupied is None or exact_in_single(counts) else None


def drawn_counts(
    weights: NDArray[Any], counts: NDArray[Any], blocks_of_slices: Sequence[BlockIndex] | None
) -> Array:
    """Replicates of counts, from the blocks that are held alone: `[slice, block, ...] -> [slice, replicate, ...]`."""
    if blocks_of_slices is None:
        return resample(weights, counts)
    parts = []
    for place, slice_blocks in enumerate(blocks_of_slices):
        blocks = slice_blocks if len(slice_blocks) else np.zeros(1, dtype=np.int64)
        parts.append(resample(weights.take(blocks, axis=1), counts[place : place + 1, blocks]))
    return np.concatenate(parts)


def drawn_bins(
    weights: Array | Nudges, single: NDArray[np.float32] | None, counts: NDArray[Any]
) -> NDArray[Any]:
    """Replicates of fixed bins `[slice, block, bin, channel]`, whose first channels are rows and positives.

    `single` is W in single precision, None where a replicate is not made of whole blocks.
    """
    if isinstance(weights, Nudges):
        return replicate_counts(weights, counts)
    blocks_of_slices = occupied_blocks(counts)
    if single is None or not exact_in_single(counts[..., :_NUMBERS]):
        return drawn_counts(weights, counts, blocks_of_slices)
    out = np.empty((len(counts), len(weights), *counts.shape[2:]))
    out[..., :_NUMBERS] = drawn_counts(single, counts[..., :_NUMBERS].astype(np.float32), blocks_of_slices)
    out[..., _NUMBERS:] = drawn_counts(
        weights, np.ascontiguousarray(counts[..., _NUMBERS:]), blocks_of_slices
    )
    return out
