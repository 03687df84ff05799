"""Rank correlations: exact values of rows, those of a grid with a bound, and replicates from bins of ranks by block.

A replicate is shifted by (value - value of the bins), so that binning costs no bias.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.needs import Ranks
from plmetrics.core.exact_sums import product
from plmetrics.inference.metric_values import MetricValues, conditions, finalise, finalising, value_or_nan
from plmetrics.inference.weights import Nudges
from plmetrics.states.ranks import joint_blocks, joint_view, rank_view
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.ranks import Codes, SlicedPairs
    from plmetrics.states.scores.sliced_grid import SlicedGrid

Array = NDArray[np.float64]


def rank_values(
    metrics: Sequence[Metric], pairs: SlicedPairs, weights: Array | Nudges | None
) -> dict[str, MetricValues]:
    """Values and replicates of some rank correlations of one model and slice set, by metric text.

    `weights` is W `[replicate, block]` or which block is moved, None without replicates.
    """
    pairwise = any(isinstance(metric.needs, Ranks) and metric.needs.pairs for metric in metrics)
    view = rank_view(pairs, pairwise=pairwise)
    return _of_view(metrics, view, weights, joint_blocks(pairs))


def grid_rank_values(
    metrics: Sequence[Metric], sliced: SlicedGrid, weights: Array | Nudges | None, **_: bool
) -> dict[str, MetricValues]:
    """The same of labels and predictions that were counted together."""
    from plmetrics.states.rank_bounds import grid_view

    assert sliced.label_edges is not None
    views = [
        grid_view(counts, sliced.edges, sliced.label_edges, weighted=sliced.weighted)
        for _, _, counts in sliced.parts("joint")
    ]
    names = views[0].names if views else ()
    view = View({name: np.concatenate([getattr(part, name) for part in views]) for name in names})
    values = _of_view(metrics, view, weights, _grid_blocks(sliced))
    out = {}
    for metric in metrics:
        with finalising(metric):
            out[metric.text] = replace(values[metric.text], bound=np.asarray(metric.bound(view)))
    return out


def _grid_blocks(sliced: SlicedGrid) -> Iterator[tuple[Array, Codes]]:
    """Joint counts by block, as `joint_blocks` gives them of rows."""
    for _, _, counts in sliced.parts("coarse"):
        for of_slice in counts:
            present = np.flatnonzero(of_slice.any(axis=(1, 2)))
            yield of_slice[present].astype(np.float64), present


def _of_view(
    metrics: Sequence[Metric],
    view: View,
    weights: Array | Nudges | None,
    blocks: Iterable[tuple[Array, Codes]],
) -> dict[str, MetricValues]:
    values = {metric.text: finalise(metric, view) for metric in metrics}
    replicates = {} if weights is None else _replicates(metrics, blocks, weights, values)
    return {
        metric.text: MetricValues(
            values[metric.text], conditions(metric, view), replicates.get(metric.text), None
        )
        for metric in metrics
    }


def _replicates(
    metrics: Sequence[Metric],
    blocks: Iterable[tuple[Array, Codes]],
    weights: Array | Nudges,
    values: Mapping[str, Array],
) -> dict[str, Array]:
    by_metric: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    for index, (counts, present) in enumerate(blocks):
        flat = counts.reshape(len(present), -1)
        occupied = np.flatnonzero(flat.any(axis=0))
        joint = np.zeros((len(weights), flat.shape[1]))
        if isinstance(weights, Nudges):
            joint[:, occupied] = weights.among(flat[:, occupied], present)
        else:
            joint[:, occupied] = product(weights[:, present], flat[:, occupied])
        replicate = joint_view(joint.reshape(len(weights), *counts.shape[1:]))
        overall = joint_view(counts.sum(axis=0)[None])
        for metric in metrics:
            shift = values[metric.text][index] - finalise(metric, overall)
            by_metric[metric.text].append(
                np.clip(value_or_nan(metric, replicate) + shift, *metric.range)[:, None]
            )
    return {text: np.concatenate(parts, axis=1) for text, parts in by_metric.items()}
