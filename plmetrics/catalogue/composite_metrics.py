"""Composite metrics of a suite: arithmetic over metrics, and metrics across slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeGuard

import numpy as np

from plmetrics.catalogue.custom import EVERYTHING, Custom
from plmetrics.catalogue.metric import Facts, Metric
from plmetrics.catalogue.needs import Kind, Parts, SliceValues
from plmetrics.core import ops
from plmetrics.core.rowsql import compile_row

_EMPTY = ("no_rows", "too_few_rows")
OVER = ("mean", "sum", "min", "max", "worst")


class DerivedMetric(Metric):
    """Base of the functions of other metrics' values, slice by slice and replicate by replicate.

    `parts()` are those others; `finalise` maps a mapping of their texts to values, NaN where undefined, to values. With
    `other_model` it also reads the parts of that model, under `other_key`.
    """

    needs = Parts()
    expressible = False
    other_model: ClassVar[str | None] = None

    @property
    def line(self) -> tuple[Metric, float, float] | None:
        """Metric, slope and intercept of a linear function of one metric; None for others."""
        return None

    @staticmethod
    def other_key(part: Metric) -> str:
        """Key of the values of the other model."""
        return f"{part.text}|other"

    def combined_status(self, value: Any, statuses: Sequence[Any]) -> Any:
        """Reason why the value is undefined: that of the first undefined part, else a non-finite value."""
        status = np.full(value.shape, "not_finite", dtype=object)
        for part in reversed(statuses):
            status = np.where(part != "ok", part, status)
        return np.where(np.isfinite(value), "ok", status)

    def combined_deviations(self, parts: Mapping[str, Any]) -> Any:  # noqa: ARG002
        """Distance of each replicate's vector of gaps from the point's, from those of its parts. Kind norm only."""
        return None

    def combined_note(self, statuses: Sequence[Any]) -> Any:  # noqa: ARG002
        """Notes beside a value: texts, None for nothing, or None for all."""
        return None

    def combined_bound(self, values: Mapping[str, Any], bounds: Mapping[str, Any]) -> Any:  # noqa: ARG002
        """Error bound of the value, from the values and bounds of the parts, None for exact ones.

        None where nothing is known of it.
        """
        return None


@dataclass(frozen=True)
class Formula(Custom, DerivedMetric):
    """Arithmetic over metrics, slice by slice and replicate by replicate: `50*fp + 2000*fn`.

    An undefined metric is null in it: the result is undefined, unless the formula says otherwise (COALESCE).
    `sql` is the formula with metrics as quoted column names.
    """

    range = EVERYTHING
    expression: str = ""
    sql: str = ""
    operands: tuple[tuple[str, Metric], ...] = ()

    def _content(self) -> dict[str, Any]:
        return {"formula": self.expression}

    def parts(self) -> tuple[Metric, ...]:
        return tuple(metric for _, metric in self.operands)

    @cached_property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether it grows with the rows, as costs of errors do and a quotient of two totals does not."""
        totals = frozenset(name for name, metric in self.operands if metric.additive)
        from plmetrics.core.rowsql.linear import degree

        return bool(totals) and degree(self.sql, totals) > 0

    @cached_property
    def _function(self) -> tuple[str, float, float] | None:
        """Operand, slope and intercept of a linear function of one; None for others."""
        from plmetrics.core.rowsql.linear import linear_function

        return linear_function(self.sql)

    @cached_property
    def line(self) -> tuple[Metric, float, float] | None:
        if self._function is None:
            return None
        name, slope, intercept = self._function
        metric, inner_slope, inner_intercept = line_of(dict(self.operands)[name])
        return metric, slope * inner_slope, slope * inner_intercept + intercept

    def combined_bound(self, values: Mapping[str, Any], bounds: Mapping[str, Any]) -> Any:  # noqa: ARG002
        """That of the metric times the slope, of a linear function of one metric."""
        if self._function is None:
            return None
        name, slope, _ = self._function
        bound = bounds[dict(self.operands)[name].text]
        return None if bound is None else abs(slope) * bound

    @cached_property
    def _by_facts(self) -> dict[Facts, Metric]:
        return {}

    def with_facts(self, facts: Facts) -> Metric:
        """The formula of a suite's facts, made once: it may stand in many others."""
        if facts not in self._by_facts:
            operands = tuple((name, metric.with_facts(facts)) for name, metric in self.operands)
            self._by_facts[facts] = replace(self, operands=operands)
        return self._by_facts[facts]

    def combined_status(self, value: Any, statuses: Sequence[Any]) -> Any:
        """Status of a derived metric; a slice with too few rows has no value, whatever the formula gives."""
        without = np.isfinite(value)
        for part in statuses:
            without = without & ~np.isin(part.astype(str), _EMPTY)
        status = super().combined_status(np.where(without, value, np.nan), statuses)
        if "/" in self.expression:
            status = np.where(status == "not_finite", "zero_denominator", status)
        return status

    def finalise(self, state: Any) -> Any:
        """The formula over the metrics' values, NaN where undefined; `state` maps a metric's text to its values."""
        values = {name: state[metric.text] for name, metric in self.operands}
        return compile_row(self.sql).on_arrays(values)


