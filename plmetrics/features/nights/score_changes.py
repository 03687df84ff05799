"""Changes of metrics of ordered scores between intervals, by slice: from the counts in the states of both sides."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.errors import ConfigError, DataError
from plmetrics.core.ops import Array
from plmetrics.features.nights.states import IntervalState, alike_states, state_suite
from plmetrics.features.stored.alignment import StateReference
from plmetrics.features.stored.capture import blocks_in
from plmetrics.features.stored.compatibility import check_compatible
from plmetrics.features.stored.grids import read_constants, read_grids
from plmetrics.features.stored.merging import read_parts
from plmetrics.features.stored.restoration import empty_rows
from plmetrics.features.stored.sparse_counts import PieceRows
from plmetrics.inference.across_runs.decomposition import REST, decompose, ordered_subjects
from plmetrics.inference.across_runs.mixtures import SlicedPair, bin_starts
from plmetrics.inference.across_runs.score_decomposition import (
    Refusal,
    ScoreChange,
    SlicedChange,
)
from plmetrics.runs.reading import StoredRun
from plmetrics.states.scores.grid.run_grids import matching_rows
from plmetrics.states.state_format import CELL, Part, SavedState
from plmetrics.suite.model import Suite
from plmetrics.table.slices import Slices, SliceSet, order

MOST_SLICES = 64
"""Of more slices, those that weigh least are in `rest`."""

MOST_RESAMPLED = 16
"""Of more slices, the parts have no intervals: replicates would take too long."""

REPLICATE_BINS = 256
"""On so many bins replicates are made."""

_NEGLIGIBLE = 1e-12


def score_changes(suite: Suite, now: IntervalState, runs: Sequence[StoredRun], baseline: str) -> pl.DataFrame:
    """Rows of the table `decomposition` for the suite's metrics of ordered scores.

    `runs` are those of the intervals that it is compared with, whose states are added, and which are called `baseline`.

    Returns:
        For each model and metric the part of each slice, and the total. Where a state is absent, or does not add, a row
        that says so (`no_state`).
    """
    subjects = list(ordered_subjects(suite))
    try:
        before = list(map(alike_states(suite), runs))
        check_compatible([now.reference, *before])
    except (ConfigError, DataError) as error:
        note = error.problems[0].message
        return decompose(
            Refusal({"model": model, "baseline": baseline}, subjects, "no_state", note)
            for model in suite.models
        )
    head = now.reference.head
    sets = tuple(empty_rows(state_suite(suite), head, read_constants(head.constants, None))[1].sets)
    numbers = {name: number for number, name in enumerate(part.name for part in sets)}
    wanted = {0, *(numbers[subject.slice_set] for subject in subjects)}
    sides = FineScores.read(before, wanted), FineScores.read([now.reference], wanted)
    resampled = suite.uncertainty is not None and suite.uncertainty.names[0] == "bootstrap"
    return decompose(
        ScoreChange(
            _change(sides, sets, numbers[name], {"model": model, "baseline": baseline}, resampled=resampled),
            of_set,
            suite.uncertainty,
        )
        for model in suite.models
        for name, of_set in ((name, list(some)) for name, some in groupby(subjects, attrgetter("slice_set")))
    )


@dataclass(frozen=True, slots=True, eq=False)
class SideScores:
    """The scores of a model on one side of a comparison: in all rows, in the slices of a set, and in none of these.

    Counts on fine bins are `[slice, class, bin]`, `rest` those of the rows that are in none of the slices.
    """

    scores: FineScores
    model: str
    number: int
    slices: Slices
    whole: Slices
    of_slices: Array
    of_all: Array
    rest: Array

    @classmethod
    def of(cls, scores: FineScores, model: str, number: int, slices: Slices, whole: Slices) -> Self:
        """Counts of the slices of a set, by its number in the states."""
        of_slices = scores.counts(number, model, slices.values)
        of_all = scores.counts(0, model, whole.values)
        rest = of_all - of_slices.sum(axis=0, keepdims=True)
        rest[rest <= _NEGLIGIBLE * of_all] = 0.0
        return cls(scores, model, number, slices, whole, of_slices, of_all, rest)

    def counts(self, *, rest: bool) -> Array:
        """The counts of the slices, and of the rest as one more."""
        return np.concatenate([self.of_slices, self.rest]) if rest else self.of_slices

    def blocks(self, starts: NDArray[np.int64], *, rest: bool) -> Array:
        """Counts by block, on bins with some of the fine ones as their starts."""
        counts = self.scores.blocks(self.number, self.model, self.slices, self.of_slices, starts)
        if not rest:
            return counts
        every = self.scores.blocks(0, self.model, self.whole, self.of_all, starts)
        return np.concatenate([counts, np.maximum(every - counts.sum(axis=0, keepdims=True), 0.0)])


def _change(
    sides: tuple[FineScores, FineScores],
    sets: Sequence[SliceSet],
    number: int,
    constants: dict[str, str],
    *,
    resampled: bool,
) -> SlicedChange:
    """The scores of a model on both sides, by slice of a set and with all other rows as one more."""
    every = order(
        pl.concat([frame for side in sides for frame in side.values(number)], how="vertical_relaxed").unique()
    )
    model = constants["model"]
    values, words = _heaviest(sides, number, model, every)
    slices, whole = Slices(sets[number], values), Slices(sets[0], pl.DataFrame(height=1))
    before, after = (SideScores.of(side, model, number, slices, whole) for side in sides)
    rest = bool(before.rest.any() or after.rest.any())
    counts = [side.counts(rest=rest) for side in (before, after)]
    blocks = None
    if resampled and len(counts[0]) <= MOST_RESAMPLED:
        starts = bin_starts(counts[0] + counts[1], REPLICATE_BINS)
        blocks = before.blocks(starts, rest=rest), after.blocks(starts, rest=rest)
    names, pairs = [*slices.texts(), *[REST] * rest], [*slices.pairs(), *[[]] * rest]
    return SlicedChange(SlicedPair.of(*counts), names, pairs, constants, words, blocks)


def _heaviest(
    sides: tuple[FineScores, FineScores], number: int, model: str, values: pl.DataFrame
) -> tuple[pl.DataFrame, str | None]:
    """Slices with the largest weight in either run, and a note on the remaining ones."""
    if values.height <= MOST_SLICES:
        return values, None
    weights = [side.weights(number, model, values) for side in sides]
    share = np.max([weight / max(weight.sum(), 1e-300) for weight in weights], axis=0)
    chosen = np.sort(np.argsort(-share, kind="stable")[:MOST_SLICES])
    return values[chosen], f"rest has {values.height - MOST_SLICES:,} smaller slices"


@dataclass(frozen=True, slots=True)
class FineScores:
    """Parts of additive states: the slices of some sets, and the counts of scores in these."""

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
        """Key values of the slices of a set, state by state."""
        places = ((saved, saved.head.number("slices", (number,))) for saved in self.states)
        return [saved.values(place) for saved, place in places if place is not None]

    def counts(self, number: int, model: str, values: pl.DataFrame) -> Array:
        """Weight of each class on fine bins `[slice, class, bin]`, in the slices of a set with such values."""
        part = self._part(number, model, "fine")
        counts = np.zeros((values.height, *part.size))
        flat, width = counts.reshape(-1), counts.shape[1] * counts.shape[2]
        for slots, entries in self._entries(number, model, values, width):
            np.add.at(flat, slots, entries)
        return np.moveaxis(part.totals(counts), -1, 1)

    def weights(self, number: int, model: str, values: pl.DataFrame) -> Array:
        """Weight of the slices of a set with such values."""
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
        """Weight by block, on bins with some fine ones as their starts: `[slice, block, class, bin]`.

        States count blocks on coarse bins of each slice. What a block has in one of them is spread over the fine bins
        as all rows `[slice, class, bin]` are. Blocks of states that number them apart are folded alike.
        """
        coarse = self._by_block(number, model, slices)
        grid = read_grids(self.states[0])
        bin_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=fine.shape[-1]))
        out = np.zeros((len(slices), coarse.shape[1], 2, len(starts)))
        if grid is None or not coarse.size:
            return out
        coarse_of = grid[model].coarse(number, slices.values)
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
        for saved, rows, codes in self._rows(number, model, "coarse", slices.values) if counts.size else ():
            keys = saved.head.number("blocks")
            if keys is None:
                continue
            to = (blocks_in(saved.of(keys)) % np.uint64(modulus)).astype(np.int64)
            for slots, entries in rows.in_blocks(size[0] * size[1], to, modulus, codes):
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
        """Slots and counts of the slices of a set with such values, a few at a time and state by state."""
        for _, rows, codes in self._rows(number, model, "fine", values):
            yield from rows.entries(width, codes)

    def _rows(
        self, number: int, model: str, bins: str, values: pl.DataFrame
    ) -> Iterator[tuple[SavedState, PieceRows, NDArray[np.int64]]]:
        """Each state with its counts of the slices of a set with such values, and the places of its slices in these."""
        for saved in self.states:
            place = saved.head.number("scores", (number,), model, bins)
            named = saved.head.number("slices", (number,))
            if place is not None and named is not None:
                codes, rows = matching_rows(saved.values(named), values), saved.of(place)
                yield saved, PieceRows.of(rows.filter(pl.Series(codes).gather(rows[CELL]) >= 0)), codes


def _is_part_of(part: Part, sets: Collection[int]) -> bool:
    """Whether a part names the slices of some sets or holds their scores, or says where the bins of any lie."""
    if part.kind in {"blocks", "edges", "usual", "cuts"}:
        return True
    is_wanted = part.kind == "slices" or (part.kind == "scores" and part.bins in {"fine", "coarse"})
    return is_wanted and part.sets[0] in sets
