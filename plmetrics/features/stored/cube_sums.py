"""The sums of several states, added one after another: a number for each cell and block.

The same states in the same order give the same to the last bit. Rows of reproducible states whose moments are about
centres of their own are not added: no two numbers about different centres add to the same in any order. They stay as
they are, and estimates read them in an order that their numbers alone decide. They have no whole numbers beside some
sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.exact_sums import FIXED
from plmetrics.core.hashing import block_numbers
from plmetrics.states.moments import CENTRE, Centres, Moment, about_common_centre
from plmetrics.states.state_format import BLOCK, CELL

if TYPE_CHECKING:
    from plmetrics.features.stored.alignment import AlignedStates, MergedBlocks

_SPARE = 4
_FEW = 1 << 16


@dataclass(slots=True)
class CubeSums:
    """Sums of slice sets with a common cube in every state.

    `number` is that of the part that tells their cells apart, `names` are the columns that all states have, and
    `moments` those of them that are about centres, which are columns, too. `keys` are the blocks, folded by `modulus`.
    `places` are the pairs of cell and block that have a number, ascending; None where all have.
    """

    sets: tuple[int, ...]
    number: int
    names: tuple[str, ...]
    moments: Mapping[str, Moment]
    keys: NDArray[np.uint64]
    modulus: int | None
    places: NDArray[np.int64] | None = None
    nonempty: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    far: list[pl.DataFrame] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Estimated memory of the sums."""
        return len(self.nonempty) * len(self.names) * np.dtype(np.float64).itemsize

    def read_in(self, group: AlignedStates) -> list[str]:
        """Columns to read of some states."""
        columns = () if self.moments else group.head.parts[group.sums_of(self.sets[0])].columns
        return list(dict.fromkeys([*self.names, *(name for name in columns if name.startswith(CENTRE))]))

    def place(self, group: AlignedStates, rows: pl.DataFrame) -> NDArray[np.int64]:
        """The pair of cell and block of each row, as one number."""
        place: NDArray[np.int64] = group.numbers[self.number][rows[CELL].to_numpy()] * len(self.keys)
        if BLOCK in self.names:
            place += block_numbers(self._fold(rows[BLOCK].to_numpy()), self.keys)
        return place

    def add(self, group: AlignedStates, rows: pl.DataFrame) -> None:
        """Add the sums of a state. `rows` are those of these sums."""
        rows = self._near(group, rows)
        place = self.place(group, rows)
        if self.places is not None:
            place = np.searchsorted(self.places, place)
        where = (
            slice(int(place[0]), int(place[-1]) + 1) if (np.diff(place) == 1).all() and len(place) else place
        )
        self.nonempty[where] = True
        columns = {name: rows[name].to_numpy() for name in self.names if name not in (CELL, BLOCK)}
        for name, values in columns.items():
            if name not in self.columns:
                self.columns[name] = np.zeros(len(self.nonempty), dtype=values.dtype)
        for name, values in self._about_one(columns, place).items():
            if isinstance(where, slice):
                self.columns[name][where] += values
            else:
                np.add.at(self.columns[name], where, values)

    def rows(self, constants: Mapping[str, Any]) -> pl.DataFrame:
        """Sums of all states with these constants."""
        occupied = np.flatnonzero(self.nonempty)
        place = occupied if self.places is None else self.places[occupied]
        cell, block = np.divmod(place, len(self.keys))
        keys = {CELL: cell.astype(np.uint32), BLOCK: self.keys[block]}
        near = pl.DataFrame(
            {name: keys[name] if name in keys else self.columns[name][occupied] for name in self.names}
        )
        far = [rows for rows in self.far if rows.height]
        if not far:
            return near
        every = pl.concat([near, *far], how="diagonal")
        shared = {
            f"{CENTRE}{model}|{key}": centre
            for model, centres in constants["centres"].items()
            for key, centre in centres.items()
        }
        centres = [name for name in every.columns if name.startswith(CENTRE)]
        every = every.with_columns(pl.col(name).fill_null(shared.get(name, 0.0)) for name in centres)
        return every.sort([name for name in keys if name in self.names])

    def _fold(self, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return blocks if self.modulus is None else blocks % np.uint64(self.modulus)

    def _near(self, group: AlignedStates, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows to add; others are put aside."""
        names = self.read_in(group)
        if len(names) == len(self.names):
            return rows
        is_far = pl.any_horizontal(pl.col(name).is_null() for name in self.names if name.startswith(FIXED))
        far = rows.filter(is_far).select(names)
        keys = {CELL: group.numbers[self.number][far[CELL].to_numpy()].astype(np.uint32)}
        if BLOCK in self.names:
            keys[BLOCK] = self._fold(far[BLOCK].to_numpy())
        self.far.append(far.with_columns(pl.Series(name, values) for name, values in keys.items()))
        return rows.filter(~is_far)

    def _about_one(
        self, columns: dict[str, NDArray[Any]], place: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """Columns to add, with moments about common centres, those of the sums from then on."""
        centres = [name for name in columns if name.startswith(CENTRE)]
        out = {name: values for name, values in columns.items() if name not in centres}
        if all(np.array_equal(self.columns[name][place], columns[name]) for name in centres):
            return out
        there, to = np.unique(place, return_inverse=True)
        names = {*self.moments, *(moment.mass for moment in self.moments.values())}
        both = {
            name: np.concatenate([self.columns[name][there], columns[name]]) for name in (*names, *centres)
        }
        at = Centres({name.removeprefix(CENTRE): both[name] for name in centres}, self.moments)
        moved_columns, common_centres = about_common_centre(
            both, at, np.concatenate([np.arange(len(there)), to]), len(there)
        )
        for name in centres:
            self.columns[name][there] = common_centres.at[name.removeprefix(CENTRE)]
        for name in self.moments:
            self.columns[name][there], out[name] = np.split(moved_columns[name], [len(there)])
        return out


def cube_sums(
    sets: tuple[int, ...], number: int, layouts: Sequence[AlignedStates], blocks: MergedBlocks, room: int
) -> CubeSums:
    """Accumulator of the sums of some slice sets.

    `number` is that of the part that tells the cells of all states apart. Without `room`, bytes for a number for each
    cell and block, only those that some state has get one.
    """
    moments = _moments(layouts[0].head.constants)
    parts = [group.head.parts[group.sums_of(sets[0])] for group in layouts]
    shared = set.intersection(*(set(part.columns) for part in parts))
    names = tuple(
        name for name in parts[0].columns if name in shared and (moments or not name.startswith(CENTRE))
    )
    moments_of_names = {name: moments[name] for name in names if name in moments}
    keys = blocks.keys if BLOCK in names else np.zeros(1, dtype=np.uint64)
    sums = CubeSums(sets, number, names, moments_of_names, keys, blocks.modulus)
    every = (max(int(group.numbers[number].max(initial=-1)) for group in layouts) + 1) * len(keys)
    most = max(state.head.parts[group.sums_of(sets[0])].rows for group in layouts for state in group.states)
    if every * len(names) * np.dtype(np.float64).itemsize > room or every > max(_SPARE * most, _FEW):
        sums.places = _occurring(sums, layouts)
        every = len(sums.places)
    sums.nonempty = np.zeros(every, dtype=np.bool_)
    return sums


def _occurring(sums: CubeSums, layouts: Sequence[AlignedStates]) -> NDArray[np.int64]:
    """Nonempty pairs of cell and block of any state."""
    names = [name for name in sums.names if name in (CELL, BLOCK)]
    places = np.zeros(0, dtype=np.int64)
    for group in layouts:
        number = group.sums_of(sums.sets[0])
        for state in group.states:
            numbers = sums.place(group, state.rows(state.read(names), number))
            every = np.sort(np.concatenate([places, numbers]), kind="stable")
            places = every[np.flatnonzero(np.diff(every, prepend=-1))]
    return places


def _moments(constants: Mapping[str, Any]) -> dict[str, Moment]:
    """Columns of moments, from a state's constants."""
    return {
        name: Moment(tuple(entry["centres"]), entry["mass"], tuple(entry["alone"]))
        for name, entry in constants.get("moments", {}).items()
    }
