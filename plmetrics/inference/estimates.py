"""Estimates from states: each metric of each model, with replicates, a chunk of slices at a time; cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from plmetrics.catalogue.bases import OfRates, is_of_rates
from plmetrics.catalogue.composite_metrics import is_derived
from plmetrics.catalogue.metric import UNREACHABLE_ON_GRID, Metric, leaves
from plmetrics.core.ops import Array, Texts
from plmetrics.inference.chunks import Chunk, EstimateColumns, Population
from plmetrics.inference.composite_estimates import by_parts
from plmetrics.inference.estimate import Estimate, ReplicateKind, farther_end, kish_sizes, whole_blocks
from plmetrics.inference.metric_values import MetricValues, conditions, finalise, finalising, value_or_nan
from plmetrics.inference.weights import Nudges, ResamplingWeights
from plmetrics.states.sums import DEFAULT_THRESHOLD, View

if TYPE_CHECKING:
    from plmetrics.inference.subject import Analysis
    from plmetrics.inference.sums import ModelSums

_FACTOR = 1e150
"""Products of two sums of weights above that are beyond all numbers, and those of two below 1 over it are 0."""


def estimate(
    metric: Metric,
    model: str,
    chunk: Chunk,
    population: Population,
    weights: ResamplingWeights | Nudges | None,
    ordered: MetricValues | None,
    min_rows: int,
    level: float,
) -> EstimateColumns:
    """One metric of a state family and one model in a chunk of slices; values are NaN where the status is not "ok".

    `weights` is None without replicates. `ordered` are values and replicates of an ordered metric, for all slices of
    the set; None for sums. Slices with fewer than `min_rows` are undefined (`too_few_rows`). `level` is that of the
    intervals of values at an end of their range.
    """
    prefix = population.prefix(metric, model)
    totals = chunk.sums.totals(metric, model, prefix)
    values = (
        _of_sums(metric, model, chunk.sums, totals, weights, prefix)
        if ordered is None
        else ordered.part(slice(chunk.first, chunk.last))
    )
    status = _status(values, totals, min_rows)
    threshold = population.threshold(metric, model)
    if threshold is not None and np.isnan(threshold):
        status[status == "ok"] = "unreachable"
    by_block = chunk.sums.by_block(metric, model, prefix)
    masses = metric.denominators(by_block)
    equal = chunk.sums.equal_blocks(masses)
    value, sizes = np.where(status == "ok", values.value, np.nan), _sizes(metric, totals, equal, population)
    hidden = tie = None
    if is_of_rates(metric) and (rates := metric.rates(by_block)) is not None:
        masses = tuple(np.moveaxis(rates[1], -1, 0))
        if values.replicates is not None:
            *ends, tie = _reaches(metric, totals, masses, chunk.sums, population, level)
            hidden = ends[0], ends[1]
    elif metric.value_kind.end_form == "wilson" and values.replicates is not None and sizes:
        from plmetrics.inference.intervals.closed_forms import tie_of_shares

        tie = tie_of_shares(reduce(np.minimum, sizes), level)
    plausible = (
        _plausible(values, value, sizes, metric, level) if hidden is None else farther_end(value, hidden)
    )
    point_estimate = Estimate(
        value,
        status,
        reduce(np.minimum, map(whole_blocks, equal)),
        values.replicates,
        sizes,
        values.deviations,
        weights.kind if isinstance(weights, Nudges) else "bootstrap",
        chunk.sums.occupied_blocks(f"{prefix}n") if isinstance(weights, Nudges) else None,
        values.placements,
        plausible=plausible,
        hidden=hidden,
        tie=tie,
        fingerprints=() if plausible is None else _fingerprints(metric, totals, masses, chunk.sums),
        total=metric.additive,
    )
    bounded = (status == "ok") | (status == UNREACHABLE_ON_GRID)
    bound = None if values.bound is None else np.where(bounded, values.bound, np.nan)
    cut = _cut(values, status, metric, model, population)
    columns = EstimateColumns(
        point_estimate, totals.n, totals.weight, bound, _notes(metric, totals, status), cut
    )
    return _with_labels(columns, metric, model, chunk.sums, population)


def _cut(
    values: MetricValues, status: Texts, metric: Metric, model: str, population: Population
) -> Array | None:
    """The threshold behind each value; None where it is the usual one."""
    if values.threshold is not None:
        return np.where(status == "ok", values.threshold, np.nan)
    threshold = population.threshold(metric, model)
    if threshold is not None:
        return np.full(status.shape, threshold)
    different = metric.fixed_threshold == DEFAULT_THRESHOLD and population.thresholds_by_class(metric, model)
    return np.full(status.shape, np.nan) if different else None


def _plausible(
    values: MetricValues, value: Array, sizes: tuple[Array, ...], metric: Metric, level: float
) -> Array | None:
    """Plausible ends of values that replicates do not move; None without replicates, which load no closed forms."""
    if values.replicates is None:
        return None
    from plmetrics.inference.intervals.closed_forms import plausible_end

    return plausible_end(value, sizes, metric.value_kind, level)


def _reaches(
    metric: OfRates,
    totals: View,
    masses: tuple[Array, ...],
    sums: ModelSums,
    population: Population,
    level: float,
) -> tuple[Array, Array, Array]:
    """How far below and above the value the rates of 0 or 1 among its parts leave it, and how far all of them do."""
    from plmetrics.inference.intervals.closed_forms import reach_of_rates, share_of, wilson

    rates = metric.rates(totals)
    assert rates is not None
    part, size = (np.asarray(sums_of_rates, dtype=np.float64) for sums_of_rates in rates)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rate = share_of(part / size, (0.0, 1.0))
        if not population.independent:
            equal = sums.equal_blocks(masses)
            size = np.stack([kish_sizes(each, population.blocks, totals.n) for each in equal], axis=-1)
        lower, upper = wilson(rate, size, level)
        away = np.where(rate >= 0.5, lower, upper)
        slope = np.nan_to_num(metric.changes(totals, rate, away) / np.abs(away - rate), posinf=0, neginf=0)
    at_end = np.where((rate == 0.0) | (rate == 1.0), slope, 0.0)
    below, above, either = (reach_of_rates(each, size, level) for each in (-at_end, at_end, np.abs(slope)))
    return below, above, either


def _fingerprints(
    metric: Metric, totals: View, masses: tuple[Array, ...], sums: ModelSums
) -> tuple[Array, ...]:
    """Fingerprints of the rows that the metric's denominators count, or those of its rates."""
    whole = metric.behind_cut(totals) == 1.0
    return tuple(np.where(whole, each, np.nan) for each in sums.fingerprints(masses))


