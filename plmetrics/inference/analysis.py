"""Inference of a run: from states to the tables of metrics and comparisons, with intervals and paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.composite_metrics import AcrossSlices, is_across_slices, line_of
from plmetrics.core.ops import Codes, Flags
from plmetrics.core.results import COMPARISONS_SCHEMA
from plmetrics.core.threads import parallel_map
from plmetrics.inference.chunks import Chunk, EstimateColumns, chunks, concatenate_estimates
from plmetrics.inference.composite_estimates import WholeSet, across_slices
from plmetrics.inference.estimates import Estimates
from plmetrics.inference.subject import Analysis, MetricPlace, Replication, SetStates, SliceEstimates
from plmetrics.inference.tables import (
    COMPARED_SCHEMA,
    DELONG,
    TESTS,
    WHOLE,
    correct,
    metric_columns,
    metrics_rows,
    with_nearness,
    within_ranges,
)
from plmetrics.inference.weights import ResamplingWeights, draw_weights

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.across_runs.retained_replicates import Keeper
    from plmetrics.inference.contrasts import Contrasts
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.inference.metric_values import MetricValues
    from plmetrics.inference.slice_comparisons import SliceContrasts
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import SliceSet

_WORTH_A_THREAD = 1 << 16
"""Of so many replicates of slices, NumPy's work on one metric outweighs what Python adds to it."""

OrderedByPlace = dict[tuple[int, str, str, "ReplicateKind | None"], "MetricValues"]


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Place of a chunk of slices in `CrossSliceEstimates`: masks of listed slices, and of equal pairs of models."""

    index: int
    first: int
    mask: Flags
    equal: Mapping[tuple[str, str], Flags]


class CrossSliceEstimates:
    """Estimates across the slices of a set, collected chunk by chunk. `overall` are those of all rows."""

    def __init__(self, analysis: Analysis, metrics: Sequence[AcrossSlices], overall: Estimates) -> None:
        self._analysis = analysis
        self._leaves = {
            (part.text, kind): part
            for metric in metrics
            for _, member in metric.per_class()
            for part in member.parts()
            for kind in analysis.replication.kinds(member)
        }
        self._overall = overall
        self._columns: dict[tuple[str, str, ReplicateKind | None], list[EstimateColumns]] = {}
        self._places: list[ChunkPlace] = []

    def add(self, estimates: Estimates, place: ChunkPlace) -> None:
        """Add the estimates of a chunk of slices."""
        if not self._leaves:
            return
        self._places.append(place)
        for (text, kind), part in self._leaves.items():
            for model, estimate in estimates.of_kind(part, kind).items():
                self._columns.setdefault((text, model, kind), []).append(estimate)

    def parts(self, metric: AcrossSlices) -> Iterator[tuple[int, SliceEstimates]]:
        """The metric as an estimate of the set as a whole, or of each slice, with the number of the set.

        There is none across no slices: a set may exclude all that there are.
        """
        if not self._places:
            return
        indices = list(dict.fromkeys(place.index for place in self._places))
        slices = [self._analysis.sets[index].slices for index in indices]
        names, order = [name for part in slices for name in part.texts()], None
        if len(slices) > 1:
            from plmetrics.table.tags import result_order

            order = result_order(slices)
        replication, models = self._analysis.replication, self._analysis.models
        of_kind = {
            kind: {model: self._estimate(metric, model, names, kind, order) for model in models}
            for kind in replication.kinds(metric)
        }
        judged = replication.gate_kind(metric)
        equal = {pair: self._equal_values(metric, names, pair) for pair in self._analysis.pairs}
        if not metric.for_each:
            whole = {pair: mask[:1] for pair, mask in equal.items()}
            yield indices[0], SliceEstimates(of_kind[judged], whole, np.array([True]), WHOLE, of_kind)
            return
        start = 0
        for place in self._places:
            places = np.arange(start, start + len(place.mask))
            start += len(places)
            by_kind = {
                kind: {model: estimate.take(places) for model, estimate in of_models.items()}
                for kind, of_models in of_kind.items()
            }
            here = {pair: mask[places] for pair, mask in equal.items()}
            yield place.index, SliceEstimates(by_kind[judged], here, place.mask, place.first, by_kind)

    def _equal_values(self, metric: AcrossSlices, names: Sequence[str], pair: tuple[str, str]) -> Flags:
        """Mask of slices where two models have equal scores on every row that the metric reads there."""
        equal: Flags = np.concatenate([place.equal[pair] for place in self._places])
        reference = metric.reference_among(names)
        if metric.for_each and reference is not None:
            equal &= equal[reference]
            return equal
        elsewhere = not metric.reads_overall or self._overall.equal_scores(*pair)
        return np.full(equal.shape, equal.all() and elsewhere, dtype=np.bool_)

    def _estimate(
        self,
        metric: AcrossSlices,
        model: str,
        names: Sequence[str],
        kind: ReplicateKind | None,
        order: Codes | None,
    ) -> EstimateColumns:
        """Metric from slices in result order; for one value per slice, in the slices' own order again."""
        texts = [part.text for part in metric.parts()]
        inputs = metric.parts() if metric.reads_overall else ()
        listed = np.concatenate([place.mask for place in self._places])
        of_slices = {text: concatenate_estimates(self._columns[text, model, kind]) for text in texts}
        if order is not None:
            names, listed = [names[place] for place in order], listed[order]
            of_slices = {text: estimates.take(order) for text, estimates in of_slices.items()}
        whole_set = WholeSet(
            names,
            listed,
            of_slices,
            {part.text: self._overall.of_kind(part, kind)[model] for part in inputs},
            self._overall.weight(metric, model),
            self._analysis.replication.blocks,
            self._analysis.level,
            self._overall.label_share(model),
        )
        estimates = across_slices(metric, whole_set)
        return estimates if order is None or not metric.for_each else estimates.take(np.argsort(order))


