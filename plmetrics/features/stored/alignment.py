"""States whose parts, cells and slices have the same numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.states.stored import BLOCK, CELL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from plmetrics.states.moments import Moment
    from plmetrics.states.stored import Head, Saved


@dataclass(frozen=True, slots=True)
class Stored:
    """A state whose table was not read: its head, where the table is, what people call it, and its content's hash."""

    head: Head
    table: Path | pl.DataFrame
    place: str
    content: str


@dataclass(slots=True)
class Alike:
    """States whose parts, cells and slices have the same numbers; `first` holds what these mean, of one of them.

    `moved` holds, by number of a part, the new number of each old cell or slice, and `numbers` these as an array.
    """

    first: Saved
    states: list[Stored] = field(default_factory=list)
    moved: dict[int, pl.DataFrame] = field(default_factory=dict)
    numbers: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def head(self) -> Head:
        """The head of the first."""
        return self.first.head

    def rows(self) -> pl.LazyFrame:
        """The tables of all, end to end."""
        return tables(self.states)

    def rows_of(self, states: Sequence[Stored]) -> pl.LazyFrame:
        """The tables of some of them."""
        return tables(states)

    def cells_of(self, index: int) -> int:
        """The number of the part with the cells of a slice set."""
        return next(n for n, part in self.head.numbers("cells").items() if index in part.sets)


def tables(states: Sequence[Stored]) -> pl.LazyFrame:
    """The tables of states, end to end."""
    files = [state.table for state in states if not isinstance(state.table, pl.DataFrame)]
    frames = [state.table.lazy() for state in states if isinstance(state.table, pl.DataFrame)]
    scans = [pl.scan_parquet(files, glob=False)] if files else []
    return pl.concat([*scans, *frames]) if len(scans) + len(frames) > 1 else [*scans, *frames][0]


@dataclass(frozen=True, slots=True)
class Cube:
    """The sums of a group of slice sets: the columns that all states have, and the part that tells cells apart.

    `cells` is how many there are in all states, `rows` the most that a state has, `sets` names the group. `moments` are
    the columns that are about centres, which are columns, too.
    """

    sets: tuple[int, ...]
    names: tuple[str, ...]
    place: int
    cells: int
    rows: int
    moments: Mapping[str, Moment] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The columns that are not added."""
        return [name for name in (CELL, BLOCK) if name in self.names]

    @property
    def sums(self) -> list[str]:
        """The columns that are."""
        return [name for name in self.names if name not in (CELL, BLOCK)]

    def number(self, group: Alike) -> int:
        """The number of the part with the sums in some states."""
        number = group.head.number("sums", group.head.parts[group.cells_of(self.sets[0])].sets)
        assert number is not None
        return number
