"""From states to estimates: each metric of each model, with replicates, a chunk of slices at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.metric import UNREACHABLE_ON_GRID
from plmetrics.inference.estimate import Estimate, whole_blocks
from plmetrics.inference.finalised import OrderedValues, conditions, defined, finalised, finalising
from plmetrics.inference.ordered import ordered_values
from plmetrics.inference.summed import ModelSums
from plmetrics.inference.weights import Nudges
from plmetrics.states.sums import EVERY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.inference.weights import ResamplingWeights
    from plmetrics.states.rests import RestSums
    from plmetrics.states.sums import SlicedSums

Array = NDArray[np.float64]
Texts = NDArray[np.object_]

_SLICES_AT_ONCE = 512
_DRAWN_AT_ONCE = 1 << 19
"""So many replicates of slices, times the number of sums, are held at once: with more replicates, of fewer slices."""


@dataclass(frozen=True, slots=True)
class Population:
    """Whose rows stand behind a model's numbers, and whether they are independent and equally weighted.

    `thresholds` are those that were chosen from rows, by model and text of the rule. `every_row` says that rows which
    are left out are counted apart, for the metrics that read them.
    """

    models: Mapping[str, str]
    independent: bool
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    every_row: bool = False

    def prefix(self, metric: Metric, model: str) -> str:
        """What stands before the names of the counts behind a metric of a model."""
        return EVERY if self.every_row and metric.every_row else self.models[model]

    def threshold(self, metric: Metric, model: str) -> float | None:
        """The threshold that a metric's rule gave a model, NaN if none does what it asks; None without a rule."""
        rule = metric.chosen_threshold
        if rule is None:
            return None
        return self.thresholds[model][rule.text] if rule.constant is None else rule.constant


@dataclass(frozen=True, slots=True)
class Chunk:
    """A range of slices of one set, with the sums that estimates of it are made from."""

    first: int
    last: int
    sums: ModelSums


def chunk_of(sums: SlicedSums | RestSums, weights: ResamplingWeights | None, first: int, last: int) -> Chunk:
    """The slices from one up to another, whatever their number."""
    held = ModelSums(sums.by_block(first, last), weights, sums.centred_at(first, last))
    return Chunk(first, last, held)


