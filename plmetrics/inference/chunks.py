"""Estimates of one metric of one model in some slices, and slices in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.catalogue.metric import Metric, leaves
from plmetrics.catalogue.thresholds import threshold_classes, threshold_keys
from plmetrics.core.names import number_text
from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.inference.records import end_to_end, entries_of
from plmetrics.inference.sums import ModelSums
from plmetrics.states.scores.coarse import slices_at_once
from plmetrics.states.sums import DEFAULT_THRESHOLD, SlicedSums, class_threshold

if TYPE_CHECKING:
    from plmetrics.inference.estimate import Estimate
    from plmetrics.inference.weights import ResamplingWeights
    from plmetrics.states.complements import ComplementSums


@dataclass(frozen=True, slots=True)
class Population:
    """Population of the rows behind a model's numbers: whether they are independent and equally weighted.

    `blocks` is the number of blocks where units share them, else None. `thresholds` are those that were chosen from
    rows, and those of models, by model and text of the rule. `every` are the prefixes of the counts of all rows, those
    that are left out as well, where metrics read them. Where rows may have no label, `scored` are the prefixes of the
    counts of all rows, which stand behind the metrics whose texts are `label_free`, and `label_status` is why a slice
    has no labels. `score_free` are the texts of metrics that no prediction is in, where models are compared.
    """

    models: Mapping[str, str]
    independent: bool
    blocks: int | None = None
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    every: Mapping[str, str] = field(default_factory=dict)
    scored: Mapping[str, str] = field(default_factory=dict)
    label_free: frozenset[str] = frozenset()
    label_status: str = "unlabelled"
    score_free: frozenset[str] = frozenset()

    def prefix(self, metric: Metric, model: str) -> str:
        """Prefix of the names of the counts behind a metric of a model."""
        if self.every and metric.every_row:
            return self.every[model]
        return self.scored[model] if self.scored and metric.text in self.label_free else self.models[model]

    def threshold(self, metric: Metric, model: str) -> float | None:
        """Threshold by a metric's rule for a model, NaN if none fulfils it, or the model's own.

        None without either, and where classes have different ones.
        """
        rule, thresholds = metric.chosen_threshold, self.thresholds.get(model, {})
        if rule is None:
            return _threshold_in_place(metric, thresholds)
        if rule.constant is not None:
            return rule.constant
        cuts = [thresholds[key] for key in threshold_keys(metric)]
        return cuts[0] if len(cuts) == 1 else next(filter(isnan, cuts), None)

    def thresholds_by_class(self, metric: Metric, model: str) -> Mapping[str, float]:
        """Thresholds of a model's classes in place of the default one, and those chosen by a rule."""
        start, thresholds = class_threshold(DEFAULT_THRESHOLD, ""), self.thresholds.get(model, {})
        keys = threshold_keys(metric)
        return {key: thresholds[key] for key in thresholds if key.startswith(start) or key in keys}

    def cuts(self, metric: Metric, model: str) -> list[object]:
        """Thresholds of a model for all that a metric is made from."""
        return [self._cuts(leaf, model) for leaf in leaves(metric)]

    def _cuts(self, metric: Metric, model: str) -> tuple[float, Mapping[str, float]]:
        """Threshold of a model in place of the default one, if the metric reads it, and those of classes and rules."""
        expressions = metric.row_expressions().values()
        reads = metric.fixed_threshold == DEFAULT_THRESHOLD or any(
            "prediction" in sql.lower() for sql in expressions
        )
        own = self.thresholds.get(model, {}).get(number_text(DEFAULT_THRESHOLD), DEFAULT_THRESHOLD)
        return own if reads else DEFAULT_THRESHOLD, self.thresholds_by_class(metric, model)


def _threshold_in_place(metric: Metric, thresholds: Mapping[str, float]) -> float | None:
    """Threshold of a model in place of a metric's number, if it has one; that of a single class always."""
    fixed, classes = metric.fixed_threshold, threshold_classes(metric)
    if fixed is None:
        return None
    of_model = thresholds.get(number_text(fixed))
    if len(classes) != 1:
        return of_model
    return thresholds.get(class_threshold(fixed, classes[0]), fixed if of_model is None else of_model)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Range of slices of one set, with the sums of its estimates."""

    first: int
    last: int
    sums: ModelSums

    def equal_scores(self, model: str, baseline: str) -> Flags:
        """Mask of the slices where two models have the same scores on every row."""
        equal: Flags = self.sums.total(f"{model}|differs|{baseline}") == 0
        return equal


def chunk_of(
    sums: SlicedSums | ComplementSums, weights: ResamplingWeights | None, first: int, last: int
) -> Chunk:
    """Chunk of the slices from one up to another, of any number."""
    by_block, centres = sums.by_block(first, last), sums.centred_at(first, last)
    model_sums = ModelSums(by_block, weights, centres, sums.replicate_columns(first, last))
    return Chunk(first, last, model_sums)


def chunks(sums: SlicedSums, weights: ResamplingWeights | None) -> Iterator[Chunk]:
    """Chunks of a slice set with replicates within memory."""
    replicates = 1 if weights is None else len(weights.counts)
    step = slices_at_once(len(sums.columns), sums.blocks, replicates)
    for first in range(0, sums.slices, step):
        yield chunk_of(sums, weights, first, min(first + step, sums.slices))


@dataclass(frozen=True, slots=True)
class EstimateColumns:
    """Estimate with further columns of its result row; `labelled` is None where each row must have a label."""

    estimate: Estimate
    n: Array
    weight: Array
    bound: Array | None
    note: Texts
    threshold: Array | None = None
    labelled: Array | None = None

    def take(self, index: Codes) -> EstimateColumns:
        """Values found in some of the slices."""
        return entries_of(self, index)


def concatenate_estimates(parts: Sequence[EstimateColumns]) -> EstimateColumns:
    """Values found in chunks of slices, one after another, as far as metrics across slices read them."""
    if len(parts) == 1:
        return parts[0]
    bounds = [np.zeros(part.n.shape) if part.bound is None else part.bound for part in parts]
    bounded = any(part.bound is not None for part in parts)
    return replace(end_to_end(parts), bound=np.concatenate(bounds) if bounded else None)
