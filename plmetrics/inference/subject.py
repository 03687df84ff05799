"""Subject of inference: metrics, models and pairs, the states they are estimated from, and their replicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from plmetrics.catalogue.composite_metrics import line_of
from plmetrics.catalogue.metric import Metric, leaves
from plmetrics.catalogue.needs import Sums
from plmetrics.core.ops import Codes, Flags
from plmetrics.inference.intervals.methods import IntervalMethod, RowDesign, methods_of
from plmetrics.inference.weights import Nudges, ResamplingWeights

if TYPE_CHECKING:
    from plmetrics.inference.chunks import EstimateColumns, Population
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.states.complements import ComplementSums
    from plmetrics.states.sums import SlicedSums
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices


class Replication:
    """Replication of the estimates of a suite.

    Values come with replicates of a kind, or with none where a closed form does without. What is made from other
    metrics has replicates of one kind from all of them, and so do the two sides of a difference.
    """

    def __init__(
        self,
        suite: Suite,
        weights: ResamplingWeights | None = None,
        units: Codes | None = None,
        *,
        compared: bool = True,
    ) -> None:
        self._suite = suite
        self._weights = weights
        self._units = units
        self._compared = compared
        self._rows = RowDesign(suite.columns.unit is not None, suite.has_weights)
        self._methods: dict[str, tuple[IntervalMethod, ...]] = {}

    def methods(self, metric: Metric) -> tuple[IntervalMethod, ...]:
        """Intervals of a metric, the one for gates first; none without uncertainty.

        Linear functions of one metric have those of this one.
        """
        if self._suite.uncertainty is None:
            return ()
        if metric.text not in self._methods:
            self._methods[metric.text] = methods_of(line_of(metric)[0], self._suite.uncertainty, self._rows)
        return self._methods[metric.text]

    def gate_kind(self, metric: Metric) -> ReplicateKind | None:
        """Kind of replicates for comparisons and gates of a metric's estimates."""
        chosen = self.methods(metric)
        if not chosen:
            return None
        return chosen[0].of_differences(metric) if self._compared else chosen[0].replicates

    def refusal(self, metric: Metric) -> str:
        """Reason for the absence of a metric's replicates."""
        chosen = self.methods(metric)
        if not metric.value_kind.is_resampled:
            return "not_estimable"
        return chosen[0].refusal or "not_requested" if chosen else "not_requested"

    def kinds(self, metric: Metric) -> tuple[ReplicateKind | None, ...]:
        """All kinds of replicates of a metric, the one for gates first."""
        kinds_read = [kind for chosen in self.methods(metric) for kind in chosen.reads]
        return tuple(dict.fromkeys([self.gate_kind(metric), *kinds_read]))

    def of_leaf(self, metric: Metric) -> tuple[ReplicateKind | None, ...]:
        """Kinds of replicates of a metric of a state family, also for metrics made from it."""
        return self._leaves.get(metric.text) or self.kinds(metric)

    @cached_property
    def _leaves(self) -> dict[str, tuple[ReplicateKind | None, ...]]:
        kinds_of_leaves: dict[str, dict[ReplicateKind | None, None]] = {}
        for metric in self._suite.metrics_and_subjects:
            for _, member in metric.per_class():
                for leaf in _leaves_and_samples(member):
                    kinds_of_leaves.setdefault(leaf.text, {}).update(dict.fromkeys(self.kinds(member)))
        return {text: tuple(kinds) for text, kinds in kinds_of_leaves.items()}

    def draws(self) -> bool:
        """Whether anything needs resampled blocks."""
        return bool(self._suite.curves) or any("bootstrap" in kinds for kinds in self._leaves.values())

    @cached_property
    def draws_sums(self) -> bool:
        """Whether sums are resampled."""
        return any(
            isinstance(leaf.needs, Sums) and "bootstrap" in self.kinds(member)
            for metric in self._suite.metrics_and_subjects
            for _, member in metric.per_class()
            for leaf in _leaves_and_samples(member)
        )

    @property
    def blocks(self) -> int:
        """The number of blocks, 0 without any."""
        if self._weights is not None:
            return int(self._weights.counts.shape[1])
        return 0 if self._units is None else len(self._units)

    def weights(self, kind: ReplicateKind | None) -> ResamplingWeights | Nudges | None:
        """Resampling weights of a kind of replicates; None without replicates."""
        if kind is None or kind == "bootstrap":
            return None if kind is None else self._weights
        return None if self._units is None else Nudges(kind, self._units)

    @property
    def bootstrap(self) -> ResamplingWeights | None:
        """Draws of blocks; None where nothing is resampled."""
        return self._weights

    def by_kind(self, metrics: Iterable[Metric]) -> dict[ReplicateKind | None, Sequence[Metric]]:
        """Metrics by their kinds of replicates."""
        groups: dict[ReplicateKind | None, list[Metric]] = {}
        for metric in metrics:
            for kind in self.of_leaf(metric):
                groups.setdefault(kind, []).append(metric)
        return dict(groups)


