"""The counts of scores that states hold of some slice sets, on fine bins and by block, without the rest of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.features.stored.capture import blocks_in
from plmetrics.features.stored.grids import read_grids
from plmetrics.features.stored.merging import read_parts
from plmetrics.features.stored.sparse_counts import PieceRows
from plmetrics.states.scores.run_grids import matching_rows
from plmetrics.states.state_format import CELL, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Self

    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.states.state_format import SavedState
    from plmetrics.table.slices import Slices

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FineScores:
    """Parts of states that add: the slices of some sets, and the counts of scores in these."""

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
        part = self._part(number, model, "fine")
        counts = np.zeros((values.height, *part.size))
        flat, width = counts.reshape(-1), counts.shape[1] * counts.shape[2]
        for slots, entries in self._entries(number, model, values, width):
            np.add.at(flat, slots, entries)
        return np.moveaxis(part.totals(counts), -1, 1)

    def weights(self, number: int, model: str, values: pl.DataFrame) -> Array:
        """The weight of those slices of a set that have such values."""
        part = self._part(number, model, "fine")
        bins, numbers = part.size
        weights = np.zeros((values.height, numbers))
        for slots, entries in self._entries(number, model, values, bins * numbers):
            np.add.at(weights, (slots // (bins * numbers), slots % numbers), entries)
        total: Array = part.totals(weights).sum(axis=1)
        return total

    def blocks(
        self, number: int, model: str, slices: Slices, fine: Array, starts: NDArray[np.int64]
    ) -> Array:
        """Weight by block, on the bins that begin at some fine ones: `[slice, block, class, bin]`.

        States count blocks on coarse bins of each slice. What a block has in one of them is spread over the fine bins
        as all rows `[slice, class, bin]` are. Blocks of states that number them apart are folded alike.
        """
        coarse = self._by_block(number, model, slices)
        grid = read_grids(self.states[0])
        bin_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=fine.shape[-1]))
        out = np.zeros((len(slices), coarse.shape[1], 2, len(starts)))
        if grid is None or not coarse.size:
            return out
        coarse_of = grid[model].coarse(number, slices)
        for place, bins in enumerate(coarse_of):
            for kind in range(2):
                spread = np.zeros((coarse.shape[2], len(starts)))
                np.add.at(spread, (bins, bin_of), fine[place, kind])
                total = spread.sum(axis=1, keepdims=True)
                np.divide(spread, total, out=spread, where=total > 0)
                out[place, :, kind] = coarse[place, :, :, kind] @ spread
        return out

    def _by_block(self, number: int, model: str, slices: Slices) -> Array:
        """Counts on coarse bins `[slice, block, bin, class]`, without blocks where states have none."""
        part = self._part(number, model, "coarse")
        size, modulus = part.size, self.states[0].head.blocks or 0
        counts = np.zeros((len(slices), modulus if size[0] else 0, *size))
        for saved in self.states if counts.size else ():
            place = saved.head.number("scores", (number,), model, "coarse")
            keys, named = saved.head.number("blocks"), saved.head.number("slices", (number,))
            if place is None or keys is None or named is None:
                continue
            to = (blocks_in(saved.of(keys)) % np.uint64(modulus)).astype(np.int64)
            codes = matching_rows(saved.values(named), slices.values)
            rows = saved.of(place)
            wanted = PieceRows.of(rows.filter(pl.Series(codes).gather(rows[CELL]) >= 0))
            for slots, entries in wanted.in_blocks(size[0] * size[1], to, modulus, codes):
                np.add.at(counts.reshape(-1), slots, entries)
        return part.totals(counts)

    def _part(self, number: int, model: str, bins: str) -> Part:
        """Part with the counts of scores on bins of a kind; without bins where no state has such of the set."""
        places = ((saved, saved.head.number("scores", (number,), model, bins)) for saved in self.states)
        parts = (saved.head.parts[place] for saved, place in places if place is not None)
        return next(parts, Part("scores", size=(0, 2)))

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
    """Whether a part names the slices of some sets, holds their scores, or says where bins lie."""
    if part.kind in {"blocks", "edges", "usual"}:
        return True
    is_wanted = part.kind in {"slices", "cuts"} or (part.kind == "scores" and part.bins in {"fine", "coarse"})
    return is_wanted and part.sets[0] in sets
