"""The lowest and the highest number of each slice, as states hold them where they count quantiles.

Of several states they are the lowest of the lowest and the highest of the highest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.states.scores.roll_up import NO_ENDS
from plmetrics.states.state_format import CELL, Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array
    from plmetrics.states.state_format import Builder, SavedState

LOW, HIGH = "@low", "@high"
ENDS = pl.Schema({CELL: pl.UInt32(), LOW: pl.Float64(), HIGH: pl.Float64()})


def ends_rows(ends: Array, first: int) -> pl.DataFrame:
    """The rows of slices that have numbers, from `[slice, end]`; `first` is the number of the first slice."""
    occupied = np.flatnonzero(ends[:, 0] <= ends[:, 1])
    return pl.DataFrame(
        {CELL: occupied + first, LOW: ends[occupied, 0], HIGH: ends[occupied, 1]}, schema=ENDS
    )


def write_ends(builder: Builder, ends: Mapping[tuple[int, str], pl.DataFrame]) -> None:
    """Add the parts that hold the ends, by number of the slice set and name of the ordering."""
    for (number, name), rows in ends.items():
        builder.add(Part("ends", (number,), name), rows)


def joined_ends(first: pl.DataFrame, other: pl.DataFrame, numbers: NDArray[np.int64]) -> pl.DataFrame:
    """The ends of two states; `numbers` are those that the slices of the other one go by."""
    cells = pl.Series(CELL, numbers[other[CELL].to_numpy()], dtype=pl.UInt32)
    both = pl.concat([first, other.with_columns(cells)])
    return both.group_by(CELL).agg(pl.col(LOW).min(), pl.col(HIGH).max()).sort(CELL)


def read_ends(saved: SavedState, number: int, name: str, first: int, size: int) -> Array | None:
    """The ends of some slices of a set `[slice, end]`; None where the state has none of an ordering."""
    part = saved.head.number("ends", (number,), name)
    if part is None:
        return None
    rows = saved.of(part).filter(pl.col(CELL).is_between(first, first + size, closed="left"))
    out = np.empty((size, 2))
    out[:] = NO_ENDS
    out[rows[CELL].to_numpy().astype(np.int64) - first] = rows.select(LOW, HIGH).to_numpy()
    return out
