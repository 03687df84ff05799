"""Replicates of ordered metrics: from coarse bins by block, or from the rows themselves where both are few.

From bins they are products of counts with W, each moved by what coarse bins cost its value. Rows are those of several
short slices at once, or of a long one. Either way a metric reads states `[replicate, slice, point]` by channel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import are_exact
from plmetrics.core.ops import Array, Counts
from plmetrics.core.threads import batches, parallel_map, processors, steps
from plmetrics.inference.metric_values import finalise, score_view, value_or_nan
from plmetrics.inference.weights import (
    WHOLE_IN_SINGLE,
    BlockIndex,
    Nudges,
    ResamplingWeights,
    drawn_counts,
    exact_in_single,
    exact_occupied_blocks,
    replicate_counts,
)
from plmetrics.states.scores.coarse import replicates_rows
from plmetrics.states.scores.exact.point_rows import BlockDraws, PointRows, block_counts, slice_groups
from plmetrics.states.scores.exact.row_counts import RowCounts
from plmetrics.states.scores.exact.sorted_rows import SlicedRows
from plmetrics.states.scores.sliced_scores import CLASSES, SlicedScores

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.sums import View


State: TypeAlias = Mapping[str, Any]

States: TypeAlias = Callable[[], Iterable[State]]
"""Function of the states of some replicates, a few at a time: `[replicate, slice, point]` by channel."""

Resampled: TypeAlias = tuple[dict[str, Array], dict[str, Array]]
"""Replicates `[replicate, slice]` by metric text, and the deviations of norms."""

SLICES_AT_ONCE = 4
_BATCHES_AT_ONCE = 2
_ROOM_IN_SINGLE = 1 << 30
_ROUNDING_IN_SINGLE = 2.0**-21
_POINTS_AT_ONCE = 1 << 19
_LEAST_AT_ONCE = 64
_LEAST_SHARES = 4
"""Replicates are cut the same way on any number of processors: sums in single precision would tell."""
_WORTH_A_THREAD = 1 << 20


def coarse_replicates(
    metrics: Sequence[Metric],
    sliced: SlicedScores,
    weights: ResamplingWeights | Nudges,
    values: Mapping[str, Array],
) -> Resampled:
    """Replicates `[replicate, slice]` of some metrics by text, and the deviations of norms.

    `values` are those on points, which replicates are moved to; `weights` are draws of blocks or which one is moved.
    """
    facts: dict[str, NDArray[Any]] = {}
    if any(metric.needs.scores for metric in metrics):
        facts["score"] = sliced.coarse_scores()
    if any(metric.finds_threshold for metric in metrics):
        facts["tied"] = sliced.coarse_ties()
    drawing = _Drawing.of(weights, sliced)
    resampled: list[Resampled] = []
    for first, last, counts in block_counts(sliced, weights.shape[1], dense=isinstance(weights, Nudges)):

        def batch(
            step: tuple[int, int], first: int = first, counts: Array | RowCounts = counts
        ) -> _SliceBatch:
            places, of_slices = slice(*step), counts[step[0] - first : step[1] - first]
            of_bins = {name: of_fact[None, places] for name, of_fact in facts.items()}
            of_points = {text: value[places] for text, value in values.items()}
            total, shares = drawing.total(of_slices), drawing.shares(of_slices)
            return _SliceBatch.of(metrics, of_points, total, of_bins, shares)

        batch_steps = steps(first, last, SLICES_AT_ONCE)
        for low, high in steps(0, len(batch_steps), _BATCHES_AT_ONCE * processors()):
            resampled += _replicate_batches(metrics, parallel_map(batch, batch_steps[low:high]))
    replicates, deviations = _join(resampled, partial(np.concatenate, axis=1))
    if drawing.single is not None:
        for text, of_metric in replicates.items():
            _remove_rounding(of_metric, values[text])
    return replicates, deviations


def _remove_rounding(replicates: Array, values: Array) -> None:
    """Set replicates to the slice's value if they differ from it by rounding in single precision alone."""
    low, high = np.fmin.reduce(replicates), np.fmax.reduce(replicates)
    flat = (low < high) & (high - low <= _ROUNDING_IN_SINGLE * np.maximum(np.abs(low), np.abs(high)))
    for place in np.flatnonzero(flat):
        replicates[np.isfinite(replicates[:, place]), place] = values[place]