def resampling(suite: Suite, units: Codes) -> ResamplingWeights | None:
    """The resampling weights of blocks; None where nothing is resampled."""
    if suite.uncertainty is None or not Replication(suite).draws():
        return None
    return draw_weights(units, suite.uncertainty.replicates, suite.uncertainty.seed)


def tables(
    analysis: Analysis, ordered: OrderedByPlace, keeper: Keeper | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables `metrics` and `comparisons`, the latter with a row per pair; with extra rows for gates.

    Replicates are handed to the `keeper`, if there is one.
    """
    return _Tables(analysis, ordered, keeper).frames()


class _Tables:
    """Builder of the tables `metrics` and `comparisons`: set by set, a few slices at a time."""

    def __init__(self, analysis: Analysis, ordered: OrderedByPlace, keeper: Keeper | None) -> None:
        self._analysis = analysis
        self._ordered = ordered
        self._keeper = keeper
        slices, unlabelled = [states.slices for states in analysis.sets], bool(analysis.population.scored)
        self._metrics = metrics_rows(slices, unlabelled=unlabelled)
        self._kinds = analysis.metric_numbers
        (chunk,) = chunks(analysis.sets[0].sums, analysis.weights)
        self._overall = self._estimates(0, chunk)
        self._contrasts = _contrasts(analysis, self._overall)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Both tables."""
        sets = enumerate(self._analysis.sets)
        for name, group in groupby(sets, lambda item: item[1].slices.slice_set.name):
            members = dict(group)
            if next(iter(members.values())).slices.slice_set.crossing is None:
                self._add_sets(name, members)
            else:
                self._add_levels(name, next(iter(members)))
        compared = COMPARED_SCHEMA.to_frame() if self._contrasts is None else self._contrasts.frame()
        return self._metrics.frame(), compared

    def _estimates(self, index: int, chunk: Chunk) -> Estimates:
        return Estimates(self._analysis, index, chunk, self._ordered)

    def _add_sets(self, name: str, members: Mapping[int, SetStates]) -> None:
        """Add the slice sets of one name, and the metrics over their slices."""
        sliced = self._slice_contrasts(members)
        over = self._analysis.suite.over(name)
        across = CrossSliceEstimates(self._analysis, over, self._overall)
        for index, states in members.items():
            for chunk in chunks(states.sums, self._analysis.weights):
                listed = _slice_mask(self._analysis, states.slices.slice_set, chunk)
                estimates = self._estimates(index, chunk)
                across.add(estimates, self._add_chunk(index, chunk, name, listed, estimates))
                if sliced is not None:
                    sliced.add(index, chunk, estimates, listed)
        if sliced is not None:
            sliced.finish()
        for metric in over:
            for number, (named, member) in enumerate(metric.per_class()):
                assert is_across_slices(member)
                for index, part in across.parts(member):
                    self._write(MetricPlace(index, metric, number, named), member, part)

    def _add_levels(self, name: str, index: int) -> None:
        """Add the metrics across the groups of one set within the slices of another."""
        from plmetrics.inference.levels import Levels

        levels = Levels(self._analysis, index, self._ordered)
        for metric in self._analysis.suite.over(name):
            for number, (named, member) in enumerate(metric.per_class()):
                assert is_across_slices(member)
                self._write(MetricPlace(levels.level, metric, number, named), member, levels.part(member))

    def _slice_contrasts(self, members: Mapping[int, SetStates]) -> SliceContrasts | None:
        """The comparisons of the slices of a set, None where nothing is compared."""
        if self._contrasts is None:
            return None
        from plmetrics.inference.slice_comparisons import SliceContrasts

        return SliceContrasts(self._analysis, self._contrasts, members, self._overall, self._estimates)

    def _add_chunk(
        self, index: int, chunk: Chunk, name: str, listed: Flags, estimates: Estimates
    ) -> ChunkPlace:
        """Add the metrics of some slices of a set; in threads where there are many numbers."""
        equal = {pair: chunk.equal_scores(*pair) for pair in self._analysis.pairs}

        def add(item: tuple[MetricPlace, Metric]) -> None:
            place, member = item
            of_kind = estimates.of_kinds(member)
            judged = of_kind[self._analysis.replication.gate_kind(member)]
            subject = line_of(member)[0]
            behind_line = None if subject is member else estimates.of_kinds(subject)
            part = SliceEstimates(judged, equal, listed, chunk.first, of_kind, behind_line)
            self._write(place, member, part)

        items = [
            (MetricPlace(index, metric, number, named), member)
            for metric in self._analysis.suite.metrics_in(name)
            for number, (named, member) in enumerate(metric.per_class())
        ]
        if _is_large(self._analysis.weights, chunk):
            if self._analysis.replication.draws_sums:
                chunk.sums.draw()
            parallel_map(add, items)
        else:
            for item in items:
                add(item)
        return ChunkPlace(index, chunk.first, listed, equal)

    def _write(self, place: MetricPlace, member: Metric, part: SliceEstimates) -> None:
        """Add the rows of a metric, or of one of its classes, in some slices."""
        analysis, metric = self._analysis, place.metric
        for position, model in enumerate(analysis.models):
            where = (position, place.index, self._kinds[metric.text], place.number)
            for turn, columns in enumerate(_metric_columns(analysis, model, metric, member, part)):
                self._metrics.add(where, part.mask, columns | {"class": place.class_name}, part.first, turn)
        if self._contrasts is not None:
            self._contrasts.models(place, part)
        if self._keeper is not None:
            self._keeper.add(place.index, metric, part, place.class_name)


def _contrasts(analysis: Analysis, overall: Estimates) -> Contrasts | None:
    """Builder of the rows of `comparisons`; None where nothing is compared."""
    if analysis.suite.compare is None and not analysis.pairs:
        return None
    from plmetrics.inference.contrasts import Contrasts

    return Contrasts(analysis, overall)


def correct_comparisons(analysis: Analysis, comparisons: pl.DataFrame) -> pl.DataFrame:
    """Comparisons of the suite, with adjusted p values and readings."""
    compare = analysis.suite.compare
    if compare is None:
        return COMPARISONS_SCHEMA.to_frame()
    from plmetrics.inference.comparisons.readings import readings_of

    requested = [f"{model}|{baseline}" for model, baseline in compare.pairs_of(analysis.models)]
    pair = pl.concat_str(["model", "baseline"], separator="|")
    test = pl.col("test")
    further = [asked_test.text for asked_test in compare.tests]
    of_bootstrap = test.is_in([*TESTS.values(), DELONG]) & ~test.is_in(further)
    bootstrap = (pl.col("contrast") == "model") & of_bootstrap.fill_null(value=True)
    gated = (test.eq_missing(DELONG) & ~pair.is_in(requested)).fill_null(value=False)
    selected = comparisons.filter(
        ~gated, ~bootstrap | (pair.is_in(requested) & pl.col("scale").is_in(compare.scales))
    )
    selected = within_ranges(selected, analysis.suite.metrics_and_subjects)
    adjusted = correct(selected, compare.correction, compare.family)
    read = readings_of(with_nearness(adjusted, selected, analysis.level), analysis.suite, analysis.level)
    return read.select(list(COMPARISONS_SCHEMA))


def _metric_columns(
    analysis: Analysis, model: str, metric: Metric, member: Metric, part: SliceEstimates
) -> Iterator[dict[str, object]]:
    """The columns of a metric, or of one class of it, once for each method of its intervals."""
    hard = analysis.suite.task == "binary" and analysis.suite.models[model].score is None
    methods = analysis.replication.methods(member)
    if not methods:
        yield metric_columns(model, metric, part.estimates[model], None, hard=hard)
        return
    from plmetrics.inference.intervals.ladder import interval_of

    subject, slope, intercept = line_of(member)
    for chosen in methods:
        estimates_of_model = part.of_kind[chosen.replicates][model]
        estimates = {kind: (part.behind_line or part.of_kind)[kind][model].estimate for kind in chosen.reads}
        interval = interval_of(estimates, chosen, kind=subject.value_kind, level=analysis.level)
        interval = interval if subject is member else interval.on_line(slope, intercept)
        columns = metric_columns(model, metric, estimates_of_model, interval, hard=hard)
        if chosen.doubt:
            columns["note"] = np.where(estimates_of_model.note == None, chosen.doubt, estimates_of_model.note)  # noqa: E711 (element by element)
        yield columns


def _is_large(weights: ResamplingWeights | None, chunk: Chunk) -> bool:
    """Whether there are enough replicates for a thread per metric."""
    replicates = 1 if weights is None else len(weights.counts)
    return replicates * (chunk.last - chunk.first) >= _WORTH_A_THREAD


def _slice_mask(analysis: Analysis, slice_set: SliceSet, chunk: Chunk) -> Flags:
    """All slices, also those with every row excluded, and folds with rows."""
    if not slice_set.is_derived:
        return np.ones(chunk.last - chunk.first, dtype=np.bool_)
    counts = [chunk.sums.total(f"{analysis.population.models[model]}n") for model in analysis.models]
    occupied: Flags = np.sum(counts, axis=0) > 0
    return occupied
