"""Counts by window, cell and place rolled up to slices, the windows beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array
from plmetrics.inference.comparisons.tests.unit_samples import UnitRows
from plmetrics.states.scores.exact.sorting import ascending_order, sort
from plmetrics.table.slices import Cube, Slices

KEY = "@key"
"""Twice the number of a slice cell, and 1 more in rows that are evaluated."""

PLACE = "@place"
BLOCK = "@block"
"""The block of units of rows, where these count for p values."""

SetCounts: TypeAlias = tuple[pl.DataFrame, UnitRows | None]
"""Counts of a slice set by slice and place, and its rows by block of units where these count."""

SUMS = ("rows", "weight", "offset", "square")
WIDTH = "width"
"""How far the end of a bin lies above its place, 0 where all its values are the place itself."""

_SHORT = 1 << 15
"""Up to so many slices their numbers are sorted as short integers, which takes one pass."""


def recentre(frame: pl.DataFrame, edges: Array, centre: float) -> pl.DataFrame:
    """Counts with edges in place of their numbers, and sums about edges in place of a common centre."""
    defined = frame[PLACE].is_not_null().to_numpy()
    place = edges[frame[PLACE].fill_null(0).to_numpy()]
    weight, offset, square = (
        frame[name].fill_null(0.0).to_numpy() for name in ("weight", "offset", "square")
    )
    shift = place - centre
    above = np.where(defined, offset - weight * shift, 0.0)
    squares = np.where(defined, square - 2 * shift * offset + weight * shift**2, 0.0)
    return frame.with_columns(
        pl.Series(PLACE, place).set(pl.Series(~defined), None),
        pl.Series("offset", np.maximum(above, 0.0)),
        pl.Series("square", np.maximum(squares, 0.0)),
    )


def roll_up_windows(
    sets: Sequence[Slices], cubes: Sequence[Cube], frames: Sequence[pl.DataFrame]
) -> list[SetCounts]:
    """The counts of a column in every slice set, from those of each cube: by slice and ascending in place, null last.

    There is a row for each `slice` and `place` that occurs in a window: `rows_0` and `weight_0` in the reference,
    `rows_1` and `weight_1` in the rows that are evaluated. Where places are edges of bins, `offset_W` and `square_W`
    are sums of weight x (value - place) and of weight x (value - place)^2. Beside them are the rows by block of units,
    where frames tell these.
    """
    cells = [_Cells.of(frame) for frame in frames]
    out = []
    for slices in sets:
        number = next(i for i, cube in enumerate(cubes) if any(part is slices for part in cube.sets))
        codes = cubes[number].slice_codes(slices, cells[number].cell)
        out.append(cells[number].rolled_up(codes, len(slices)))
    return out


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts as arrays, ascending in place, null last; `starts` says where another place begins."""

    cell: NDArray[np.int64]
    window: NDArray[np.int64]
    starts: NDArray[np.bool_]
    place: pl.Series
    sums: dict[str, Array]
    block: NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame) -> _Cells:
        if "rows" not in frame.columns:
            return cls._of_rows(frame)
        weighted = bool((frame["weight"] != frame["rows"]).any())
        by_unit = [BLOCK] if BLOCK in frame.columns else []
        within = [KEY, *by_unit, "weight"] if weighted or by_unit else []
        frame = frame.sort(PLACE, *within, nulls_last=True)
        place, key = frame[PLACE], frame[KEY].to_numpy()
        starts = place.ne_missing(place.shift()).to_numpy()
        sums = {name: frame[name].to_numpy().astype(np.float64) for name in SUMS if name in frame.columns}
        block = frame[BLOCK].to_numpy() if by_unit else None
        return cls(key >> 1, key & 1, starts, place, sums, block)

    @classmethod
    def _of_rows(cls, frame: pl.DataFrame) -> _Cells:
        """Numbers row by row, each of weight 1; with a single cell the sort is of numbers alone."""
        keys, place = frame[KEY], frame[PLACE]
        blocks = frame[BLOCK] if BLOCK in frame.columns else None
        absent, block = keys.clear().to_numpy(), None if blocks is None else blocks.to_numpy()
        if place.null_count():
            absent = keys.filter(place.is_null()).to_numpy()
            if blocks is not None:
                block = np.concatenate(
                    [blocks.filter(mask) for mask in (place.is_not_null(), place.is_null())]
                )
            keys, place = keys.filter(place.is_not_null()), place.drop_nulls()
        key = keys.to_numpy()
        if key.max(initial=0) > 1 or block is not None:
            values = place.to_numpy()
            order = ascending_order(values)
            key, values = key[order], values[order]
            if block is not None:
                block = np.concatenate([block[order], block[len(order) :]])
        else:
            now = keys == 1  # a series picks rows several times as fast as an array
            before = len(now) - int(now.sum())
            values = np.concatenate([place.filter(mask) for mask in (~now, now)])
            sort(values[:before])
            sort(values[before:])
            order = np.argsort(values, kind="stable")  # which merges the two
            key, values = (order >= before).astype(np.uint8), values[order]
        changes = np.zeros(len(values) + len(absent), dtype=np.bool_)
        changes[1 : len(values)] = values[1:] != values[:-1]
        changes[len(values) : len(values) + 1] = True
        places = pl.Series(PLACE, values)
        if len(absent):
            key = np.concatenate((key, absent))
            places = places.extend_constant(None, len(absent))
        return cls(key >> 1, key & 1, changes, places, {}, block)

    def rolled_up(self, codes: NDArray[np.int64], slices: int) -> SetCounts:
        """Sums by slice and place, without rows of no slice (a negative code), and these rows by block of units."""
        place, window, sums, starts = self.place, self.window, self.sums, self.starts.copy()
        block = self.block
        if codes.any():
            small = codes.astype(np.int16) if codes.max() < _SHORT else codes
            order = np.argsort(small, kind="stable")
            order = order[np.count_nonzero(codes < 0) :]
            rank = np.cumsum(starts)[order]
            codes, window, place = codes[order], window[order], place.gather(order)
            sums = {name: values[order] for name, values in sums.items()}
            block = None if block is None else block[order]
            starts = np.ones(len(codes), dtype=np.bool_)
            starts[1:] = (codes[1:] != codes[:-1]) | (rank[1:] != rank[:-1])
        starts[:1] = True
        units = None
        if block is not None:
            ones, zeros = (np.broadcast_to(value, codes.shape) for value in (1.0, 0.0))
            point = np.cumsum(starts, dtype=np.int32) - 1
            rows, offset = sums.get("weight", ones), sums.get("offset", zeros)
            units = UnitRows(slices, codes, point, block, window.astype(np.uint8), rows, offset)
        if not sums and starts.all():
            counts = 1 - window.astype(np.int8), window.astype(np.int8)
            return pl.DataFrame({"slice": codes, "place": place} | _even_counts(counts)), units
        first = np.flatnonzero(starts)
        columns: dict[str, object] = {"slice": codes[first], "place": place.gather(first)}
        if not sums:
            now = np.add.reduceat(window, first, dtype=np.int64)
            even = _even_counts((np.diff(first, append=len(window)) - now, now))
            return pl.DataFrame(columns | even), units
        for name, values in sums.items():
            for side in (0, 1):
                masked = np.where(window == side, values, 0.0)
                columns[f"{name}_{side}"] = np.add.reduceat(masked, first) if len(first) else masked
        return pl.DataFrame(columns), units


def _even_counts(counts: Sequence[NDArray[np.integer[Any]]]) -> dict[str, pl.Series]:
    """Numbers of rows of weight 1 in both windows; their weights are the same."""
    rows = {side: pl.Series(part) for side, part in enumerate(counts)}
    return {f"{name}_{side}": part for name in ("rows", "weight") for side, part in rows.items()}