def chunks(sums: SlicedSums, weights: ResamplingWeights | None) -> Iterator[Chunk]:
    """Cut a slice set so that replicates of a chunk fit in memory."""
    replicates = 1 if weights is None else len(weights.counts)
    step = max(1, min(_SLICES_AT_ONCE, _DRAWN_AT_ONCE // max(1, replicates)))
    for first in range(0, sums.slices, step):
        yield chunk_of(sums, weights, first, min(first + step, sums.slices))


@dataclass(frozen=True, slots=True)
class Found:
    """An estimate with what the result row says beside it."""

    estimate: Estimate
    n: Array
    weight: Array
    bound: Array | None
    note: Texts
    threshold: Array | None = None

    def take(self, index: NDArray[np.int64]) -> Found:
        """What was found in some of the slices."""
        bound, cut = (None if part is None else part[index] for part in (self.bound, self.threshold))
        return Found(
            self.estimate.take(index), self.n[index], self.weight[index], bound, self.note[index], cut
        )


def joined(chunks_found: Sequence[Found]) -> Found:
    """What was found in chunks of slices, one after another, as far as metrics across slices read it."""
    if len(chunks_found) == 1:
        return chunks_found[0]
    estimates = [found.estimate for found in chunks_found]
    replicates, threshold = [one.replicates for one in estimates], [found.threshold for found in chunks_found]
    return Found(
        Estimate(
            np.concatenate([one.value for one in estimates]),
            np.concatenate([one.status for one in estimates]),
            np.concatenate([one.blocks for one in estimates]),
            _together(replicates, 1),
            (),
            kind=estimates[0].kind,
            groups=_joined_groups(estimates),
        ),
        np.concatenate([found.n for found in chunks_found]),
        np.concatenate([found.weight for found in chunks_found]),
        None,
        np.concatenate([found.note for found in chunks_found]),
        _together(threshold, 0),
    )


def _joined_groups(estimates: Sequence[Estimate]) -> NDArray[np.int64] | None:
    held = [one.groups for one in estimates if one.groups is not None]
    return np.concatenate(held) if len(held) == len(estimates) else None


def _together(parts: Sequence[Array | None], axis: int) -> Array | None:
    """Arrays one after another; None if one of them is missing."""
    held = [part for part in parts if part is not None]
    return np.concatenate(held, axis=axis) if len(held) == len(parts) else None


def estimate(
    metric: Metric,
    model: str,
    chunk: Chunk,
    population: Population,
    weights: ResamplingWeights | Nudges | None,
    ordered: OrderedValues | None,
    min_rows: int,
) -> Found:
    """One metric of one model in a chunk of slices.

    Args:
        metric: of a state family, not one made from others.
        model: the model's name.
        chunk: the slices, with their sums.
        population: whose rows stand behind the model's numbers.
        weights: the resampling, or which block is moved; without it there are no replicates.
        ordered: values and replicates of a metric of the family scores, for all slices of the set; None for sums.
        min_rows: slices with fewer rows are undefined (`too_few_rows`).

    Returns:
        Arrays with an entry per slice of the chunk; values are NaN where the status is not "ok".
    """
    prefix = population.prefix(metric, model)
    totals = chunk.sums.totals(metric, model, prefix)
    replicates: Array | None = None
    deviations: Array | None = None
    if ordered is not None:
        part = slice(chunk.first, chunk.last)
        value = ordered.value[part]
        reasons = [(status, condition[part]) for status, condition in ordered.reasons]
        if ordered.replicates is not None:
            replicates = ordered.replicates[:, part]
        if ordered.deviations is not None:
            deviations = ordered.deviations[:, part]
    else:
        value = finalised(metric, totals)
        reasons = conditions(metric, totals)
        if weights is not None and metric.kind != "extreme":
            moved = weights if isinstance(weights, Nudges) else None
            replicates = defined(metric, chunk.sums.replicates(metric, model, prefix, moved))
            if metric.additive:
                replicates = replicates * weights.scale[:, None]
    status = _status(reasons, totals.n, min_rows, value)
    threshold = population.threshold(metric, model)
    if threshold is not None and np.isnan(threshold):
        status[status == "ok"] = "unreachable"
    masses = metric.denominators(chunk.sums.by_block(metric, model, prefix))
    effective = chunk.sums.effective(masses)
    blocks = reduce(np.minimum, effective)
    sizes = _sizes(metric, totals, effective, independent=population.independent)
    clean = np.where(status == "ok", value, np.nan)
    kind: ReplicateKind = weights.kind if isinstance(weights, Nudges) else "bootstrap"
    groups = chunk.sums.held(f"{prefix}n") if isinstance(weights, Nudges) else None
    placements = None
    if ordered is not None and ordered.placements is not None:
        first, second = (side[chunk.first : chunk.last] for side in ordered.placements)
        placements = first, second
    found = Estimate(clean, status, blocks, replicates, sizes, deviations, kind, groups, placements)
    bound = None
    if ordered is not None and ordered.bound is not None:
        told = (status == "ok") | (status == UNREACHABLE_ON_GRID)
        bound = np.where(told, ordered.bound[chunk.first : chunk.last], np.nan)
    cut = None if threshold is None else np.full(value.shape, threshold)
    if ordered is not None and ordered.threshold is not None:
        cut = np.where(status == "ok", ordered.threshold[chunk.first : chunk.last], np.nan)
    return Found(found, totals.n, totals.weight, bound, _notes(metric, totals, status), cut)


def with_row_error(found: Found, error: Metric, model: str, chunk: Chunk, population: Population) -> Found:
    """What was found, with the standard error that a metric of it makes of the sums of all rows."""
    totals = chunk.sums.totals(error, model, population.prefix(error, model))
    with finalising(error):
        rows = reduce(np.minimum, (whole_blocks(size) for size in error.denominators(totals)))
    made = replace(found.estimate, row_error=defined(error, totals), rows=rows)
    return replace(found, estimate=made)


def _status(reasons: list[tuple[str, NDArray[np.bool_]]], n: Array, min_rows: int, value: Array) -> Texts:
    status = np.full(value.shape, "ok", dtype=object)
    for name, condition in reversed(reasons):
        status[np.broadcast_to(condition, value.shape)] = name
    status[n < min_rows] = "too_few_rows"
    status[n == 0] = "no_rows"
    status[(status == "ok") & ~np.isfinite(value)] = "not_finite"
    return status


def _sizes(
    metric: Metric, totals: object, effective: tuple[NDArray[np.int64], ...], *, independent: bool
) -> tuple[Array, ...]:
    if independent:
        return tuple(np.asarray(mass, dtype=np.float64) for mass in metric.denominators(totals))
    return tuple(blocks.astype(np.float64) for blocks in effective)


def _notes(metric: Metric, totals: object, status: Texts) -> Texts:
    notes = np.full(status.shape, None, dtype=object)
    remark = metric.remark(totals)
    if remark is not None:
        notes = np.where(status == "ok", remark, notes)
    told = metric.note(totals)
    if told is not None:
        word, counts = told
        for index in np.flatnonzero(status != "ok"):
            if counts[index]:
                notes[index] = f"{word}: {counts[index]:,.0f}"
    return notes


__all__ = [
    "Chunk",
    "Found",
    "OrderedValues",
    "Population",
    "chunks",
    "estimate",
    "joined",
    "ordered_values",
    "with_row_error",
]