def _replicate_batches(metrics: Sequence[Metric], batches: Sequence[_SliceBatch]) -> list[Resampled]:
    """All replicates of each of a few slices, shares of them side by side: of few slices, too, all processors work."""
    tasks = [(batch, states) for batch in batches for states in batch.shares]
    shares = iter(parallel_map(lambda task: task[0].replicates(metrics, task[1]), tasks))
    return [_join([next(shares) for _ in batch.shares], np.concatenate) for batch in batches]


@dataclass(frozen=True, slots=True)
class _SliceBatch:
    """A few slices: sum of their coarse counts, the bias of coarse bins by metric, and shares of their replicates.

    `facts` are what is known of the bins themselves.
    """

    total: State
    shifts: Mapping[str, Array]
    facts: Mapping[str, Array]
    shares: Sequence[States]

    @classmethod
    def of(
        cls,
        metrics: Sequence[Metric],
        values: Mapping[str, Array],
        total: State,
        facts: Mapping[str, Array],
        shares: Sequence[States],
    ) -> _SliceBatch:
        """With the bias that brings coarse bins to the values on points."""
        view = score_view({**facts, **total}, coarse=True)
        shifts = {metric.text: values[metric.text] - finalise(metric, view) for metric in metrics}
        return cls(total, shifts, facts, shares)

    def replicates(self, metrics: Sequence[Metric], states: States) -> Resampled:
        """Some of the replicates, corrected by the bias of coarse bins, and their deviations on request.

        What bins hide of a norm they hide of its deviations: a norm that is all noise must reach 0.
        """
        replicates, deviations = _of_states(
            metrics,
            states,
            lambda: [self.total],
            lambda state: score_view({**self.facts, **state}, coarse=True),
        )
        for metric in metrics:
            text, shift = metric.text, self.shifts[metric.text]
            replicates[text] = np.clip(replicates[text] + shift, *metric.range)
            if text in deviations:
                deviations[text] += np.maximum(shift, 0.0)
        return replicates, deviations


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Factors of coarse counts of blocks; `single` is W in single precision, for counts of classes."""

    weights: ResamplingWeights | Nudges
    single: NDArray[np.float32] | None
    channels: tuple[str, ...]

    @classmethod
    def of(cls, weights: ResamplingWeights | Nudges, sliced: SlicedScores) -> _Drawing:
        """Suitable weights for some scores.

        Which slices are looked at together, and so whether their counts fit into single precision, depends on
        processors and memory: tables that must not tell are made without it.
        """
        if isinstance(weights, Nudges) or sliced.channels != CLASSES or are_exact():
            return cls(weights, None, sliced.channels)
        return cls(weights, weights.single, sliced.channels)

    def total(self, counts: Array | RowCounts) -> State:
        """State of all blocks, each a single time, from counts `[slice, block, bin, channel]`."""
        total = counts.total() if isinstance(counts, RowCounts) else counts.sum(axis=1, dtype=np.float64)
        return _by_channel(self.channels, total.astype(np.float64, copy=False)[:, None])

    def shares(self, counts: Array | RowCounts) -> list[States]:
        """Source of replicates of counts `[slice, block, bin, channel]`, so many each as stay near the processor.

        Single precision takes half the time, where products of their totals have room in it. They are on the scale of
        the rows: a metric of the top k compares k with weights. A block that is moved a little would be lost in it.
        Where it is exact, running totals are multiplied in place of counts: most metrics would add them up.
        """
        if isinstance(self.weights, Nudges):
            assert not isinstance(counts, RowCounts)
            return [partial(_of_nudges, self.channels, self.weights, counts)]
        if isinstance(counts, RowCounts):
            rows, draws = PointRows.of(counts), self.weights.by_block
            single = self.single is not None and len(counts.place) * draws[0].most < WHOLE_IN_SINGLE
            return [partial(rows.replicate_points, part, single=single) for part in draws]
        weights: NDArray[Any] = self.weights.matrix
        draw = _of_counts
        largest = float(np.max(counts, initial=0))
        if self.single is not None and (largest <= 0 or 1 / _ROOM_IN_SINGLE <= largest <= _ROOM_IN_SINGLE):
            weights = self.single
            counts = counts if counts.dtype.kind == "u" else counts.astype(np.float32, copy=False)
            running = _running_totals(counts)
            if exact_in_single(running):
                counts, draw = running, _of_running_totals
            counts = counts.astype(np.float32, copy=False)
        blocks_of_slices = exact_occupied_blocks(counts)
        parts = _parts(weights, counts.size // max(1, counts.shape[1]))
        return [partial(draw, self.channels, part, counts, blocks_of_slices) for part in parts]


def _parts(weights: NDArray[Any], points: int) -> list[NDArray[Any]]:
    """So many replicates at a time as stay near the processor, where each has so many points."""
    step = max(_LEAST_AT_ONCE, _POINTS_AT_ONCE // max(1, points))
    step = min(step, -(-len(weights) // _LEAST_SHARES))
    return batches(weights, step)


def _by_channel(channels: Sequence[str], counts: NDArray[Any]) -> State:
    """Counts `[slice, replicate, bin, channel]` as a state, C-contiguous: sums depend on memory order."""
    return dict(zip(channels, np.ascontiguousarray(counts.transpose(3, 1, 0, 2)), strict=True))


def _of_nudges(channels: Sequence[str], weights: Nudges, counts: Array) -> list[State]:
    return [_by_channel(channels, replicate_counts(weights, counts))]


def _of_counts(
    channels: Sequence[str], weights: NDArray[Any], counts: NDArray[Any], blocks: Sequence[BlockIndex] | None
) -> list[State]:
    """Replicates of counts `[slice, block, bin, channel]`."""
    return [_by_channel(channels, drawn_counts(weights, counts, blocks))]


def _running_totals(counts: NDArray[Any]) -> NDArray[Any]:
    """Running totals along the bins of counts `[slice, block, bin, channel]`: `[slice, block, channel, bin]`.

    Blocks lie side by side in memory, so that they are added many at a time; `cumsum` adds one after another.
    """
    totals = np.ascontiguousarray(counts.transpose(0, 3, 2, 1))
    for place in range(1, totals.shape[2]):
        totals[:, :, place] += totals[:, :, place - 1]
    return totals.transpose(0, 3, 1, 2)


def _of_running_totals(
    channels: Sequence[str], weights: NDArray[Any], counts: NDArray[Any], blocks: Sequence[BlockIndex] | None
) -> list[State]:
    """Replicates from running totals along the bins `[slice, block, channel, bin]`, with running totals, too."""
    totals = np.moveaxis(drawn_counts(weights, counts, blocks), 2, -1)
    return [{name: Counts.of(running) for name, running in _by_channel(channels, totals).items()}]


def stack(parts: Mapping[str, list[Array]], axis: int) -> dict[str, Array]:
    """Parts of each metric as one C-contiguous array: sums along an axis depend on memory order."""
    return {text: np.ascontiguousarray(np.concatenate(arrays, axis=axis)) for text, arrays in parts.items()}


def are_of_rows(rows: int, weights: ResamplingWeights | Nudges, slices: int) -> bool:
    """Whether replicates are made from the rows themselves: they are few, or each is a block of its own."""
    replicates, blocks = weights.shape
    if isinstance(weights, Nudges):
        return rows <= blocks or replicates_rows(rows, replicates * 4, slices)
    return replicates_rows(rows, replicates, slices)


def exact_replicates(
    metrics: Sequence[Metric], sliced: SlicedScores, weights: ResamplingWeights | Nudges
) -> Resampled:
    """Replicates `[replicate, slice]` of some metrics by text, and the deviations of norms."""
    replicates: dict[str, Array] = {}
    deviations: dict[str, Array] = {}
    tilted = isinstance(weights, Nudges) and weights.kind == "influence"
    for scores in (False, True):
        batch = [metric for metric in metrics if _of_each_score(metric) == scores]
        if not batch:
            continue
        distinct = any(metric.needs.distinct for metric in batch)
        if distinct or tilted or sliced.has_weights or not isinstance(sliced, SlicedRows):
            resampled = _of_scores(batch, sliced, weights, scores=scores)
        else:
            resampled = _of_point_rows(batch, sliced, weights, scores=scores)
        replicates, deviations = replicates | resampled[0], deviations | resampled[1]
    return replicates, deviations


def _of_each_score(metric: Metric) -> bool:
    """Whether each score is a point: a norm's replicate may be farthest from the value between operating points."""
    return metric.needs.distinct or metric.value_kind.is_norm