def _leaves_and_samples(metric: Metric) -> Iterator[Metric]:
    """Metrics of a state family behind a metric's values, and behind their errors."""
    for leaf in leaves(metric):
        yield leaf
        yield from (mean for mean, _ in leaf.samples)


@dataclass(frozen=True, slots=True)
class SetStates:
    """States of one slice set: its slices, and the sums of each by block; `complements` are of all other rows."""

    slices: Slices
    sums: SlicedSums
    complements: ComplementSums | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """Subject of the inference: metrics, models and pairs, and the states of their estimates.

    `contrasts` is whether a feature takes differences of its own.
    """

    suite: Suite
    sets: Sequence[SetStates]
    population: Population
    pairs: Sequence[tuple[str, str]]
    weights: ResamplingWeights | None
    units: Codes | None = None
    contrasts: bool = False
    replication: Replication = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Derive the kinds of replicates from the other fields."""
        compared = bool(self.pairs) or self.suite.compare is not None or self.contrasts
        replication = Replication(self.suite, self.weights, self.units, compared=compared)
        object.__setattr__(self, "replication", replication)

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return 0.95 if self.suite.uncertainty is None else self.suite.uncertainty.level

    @property
    def models(self) -> tuple[str, ...]:
        """Model names in suite order."""
        return tuple(self.suite.models)

    @property
    def metric_numbers(self) -> dict[str, int]:
        """Places of metrics in the order of results, by text."""
        return {metric.text: number for number, metric in enumerate(self.suite.metrics_and_subjects)}


def base_analysis(analysis: Analysis) -> Analysis:
    """Analysis of the slice sets of the suite and their crosses, without those of features."""
    sets = [
        part
        for part in analysis.sets
        if not part.slices.slice_set.is_derived or part.slices.slice_set.crossing is not None
    ]
    return replace(analysis, sets=sets)


@dataclass(frozen=True, slots=True)
class SliceEstimates:
    """A metric's estimates in some slices of a set, by model.

    Masks tell the slices where a pair of models is `equal`, and those with rows (`mask`).
    `estimates` are those that gates and comparisons read; `of_kind` are all, by the kind of their replicates, and
    `behind_line` those of the metric that this one is a linear function of, None for others.
    """

    estimates: Mapping[str, EstimateColumns]
    equal: Mapping[tuple[str, str], Flags]
    mask: Flags
    first: int
    of_kind: Mapping[ReplicateKind | None, Mapping[str, EstimateColumns]]
    behind_line: Mapping[ReplicateKind | None, Mapping[str, EstimateColumns]] | None = None


@dataclass(frozen=True, slots=True)
class MetricPlace:
    """Place of the rows of a contrast: a metric, or one of its classes, in a slice set."""

    index: int
    metric: Metric
    number: int = 0
    class_name: str = ""


def complement_place(index: int) -> int:
    """The key of the complements of a slice set among ordered values."""
    return -1 - index