def _of_sums(
    metric: Metric,
    model: str,
    sums: ModelSums,
    totals: View,
    weights: ResamplingWeights | Nudges | None,
    prefix: str,
) -> MetricValues:
    """Values and replicates of a metric of sums."""
    replicates: Array | None = None
    if weights is not None and metric.value_kind.is_resampled:
        nudges = weights if isinstance(weights, Nudges) else None
        replicates = value_or_nan(metric, sums.replicates(metric, model, prefix, nudges))
        if metric.additive:
            replicates = replicates * weights.scale[:, None]
    return MetricValues(finalise(metric, totals), conditions(metric, totals), replicates, None)


def with_row_error(
    estimates: EstimateColumns, error: Metric, model: str, sums: ModelSums, population: Population
) -> EstimateColumns:
    """Estimates with a standard error, computed by a metric of its own from the sums of all rows."""
    totals = sums.totals(error, model, population.prefix(error, model))
    with finalising(error):
        rows = reduce(np.minimum, (whole_blocks(size) for size in error.denominators(totals)))
    with_error = replace(estimates.estimate, row_error=value_or_nan(error, totals), rows=rows)
    return replace(estimates, estimate=with_error)


def _status(values: MetricValues, totals: View, min_rows: int) -> Texts:
    n = totals.n
    status = np.full(values.value.shape, "ok", dtype=object)
    for name, condition in reversed(values.reasons):
        status[np.broadcast_to(condition, status.shape)] = name
    status[n < min_rows] = "too_few_rows"
    status[n == 0] = "no_rows"
    lost = (status == "ok") & ~np.isfinite(values.value)
    status[lost] = "not_finite"
    status[lost & (np.isinf(values.value) | (totals.weight > _FACTOR))] = "overflow"
    status[lost & (totals.weight < 1 / _FACTOR)] = "underflow"
    return status


def _with_labels(
    columns: EstimateColumns, metric: Metric, model: str, sums: ModelSums, population: Population
) -> EstimateColumns:
    """The estimates with the share of labelled rows; without any the status says so, with counts of all rows."""
    if not population.scored:
        return columns
    n, weight = (sums.total(f"{population.scored[model]}{name}") for name in ("n", "weight"))
    share = _labelled_share(model, sums, population)
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


def _labelled_share(model: str, sums: ModelSums, population: Population) -> Array:
    labelled, weight = (sums.total(f"{of[model]}weight") for of in (population.models, population.scored))
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Array = labelled / weight
    return share


def _sizes(
    metric: Metric, totals: View, equal: tuple[Array, ...], population: Population
) -> tuple[Array, ...]:
    part = metric.behind_cut(totals)
    if population.independent:
        return tuple(part * np.asarray(mass, dtype=np.float64) for mass in metric.denominators(totals))
    return tuple(part * kish_sizes(each, population.blocks, totals.n) for each in equal)


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