def _of_point_rows(
    metrics: Sequence[Metric], sliced: SlicedRows, weights: ResamplingWeights | Nudges, *, scores: bool
) -> Resampled:
    """Replicates of rows without weights: each group of slices, and each part of the replicates, by itself."""
    groups = slice_groups(sliced, scores=scores)
    place = np.argsort(np.concatenate([numbers for numbers, _ in groups]))
    every_block = BlockDraws.once(weights.shape[1])
    view = partial(score_view, joined=not scores)

    def of_group(task: tuple[BlockDraws, PointRows]) -> Resampled:
        draws, rows = task
        once = partial(rows.replicate_points, every_block)
        return _of_states(metrics, partial(rows.replicate_points, draws), once, view)

    parts = []
    for draws in _draws(weights):
        tasks = [(part, rows) for part in draws for _, rows in groups]
        of_tasks = parallel_map(of_group, tasks)
        for first, last in steps(0, len(tasks), len(groups)):
            parts.append(_join(of_tasks[first:last], lambda values: np.concatenate(values, axis=1)[:, place]))
    return _join(parts, np.concatenate)


def _draws(weights: ResamplingWeights | Nudges) -> Iterable[list[BlockDraws]]:
    """Draws of each block, so many replicates at a time as there is room for."""
    if isinstance(weights, Nudges):
        return (BlockDraws.parts(part) for part in weights.rows())
    return [weights.by_block]


