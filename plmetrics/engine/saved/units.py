"""The blocks of merged states: units keep their hashes while they are few, and fold when there are more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.states.saved import BLOCKS, PART, SUMS, Part
from plmetrics.table.units import OWN_BLOCK_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from plmetrics.engine.saved.merging import Alike
    from plmetrics.states.saved import Builder


@dataclass(frozen=True, slots=True)
class MergedBlocks:
    """How the units of merged states are blocked.

    `units` are their hashes, or the blocks with the number of units in each; None where rows are units, or nothing is
    resampled.
    """

    modulus: int | None
    hashed: bool
    units: pl.DataFrame | None
    by_row: bool = False

    def folded(self, column: str) -> pl.Expr:
        """The block of rows that have one in some state."""
        return pl.col(column) if self.modulus is None else pl.col(column) % self.modulus

    def keys(self) -> NDArray[np.uint64] | None:
        """All blocks that there may be, ascending; None where they are not known: rows that are units."""
        if self.modulus is not None:
            return np.arange(self.modulus, dtype=np.uint64)
        if self.by_row:
            return None
        if self.units is None:
            return np.zeros(1, dtype=np.uint64)
        return self.units[BLOCKS].sort().to_numpy()

    def write(self, builder: Builder) -> None:
        """Add the part that says what units there are."""
        if self.units is not None:
            builder.add(Part("units"), self.units.sort(BLOCKS).select(pl.all().implode()))


def blocks_of(alike: Sequence[Alike], *, totals: bool) -> MergedBlocks:
    """The blocks of states that are merged.

    A unit that is in several states is one unit where hashes are known. Where only the number of units in each block
    is, it counts in each state: nothing is computed from that number then.
    """
    heads = [state.head for group in alike for state in group.states]
    modulus = heads[0].blocks
    if modulus is None:
        return MergedBlocks(None, hashed=False, units=None)
    folded = any(head.modulus is not None for head in heads)
    if heads[0].by_row:
        folded = folded or sum(head.rows["units"] for head in heads) > OWN_BLOCK_LIMIT
        return MergedBlocks(modulus if folded else None, hashed=False, units=None, by_row=True)
    hashes, counts = _listed(alike, hashed=True), _listed(alike, hashed=False)
    hashes = hashes.unique(BLOCKS)
    folded = folded or hashes.height > OWN_BLOCK_LIMIT
    if not folded:
        return MergedBlocks(None, hashed=True, units=hashes)
    if totals:
        return MergedBlocks(modulus, hashed=True, units=hashes)
    every = pl.concat([hashes.with_columns(pl.col(BLOCKS) % modulus), counts])
    counted = every.group_by(BLOCKS).agg(pl.col(SUMS).sum())
    return MergedBlocks(modulus, hashed=False, units=counted)


def _listed(alike: Sequence[Alike], *, hashed: bool) -> pl.DataFrame:
    """The units that states list: their hashes, or their number in each block."""
    frames = []
    for group in alike:
        own = [state for state in group.states if state.head.hashed == hashed]
        number = group.head.number("units")
        if own and number is not None:
            rows = group.rows_of(own).filter(pl.col(PART) == number)
            frames.append(rows.select(BLOCKS, SUMS).explode(BLOCKS, SUMS))
    empty = pl.DataFrame(schema={BLOCKS: pl.UInt64, SUMS: pl.Float64})
    return pl.concat([empty.lazy(), *frames]).collect()