@dataclass(frozen=True, slots=True)
class Groups:
    """State of a metric across the slices of a set: its parts' values where slices take part, and overall.

    `values` are `[..., slice]` and `overall` `[...]`, by the text of the part, NaN where undefined. `reference` is
    the place, among these slices, of the one that the others are held against. `sizes` are the sample sizes behind the
    parts' values, `[slice]`: rows, or effective units where these have weights or are clusters.
    """

    values: Mapping[str, Any]
    overall: Mapping[str, Any]
    reference: int | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)


class AcrossSlices(Metric):
    """Base of the functions of other metrics' values in all slices of a set.

    `parts()` are those others. `finalise` maps `Groups` to one value for the set, or to one for each slice
    (`for_each`); replicates go the same way. One value stands under the slice set, with slice `all`. With fewer than
    `least` slices to go by its status is `too_few`. Others are held against the slice `against`. `criteria` are those
    of fairness that it judges groups by; `reads_sizes` is whether it reads the sample sizes of its parts.
    """

    needs = SliceValues()
    expressible = False
    for_each: ClassVar[bool] = False
    least: ClassVar[int] = 1
    too_few: ClassVar[str] = "no_defined_slices"
    against: ClassVar[str | float | bool | None] = None
    criteria: ClassVar[frozenset[str]] = frozenset()
    reads_sizes: ClassVar[bool] = False
    slice_set: str

    @property
    def reads_overall(self) -> bool:
        """Whether it reads its parts' values overall."""
        return False

    @property
    def is_total(self) -> bool:
        """Whether a slice without rows adds nothing to it, in a replicate as well."""
        return False

    def reasons_against(self, status: Any, share: Any) -> Any:  # noqa: ARG002
        """Reasons against each slice's part in the metric: the status of its parts, "ok" for nothing.

        Args:
            status: of the first part without a value, slice by slice.
            share: of the weight of all rows, slice by slice.
        """
        return status

    def reference_among(self, names: Sequence[str]) -> int | None:  # noqa: ARG002
        """Place of the reference slice, None without one; -1 if it is absent."""
        return None

    def failure_status(self, groups: Groups) -> str:  # noqa: ARG002
        """The status where enough slices take part, and the value is not finite all the same."""
        return "not_finite"

    def deviations(self, replicates: Groups, point: Groups) -> Any:  # noqa: ARG002
        """Distance of each replicate's vector of gaps from the point's. Centred kinds only."""
        return None

    def combined_bound(self, bounds: Groups) -> Any:  # noqa: ARG002
        """Error bound of the value, from those of its parts; None where nothing is known."""
        return None

    def blocks_of(self, blocks: Any, most: int) -> int:
        """Number of independent units behind the value, from those of the slices and of the table."""
        return min(int(blocks.sum()), most)

    def omissions(self, names: Sequence[str], status: Sequence[str]) -> str | None:  # noqa: ARG002
        """Note on slices without a part."""
        return f"undefined slices left out: {len(names):,}" if names else None


def is_derived(metric: Metric) -> TypeGuard[DerivedMetric]:
    """Whether a metric is made from the values of others slice by slice."""
    return isinstance(metric.needs, Parts) and not isinstance(metric.needs, SliceValues)


def line_of(metric: Metric) -> tuple[Metric, float, float]:
    """The metric that another is a linear function of, with slope and intercept; itself for most."""
    line = metric.line if is_derived(metric) else None
    return line or (metric, 1.0, 0.0)