@np.errstate(over="ignore", invalid="ignore")
def _of_scores(
    metrics: Sequence[Metric], sliced: SlicedScores, weights: ResamplingWeights | Nudges, *, scores: bool
) -> Resampled:
    """Replicates of rows of any weight, points with their scores if wanted."""
    every_block = np.ones((1, weights.shape[1]))

    def of_share(share: Array) -> Resampled:
        states = partial(sliced.replicate_points, scores=scores)
        view = partial(score_view, joined=not scores)
        return _of_states(metrics, partial(states, share), partial(states, every_block), view)

    if isinstance(weights, Nudges):
        return _join([of_share(part) for part in weights.rows()], np.concatenate)
    shares = processors() if weights.shape[0] * (sliced.rows or 0) >= _WORTH_A_THREAD else 1
    return _join(parallel_map(of_share, np.array_split(weights.matrix, shares)), np.concatenate)


def _of_states(
    metrics: Sequence[Metric], replicates: States, once: States, view: Callable[[State], View]
) -> Resampled:
    """Values of the states of some replicates, as metrics view them; `once` has each block a single time."""
    values: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    norms = [metric for metric in metrics if metric.value_kind.is_norm]
    deviations: dict[str, list[Array]] = {metric.text: [] for metric in norms}
    point = view(next(iter(once()))) if norms else None
    for state in replicates():
        replicate = view(state)
        for metric in metrics:
            values[metric.text].append(value_or_nan(metric, replicate))
        for metric in norms:
            deviations[metric.text].append(metric.deviation(replicate, point))
    return stack(values, axis=0), stack(deviations, axis=0)


def _join(parts: Sequence[Resampled], join: Callable[[list[Array]], Array]) -> Resampled:
    """Parts of replicates, and of deviations, as one."""
    replicates, deviations = (
        {text: join([part[side][text] for part in parts]) for text in parts[0][side]} for side in (0, 1)
    )
    return replicates, deviations
