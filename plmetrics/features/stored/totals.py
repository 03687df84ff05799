"""The sums of several states added: columns of one number a cell and block where there is room, else a grouped sum.

Both give the same. In columns, states are added one after another, so that the same states in the same order give the
same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.engine.order.in_memory import block_numbers
from plmetrics.engine.streaming import frames_of
from plmetrics.features.stored.alignment import Cube
from plmetrics.features.stored.far_moments import beside, centre_columns, is_far
from plmetrics.states.moments import CENTRE, Centres, Moment, about_one, moved
from plmetrics.states.stored import BLOCK, CELL, PART

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.features.stored.alignment import Alike
    from plmetrics.features.stored.units import MergedBlocks

_NEW = "@new"
_MEAN = "@mean|"
_SPARE = 4
_FEW = 1 << 16


def moments_said(constants: Mapping[str, Any]) -> dict[str, Moment]:
    """The columns of moments, from what a state says of its constants."""
    return {
        name: Moment(tuple(said["centres"]), said["mass"], tuple(said["alone"]))
        for name, said in constants.get("moments", {}).items()
    }


def cube(sets: tuple[int, ...], place: int, cells: int, alike: Sequence[Alike]) -> Cube:
    """The sums of some slice sets in all states."""
    known = moments_said(alike[0].head.constants)
    empty = Cube(sets, (), place, cells, 0)
    parts = [group.head.parts[empty.number(group)] for group in alike]
    own = [set(part.columns) for part in parts]
    names = tuple(
        name
        for name in parts[0].columns
        if all(name in columns for columns in own) and (known or not name.startswith(CENTRE))
    )
    rows = max(state.head.parts[empty.number(group)].rows for group in alike for state in group.states)
    return Cube(sets, names, place, cells, rows, {name: known[name] for name in names if name in known})


@dataclass(slots=True)
class Totals:
    """The sums of a cube, as states are added one after another: a number for each cell and block."""

    cube: Cube
    keys: NDArray[np.uint64]
    modulus: int | None
    seen: NDArray[np.bool_]
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    far: list[pl.DataFrame] = field(default_factory=list)

    def add(self, group: Alike, rows: pl.DataFrame) -> None:
        """Add the sums of a state.

        Args:
            group: those whose cells have the same numbers.
            rows: of the state, those of this cube.
        """
        rows = self._near(group, rows)
        place = group.numbers[self.cube.place][rows[CELL].to_numpy()] * len(self.keys)
        if BLOCK in self.cube.names:
            blocks = rows[BLOCK].to_numpy()
            place += block_numbers(
                blocks if self.modulus is None else blocks % np.uint64(self.modulus), self.keys
            )
        steps = np.diff(place)
        where = slice(int(place[0]), int(place[-1]) + 1) if len(place) and (steps == 1).all() else place
        self.seen[where] = True
        columns = {name: rows[name].to_numpy() for name in self.cube.sums}
        for name, values in columns.items():
            if name not in self.columns:
                self.columns[name] = np.zeros(len(self.seen), dtype=values.dtype)
        for name, values in self._about_one(columns, place).items():
            if isinstance(where, slice):
                self.columns[name][where] += values
            else:
                np.add.at(self.columns[name], where, values)

    def _near(self, group: Alike, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that are to be added; others are put aside."""
        centres = centre_columns(self.cube, group)
        if not centres:
            return rows
        far = rows.filter(is_far(self.cube.names)).select(*self.cube.names, *centres)
        cells = pl.Series(CELL, group.numbers[self.cube.place][far[CELL].to_numpy()])
        far = far.with_columns(cells)
        if BLOCK in self.cube.names and self.modulus is not None:
            far = far.with_columns(pl.col(BLOCK) % self.modulus)
        self.far.append(far)
        return rows.filter(~is_far(self.cube.names))

    def _about_one(
        self, columns: dict[str, NDArray[Any]], place: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """The columns that are to be added, with moments about the centres that those there have then, too."""
        centres = [name for name in columns if name.startswith(CENTRE)]
        out = {name: values for name, values in columns.items() if name not in centres}
        if all(np.array_equal(self.columns[name][place], columns[name]) for name in centres):
            return out
        there, to = np.unique(place, return_inverse=True)
        moments = self.cube.moments
        read = {*moments, *(moment.mass for moment in moments.values())}
        both = {
            name: np.concatenate([self.columns[name][there], columns[name]]) for name in (*read, *centres)
        }
        at = Centres({name.removeprefix(CENTRE): both[name] for name in centres}, moments)
        made, found = about_one(both, at, np.concatenate([np.arange(len(there)), to]), len(there))
        for name in centres:
            self.columns[name][there] = found.at[name.removeprefix(CENTRE)]
        for name in moments:
            self.columns[name][there], out[name] = np.split(made[name], [len(there)])
        return out

    def rows(self, constants: Mapping[str, Any]) -> pl.DataFrame:
        """The sums of all states, which have these constants."""
        held = np.flatnonzero(self.seen)
        cell, block = np.divmod(held, len(self.keys))
        own = {CELL: cell.astype(np.uint32), BLOCK: self.keys[block]}
        near = pl.DataFrame(
            {name: own[name] if name in own else self.columns[name][held] for name in self.cube.names}
        )
        return beside(near, self.far, constants)


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
    plans, far = [], []
    for one in cubes:
        frames, apart = [], []
        for group in alike:
            centres = centre_columns(one, group)
            rows = group.rows().filter(pl.col(PART) == one.number(group)).select(*one.names, *centres)
            rows = _moving(rows, group.moved[one.place])
            if BLOCK in one.keys:
                rows = rows.with_columns(blocks.folded(BLOCK))
            if centres:
                apart.append(rows.filter(is_far(one.names)))
                rows = rows.filter(~is_far(one.names))
            frames.append(rows.select(one.names))
        rows = pl.concat(frames) if len(frames) > 1 else frames[0]
        far.append(frames_of(apart))
        centres = [name for name in one.sums if name.startswith(CENTRE)]
        rows = _about_one(rows, one, centres)
        sums = [pl.exclude([*one.keys, *centres]).sum(), *(pl.col(name).first() for name in centres)]
        plans.append(rows.group_by(one.keys).agg(sums).sort(one.keys).select(one.names))
    constants = alike[0].head.constants if alike else {}
    return [beside(near, apart, constants) for near, apart in zip(frames_of(plans), far, strict=True)]


def _about_one(rows: pl.LazyFrame, cube: Cube, centres: Sequence[str]) -> pl.LazyFrame:
    """The rows with the moments of each cell and block about the mean of all states there."""
    if not centres:
        return rows
    near: dict[str, Any] = {name.removeprefix(CENTRE): pl.col(name) for name in centres}
    columns: dict[str, Any] = {name: pl.col(name) for name in cube.sums}
    sums: dict[str, tuple[pl.Expr, pl.Expr]] = {}
    for name, moment in cube.moments.items():
        if not moment.alone:
            (key,) = moment.centres
            mass = columns[moment.mass].cast(pl.Float64)
            total, masses = sums.get(key, (pl.lit(0.0), pl.lit(0.0)))
            sums[key] = total + columns[name] + near[key] * mass, masses + mass
    rows = rows.with_columns(
        (total.sum().over(cube.keys) / mass.sum().over(cube.keys)).alias(f"{_MEAN}{key}")
        for key, (total, mass) in sums.items()
    )
    means: dict[str, Any] = {
        key: pl.when(pl.col(f"{_MEAN}{key}").is_finite())
        .then(pl.col(f"{_MEAN}{key}"))
        .otherwise(at.first().over(cube.keys))
        for key, at in near.items()
    }
    made: dict[str, Any] = moved(columns, Centres(near, cube.moments), Centres(means, cube.moments))
    return rows.with_columns(
        *(made[name].alias(name) for name in cube.moments),
        *(at.alias(f"{CENTRE}{key}") for key, at in means.items()),
    ).select(cube.names)


def _moving(frame: pl.LazyFrame, moved: pl.DataFrame) -> pl.LazyFrame:
    """Rows with the new numbers of their cells."""
    if moved.select((pl.col(CELL) == pl.col(_NEW)).all()).item():
        return frame
    return frame.join(moved.lazy(), on=CELL).with_columns(pl.col(_NEW).alias(CELL)).drop(_NEW)
