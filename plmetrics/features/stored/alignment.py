"""States with equal numbers of parts, cells and slices, and the blocks of merged states.

Units keep their hashes while they are few, and fold when there are more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.hashing import OWN_BLOCK_LIMIT
from plmetrics.engine.streaming import collected_frame
from plmetrics.states.state_format import BLOCK, BLOCKS, PART, Builder, Head, Part, SavedState


@dataclass(frozen=True, slots=True)
class StateReference:
    """State with an unread table: its head, the place of the table, its name, and the hash of its content."""

    head: Head
    table: Path | pl.DataFrame
    place: str
    content: str

    def at(self, addresses: Mapping[Path, str]) -> StateReference:
        """Reference to the state, by its address where its file is a copy."""
        address = addresses.get(self.table) if isinstance(self.table, Path) else None
        return self if address is None else replace(self, place=address)

    def read(self, names: Sequence[str]) -> pl.DataFrame:
        """Some columns of the table."""
        if isinstance(self.table, Path):
            return pl.read_parquet(self.table, columns=list(names), glob=False)
        return self.table.select(names)

    def rows(self, table: pl.DataFrame, number: int) -> pl.DataFrame:
        """The rows of one part, from some columns: they lie part after part."""
        parts = self.head.parts
        return table.slice(sum(part.rows for part in parts[:number]), parts[number].rows)


@dataclass(slots=True)
class AlignedStates:
    """States with equal numbers of parts, cells and slices, with their meaning in the `first`.

    `numbers` holds, by number of a part in the merged state, the new number of each old cell or slice.
    """

    first: SavedState
    states: list[StateReference] = field(default_factory=list)
    numbers: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def head(self) -> Head:
        """The head of the first."""
        return self.first.head

    def rows(self) -> pl.LazyFrame:
        """The tables of all, end to end."""
        return tables(self.states)

    def sums_of(self, index: int) -> int:
        """The number of the part with the sums of a slice set."""
        return self.head.place("sums", self.head.parts[self.head.cells_of(index)].sets)

    def rows_of(self, kind: str, bins: str) -> Iterator[pl.DataFrame]:
        """The rows of a part of a feature, state by state."""
        number = self.head.place(kind, bins=bins)
        for state in self.states:
            yield state.rows(state.read(self.head.parts[number].columns), number)


def tables(states: Sequence[StateReference]) -> pl.LazyFrame:
    """The tables of states, end to end."""
    files = [state.table for state in states if isinstance(state.table, Path)]
    frames = [state.table.lazy() for state in states if isinstance(state.table, pl.DataFrame)]
    scans = [pl.scan_parquet(files, glob=False)] if files else []
    return pl.concat([*scans, *frames]) if len(scans) + len(frames) > 1 else [*scans, *frames][0]


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
        """Add the part of the units."""
        if self.hashes is not None:
            builder.add(Part("units"), self.hashes.alias(BLOCKS).implode().to_frame())


def blocks_of(layouts: Sequence[AlignedStates], *, totals: bool) -> MergedBlocks:
    """Blocks of merged states.

    A unit that is in several states is one unit where hashes are known. Where only the number of units in each block
    is, it counts in each state: nothing is computed from that number then.
    """
    heads = [state.head for group in layouts for state in group.states]
    modulus = heads[0].blocks
    if modulus is None:
        return MergedBlocks(None, np.zeros(1, dtype=np.uint64))
    folds = np.arange(modulus, dtype=np.uint64)
    folded = any(head.modulus is not None for head in heads)
    if heads[0].by_row:
        if folded or sum(head.rows["units"] for head in heads) > OWN_BLOCK_LIMIT:
            return MergedBlocks(modulus, folds)
        return MergedBlocks(None, _rows(layouts))
    hashes = _hashes(layouts)
    if not folded and len(hashes) <= OWN_BLOCK_LIMIT:
        return MergedBlocks(None, hashes.to_numpy(), hashes)
    if totals:
        return MergedBlocks(modulus, folds, hashes)
    counts = np.bincount((hashes % modulus).to_numpy().astype(np.int64), minlength=modulus)
    for head in heads:
        counts += np.array(head.units or [0], dtype=np.int64)
    return MergedBlocks(modulus, folds, units=tuple(counts.tolist()))


def _rows(layouts: Sequence[AlignedStates]) -> NDArray[np.uint64]:
    """Blocks of rows as units, distinct, ascending."""
    blocks = [
        state.rows(state.read([BLOCK]), group.sums_of(0))[BLOCK]
        for group in layouts
        for state in group.states
    ]
    return np.unique(np.concatenate(blocks))


def _hashes(layouts: Sequence[AlignedStates]) -> pl.Series:
    """Hashes of the units listed in states, distinct, ascending."""
    frames = [pl.LazyFrame(schema={BLOCKS: pl.UInt64})]
    for group in layouts:
        states = [state for state in group.states if state.head.hashed]
        number = group.head.number("units")
        if states and number is not None:
            rows = tables(states).filter(pl.col(PART) == number)
            frames.append(rows.select(pl.col(BLOCKS).explode()))
    return collected_frame(pl.concat(frames).unique().sort(BLOCKS))[BLOCKS]
