"""Ordered metrics and rank correlations: exact values, and replicates from exact points or from coarse blocks.

A coarse replicate is shifted by (point value - value of the coarse state), so that binning costs no bias. Where
rows x replicates are few, replicates are exact as well. On a grid rank correlations have a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.catalogue.needs import Bins, Points, Quantiles, Ranks
from plmetrics.core.exact_sums import product
from plmetrics.core.ops import Array, Codes
from plmetrics.core.placements import placement_area
from plmetrics.core.threads import parallel_map, steps
from plmetrics.inference.metric_values import (
    MetricValues,
    bin_view,
    conditions,
    finalise,
    finalising,
    score_view,
    value_or_nan,
)
from plmetrics.inference.ordered.quantiles import quantile_values
from plmetrics.inference.ordered.replicates import (
    SLICES_AT_ONCE,
    are_of_rows,
    coarse_replicates,
    exact_replicates,
)
from plmetrics.inference.records import end_to_end
from plmetrics.inference.weights import Nudges, ResamplingWeights, drawn_bins
from plmetrics.states.ranks import SlicedPairs, joint_blocks, joint_view, rank_view
from plmetrics.states.scores.exact.ranges import SlicedPoints
from plmetrics.states.scores.grid.sliced_grid import SlicedGrid
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.scores.sliced_scores import Binning, SlicedScores


def ordered_values(
    metrics: Sequence[Metric],
    sliced: SlicedScores,
    weights: ResamplingWeights | Nudges | None,
    *,
    placements: bool = False,
) -> dict[str, MetricValues]:
    """Values and replicates of some ordered metrics of one model and slice set, by metric text.

    `weights` are draws of blocks or which one is moved, None without replicates. Quantiles have none of the
    latter: they jump. With `placements` ROC areas of rows without weights have the variances of these.
    """
    quantiles = [metric for metric in metrics if isinstance(metric.needs, Quantiles)]
    out: dict[str, MetricValues] = {}
    if quantiles:
        drawn = weights.matrix if isinstance(weights, ResamplingWeights) else None
        out |= quantile_values(quantiles, sliced, drawn)
    by_points = [metric for metric in metrics if isinstance(metric.needs, Points)]
    if by_points:
        out |= _by_points(by_points, sliced, weights, placements=placements)
    for binning, sharing in _sharing_bins(metrics).items():
        out |= _by_bins(sharing, binning, sliced, weights)
    return out


def _sharing_bins(metrics: Sequence[Metric]) -> dict[Binning, list[Metric]]:
    """Metrics by their fixed bins: each binning is counted and resampled once."""
    by_binning: dict[Binning, list[Metric]] = {}
    for metric in metrics:
        if isinstance(metric.needs, Bins):
            by_binning.setdefault(metric.needs.binning, []).append(metric)
    return by_binning


def _by_points(
    metrics: Sequence[Metric],
    sliced: SlicedScores,
    weights: ResamplingWeights | Nudges | None,
    *,
    placements: bool,
) -> dict[str, MetricValues]:
    values_of = _point_values(metrics, sliced, placements=placements)
    replicates: dict[str, Array] = {}
    deviations: dict[str, Array] = {}
    resampled = [metric for metric in metrics if metric.value_kind.is_resampled]
    if weights is not None and resampled:
        if sliced.rows is not None and are_of_rows(sliced.rows, weights, sliced.slices):
            replicates, deviations = exact_replicates(resampled, sliced, weights)
        else:
            values = {metric.text: values_of[metric.text].value for metric in resampled}
            replicates, deviations = coarse_replicates(resampled, sliced, weights, values)
    return {
        text: replace(of_metric, replicates=replicates.get(text), deviations=deviations.get(text))
        for text, of_metric in values_of.items()
    }


def _point_values(
    metrics: Sequence[Metric], sliced: SlicedScores, *, placements: bool
) -> dict[str, MetricValues]:
    """Values alone: of all slices at once, or of a few at a time where there are points of so many."""
    if isinstance(sliced, SlicedGrid):
        makers = [partial(sliced.point_state, *span) for span in sliced.few_slices()]
        on_part = partial(_on_part, metrics, sliced, joined=False, placements=placements)
        few_values = parallel_map(on_part, makers)
        return {metric.text: end_to_end([part[metric.text] for part in few_values]) for metric in metrics}
    if not isinstance(sliced, SlicedPoints):
        view = score_view(sliced.point_state(), binned=sliced.has_bins)
        of_metrics = parallel_map(
            lambda metric: _on_points([metric], view, sliced, placements=placements), metrics
        )
        return {text: values for of_metric in of_metrics for text, values in of_metric.items()}
    out: dict[str, MetricValues] = {}
    for scores in (False, True):
        batch = [metric for metric in metrics if metric.reads_points == scores]
        joined = not scores and not sliced.arms
        on_part = partial(_on_part, batch, sliced, joined=joined, placements=placements)
        parts = parallel_map(on_part, sliced.parts(scores=scores)) if batch else []
        out |= {metric.text: end_to_end([part[metric.text] for part in parts]) for metric in batch}
    return {metric.text: out[metric.text] for metric in metrics}


def _on_part(
    metrics: Sequence[Metric],
    sliced: SlicedScores,
    make: Callable[[], Mapping[str, Any]],
    *,
    joined: bool,
    placements: bool,
) -> dict[str, MetricValues]:
    view = score_view(make(), joined=joined, binned=sliced.has_bins)
    return _on_points(metrics, view, sliced, placements=placements)


def _on_points(
    metrics: Sequence[Metric], point: View, sliced: SlicedScores, *, placements: bool
) -> dict[str, MetricValues]:
    areas = any("delong" in metric.closed_forms for metric in metrics)
    varying = _placements(point) if placements and areas and not sliced.has_weights else None
    return {
        metric.text: MetricValues(
            finalise(metric, point),
            conditions(metric, point),
            None,
            None,
            _bounds(metric, point) if sliced.has_bins else None,
            _thresholds(metric, point),
            varying,
        )
        for metric in metrics
    }


def _placements(point: View) -> tuple[Array, Array]:
    """The variances of the mean placement of the positives, and of the negatives."""
    variances = placement_area(point.positive, point.negative)
    return np.asarray(variances.positive_variance), np.asarray(variances.negative_variance)


def _thresholds(metric: Metric, view: View) -> Array | None:
    with finalising(metric):
        thresholds = metric.cut(view)
    if thresholds is None:
        return None
    threshold = np.asarray(thresholds, dtype=np.float64)
    return np.where(np.isfinite(threshold), threshold, np.nan)


def _bounds(metric: Metric, view: View) -> Array:
    with finalising(metric):
        return np.asarray(metric.bound(view), dtype=np.float64)


def _by_bins(
    metrics: Sequence[Metric],
    binning: Binning,
    sliced: SlicedScores,
    weights: ResamplingWeights | Nudges | None,
) -> dict[str, MetricValues]:
    of_metrics: dict[str, list[MetricValues]] = {metric.text: [] for metric in metrics}
    whole = not sliced.has_weights
    for first, last, counts in sliced.bin_counts(binning, 1 if weights is None else weights.shape[1]):

        def on_slices(
            step: tuple[int, int], first: int = first, counts: Array = counts
        ) -> list[MetricValues]:
            of_slices = counts[step[0] - first : step[1] - first]
            total = of_slices.sum(axis=1)
            replicate = None if weights is None else bin_view(drawn_bins(weights, of_slices, whole=whole))
            return [
                _on_bins(metric, total, replicate if metric.value_kind.is_resampled else None)
                for metric in metrics
            ]

        for of_chunk in parallel_map(on_slices, steps(first, last, SLICES_AT_ONCE)):
            for metric, values in zip(metrics, of_chunk, strict=True):
                of_metrics[metric.text].append(values)
    return {text: end_to_end(parts) for text, parts in of_metrics.items()}


def _on_bins(metric: Metric, total: Array, replicate: View | None) -> MetricValues:
    """Values of a few slices from their bins, all blocks together and resampled."""
    point = bin_view(total)
    replicates = None if replicate is None else np.ascontiguousarray(value_or_nan(metric, replicate).T)
    deviations = None
    if replicate is not None and metric.value_kind.is_norm:
        with np.errstate(divide="ignore", invalid="ignore"):
            deviations = np.ascontiguousarray(metric.deviation(replicate, bin_view(total[:, None])).T)
    return MetricValues(finalise(metric, point), conditions(metric, point), replicates, deviations)


def rank_values(
    metrics: Sequence[Metric], pairs: SlicedPairs, weights: ResamplingWeights | Nudges | None
) -> dict[str, MetricValues]:
    """Values and replicates of some rank correlations of one model and slice set, by metric text.

    `weights` are draws of blocks or which one is moved, None without replicates.
    """
    pairwise = any(isinstance(metric.needs, Ranks) and metric.needs.pairs for metric in metrics)
    view = rank_view(pairs, pairwise=pairwise)
    return _of_view(metrics, view, weights, joint_blocks(pairs))


def grid_rank_values(
    metrics: Sequence[Metric], sliced: SlicedGrid, weights: ResamplingWeights | Nudges | None, **_: bool
) -> dict[str, MetricValues]:
    """Values and replicates of rank metrics, from joint counts of labels and predictions."""
    from plmetrics.states.rank_bounds import grid_view

    assert sliced.label_edges is not None
    views = [
        grid_view(counts, sliced.edges, sliced.label_edges, weighted=sliced.has_weights)
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
    weights: ResamplingWeights | Nudges | None,
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
    weights: ResamplingWeights | Nudges,
    values: Mapping[str, Array],
) -> dict[str, Array]:
    by_metric: dict[str, list[Array]] = {metric.text: [] for metric in metrics}
    for index, (counts, present) in enumerate(blocks):
        flat = counts.reshape(len(present), math.prod(counts.shape[1:]))
        occupied = np.flatnonzero(flat.any(axis=0))
        joint = np.zeros((weights.shape[0], flat.shape[1]))
        if isinstance(weights, Nudges):
            joint[:, occupied] = weights.among(flat[:, occupied], present)
        else:
            joint[:, occupied] = product(weights.matrix[:, present], flat[:, occupied])
        replicate = joint_view(joint.reshape(weights.shape[0], *counts.shape[1:]))
        overall = joint_view(counts.sum(axis=0)[None])
        for metric in metrics:
            shift = values[metric.text][index] - finalise(metric, overall)
            by_metric[metric.text].append(
                np.clip(value_or_nan(metric, replicate) + shift, *metric.range)[:, None]
            )
    return {text: np.concatenate(parts, axis=1) for text, parts in by_metric.items()}
