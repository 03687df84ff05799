"""The counts of scores on fine bins that states hold of some slice sets, read without the rest of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.features.stored.merging import read_parts
from plmetrics.features.stored.sparse_counts import PieceRows
from plmetrics.states.scores.run_grids import matching_rows
from plmetrics.states.stored import CELL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Self

    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.states.stored import Part, SavedState

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FineScores:
    """Parts of states that add: the slices of some sets, and the counts on fine bins in these."""

    states: tuple[SavedState, ...]

    @classmethod
    def read(cls, states: Iterable[StateReference], sets: Collection[int]) -> Self:
        """Read them of states; sets go by their numbers in these."""
        return cls(
            tuple(
                read_parts(state, [n for n, part in enumerate(state.head.parts) if _is_part_of(part, sets)])
                for state in states
            )
        )

    def values(self, number: int) -> list[pl.DataFrame]:
        """The values that tell the slices of a set apart, state by state."""
        places = ((saved, saved.head.number("slices", (number,))) for saved in self.states)
        return [saved.values(place) for saved, place in places if place is not None]

    def counts(self, number: int, model: str, values: pl.DataFrame) -> Array:
        """Weight of each class on fine bins `[slice, class, bin]`, in those slices of a set that have such values."""
        counts = np.zeros((values.height, *self._size(number, model)))
        flat, width = counts.reshape(-1), counts.shape[1] * counts.shape[2]
        for slots, entries in self._entries(number, model, values, width):
            np.add.at(flat, slots, entries)
        return np.moveaxis(counts, -1, 1)

    def weights(self, number: int, model: str, values: pl.DataFrame) -> Array:
        """The weight of those slices of a set that have such values."""
        bins, classes = self._size(number, model)
        weights = np.zeros(values.height)
        for slots, entries in self._entries(number, model, values, bins * classes):
            np.add.at(weights, slots // (bins * classes), entries)
        return weights

    def _size(self, number: int, model: str) -> tuple[int, int]:
        """The numbers of bins and of classes; no bins where no state counts scores of the set."""
        places = ((saved, saved.head.number("scores", (number,), model, "fine")) for saved in self.states)
        return next((saved.head.parts[place].size for saved, place in places if place is not None), (0, 2))

    def _entries(
        self, number: int, model: str, values: pl.DataFrame, width: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.generic]]]:
        """The slots and counts of those slices of a set that have such values, a few at a time and state by state."""
        for saved in self.states:
            place = saved.head.number("scores", (number,), model, "fine")
            named = saved.head.number("slices", (number,))
            if place is None or named is None:
                continue
            to = matching_rows(saved.values(named), values)
            rows = saved.of(place)
            wanted = rows.filter(pl.Series(to).gather(rows[CELL]) >= 0)
            yield from PieceRows.of(wanted).entries(width, to)


def _is_part_of(part: Part, sets: Collection[int]) -> bool:
    """Whether a part names the slices of some sets, or holds their fine bins."""
    is_wanted = part.kind == "slices" or (part.kind == "scores" and part.bins == "fine")
    return is_wanted and part.sets[0] in sets