def refused_subject(metric: Metric, leaf: Metric) -> str:
    """Subject of a refusal: the requested metric, and its part if suites can name that."""
    if leaf.text == metric.text or "|" in leaf.text:  # the part of one class has no name in suites
        return metric.text
    return f"{metric.text}, made of {leaf.text},"


def is_across_slices(metric: Metric | None) -> TypeGuard[AcrossSlices]:
    """Whether a metric is made from the values of others in all slices of a set."""
    return metric is not None and isinstance(metric.needs, SliceValues)


@dataclass(frozen=True)
class OverSlices(Custom, AcrossSlices):
    """A metric put together over the slices of a set: mean, sum, min, max or worst of its values.

    `weight` is the metric whose values weigh those of a mean, None for equal weights. Slices where either is undefined
    are left out and counted in the note. It stands under its slice set, with slice `all`.
    """

    slice_set: str = ""
    metric: Metric | None = None
    agg: str = "mean"
    weight: Metric | None = None

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """A mean and a sum are; the largest and the smallest jump from slice to slice."""
        return self.agg in {"mean", "sum"}

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """The largest of several values is too large where these are noise, the smallest too small."""
        return "other" if self.smooth else "maximum" if self._largest else "minimum"

    @property
    def additive(self) -> bool:  # type: ignore[override]
        assert self.metric is not None
        return self.metric.additive

    @property
    def is_total(self) -> bool:
        if self.weight is not None:
            return self.weight.additive
        return self.agg == "sum" and self.additive

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """The range of the metric, for all but sums."""
        assert self.metric is not None
        return EVERYTHING if self.agg == "sum" else self.metric.range

    def _content(self) -> dict[str, Any]:
        assert self.metric is not None
        weight = {} if self.weight is None else {"weight": self.weight.text}
        return {"over": {"slice_set": self.slice_set, "metric": self.metric.text, "agg": self.agg} | weight}

    def parts(self) -> tuple[Metric, ...]:
        assert self.metric is not None
        return (self.metric,) if self.weight is None else (self.metric, self.weight)

    def finalise(self, state: Groups) -> Any:
        """Value over the last axis, without NaNs; NaN where nothing is left."""
        assert self.metric is not None
        values = np.asarray(state.values[self.metric.text], dtype=np.float64)
        defined = np.isfinite(values)
        if self.weight is not None:
            weights = np.asarray(state.values[self.weight.text], dtype=np.float64)
            defined &= np.isfinite(weights)
            negative = np.any(weights < 0, axis=-1, where=defined)
            total = np.sum(values * weights, axis=-1, where=defined)
            combined = ops.ratio(total, np.sum(weights, axis=-1, where=defined))
            defined &= ~negative[..., None]
        elif self.agg in {"mean", "sum"}:
            total = np.sum(values, axis=-1, where=defined)
            combined = total if self.agg == "sum" else ops.ratio(total, defined.sum(axis=-1))
        else:
            end = -np.inf if self._largest else np.inf
            reach = np.max if self._largest else np.min
            combined = reach(np.where(defined, values, end), axis=-1, initial=end)
        return np.where(defined.any(axis=-1), combined, np.nan)

    def failure_status(self, groups: Groups) -> str:
        if self.weight is None:
            return super().failure_status(groups)
        return "negative_weight" if (groups.values[self.weight.text] < 0).any() else "zero_denominator"

    def deviations(self, replicates: Groups, point: Groups) -> Any:
        """Largest rise, or fall, of a slice's value: the bias of the largest, or smallest."""
        assert self.metric is not None
        if self.smooth:
            return None
        moved = replicates.values[self.metric.text] - point.values[self.metric.text]
        away = moved if self._largest else -moved
        return np.max(np.where(np.isfinite(away), away, 0.0), axis=-1)

    def combined_bound(self, bounds: Groups) -> Any:
        """The mean or sum of the bounds of slices; extremes and weighted means are off by the largest at most."""
        assert self.metric is not None
        if self.weight is not None and bounds.values[self.weight.text].any():
            return None
        plain = self.smooth and self.weight is None
        return self.finalise(bounds) if plain else bounds.values[self.metric.text].max(axis=-1)

    @property
    def _largest(self) -> bool:
        assert self.metric is not None
        return self.agg == "max" or (self.agg == "worst" and self.metric.direction == "lower")
