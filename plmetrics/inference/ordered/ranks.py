"""Rank correlations: exact values, and replicates from joint weights on bins of ranks, moved onto the exact value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import product
from plmetrics.inference.finalised import OrderedValues, conditions, defined, finalised
from plmetrics.inference.weights import Nudges
from plmetrics.states.ranks import joint_blocks, joint_view, rank_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.pairs import SlicedPairs

Array = NDArray[np.float64]


def rank_values(
    metrics: Sequence[Metric], pairs: SlicedPairs, weights: Array | Nudges | None
) -> dict[str, OrderedValues]:
    """Values and replicates of some rank correlations of one model and slice set, by metric text.

    `weights` is W `[replicate, block]` or which block is moved, None without replicates.
    """
    exact = rank_view(pairs, pairwise=any(metric.reads != "ranks" for metric in metrics))
    values = {metric.text: finalised(metric, exact) for metric in metrics}
    drawn = {} if weights is None else _replicates(metrics, pairs, weights, values)
    return {
        metric.text: OrderedValues(
            values[metric.text], conditions(metric, exact), drawn.get(metric.text), None
        )
        for metric in metrics
    }


def _replicates(
    metrics: Sequence[Metric], pairs: SlicedPairs, weights: Array | Nudges, values: dict[str, Array]
) -> dict[str, Array]:
    found: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    for index, (counts, present) in enumerate(joint_blocks(pairs)):
        flat = counts.reshape(len(present), -1)
        occupied = np.flatnonzero(flat.any(axis=0))
        joint = np.zeros((len(weights), flat.shape[1]))
        if isinstance(weights, Nudges):
            joint[:, occupied] = weights.among(flat[:, occupied], present)
        else:
            joint[:, occupied] = product(weights[:, present], flat[:, occupied])
        replicate = joint_view(joint.reshape(len(weights), *counts.shape[1:]))
        whole = joint_view(counts.sum(axis=0)[None])
        for metric in metrics:
            shift = values[metric.text][index] - finalised(metric, whole)
            found[metric.text].append(np.clip(defined(metric, replicate) + shift, *metric.range)[:, None])
    return {text: np.concatenate(parts, axis=1) for text, parts in found.items()}
