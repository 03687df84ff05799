"""Replicates of ordered metrics: from coarse bins by block, or from the rows themselves where both are few.

From bins they are products of counts with W, each moved by what coarse bins cost its value. Rows are those of several
short slices at once, or of a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import are_exact
from plmetrics.core.ops import Counts
from plmetrics.core.threads import parallel_map, processors, steps
from plmetrics.inference.metric_values import channel_view, finalise, score_view, value_or_nan
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
from plmetrics.states.scores.packed_rows import PackedSlices, RowCounts
from plmetrics.states.scores.point_rows import BlockDraws, slice_groups
from plmetrics.states.scores.sorted_rows import CLASSES, SlicedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scipy.sparse import csr_array

    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.scores.point_rows import PointRows
    from plmetrics.states.scores.sorted_rows import SlicedScores
    from plmetrics.states.sums import View

Array = NDArray[np.float64]

Channels = Iterable[NDArray[Any]]
Replicated = tuple[Array, Array | None]
"""Replicates `[replicate, slice]`, and their deviations where the metric is a norm."""

Draw = Callable[[], Channels]
"""A function of chunks of replicates."""

SLICES_AT_ONCE = 4
_BATCHES_AT_ONCE = 2
_ROOM_IN_SINGLE = 1 << 30
_ROUNDING_IN_SINGLE = 2.0**-21
_POINTS_AT_ONCE = 1 << 19
_LEAST_AT_ONCE = 64
_LEAST_SHARES = 4
"""Replicates are cut the same way on any number of processors: sums in single precision would tell."""


Resampled: TypeAlias = tuple[dict[str, Array], dict[str, Array]]
"""Replicates `[replicate, slice]` by metric text, and the deviations of norms."""
_WORTH_A_THREAD = 1 << 20


def coarse_replicates(
    metrics: Sequence[Metric],
    sliced: SlicedScores,
    weights: ResamplingWeights | Nudges,
    values: Mapping[str, Array],
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Replicates `[replicate, slice]` of some metrics by text, and the deviations of norms.

    `values` are those on points, which replicates are moved to; `weights` are draws of blocks or which one is moved.
    """
    replicates: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    deviations: dict[str, list[Array]] = {metric.text: [] for metric in metrics if metric.value_kind.is_norm}
    described: dict[str, NDArray[Any]] = {}
    if any(metric.needs.scores for metric in metrics):
        described["score"] = sliced.coarse_scores()
    if any(metric.finds_threshold for metric in metrics):
        described["tied"] = sliced.coarse_ties()
    drawing = _Drawing.of(weights, sliced)
    for first, last, counts in _counts_of(sliced, weights):

        def of_few(
            step: tuple[int, int], first: int = first, counts: Array | RowCounts = counts
        ) -> tuple[_SliceBatch, list[Draw]]:
            low, high = step
            facts = {name: of_bins[low:high, None] for name, of_bins in described.items()}
            few_values = {text: value[low:high] for text, value in values.items()}
            of_slices = counts[low - first : high - first]
            batch = _SliceBatch.of(metrics, few_values, of_slices, drawing.channels, facts)
            return batch, drawing.shares(of_slices)

        few_slices = steps(first, last, SLICES_AT_ONCE)
        for low, high in steps(0, len(few_slices), _BATCHES_AT_ONCE * processors()):
            batches = parallel_map(of_few, few_slices[low:high])
            for batch in _replicate_batches(metrics, batches, drawing.channels):
                for metric, (shifted, deviation) in zip(metrics, batch, strict=True):
                    replicates[metric.text].append(shifted)
                    if deviation is not None:
                        deviations[metric.text].append(deviation)
    moved = stack(replicates, axis=1)
    if drawing.single is not None:
        for text, of_metric in moved.items():
            _remove_rounding(of_metric, values[text])
    return moved, stack(deviations, axis=1)


