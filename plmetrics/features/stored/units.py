"""The blocks of merged states: units keep their hashes while they are few, and fold when there are more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.hashing import OWN_BLOCK_LIMIT
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.stored.alignment import tables
from plmetrics.states.state_format import BLOCK, BLOCKS, PART, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from plmetrics.features.stored.alignment import AlignedStates
    from plmetrics.states.state_format import Builder


@dataclass(frozen=True, slots=True)
class MergedBlocks:
    """Blocks of the units of merged states.

    `keys` are all blocks that there may be, ascending. `hashes` are those of all units, None where they are not known;
    `units` is then how many are in each block. Neither is there where rows are units, or nothing is resampled.
    """

    modulus: int | None
    keys: NDArray[np.uint64]
    hashes: pl.Series | None = None
    units: tuple[int, ...] = ()

    def write(self, builder: Builder) -> None:
        """Add the part that lists the units."""
        if self.hashes is not None:
            builder.add(Part("units"), self.hashes.alias(BLOCKS).implode().to_frame())


def blocks_of(alike: Sequence[AlignedStates], *, totals: bool) -> MergedBlocks:
    """The blocks of states that are merged.

    A unit that is in several states is one unit where hashes are known. Where only the number of units in each block
    is, it counts in each state: nothing is computed from that number then.
    """
    heads = [state.head for group in alike for state in group.states]
    modulus = heads[0].blocks
    if modulus is None:
        return MergedBlocks(None, np.zeros(1, dtype=np.uint64))
    folds = np.arange(modulus, dtype=np.uint64)
    folded = any(head.modulus is not None for head in heads)
    if heads[0].by_row:
        if folded or sum(head.rows["units"] for head in heads) > OWN_BLOCK_LIMIT:
            return MergedBlocks(modulus, folds)
        return MergedBlocks(None, _rows(alike))
    hashes = _hashes(alike)
    if not folded and len(hashes) <= OWN_BLOCK_LIMIT:
        return MergedBlocks(None, hashes.to_numpy(), hashes)
    if totals:
        return MergedBlocks(modulus, folds, hashes)
    counts = np.bincount((hashes % modulus).to_numpy().astype(np.int64), minlength=modulus)
    for head in heads:
        counts += np.array(head.units or [0], dtype=np.int64)
    return MergedBlocks(modulus, folds, units=tuple(counts.tolist()))


def _rows(alike: Sequence[AlignedStates]) -> NDArray[np.uint64]:
    """The blocks of rows that are units, each once, ascending."""
    blocks = [
        state.rows(state.read([BLOCK]), group.sums_of(0))[BLOCK] for group in alike for state in group.states
    ]
    return np.unique(np.concatenate(blocks))


def _hashes(alike: Sequence[AlignedStates]) -> pl.Series:
    """The hashes of the units that states list, each once, ascending."""
    frames = [pl.LazyFrame(schema={BLOCKS: pl.UInt64})]
    for group in alike:
        states = [state for state in group.states if state.head.hashed]
        number = group.head.number("units")
        if states and number is not None:
            rows = tables(states).filter(pl.col(PART) == number)
            frames.append(rows.select(pl.col(BLOCKS).explode()))
    return collected_frame(pl.concat(frames).unique().sort(BLOCKS))[BLOCKS]
