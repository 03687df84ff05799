"""Variation of the parts of a change, where the blocks of both runs are resampled, each by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.across_runs.mixtures import SlicedPair, replicate_worths
from plmetrics.inference.across_runs.owen import Steps
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.weights import draw_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.catalogue.metric import Metric

Array = NDArray[np.float64]

_ROOM = 1 << 22
"""So many numbers of replicates are made at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Variation:
    """Deviations of replicates of parts, three of each slice and three of all; and their effective blocks."""

    deviations: Array
    blocks: NDArray[np.int64]


def variations(
    sides: tuple[Array, Array], metrics: Sequence[Metric], replicates: int, seed: int
) -> list[Variation | None]:
    """How the parts of some metrics vary; None for norms, which noise makes larger.

    Args:
        sides: the scores of the earlier run and of this one, `[slice, block, class, bin]`.
        metrics: what is decomposed.
        replicates: their number.
        seed: that of the draws, which are others for the two runs.
    """
    occupied = [counts[:, counts.any(axis=(0, 2, 3))] for counts in sides]
    smooth = [metric for metric in metrics if metric.value_kind.is_smooth]
    if not (smooth and all(counts.size for counts in occupied)):
        return [None] * len(metrics)
    steps = Steps.single(len(sides[0]), seed)
    kinds = steps.mixtures

    def parts(weights: Sequence[Array]) -> list[Array]:
        return _parts(steps, replicate_worths(_replicates(occupied, weights), smooth, kinds))

    weights = [
        draw_weights(np.ones(counts.shape[1], dtype=np.int64), replicates, of_side).counts.astype(np.float64)
        for counts, of_side in zip(occupied, (~seed, seed), strict=True)
    ]
    point = parts([np.ones((1, counts.shape[1])) for counts in occupied])
    at_once = max(1, _ROOM // occupied[0][:, 0].size)
    drawn = [
        parts([weight[first : first + at_once] for weight in weights])
        for first in range(0, replicates, at_once)
    ]
    blocks = _blocks(occupied)
    varying = {
        metric.text: Variation(np.concatenate([part[place] for part in drawn]) - point[place], blocks)
        for place, metric in enumerate(smooth)
    }
    return [varying.get(metric.text) for metric in metrics]


def _replicates(sides: Sequence[Array], weights: Sequence[Array]) -> SlicedPair:
    drawn = []
    for counts, weight in zip(sides, weights, strict=True):
        sums = weight @ counts.reshape(*counts.shape[:2], -1)
        drawn.append(np.moveaxis(sums.reshape(len(counts), len(weight), *counts.shape[2:]), 0, 1))
    return SlicedPair.alike(*drawn)


def _parts(steps: Steps, worths: Sequence[Array]) -> list[Array]:
    """The parts of slices, and of all together, of each metric: `[replicate, part]`."""
    out = []
    for worth in worths:
        values = steps.values(worth)
        every = np.concatenate([values, values.sum(axis=1, keepdims=True)], axis=1)
        out.append(every.reshape(len(worth), -1))
    return out


def _blocks(sides: Sequence[Array]) -> NDArray[np.int64]:
    """The effective blocks of each part: of the smaller class, in the run that has fewer of those with the slice."""
    least = []
    for counts in sides:
        mass = np.concatenate([counts, counts.sum(axis=0, keepdims=True)]).sum(axis=-1)
        present = mass.sum(axis=(1, 2)) > 0
        number = effective_blocks((mass[..., 0], mass[..., 1]))
        least.append(np.where(present, number, np.iinfo(np.int64).max))
    return np.repeat(np.minimum(*least), 3)