def _remove_rounding(replicates: Array, values: Array) -> None:
    """Set replicates to the slice's value if they differ from it by rounding in single precision alone."""
    low, high = np.fmin.reduce(replicates), np.fmax.reduce(replicates)
    flat = (low < high) & (high - low <= _ROUNDING_IN_SINGLE * np.maximum(np.abs(low), np.abs(high)))
    for place in np.flatnonzero(flat):
        replicates[np.isfinite(replicates[:, place]), place] = values[place]


def _counts_of(
    sliced: SlicedScores, weights: ResamplingWeights | Nudges
) -> Iterator[tuple[int, int, Array]] | list[tuple[int, int, RowCounts]]:
    """The counts of some slices at a time; all of them as rows where these are few."""
    if isinstance(sliced, PackedSlices) and not isinstance(weights, Nudges):
        rows = sliced.sparse_counts(weights.shape[1])
        if rows is not None:
            return [(0, sliced.slices, rows)]
    return sliced.block_counts(weights.shape[1])


def _replicate_batches(
    metrics: Sequence[Metric], batches: Sequence[tuple[_SliceBatch, list[Draw]]], channels: tuple[str, ...]
) -> Iterator[list[Replicated]]:
    """All replicates of each of a few slices, shares of them side by side: of few slices, too, all processors work."""
    tasks = [(batch, draw) for batch, draws in batches for draw in draws]
    results = iter(parallel_map(lambda task: task[0].replicates(metrics, channels, task[1]), tasks))
    for _, draws in batches:
        of_metrics = zip(*[next(results) for _ in draws], strict=True)
        yield [_concatenate(of_metric) for of_metric in of_metrics]


@dataclass(frozen=True, slots=True)
class _SliceBatch:
    """Sum of a few slices' coarse counts in the form of metrics, and the bias of coarse bins by metric."""

    coarse: View
    shifts: list[Array]
    facts: Mapping[str, Array]

    @classmethod
    def of(
        cls,
        metrics: Sequence[Metric],
        values: Mapping[str, Array],
        counts: Array | RowCounts,
        channels: tuple[str, ...],
        facts: Mapping[str, Array],
    ) -> _SliceBatch:
        """From counts `[slice, block, bin, channel]` and the values on points."""
        total = counts.total() if isinstance(counts, RowCounts) else counts.sum(axis=1, dtype=np.float64)
        total = total.astype(np.float64, copy=False)[:, None]
        coarse = channel_view(np.moveaxis(total, -1, 0), channels, facts)
        shifts = [values[metric.text][:, None] - finalise(metric, coarse) for metric in metrics]
        return cls(coarse, shifts, facts)

    def replicates(
        self, metrics: Sequence[Metric], channels: tuple[str, ...], draw: Draw
    ) -> list[Replicated]:
        """Some of the replicates, corrected by the bias of coarse bins, and their deviations on request.

        What bins hide of a norm they hide of its deviations: a norm that is all noise must reach 0.
        """
        replicate = channel_view(draw(), channels, self.facts)
        return [
            (
                np.clip(value_or_nan(metric, replicate) + shift, *metric.range).T,
                (metric.deviation(replicate, self.coarse) + np.maximum(shift, 0.0)).T
                if metric.value_kind.is_norm
                else None,
            )
            for metric, shift in zip(metrics, self.shifts, strict=True)
        ]


