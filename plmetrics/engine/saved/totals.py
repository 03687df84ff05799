"""The sums of several states added: columns of one number a cell and block where there is room, else a grouped sum.

Both give the same. In columns, states are added one after another, so that the same states in the same order give the
same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.engine.rows import block_numbers
from plmetrics.states.saved import BLOCK, CELL, PART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from plmetrics.engine.saved.merging import Alike
    from plmetrics.engine.saved.units import MergedBlocks

_NEW = "@new"
_SPARE = 4
_FEW = 1 << 16


@dataclass(frozen=True, slots=True)
class Cube:
    """The sums of a group of slice sets: the columns that all states have, and the part that tells cells apart.

    `cells` is how many there are in all states, `rows` the most that a state has, `sets` names the group.
    """

    sets: tuple[int, ...]
    names: tuple[str, ...]
    place: int
    cells: int
    rows: int

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


def cube(sets: tuple[int, ...], place: int, cells: int, alike: Sequence[Alike]) -> Cube:
    """The sums of some slice sets in all states."""
    empty = Cube(sets, (), place, cells, 0)
    parts = [group.head.parts[empty.number(group)] for group in alike]
    own = [set(part.columns) for part in parts]
    names = tuple(name for name in parts[0].columns if all(name in columns for columns in own))
    rows = max(state.head.parts[empty.number(group)].rows for group in alike for state in group.states)
    return Cube(sets, names, place, cells, rows)


@dataclass(slots=True)
class Totals:
    """The sums of a cube, as states are added one after another: a number for each cell and block."""

    cube: Cube
    keys: NDArray[np.uint64]
    modulus: int | None
    seen: NDArray[np.bool_]
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)

    def add(self, group: Alike, rows: pl.DataFrame) -> None:
        """Add the sums of a state.

        Args:
            group: those whose cells have the same numbers.
            rows: of the state, those of this cube.
        """
        place = group.numbers[self.cube.place][rows[CELL].to_numpy()] * len(self.keys)
        if BLOCK in self.cube.names:
            blocks = rows[BLOCK].to_numpy()
            place += block_numbers(
                blocks if self.modulus is None else blocks % np.uint64(self.modulus), self.keys
            )
        steps = np.diff(place)
        where = slice(int(place[0]), int(place[-1]) + 1) if len(place) and (steps == 1).all() else place
        self.seen[where] = True
        for name in self.cube.sums:
            values = rows[name].to_numpy()
            if name not in self.columns:
                self.columns[name] = np.zeros(len(self.seen), dtype=values.dtype)
            if isinstance(where, slice):
                self.columns[name][where] += values
            else:
                np.add.at(self.columns[name], where, values)

    def rows(self) -> pl.DataFrame:
        """The sums of all states."""
        held = np.flatnonzero(self.seen)
        cell, block = np.divmod(held, len(self.keys))
        own = {CELL: cell.astype(np.uint32), BLOCK: self.keys[block]}
        return pl.DataFrame(
            {name: own[name] if name in own else self.columns[name][held] for name in self.cube.names}
        )


def totals_of(
    cubes: Sequence[Cube], keys: NDArray[np.uint64] | None, modulus: int | None, room: int
) -> list[Totals | None]:
    """Where the sums of each cube are added; None where so many bytes have no room for all there could be."""
    out: list[Totals | None] = []
    for one in cubes:
        own = keys if BLOCK in one.names else np.zeros(1, dtype=np.uint64)
        size = 0 if own is None else one.cells * len(own)
        width = size * len(one.names) * np.dtype(np.float64).itemsize
        if own is None or width > room or size > max(_SPARE * one.rows, _FEW):
            out.append(None)
            continue
        room -= width
        out.append(Totals(one, own, modulus, np.zeros(size, dtype=np.bool_)))
    return out


def grouped(cubes: Sequence[Cube], alike: Sequence[Alike], blocks: MergedBlocks) -> list[pl.DataFrame]:
    """The sums of each cube by one grouped sum over the rows of all states."""
    plans = []
    for one in cubes:
        frames = [
            _moving(
                group.rows().filter(pl.col(PART) == one.number(group)).select(one.names),
                group.moved[one.place],
            )
            for group in alike
        ]
        rows = pl.concat([frame.select(one.names) for frame in frames]) if len(frames) > 1 else frames[0]
        if BLOCK in one.keys:
            rows = rows.with_columns(blocks.folded(BLOCK))
        plans.append(rows.group_by(one.keys).agg(pl.exclude(one.keys).sum()).sort(one.keys))
    return pl.collect_all(plans)


def _moving(frame: pl.LazyFrame, moved: pl.DataFrame) -> pl.LazyFrame:
    """Rows with the new numbers of their cells."""
    if moved.select((pl.col(CELL) == pl.col(_NEW)).all()).item():
        return frame
    return frame.join(moved.lazy(), on=CELL).with_columns(pl.col(_NEW).alias(CELL)).drop(_NEW)
