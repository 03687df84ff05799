"""W, the weights of blocks in each replicate: multiplicities, or shifts of a single one; and its products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import product
from plmetrics.core.hashing import DRAW_SALT, mix, mix_int, strides
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.threads import parallel_map

if TYPE_CHECKING:
    from plmetrics.core.segments import Values
    from plmetrics.states.scores.exact.point_rows import BlockDraws

TILT = 1e-3
"""By how much a block's weight is raised and lowered to see its influence: central differences of either side."""

WHOLE_IN_SINGLE = 1 << 24
"""Whole numbers below it are exact in single precision."""

_ROWS_AT_ONCE = 256
_DRAWS_AT_ONCE = 1 << 17
_WORTH_KEEPING = 1 << 22
_PART = 1 << 20
_FEW_COLUMNS = 64

BlockIndex: TypeAlias = Codes
_WORTH_LEAVING_OUT = 0.7
_FEW_BINS = 16
_NUMBERS = 2
"""So many channels of fixed bins are numbers of rows, where rows carry no weights."""


@dataclass(frozen=True, eq=False)
class ResamplingWeights:
    """Draws of each block, and the weight of one drawn unit.

    `counts` is W `[replicates, blocks]`: multinomial, as many draws as there are blocks. `scale`
    `[replicates]` is units in the table / units drawn: ratios do not need it, totals are multiplied by it.
    """

    counts: NDArray[np.int32]
    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Replicates and blocks."""
        replicates, blocks = self.counts.shape
        return replicates, blocks

    @cached_property
    def by_block(self) -> list[BlockDraws]:
        """Draws of each block, some replicates at a time: every model's rows in every slice set read them."""
        from plmetrics.states.scores.exact.point_rows import BlockDraws

        return BlockDraws.parts(self.counts)

    @cached_property
    def matrix(self) -> Array:
        """W as a factor of products."""
        return self.counts.astype(np.float64, order="F")

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """Weights in single precision, for products with whole terms and sums below 2^24."""
        return self.counts.astype(np.float32, order="F")

    def parts(self, kind: type[np.floating[Any]]) -> Iterator[tuple[slice, NDArray[Any]]]:
        """W as a factor of products in single or double precision: some replicates at a time, where it is large.

        A large W is not kept in another form. Each part is in the room of the one before.
        """
        replicates, blocks = self.counts.shape
        if self.counts.size <= _WORTH_KEEPING:
            yield slice(0, replicates), self.single if kind is np.float32 else self.matrix
            return
        step = max(1, _PART // max(1, blocks))
        room = np.empty((step, blocks), dtype=kind)
        for first in range(0, replicates, step):
            stretch = slice(first, min(first + step, replicates))
            part = room[: stretch.stop - first]
            np.copyto(part, self.counts[stretch])
            yield stretch, part


@dataclass(frozen=True, slots=True, eq=False)
class Nudges:
    """Weights with one block changed at a time: by -1, to leave it out, or by `TILT` up and then down.

    They are never written out as a matrix of blocks x blocks: a replicate is the total and a little of one block.
    `units` are the numbers of units in each block.
    """

    kind: Literal["jackknife", "influence"]
    units: Codes

    @property
    def steps(self) -> tuple[float, ...]:
        """Steps added to a block's weight, for all blocks by one step and then for all by the next."""
        return (-1.0,) if self.kind == "jackknife" else (TILT, -TILT)

    @property
    def scale(self) -> Array:
        """Units in the table / units in the replicate; NaN where none are left."""
        total = float(self.units.sum())
        remaining: Array = np.concatenate([total + step * self.units for step in self.steps])
        scale: Array = np.full(len(remaining), np.nan)
        np.divide(total, remaining, out=scale, where=remaining > 0)
        return scale

    def __len__(self) -> int:
        return len(self.steps) * len(self.units)

    @property
    def shape(self) -> tuple[int, int]:
        """Replicates and blocks."""
        return len(self), len(self.units)

    def rows(self) -> Iterator[Array]:
        """The weights `[replicate, block]`, some replicates at a time."""
        blocks = len(self.units)
        for step in self.steps:
            for first in range(0, blocks, _ROWS_AT_ONCE):
                blocks_of_rows = np.arange(first, min(first + _ROWS_AT_ONCE, blocks))
                weights = np.ones((len(blocks_of_rows), blocks))
                weights[blocks_of_rows - first, blocks_of_rows] += step
                yield weights

    def of(self, states: NDArray[Any]) -> Array:
        """Replicates of states `[..., block]`: `[..., replicate]`."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = states.sum(axis=-1, dtype=np.float64, keepdims=True)
            return np.concatenate([total + step * states for step in self.steps], axis=-1)

    def among(self, states: Array, present: Codes) -> Array:
        """Replicates `[replicate, ...]` of states `[block, ...]`, from the nonempty blocks alone."""
        out = np.repeat(states.sum(axis=0)[None], len(self), axis=0)
        for turn, step in enumerate(self.steps):
            out[turn * len(self.units) + present] += step * states
        return out


def replicate_counts(weights: Array | Nudges, counts: NDArray[Any]) -> Array:
    """Replicates of dense counts: `[slice, block, ...] -> [slice, replicate, ...]`."""
    if isinstance(weights, Nudges):
        total = counts.sum(axis=1, dtype=np.float64, keepdims=True)
        return np.concatenate([total + step * counts for step in weights.steps], axis=1)
    return resample(weights, counts)


def draw_weights(units_per_block: Codes, replicates: int, seed: int) -> ResamplingWeights:
    """Draw blocks with replacement, each draw a hash of (seed, replicate, number of the draw).

    A replicate's row depends on the seed, its own number and the number of blocks, and on nothing else:
    asking for more replicates leaves the earlier ones as they are. The seed is taken modulo 2^64.

    >>> draw_weights(np.array([1, 1, 1]), replicates=2, seed=7).counts.sum(axis=1)
    array([3, 3])
    """
    blocks = len(units_per_block)
    counts = np.zeros((replicates, blocks), dtype=np.int32)
    units_drawn = np.zeros(replicates)
    keys = mix(np.uint64(mix_int(seed ^ DRAW_SALT)) + strides(np.arange(1, replicates + 1, dtype=np.uint64)))
    steps = strides(np.arange(1, blocks + 1, dtype=np.uint64))
    at_once = max(1, _DRAWS_AT_ONCE // max(1, blocks))
    units = units_per_block.astype(np.float64)

    def draw(first: int) -> None:
        stretch = slice(first, first + at_once)
        part = _count(keys[stretch, None] + steps)
        counts[stretch] = part
        units_drawn[stretch] = part @ units

    parallel_map(draw, range(0, replicates if blocks else 0, at_once))
    scale = np.ones(replicates)
    np.divide(units_per_block.sum(), units_drawn, out=scale, where=units_drawn > 0)
    return ResamplingWeights(counts, scale)


def _count(words: NDArray[np.uint64]) -> Codes:
    """Multiplicities of blocks `[replicate, block]` from words `[replicate, draw]`."""
    replicates, blocks = words.shape
    cell = (mix(words) % np.uint64(blocks)).view(np.int64)
    cell += np.arange(replicates)[:, None] * blocks
    return np.bincount(cell.ravel(), minlength=words.size).reshape(words.shape)


def resample(weights: Values, counts: Values) -> Array:
    """Replicates of dense counts: `[replicate, block] x [slice, block, ...] -> [slice, replicate, ...]`.

    Slices of few counts are multiplied side by side: each product reads all weights.
    """
    flat = counts.reshape(*counts.shape[:2], -1)
    if len(flat) > 1 and flat.shape[2] <= _FEW_COLUMNS:
        products = product(weights, np.moveaxis(flat, 0, 1).reshape(counts.shape[1], -1))
        sums = np.moveaxis(products.reshape(len(weights), len(flat), -1), 1, 0)
    else:
        sums = product(weights, flat)
    return sums.reshape(counts.shape[0], len(weights), *counts.shape[2:])


def exact_in_single(counts: Values, *, whole: bool = False) -> bool:
    """Whether any sum of as many blocks `[slice, block, ...]` as there are is exact in single precision.

    `whole` says that they are known to be numbers of rows, not weights.

    >>> exact_in_single(np.array([[1.0, 2.0]])), exact_in_single(np.array([[0.5]])), exact_in_single(np.array([[1e9]]))
    (True, False, False)
    """
    largest = float(np.max(counts, initial=0)) * counts.shape[1]
    if not largest < WHOLE_IN_SINGLE:
        return False
    if whole or counts.dtype.kind == "u":
        return True
    return bool(np.min(counts, initial=0.0) >= 0 and (counts == np.rint(counts)).all())


def occupied_blocks(counts: NDArray[Any]) -> list[BlockIndex] | None:
    """Nonempty blocks of each slice of `[slice, block, ...]`; None where leaving others out saves little.

    >>> occupied_blocks(np.eye(4)[:2, :, None] * np.ones(16))
    [array([0]), array([1])]
    """
    slices, blocks = counts.shape[:2]
    if slices == 0 or counts.size < _FEW_BINS * slices * blocks:
        return None
    occupied: Flags = np.any(counts.reshape(slices, blocks, -1), axis=2)
    if np.count_nonzero(occupied) > _WORTH_LEAVING_OUT * occupied.size:
        return None
    return [np.flatnonzero(occupied[place]) for place in range(slices)]


def exact_occupied_blocks(counts: NDArray[Any]) -> list[BlockIndex] | None:
    """Occupied blocks where products are exact in single precision: elsewhere rounding would depend on them."""
    occupied = occupied_blocks(counts)
    return occupied if occupied is None or exact_in_single(counts) else None


def drawn_counts(
    weights: NDArray[Any], counts: NDArray[Any], blocks_of_slices: Sequence[BlockIndex] | None
) -> Array:
    """Replicates of counts, from the nonempty blocks: `[slice, block, ...] -> [slice, replicate, ...]`."""
    if blocks_of_slices is None:
        return resample(weights, counts)
    parts = []
    for place, slice_blocks in enumerate(blocks_of_slices):
        blocks = slice_blocks if len(slice_blocks) else np.zeros(1, dtype=np.int64)
        parts.append(resample(weights.T.take(blocks, axis=0).T, counts[place : place + 1, blocks]))
    return np.concatenate(parts)


def drawn_bins(
    weights: ResamplingWeights | Nudges, counts: NDArray[Any], *, whole: bool = False
) -> NDArray[Any]:
    """Replicates of fixed bins `[slice, block, bin, channel]`, with rows and positives as the first channels.

    `whole` says that these are known to be numbers of rows, not weights.
    """
    if isinstance(weights, Nudges):
        return replicate_counts(weights, counts)
    blocks_of_slices = occupied_blocks(counts)
    rows, sums = counts[..., :_NUMBERS], counts[..., _NUMBERS:]
    if not exact_in_single(rows, whole=whole):
        return drawn_counts(weights.matrix, counts, blocks_of_slices)
    out = np.empty((len(counts), weights.shape[0], *counts.shape[2:]))
    out[..., :_NUMBERS] = drawn_counts(weights.single, rows.astype(np.float32), blocks_of_slices)
    out[..., _NUMBERS:] = drawn_counts(weights.matrix, np.ascontiguousarray(sums), blocks_of_slices)
    return out