def _concatenate(shares: Sequence[Replicated]) -> Replicated:
    """Shares of the replicates of a metric as all of them."""
    deviations = [deviation for _, deviation in shares if deviation is not None]
    together = np.concatenate(deviations) if deviations else None
    return np.concatenate([replicates for replicates, _ in shares]), together


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Factors of coarse counts of blocks; `single` is W in single precision, for counts of classes."""

    weights: Array | Nudges
    single: NDArray[np.float32] | None
    channels: tuple[str, ...]

    @classmethod
    def of(cls, weights: ResamplingWeights | Nudges, sliced: SlicedScores) -> _Drawing:
        """Suitable weights for some scores.

        Which slices are looked at together, and so whether their counts fit into single precision, depends on
        processors and memory: tables that must not tell are made without it.
        """
        if isinstance(weights, Nudges):
            return cls(weights, None, sliced.channels)
        halves = sliced.channels == CLASSES and not are_exact()
        return cls(weights.matrix, weights.single if halves else None, sliced.channels)

    def shares(self, counts: Array | RowCounts) -> list[Draw]:
        """Source of replicates of counts `[slice, block, bin, channel]`, so many each as stay near the processor.

        Single precision takes half the time, where products of their totals have room in it. They are on the scale of
        the rows: a metric of the top k compares k with weights. A block that is moved a little would be lost in it.
        Where it is exact, running totals are multiplied in place of counts: most metrics would add them up.
        """
        if isinstance(counts, RowCounts):
            return self._shares_of_rows(counts)
        if isinstance(self.weights, Nudges):
            return [partial(_of_nudges, self.weights, counts)]
        weights: NDArray[Any] = self.weights
        draw = _counts
        largest = float(np.max(counts, initial=0))
        if self.single is not None and (largest <= 0 or 1 / _ROOM_IN_SINGLE <= largest <= _ROOM_IN_SINGLE):
            weights = self.single
            counts = counts if counts.dtype.kind == "u" else counts.astype(np.float32, copy=False)
            running = _running_totals(counts)
            if exact_in_single(running):
                counts, draw = running, _of_running_totals
            counts = counts.astype(np.float32, copy=False)
        blocks_of_slices = exact_occupied_blocks(counts)
        points = counts.size // max(1, counts.shape[1])
        return [partial(draw, part, counts, blocks_of_slices) for part in _parts(weights, points)]

    def _shares_of_rows(self, counts: RowCounts) -> list[Draw]:
        """Some of the replicates of counts as rows, with whole numbers as running totals."""
        assert not isinstance(self.weights, Nudges)
        most = len(counts.place) * np.max(self.weights, initial=0.0)
        weights = self.weights if self.single is None or most >= WHOLE_IN_SINGLE else self.single
        matrix = counts.by_block()
        parts = _parts(weights, matrix.shape[0])
        return [partial(_of_rows, part, matrix, (-1, counts.bins, 2, len(part))) for part in parts]


def _parts(weights: NDArray[Any], points: int) -> list[NDArray[Any]]:
    """So many replicates at a time as stay near the processor, where each has so many points."""
    step = max(_LEAST_AT_ONCE, _POINTS_AT_ONCE // max(1, points))
    step = min(step, -(-len(weights) // _LEAST_SHARES))
    return [weights[low : low + step] for low in range(0, len(weights), step)]


def _of_rows(weights: NDArray[Any], matrix: csr_array, shape: tuple[int, ...]) -> Channels:
    """Replicates by class `[slice, replicate, bin]` of counts `[slice, bin, class]` by block."""
    totals = (matrix @ np.ascontiguousarray(weights.T)).reshape(shape)
    for place in range(1, totals.shape[1]):
        totals[:, place] += totals[:, place - 1]
    by_class = np.ascontiguousarray(totals.transpose(2, 0, 3, 1))
    return [Counts.of(of_class) for of_class in by_class]


def _of_nudges(weights: Nudges, counts: Array) -> Channels:
    return np.moveaxis(replicate_counts(weights, counts), -1, 0)


def _counts(weights: NDArray[Any], counts: NDArray[Any], blocks: Sequence[BlockIndex] | None) -> Channels:
    """Replicates by channel `[slice, replicate, bin]` of counts `[slice, block, bin, channel]`."""
    return np.moveaxis(drawn_counts(weights, counts, blocks), -1, 0)


def _running_totals(counts: NDArray[Any]) -> NDArray[Any]:
    """Running totals along the bins of counts `[slice, block, bin, channel]`: `[slice, block, channel, bin]`.

    Blocks lie side by side in memory, so that they are added many at a time; `cumsum` adds one after another.
    """
    totals = np.ascontiguousarray(counts.transpose(0, 3, 2, 1))
    for place in range(1, totals.shape[2]):
        totals[:, :, place] += totals[:, :, place - 1]
    return totals.transpose(0, 3, 1, 2)


def _of_running_totals(
    weights: NDArray[Any], counts: NDArray[Any], blocks: Sequence[BlockIndex] | None
) -> Channels:
    """Replicates from running totals along the bins `[slice, block, channel, bin]`, with running totals, too."""
    return [Counts.of(totals) for totals in np.moveaxis(drawn_counts(weights, counts, blocks), 2, 0)]


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
        batch = [metric for metric in metrics if metric.needs.distinct == scores]
        if not batch:
            continue
        if scores or tilted or sliced.weighted or not isinstance(sliced, SlicedRows):
            resampled = _of_scores(batch, sliced, weights, scores=scores)
        else:
            resampled = _of_point_rows(batch, sliced, weights)
        replicates, deviations = replicates | resampled[0], deviations | resampled[1]
    return replicates, deviations


def _of_point_rows(
    metrics: Sequence[Metric], sliced: SlicedRows, weights: ResamplingWeights | Nudges
) -> Resampled:
    """Replicates of rows without weights: each group of slices, and each part of the replicates, by itself."""
    groups = slice_groups(sliced)
    place = np.argsort(np.concatenate([numbers for numbers, _ in groups]))
    every_block = BlockDraws.once(weights.shape[1])

    def of_group(task: tuple[BlockDraws, PointRows]) -> Resampled:
        draws, rows = task
        return _of_states(
            metrics, partial(rows.replicate_points, draws), partial(rows.replicate_points, every_block)
        )

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


def _of_scores(
    metrics: Sequence[Metric], sliced: SlicedScores, weights: ResamplingWeights | Nudges, *, scores: bool
) -> Resampled:
    """Replicates of rows of any weight, points with their scores if wanted."""
    every_block = np.ones((1, weights.shape[1]))

    def of_share(share: Array) -> Resampled:
        states = partial(sliced.replicate_points, share, scores=scores)
        return _of_states(
            metrics, states, partial(sliced.replicate_points, every_block, scores=scores), joined=not scores
        )

    if isinstance(weights, Nudges):
        return _join([of_share(part) for part in weights.rows()], np.concatenate)
    shares = processors() if weights.shape[0] * (sliced.rows or 0) >= _WORTH_A_THREAD else 1
    return _join(parallel_map(of_share, np.array_split(weights.matrix, shares)), np.concatenate)


def _of_states(
    metrics: Sequence[Metric],
    replicates: Callable[[], Iterator[Mapping[str, Any]]],
    once: Callable[[], Iterator[Mapping[str, Any]]],
    *,
    joined: bool = True,
) -> Resampled:
    """Values of the states of some replicates; `once` gives the state with each block a single time."""
    values: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    shifted: dict[str, list[Array]] = {metric.text: [] for metric in metrics if metric.value_kind.is_norm}
    if shifted:
        point = score_view(next(once()), joined=joined)
    for state in replicates():
        replicate = score_view(state, joined=joined)
        for metric in metrics:
            values[metric.text].append(value_or_nan(metric, replicate))
            if metric.value_kind.is_norm:
                shifted[metric.text].append(metric.deviation(replicate, point))
    return stack(values, axis=0), stack(shifted, axis=0)


def _join(parts: Sequence[Resampled], join: Callable[[list[Array]], Array]) -> Resampled:
    """Parts of replicates, and of deviations, as one."""
    replicates, deviations = (
        {text: join([part[side][text] for part in parts]) for text in parts[0][side]} for side in (0, 1)
    )
    return replicates, deviations
