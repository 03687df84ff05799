"""States whose parts, cells and slices have the same numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from plmetrics.states.state_format import Head, SavedState


@dataclass(frozen=True, slots=True)
class StateReference:
    """A state whose table was not read: its head, where the table is, what people call it, and its content's hash."""

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
    """States whose parts, cells and slices have the same numbers; `first` holds what these mean, of one of them.

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

    def cells_of(self, index: int) -> int:
        """The number of the part with the cells of a slice set."""
        return next(n for n, part in self.head.numbers("cells").items() if index in part.sets)

    def sums_of(self, index: int) -> int:
        """The number of the part with the sums of a slice set."""
        number = self.head.number("sums", self.head.parts[self.cells_of(index)].sets)
        assert number is not None
        return number


def tables(states: Sequence[StateReference]) -> pl.LazyFrame:
    """The tables of states, end to end."""
    files = [state.table for state in states if isinstance(state.table, Path)]
    frames = [state.table.lazy() for state in states if isinstance(state.table, pl.DataFrame)]
    scans = [pl.scan_parquet(files, glob=False)] if files else []
    return pl.concat([*scans, *frames]) if len(scans) + len(frames) > 1 else [*scans, *frames][0]
