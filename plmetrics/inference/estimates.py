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
from plmetrics.states.sums import DEFAULT_THRESHOLD

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
    if metric.fixed_threshold == DEFAULT_THRESHOLD and population.thresholds_by_class(model):
        threshold = np.nan
    cut = None if threshold is None else np.full(value.shape, threshold)
    if ordered is not None and ordered.threshold is not None:
        cut = np.where(status == "ok", ordered.threshold[chunk.first : chunk.last], np.nan)
    columns = EstimateColumns(
        point_estimate, totals.n, totals.weight, bound, _notes(metric, totals, status), cut
    )
    return _with_labels(columns, metric, model, chunk, population)


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


def _with_labels(
    columns: EstimateColumns, metric: Metric, model: str, chunk: Chunk, population: Population
) -> EstimateColumns:
    """The estimates with the share of rows that have labels; where a metric needs some and none has one, that is why.

    Such a slice has the rows that it has.
    """
    if not population.scored:
        return columns
    n, weight = (chunk.sums.total(f"{population.scored[model]}{name}") for name in ("n", "weight"))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = chunk.sums.total(f"{population.models[model]}weight") / weight
    if population.prefix(metric, model) != population.models[model]:
        return replace(columns, labelled=share)
    absent = (columns.estimate.status == "no_rows") & (n > 0)
    status = np.where(absent, population.label_status, columns.estimate.status)
    return replace(
        columns,
        estimate=replace(columns.estimate, status=status),
        n=np.where(absent, n, columns.n),
        weight=np.where(absent, weight, columns.weight),
        note=np.where(absent, "no row has a label", columns.note),
        labelled=share,
    )


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
