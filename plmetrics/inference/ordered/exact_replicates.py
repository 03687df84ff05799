"""Replicates from the rows themselves, where rows x replicates are few: of several short slices at once, or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.threads import parallel_map, processors
from plmetrics.inference.metric_values import score_view, value_or_nan
from plmetrics.inference.ordered.coarse_replicates import stack
from plmetrics.inference.weights import Nudges
from plmetrics.states.scores.coarse import replicates_rows
from plmetrics.states.scores.short_slices import slice_groups
from plmetrics.states.scores.sorted_rows import SlicedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.scores.short_slices import ShortSlices
    from plmetrics.states.scores.sorted_rows import SlicedScores

Array = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]
Resampled: TypeAlias = tuple[dict[str, Array], dict[str, Array]]
"""Replicates `[replicate, slice]` by metric text, and the deviations of norms."""

_WORTH_A_THREAD = 1 << 20


def are_exact(rows: int, weights: Array | Nudges, slices: int) -> bool:
    """Whether replicates are made from the rows themselves: they are few, or each is a block of its own."""
    if isinstance(weights, Nudges):
        return rows <= weights.shape[1] or replicates_rows(rows, len(weights) * 4, slices)
    return replicates_rows(rows, len(weights), slices)


def exact_replicates(
    metrics: Sequence[Metric], sliced: SlicedScores, weights: Array | Nudges
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Replicates `[replicate, slice]` of some metrics by text, and the deviations of those that are norms."""
    replicates: dict[str, Array] = {}
    deviations: dict[str, Array] = {}
    for scores in (False, True):
        alike = [metric for metric in metrics if metric.needs.distinct == scores]
        if alike:
            resampled = _replicates(alike, sliced, weights, scores=scores)
            replicates, deviations = replicates | resampled[0], deviations | resampled[1]
    return replicates, deviations


def _replicates(
    metrics: Sequence[Metric], sliced: SlicedScores, weights: Array | Nudges, *, scores: bool
) -> Resampled:
    groups = _groups(sliced, weights, scores=scores)
    place = np.argsort(np.concatenate([numbers for numbers, _ in groups]))

    def of_share(share: Array) -> Resampled:
        of_groups = parallel_map(lambda group: _of_group(metrics, group[1], share, scores=scores), groups)
        return _concatenate(of_groups, lambda values: np.concatenate(values, axis=1)[:, place])

    if isinstance(weights, Nudges):
        shares = [of_share(part) for part in weights.rows()]
    else:
        alone = len(groups) == 1 and len(weights) * (sliced.rows or 0) >= _WORTH_A_THREAD
        shares = parallel_map(of_share, np.array_split(weights, processors() if alone else 1))
    return _concatenate(shares, np.concatenate)


def _groups(
    sliced: SlicedScores, weights: Array | Nudges, *, scores: bool
) -> Sequence[tuple[Codes, SlicedScores | ShortSlices]]:
    """Slices that are resampled together, with their numbers: all, where weights are no whole numbers."""
    tilted = isinstance(weights, Nudges) and weights.kind == "influence"
    whole = not tilted and (isinstance(weights, Nudges) or bool((weights == np.rint(weights)).all()))
    if whole and not scores and isinstance(sliced, SlicedRows) and not sliced.weighted:
        return slice_groups(sliced)
    return [(np.arange(sliced.slices), sliced)]


def _of_group(
    metrics: Sequence[Metric], sliced: SlicedScores | ShortSlices, weights: Array, *, scores: bool
) -> Resampled:
    """Some replicates of some slices."""
    values: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    shifted: dict[str, list[Array]] = {metric.text: [] for metric in metrics if metric.value_kind.is_norm}
    if shifted:
        every_row = np.ones((1, weights.shape[1]))
        point = score_view(next(sliced.replicate_points(every_row, scores=scores)), joined=not scores)
    for state in sliced.replicate_points(weights, scores=scores):
        replicate = score_view(state, joined=not scores)
        for metric in metrics:
            values[metric.text].append(value_or_nan(metric, replicate))
            if metric.value_kind.is_norm:
                shifted[metric.text].append(metric.deviation(replicate, point))
    return stack(values, axis=0), stack(shifted, axis=0)


def _concatenate(parts: Sequence[Resampled], join: Callable[[list[Array]], Array]) -> Resampled:
    """Parts of replicates, and of deviations, as one."""
    replicates, deviations = (
        {text: join([part[side][text] for part in parts]) for text in parts[0][side]} for side in (0, 1)
    )
    return replicates, deviations
