"""Fairness: differences between groups by their rates. Groups are the slices of a set, all numbers metrics of theirs.

A group takes part when all rates it is judged by are defined and it holds at least `min_share` of the weight of all
rows; the note names the others. A rate that a group does not have is never counted as 0.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from plmetrics.catalogue.binary.counts import DecisionShare, Rate
from plmetrics.catalogue.composite_metrics import AcrossSlices, Groups
from plmetrics.catalogue.metric import Facts, Metric, Undefined, leaves
from plmetrics.catalogue.needs import Kind, Sums
from plmetrics.catalogue.parameters import ParameterError, ThresholdRule, fact_of, parameter
from plmetrics.core import ops
from plmetrics.core.names import number_text
from plmetrics.core.slice_texts import only_value, slice_place
from plmetrics.states.sums import Atom

METHODS = ("between_groups", "to_overall", "reference")
_SHOWN = 5
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class GroupMetric(AcrossSlices):
    """Base of the comparisons of groups: the slices of a set, and the conditions to take part."""

    compares_groups = True
    least: ClassVar[int] = 2
    too_few: ClassVar[str] = "too_few_groups"
    failures: ClassVar[tuple[str, ...]] = ("reference_not_judged",)

    slice_set: str = parameter(doc="slice set whose slices are the groups", name="by")

    def undefined(self, state: Any) -> Undefined:
        """Possible statuses besides those of its rates; they do not follow from a state."""
        return [(status, state.weight == 0) for status in (self.too_few, *self.failures)]

    @property
    def is_ratio(self) -> bool:
        """Whether it is the ratio of two groups, not their difference."""
        return False

    @property
    def share(self) -> float:
        """Least share of the weight of all rows for a group to take part."""
        return float(getattr(self, "min_share", 0.0))

    @property
    def criteria(self) -> frozenset[str]:  # type: ignore[override]
        """Criteria of the compared rates."""
        return frozenset(leaf.criterion for leaf in leaves(self) if leaf.criterion is not None)

    def reasons_against(self, status: Any, share: Any) -> Any:
        """Groups without a value, and those too small to be judged, take no part."""
        small = (status == "ok") & (share < self.share * (1 - 1e-12))
        return np.where(small, "below_min_share", status)

    def reference_among(self, names: Sequence[str]) -> int | None:
        """Index of the reference: the slice of the full text, or of the value of a single column."""
        if self.against is None:
            return None
        text = _value_text(self.against)
        for texts in (names, [only_value(name) for name in names]):
            if (place := slice_place(text, texts)) is not None:
                return place
        return -1

    def blocks_of(self, blocks: Any, most: int) -> int:
        """Number of blocks of the group with the fewest: a gap is as uncertain as its weaker side."""
        return min(int(blocks.min()), most)

    def omissions(self, names: Sequence[str], status: Sequence[str]) -> str | None:
        """Omitted groups, with reasons; crossed ones, whose names hold commas, are set apart by semicolons."""
        if not names:
            return None
        reasons = []
        between = "; " if any(", " in name for name in names) else ", "
        for why in dict.fromkeys(status):
            omitted = [name for name, reason in zip(names, status, strict=True) if reason == why]
            more = f" and {len(omitted) - _SHOWN:,} more" if len(omitted) > _SHOWN else ""
            reasons.append(f"{between.join(omitted[:_SHOWN])}{more} ({why})")
        return "not judged: " + "; ".join(reasons)


@dataclass(frozen=True)
class MetricOfGroups(GroupMetric):
    """Base of the comparisons of one metric, class by class for a metric of classes."""

    metric: Metric = parameter(doc="the metric", domain="a metric", unnamed=True)  # noqa: RUF009
    by_class = fact_of("metric.by_class")
    chosen_threshold = fact_of("metric.chosen_threshold")
    lacks = fact_of("metric.lacks")

    def parts(self) -> tuple[Metric, ...]:
        return (self.metric,)

    def per_class(self) -> tuple[tuple[str, Metric], ...]:
        """The comparison of each class of the metric."""
        if not self.metric.by_class:
            return (("", self),)
        return tuple((named, replace(self, metric=member)) for named, member in self.metric.per_class())


def _value_text(value: str | float | bool) -> str:  # noqa: FBT001
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else number_text(value)


def min_share_parameter() -> Any:
    """The parameter `min_share`."""
    return parameter(
        0.02,
        doc="groups with a smaller share of the weight of all rows are listed, not judged",
        check=lambda value: 0 <= value < 1,
        domain="a number of at least 0 and below 1",
    )


@dataclass(frozen=True)
class GroupComparison(GroupMetric):
    """Base of the comparisons with one number for a set, by a method of comparing its groups."""

    method: str = parameter(
        "between_groups",
        doc="largest against smallest, each against all rows, or each against one group",
        options=METHODS,
    )
    held_against: str | float | bool | None = parameter(
        None,
        doc="the group that others are held against (method=reference)",
        domain="the value of a slice, or its whole text",
        name="reference",
    )
    min_share: float = min_share_parameter()
    kind: ClassVar[Kind] = "norm"
    ratio: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.method == "reference") != (self.held_against is not None):
            needs = "method=reference needs reference: the group that others are held against"
            unread = "reference is read with method=reference only"
            msg = f"{self.name}: {needs if self.held_against is None else unread}"
            raise ParameterError(msg, "method" if self.held_against is None else "reference")

    @property
    def against(self) -> str | float | bool | None:  # type: ignore[override]
        return self.held_against

    @property
    def reads_overall(self) -> bool:
        """Whether groups are held against all rows."""
        return self.method == "to_overall"

    @property
    def is_ratio(self) -> bool:
        """Whether it is the smallest ratio, not the largest difference."""
        return self.ratio

    @property
    def takes_mean(self) -> bool:
        """Whether several rates are averaged, where else the worst of them counts."""
        return getattr(self, "agg", "max") == "mean"

    def finalise(self, state: Groups) -> Any:
        """The largest difference or the smallest ratio of each rate, put together."""
        rates = np.stack([self._of_rate(state, part.text) for part in self.parts()])
        if self.takes_mean:
            return rates.mean(axis=0)
        return rates.min(axis=0) if self.is_ratio else rates.max(axis=0)

    def of_groups(self, state: Groups, text: str) -> Any:
        """The values of a rate by group."""
        return state.values[text]

    def _of_rate(self, state: Groups, text: str) -> Any:
        values, centre = self.of_groups(state, text), self._centre(state, text)
        if not self.is_ratio:
            if centre is None:
                return ops.difference(values.max(axis=-1), values.min(axis=-1))
            return self._size(ops.difference(values, centre))
        lowest = values.min(axis=-1)
        if centre is None:
            share = lowest / values.max(axis=-1)
        else:
            lowest = np.minimum(lowest, centre[..., 0])
            ratios = np.minimum(values / centre, centre / values)
            # A reference of 0 is equal to itself: the ratio is 0 where others have more, and none where nobody has.
            equal = (values == 0) & (centre == 0) & (values != 0).any(axis=-1, keepdims=True)
            share = np.where(equal, 1.0, ratios).min(axis=-1)
        return np.where(lowest < 0, np.nan, share)

    def _centre(self, state: Groups, text: str) -> Any:
        """References of the groups, with an axis for groups; None for each other."""
        if self.method == "to_overall":
            return np.asarray(state.overall[text])[..., None]
        return self.of_groups(state, text)[..., [state.reference]] if self.method == "reference" else None

    def _size(self, vector: Any) -> Any:
        if self.method == "between_groups":
            return vector.max(axis=-1) - vector.min(axis=-1)
        return np.abs(vector).max(axis=-1)

    def combined_bound(self, bounds: Groups) -> Any:
        """Error bound: of a difference those of the two farthest sides. A ratio has none."""
        if self.is_ratio:
            return None
        rates = []
        for part in self.parts():
            farthest = np.sort(bounds.values[part.text], axis=-1)
            centre = self._centre(bounds, part.text)
            other = farthest[..., -2] if centre is None else centre[..., 0]
            rates.append(farthest[..., -1] + other)
        return np.mean(rates, axis=0) if self.takes_mean else np.max(rates, axis=0)

    def failure_status(self, groups: Groups) -> str:
        """Reason against a ratio: no group has more than 0, or one has less, or all rows have."""
        if not self.is_ratio:
            return "not_finite"
        numbers = (*groups.values.values(), *(groups.overall.values() if self.reads_overall else ()))
        below = any((np.asarray(values) < 0).any() for values in numbers)
        return "nonpositive_values" if below else "zero_denominator"

    def deviations(self, replicates: Groups, point: Groups) -> Any:
        """Movements of replicates' groups against each other, in logarithms for ratios.

        A mean of ratios r that are e^d too small each is too small by the factor sum r e^d / sum r.
        """
        shifts = [
            self._vector(replicates, part.text) - self._vector(point, part.text) for part in self.parts()
        ]
        sizes = np.stack([self._size(vector) for vector in shifts])
        if self.takes_mean and self.is_ratio:
            ratios = np.array([self._of_rate(point, part.text) for part in self.parts()])
            with np.errstate(over="ignore"):
                return np.log(np.tensordot(ratios / ratios.sum(), np.exp(sizes), axes=1))
        return sizes.mean(axis=0) if self.takes_mean else sizes.max(axis=0)

    def _vector(self, state: Groups, text: str) -> Any:
        values, centre = self.of_groups(state, text), self._centre(state, text)
        if self.is_ratio:
            values = ops.log(np.maximum(values, _TINY))
            centre = None if centre is None else ops.log(np.maximum(centre, _TINY))
        return values if centre is None else values - centre


class RejectionRate(DecisionShare):
    """Share of all rows predicted negative: (FN + TN) / (TP + FP + FN + TN)."""

    name = "rejection_rate"
    selected = False


class MeanGap(Metric):
    """Mean score minus rate of positives: sum of w (p - y) / W."""

    name = "mean_gap"
    mean = "rows"
    criterion = "calibration"
    task = "binary"
    needs = Sums(classes=True)
    range = (-1.0, 1.0)
    direction = "zero"
    probability = True
    needs_score = True

    def atoms(self) -> Mapping[str, Atom]:
        """The sum of scores."""
        return {"score_sum": Atom("score", lambda rows: rows.score)}

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.score_sum - state.positives, state.weight)


class RateMetric:
    """Base of the metrics of rates at a threshold: the rates they read."""

    rates: ClassVar[tuple[type[Rate], ...]]
    mirrored: ClassVar[tuple[type[Rate], ...]] = ()
    threshold: float | ThresholdRule
    facts: ClassVar[Facts] = Facts()

    def with_facts(self, facts: Facts) -> Self:
        """Metric with rates specialised by the facts of the run."""
        metric = copy.copy(self)
        object.__setattr__(metric, "facts", facts)
        return metric

    def parts(self) -> tuple[Metric, ...]:
        """The rates, of the favourable decision."""
        flipped = getattr(self, "favourable", "positive") == "negative"
        rates = self.mirrored if flipped else self.rates
        return tuple(rate(threshold=self.threshold).with_facts(self.facts) for rate in rates)


def favourable_parameter() -> Any:
    """The parameter `favourable`."""
    return parameter("positive", doc="the decision that people want", options=("positive", "negative"))
