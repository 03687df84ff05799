"""From states to estimates: each metric of each model, with replicates, a chunk of slices at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.metric import UNREACHABLE_ON_GRID
from plmetrics.inference.chunks import (
    Chunk,
    EstimateColumns,
    Population,
    chunks,
    concatenate_estimates,
)
from plmetrics.inference.estimate import Estimate, whole_blocks
from plmetrics.inference.finalised import OrderedValues, conditions, finalise, finalising, value_or_nan
from plmetrics.inference.weights import Nudges

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.inference.weights import ResamplingWeights

Array = NDArray[np.float64]
Texts = NDArray[np.object_]


def estimate(
    metric: Metric,
    model: str,
    chunk: Chunk,
    population: Population,
    weights: ResamplingWeights | Nudges | None,
    ordered: OrderedValues | None,
    min_rows: int,
) -> EstimateColumns:
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
        value = finalise(metric, totals)
        reasons = conditions(metric, totals)
        if weights is not None and metric.value_kind.is_resampled:
            nudges = weights if isinstance(weights, Nudges) else None
            replicates = value_or_nan(metric, chunk.sums.replicates(metric, model, prefix, nudges))
            if metric.additive:
                replicates = replicates * weights.scale[:, None]
    status = _status(reasons, totals.n, min_rows, value)
    rows = _without_labels(population, metric, model, chunk, status)
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
    point_estimate = Estimate(clean, status, blocks, replicates, sizes, deviations, kind, groups, placements)
    bound = None
    if ordered is not None and ordered.bound is not None:
        bounded = (status == "ok") | (status == UNREACHABLE_ON_GRID)
        bound = np.where(bounded, ordered.bound[chunk.first : chunk.last], np.nan)
    cut = None if threshold is None else np.full(value.shape, threshold)
    if ordered is not None and ordered.threshold is not None:
        cut = np.where(status == "ok", ordered.threshold[chunk.first : chunk.last], np.nan)
    n, weight, notes = totals.n, totals.weight, _notes(metric, totals, status)
    if rows is not None:
        absent = n == 0
        n, weight = np.where(absent, rows[0], n), np.where(absent, rows[1], weight)
        notes = np.where(status == population.label_status, "no row has a label", notes)
    return EstimateColumns(point_estimate, n, weight, bound, notes, cut)


def with_row_error(
    estimates: EstimateColumns, error: Metric, model: str, chunk: Chunk, population: Population
) -> EstimateColumns:
    """What was found, with the standard error that a metric of it makes of the sums of all rows."""
    totals = chunk.sums.totals(error, model, population.prefix(error, model))
    with finalising(error):
        rows = reduce(np.minimum, (whole_blocks(size) for size in error.denominators(totals)))
    with_error = replace(estimates.estimate, row_error=value_or_nan(error, totals), rows=rows)
    return replace(estimates, estimate=with_error)


def _status(reasons: list[tuple[str, NDArray[np.bool_]]], n: Array, min_rows: int, value: Array) -> Texts:
    status = np.full(value.shape, "ok", dtype=object)
    for name, condition in reversed(reasons):
        status[np.broadcast_to(condition, value.shape)] = name
    status[n < min_rows] = "too_few_rows"
    status[n == 0] = "no_rows"
    status[(status == "ok") & ~np.isfinite(value)] = "not_finite"
    return status


def _without_labels(
    population: Population, metric: Metric, model: str, chunk: Chunk, status: Texts
) -> tuple[Array, Array] | None:
    """The rows of each slice and their weight, labelled or not; slices where no row has a label say so.

    None where a metric needs no labels, or each row has one.
    """
    if not population.scored or population.prefix(metric, model) != population.models[model]:
        return None
    prefix = population.scored[model]
    n, weight = (chunk.sums.total(f"{prefix}{name}") for name in ("n", "weight"))
    status[(status == "no_rows") & (n > 0)] = population.label_status
    return n, weight


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
    metric_notes = metric.note(totals)
    if metric_notes is not None:
        word, counts = metric_notes
        for index in np.flatnonzero(status != "ok"):
            if counts[index]:
                notes[index] = f"{word}: {counts[index]:,.0f}"
    return notes


__all__ = [
    "Chunk",
    "EstimateColumns",
    "OrderedValues",
    "Population",
    "chunks",
    "concatenate_estimates",
    "estimate",
    "with_row_error",
]
