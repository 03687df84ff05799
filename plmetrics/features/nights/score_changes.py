"""Changes of metrics of ordered scores between intervals, by slice: from the counts in the states of both sides."""

from __future__ import annotations

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
from plmetrics.features.stored.pinning import read_constants
from plmetrics.features.stored.restoration import empty_request
from plmetrics.inference.across_runs.decomposition import REST, ordered_subjects
from plmetrics.inference.across_runs.mixtures import SlicedPair
from plmetrics.inference.across_runs.score_decomposition import (
    SlicedChange,
    refused_decomposition,
    score_decomposition,
)
from plmetrics.table.slices import Slices, order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.features.nights.states import IntervalState
    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.runs.reading import StoredRun
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import SliceSet

Array = NDArray[np.float64]

MOST_SLICES = 64
"""Of more slices, those that weigh least are in `rest`."""

_NEGLIGIBLE = 1e-12


def score_changes(suite: Suite, now: IntervalState, runs: Sequence[StoredRun], baseline: str) -> pl.DataFrame:
    """Rows of the table `decomposition` for the metrics of ordered scores that the suite names.

    Args:
        suite: says what is decomposed over which sets.
        now: the state of the interval.
        runs: those of the intervals that it is compared with, whose states are added.
        baseline: what these are called.

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
    seed = 0 if suite.uncertainty is None else suite.uncertainty.seed
    intervals = suite.uncertainty is not None
    parts = [
        score_decomposition(
            _change(sides, sets[numbers[name]], numbers[name], {"model": model, "baseline": baseline}),
            of_set,
            seed=seed,
            intervals=intervals,
        )
        for model in suite.models
        for name, of_set in ((name, list(some)) for name, some in groupby(subjects, attrgetter("slice_set")))
    ]
    return pl.concat([DECOMPOSITION_SCHEMA.to_frame(), *parts])


def _slice_sets(suite: Suite, state: StateReference) -> tuple[SliceSet, ...]:
    """The slice sets of a state, in the order of their numbers in it."""
    constants = read_constants(state.head.constants, None)
    return tuple(empty_request(state_suite(suite), state.head, constants).sets)


def _change(
    sides: tuple[FineScores, FineScores], slice_set: SliceSet, number: int, constants: dict[str, str | None]
) -> SlicedChange:
    """The scores of a model on both sides, by slice of a set and with all other rows as one more."""
    every = order(pl.concat([frame for side in sides for frame in side.values(number)]).unique())
    model = constants["model"]
    assert model is not None
    values, words = _heaviest(sides, number, model, every)
    slices = Slices(slice_set, values)
    names, pairs = slices.texts(), slices.pairs()
    counts = [side.counts(number, model, values) for side in sides]
    wholes = [side.counts(0, model, pl.DataFrame(height=1)) for side in sides]
    rests = [_rest(whole, some) for whole, some in zip(wholes, counts, strict=True)]
    if any(rest.any() for rest in rests):
        counts = [np.concatenate([some, rest]) for some, rest in zip(counts, rests, strict=True)]
        names, pairs = [*names, REST], [*pairs, []]
    return SlicedChange(SlicedPair.of(*counts), names, pairs, constants, words)


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


def _rest(whole: Array, counts: Array) -> Array:
    """What slices leave of all rows."""
    rest: Array = whole - counts.sum(axis=0, keepdims=True)
    rest[rest <= _NEGLIGIBLE * whole] = 0.0
    return rest
