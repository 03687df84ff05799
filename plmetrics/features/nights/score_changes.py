"""Changes of metrics of ordered scores between intervals, by slice: from the counts in the states of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.errors import PlmetricsError
from plmetrics.core.results import DECOMPOSITION_SCHEMA
from plmetrics.features.nights.states import alike_states, state_suite
from plmetrics.features.stored.compatibility import check_compatible
from plmetrics.features.stored.fine_scores import FineScores
from plmetrics.features.stored.grids import read_constants
from plmetrics.features.stored.restoration import empty_rows
from plmetrics.inference.across_runs.decomposition import REST, ordered_subjects
from plmetrics.inference.across_runs.mixtures import SlicedPair, bin_starts
from plmetrics.inference.across_runs.score_decomposition import (
    SlicedChange,
    refused_decomposition,
    score_decomposition,
)
from plmetrics.table.slices import Slices, order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from plmetrics.features.nights.states import IntervalState
    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.runs.reading import StoredRun
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import SliceSet

Array = NDArray[np.float64]

MOST_SLICES = 64
"""Of more slices, those that weigh least are in `rest`."""

MOST_RESAMPLED = 16
"""Of more slices, the parts have no intervals: replicates would take too long."""

REPLICATE_BINS = 256
"""On so many bins replicates are made."""

_NEGLIGIBLE = 1e-12


def score_changes(suite: Suite, now: IntervalState, runs: Sequence[StoredRun], baseline: str) -> pl.DataFrame:
    """Rows of the table `decomposition` for the metrics of ordered scores that the suite names.

    `runs` are those of the intervals that it is compared with, whose states are added, and which are called `baseline`.

    Returns:
        For each model and metric the part of each slice, and the total. Where a state is absent, or does not add, a row
        that says so (`no_state`).
    """
    subjects = list(ordered_subjects(suite))
    try:
        before = list(map(alike_states(suite), runs))
        check_compatible([now.reference, *before])
    except PlmetricsError as error:
        note = error.problems[0].message
        tables = [
            refused_decomposition({"model": model, "baseline": baseline}, subjects, "no_state", note)
            for model in suite.models
        ]
        return pl.concat(tables)
    sets = _slice_sets(suite, now.reference)
    numbers = {name: number for number, name in enumerate(part.name for part in sets)}
    wanted = {0, *(numbers[subject.slice_set] for subject in subjects)}
    sides = FineScores.read(before, wanted), FineScores.read([now.reference], wanted)
    resampled = suite.uncertainty is not None and suite.uncertainty.names[0] == "bootstrap"
    parts = [
        score_decomposition(
            _change(sides, sets, numbers[name], {"model": model, "baseline": baseline}, resampled=resampled),
            of_set,
            suite.uncertainty,
        )
        for model in suite.models
        for name, of_set in ((name, list(some)) for name, some in groupby(subjects, attrgetter("slice_set")))
    ]
    return pl.concat([DECOMPOSITION_SCHEMA.to_frame(), *parts])


def _slice_sets(suite: Suite, state: StateReference) -> tuple[SliceSet, ...]:
    """The slice sets of a state, in the order of their numbers in it."""
    constants = read_constants(state.head.constants, None)
    return tuple(empty_rows(state_suite(suite), state.head, constants)[1].sets)


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
        """Counts of the slices of a set, which goes by its number in the states."""
        of_slices = scores.counts(number, model, slices.values)
        of_all = scores.counts(0, model, whole.values)
        rest = of_all - of_slices.sum(axis=0, keepdims=True)
        rest[rest <= _NEGLIGIBLE * of_all] = 0.0
        return cls(scores, model, number, slices, whole, of_slices, of_all, rest)

    def counts(self, *, rest: bool) -> Array:
        """The counts of the slices, and of the rest as one more."""
        return np.concatenate([self.of_slices, self.rest]) if rest else self.of_slices

    def blocks(self, starts: NDArray[np.int64], *, rest: bool) -> Array:
        """Counts by block, on bins that begin at some of the fine ones."""
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
    every = order(pl.concat([frame for side in sides for frame in side.values(number)]).unique())
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
    """The slices that weigh most in either run, and a word on those that were left to the rest."""
    if values.height <= MOST_SLICES:
        return values, None
    weights = [side.weights(number, model, values) for side in sides]
    share = np.max([weight / max(weight.sum(), 1e-300) for weight in weights], axis=0)
    chosen = np.sort(np.argsort(-share, kind="stable")[:MOST_SLICES])
    return values[chosen], f"rest has {values.height - MOST_SLICES:,} smaller slices"