class Estimates:
    """The estimates of every model in a chunk of slices, each computed once."""

    def __init__(
        self,
        analysis: Analysis,
        index: int,
        chunk: Chunk,
        ordered: Mapping[tuple[int, str, str, ReplicateKind | None], MetricValues],
    ) -> None:
        self._analysis = analysis
        self._index = index
        self._chunk = chunk
        self._ordered = ordered
        self._cache: dict[tuple[str, ReplicateKind | None], dict[str, EstimateColumns]] = {}

    def of(self, metric: Metric) -> dict[str, EstimateColumns]:
        """One metric of every model, as it is judged and compared."""
        return self.of_kind(metric, self._analysis.replication.gate_kind(metric))

    def of_model(self, metric: Metric, model: str) -> EstimateColumns:
        """One metric of one model, as it is judged and compared."""
        return self._estimate_columns(metric, model, self._analysis.replication.gate_kind(metric))

    def of_kind(self, metric: Metric, kind: ReplicateKind | None) -> dict[str, EstimateColumns]:
        """One metric of every model, with replicates of a kind."""
        return {model: self._estimate_columns(metric, model, kind) for model in self._analysis.models}

    def of_kinds(self, metric: Metric) -> dict[ReplicateKind | None, dict[str, EstimateColumns]]:
        """One listed metric of every model, with each kind of its replicates."""
        by_kind = {kind: self.of_kind(metric, kind) for kind in self._analysis.replication.kinds(metric)}
        error = self._analysis.suite.standard_error(metric)
        if error is not None and "influence" in by_kind:
            by_kind["influence"] = {
                model: self._with_row_error(metric, error, model, estimates)
                for model, estimates in by_kind["influence"].items()
            }
        return by_kind

    def _with_row_error(
        self, metric: Metric, error: Metric, model: str, estimates: EstimateColumns
    ) -> EstimateColumns:
        """Estimates with a standard error from sums of rows, and that of samples which are all alike."""
        columns = with_row_error(estimates, error, model, self._chunk.sums, self._analysis.population)
        weighted = self._analysis.suite.has_weights
        if not metric.samples or metric.standard_error(weighted=weighted) is not None:
            return columns
        from plmetrics.inference.alike_samples import hidden_errors

        hidden = hidden_errors(*self._samples(metric, model, "influence"))
        row_error = np.hypot(np.asarray(columns.estimate.row_error), hidden)
        return replace(columns, estimate=replace(columns.estimate, row_error=row_error))

    def _samples(
        self, metric: Metric, model: str, kind: ReplicateKind | None
    ) -> tuple[list[Estimate], list[float]]:
        """Means of the samples of a metric, and the factors of their errors."""
        means = [self._estimate_columns(mean, model, kind).estimate for mean, _ in metric.samples]
        return means, [factor for _, factor in metric.samples]

    def has(self, metric: Metric, model: str) -> bool:
        """Whether there are values of an ordered metric."""
        kind = self._analysis.replication.of_leaf(metric)[0]
        return (self._index, model, metric.text, kind) in self._ordered

    def _estimate_columns(self, metric: Metric, model: str, kind: ReplicateKind | None) -> EstimateColumns:
        estimates = self._cache.setdefault((metric.text, kind), {})
        if model not in estimates:
            estimates[model] = self._compute(metric, model, kind)
        return estimates[model]

    def weight(self, metric: Metric, model: str) -> float:
        """The weight of a model's rows behind a metric, or behind its first part, in the first slice."""
        prefix = self._analysis.population.prefix(leaves(metric)[0], model)
        return float(self._chunk.sums.total(f"{prefix}weight")[0])

    def equal_scores(self, model: str, baseline: str) -> bool:
        """Whether two models have the same scores on every row of these slices."""
        return bool(self._chunk.equal_scores(model, baseline).all())

    def label_share(self, model: str) -> Array | None:
        """The share of a model's rows with a label in the first slice; None where each row must have one."""
        population = self._analysis.population
        return _labelled_share(model, self._chunk.sums, population)[:1] if population.scored else None

    def _compute(self, metric: Metric, model: str, kind: ReplicateKind | None) -> EstimateColumns:
        if is_derived(metric):
            parts = {part.text: self._estimate_columns(part, model, kind) for part in metric.parts()}
            if metric.other_model is not None:
                other = metric.other_model
                parts |= {
                    metric.other_key(part): self._estimate_columns(part, other, kind)
                    for part in metric.parts()
                }
            ties = bool(self._analysis.pairs)
            return by_parts(metric, parts, itself=metric.other_model == model, ties=ties)
        columns = estimate(
            metric,
            model,
            self._chunk,
            self._analysis.population,
            self._analysis.replication.weights(kind),
            self._ordered.get((self._index, model, metric.text, kind)),
            self._analysis.suite.min_rows if self._index else 0,
            self._analysis.level,
        )
        if not metric.samples or columns.estimate.replicates is None:
            return columns
        from plmetrics.inference.alike_samples import with_common_spread

        prefix, first = self._analysis.population.prefix(metric, model), self._chunk.first
        presence = partial(self._chunk.sums.presence, f"{prefix}n")
        samples = self._samples(metric, model, kind)
        salt = crc32(self._analysis.sets[self._index].slices.slice_set.name.encode())
        moved = with_common_spread(columns.estimate, *samples, presence, (salt, first))
        return replace(columns, estimate=moved)
