"""The paired bootstrap: two estimates under the same resampling weights, as a difference or as a ratio."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.core.special import stdtr, stdtrit
from plmetrics.inference.comparisons.moderation import SampleErrors, moderating_errors, widen
from plmetrics.inference.estimate import Estimate
from plmetrics.inference.intervals.closed_forms import hidden_error
from plmetrics.inference.intervals.spread import DEGENERATE, Spread, replicate_spread, with_all_blocks

PValue = Literal["t", "percentile"]

_SCREENED, _APART = 8, 1e-9
"""So many replicates show that most slices vary: they lie apart by more than this part of their value."""


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Differences model - baseline over S slices, or ratios, with interval and p value.

    `difference` is NaN exactly where `status` is not "ok"; `lower` and `upper` are NaN exactly where
    `interval_status` is not "ok", and `p_value` is NaN there as well. `method` is None without an interval. `statistic`
    is the t of the p value, of a ratio that of its logarithm; NaN where there is none.
    """

    difference: Array
    lower: Array
    upper: Array
    std_error: Array
    p_value: Array
    blocks: Codes
    method: Texts
    interval_status: Texts
    status: Texts
    statistic: Array

    @classmethod
    def without_intervals(
        cls, difference: Array, status: Any, reason: Any, blocks: Codes | None = None
    ) -> Difference:
        """Differences without an interval, for a reason: one for all, or one each."""
        nothing = np.full(difference.shape, np.nan)
        none, reasons, statuses = (
            np.full(difference.shape, words, dtype=object) for words in (None, reason, status)
        )
        number = np.zeros(difference.shape, dtype=np.int64) if blocks is None else blocks
        return cls(difference, nothing, nothing, nothing, nothing, number, none, reasons, statuses, nothing)

    @classmethod
    def by_student(
        cls,
        difference: Array,
        ends: tuple[Array, Array],
        std_error: Array,
        p_and_t: tuple[Array, Array],
        blocks: Codes,
        statuses: tuple[Texts, Texts],
    ) -> Difference:
        """Differences with t intervals where the first of both statuses, that of intervals, is "ok"."""
        interval_status, status = statuses
        none = interval_status != "ok"
        lower, upper, p, t = (np.where(none, np.nan, values) for values in (*ends, *p_and_t))
        method = np.full(none.shape, "t", dtype=object)
        method[none] = None
        return cls(difference, lower, upper, std_error, p, blocks, method, interval_status, status, t)

    def refuse(self, where: Flags, status: str) -> Difference:
        """The comparison without any number where its sides cannot be compared, for a reason."""
        reasons = np.where(where & (self.status == "ok"), status, self.status).astype(object)
        difference = np.where(where, np.nan, self.difference)
        return replace(self.without_tests(where, "undefined_value"), difference=difference, status=reasons)

    def without_tests(self, where: Flags, status: str) -> Difference:
        """The comparison without intervals and p values where they would mislead, for a reason."""
        ends = (self.lower, self.upper, self.std_error, self.p_value, self.statistic)
        lower, upper, error, p, t = (np.where(where, np.nan, values) for values in ends)
        method, interval_status = np.array(self.method), np.array(self.interval_status)
        method[where], interval_status[where] = None, status
        return Difference(
            self.difference, lower, upper, error, p, self.blocks, method, interval_status, self.status, t
        )


def paired_difference(
    model: Estimate,
    baseline: Estimate,
    *,
    equal: Flags,
    level: float,
    p_value: PValue = "t",
    absent: str = "not_requested",
    other_rows: bool = False,
    logarithms: bool = False,
) -> Difference:
    """Compare two estimates slice by slice, replicate by replicate.

    The interval is d -+ t sqrt(G / (G - 1)) SE(d) with G - 1 degrees of freedom, G the smaller number of
    effective blocks, and the p value is that of the same t: below 1 - level exactly where the interval
    excludes 0. A share or an area at an end of its range, which no replicate moves, adds the `reach` to its plausible
    end to t SE(d), as of an independent sample; so do means that no row tells apart (`of_tied_rows`).

    There is no interval, with the reason as status, where the difference is undefined (`undefined_value`),
    with fewer than 2 blocks (`too_few_units`), with more than 5 % undefined replicates
    (`undefined_replicates`), where all replicates of the difference are equal (`degenerate`), and without
    replicates (`not_requested`).

    Args:
        model: what is compared.
        baseline: what it is compared with, of the same slices and replicates.
        equal: where both have the same score on every row: the difference is 0, its interval [0, 0] and p 1, however
            many blocks there are.
        level: two-sided confidence level, such as 0.95.
        p_value: "percentile" counts replicates on the other side of 0 instead, and may then disagree with the interval;
            it cannot be smaller than 2 / (replicates + 1).
        absent: the status of an interval that is not made, for there are no replicates.
        other_rows: whether the sides are of different rows, such as a slice and its complement.
        logarithms: whether the estimates are logarithms, whose rounding is a share of the numbers, however near to 0.

    Source: Efron and Tibshirani (1993), An introduction to the bootstrap, for the paired resampling; the t as in
    `intervals.student`.

    >>> from plmetrics.inference.estimate import Estimate
    >>> def of(value, drawn):
    ...     return Estimate(np.array([value]), np.array(["ok"]), np.array([100]), np.array([drawn]).T, ())
    >>> model, baseline = of(0.8, [0.79, 0.80, 0.82]), of(0.7, [0.70, 0.69, 0.71])
    >>> found = paired_difference(model, baseline, equal=np.array([False]), level=0.95)
    >>> found.difference.round(3).tolist(), found.std_error.round(3).tolist(), bool(found.p_value[0] < 0.001)
    ([0.1], [0.012], True)
    """
    status = np.where(model.status != "ok", model.status, baseline.status)
    ok = status == "ok"
    difference = np.where(ok, np.where(equal, 0.0, model.value - baseline.value), np.nan)
    blocks = np.minimum(model.blocks, baseline.blocks)
    if other_rows:
        model, baseline = with_all_blocks(model), with_all_blocks(baseline)
    if model.replicates is None or baseline.replicates is None:
        return Difference.without_intervals(difference, status, absent, blocks)
    with np.errstate(invalid="ignore"):
        replicates = model.replicates - baseline.replicates
    magnitude = np.maximum(np.abs(model.value), np.abs(baseline.value))
    magnitude = np.maximum(magnitude, 1.0) if logarithms else magnitude
    described = replicate_spread(replicates, magnitude, model.kind, difference, _groups(model, baseline))
    hidden = hidden_error((model.reach, baseline.reach), blocks, level)
    described = replace(described, constant=described.constant & (hidden == 0))
    interval_status = _interval_status(ok, equal, blocks, described)
    std_error = np.where(ok & (blocks >= 2), np.hypot(described.std_error, hidden), np.nan)
    error, freedom = np.hypot(described.student_error(blocks), hidden), blocks - 1.0
    if other_rows:
        added = described.student_factor(blocks) * moderating_errors(*map(SampleErrors.of, (model, baseline)))
        error, freedom = widen(error, np.where(hidden > 0, 0.0, added), freedom)  # a hidden one is a spread
    half, p = student_test(difference, error, freedom, level)
    t = student_statistic(difference, error, p)
    if p_value == "percentile" and model.kind == "bootstrap":
        counted = hidden == 0
        p, t = np.where(counted, _percentile_p(replicates), p), np.where(counted, np.nan, t)
    for statistic, sure in ((half, 0.0), (p, 1.0), (std_error, 0.0)):
        statistic[ok & equal] = sure
    t[equal] = np.nan
    ends = difference - half, difference + half
    return Difference.by_student(difference, ends, std_error, (p, t), blocks, (interval_status, status))


def without_spread(estimate: Estimate) -> Flags:
    """Mask of slices with equal replicates and without the `reach` of an interval: nothing tells how sure they are.

    >>> from plmetrics.inference.estimate import Estimate
    >>> drawn = np.array([[1.0, 0.7], [1.0, 0.8]])
    >>> f1 = Estimate(np.array([1.0, 0.75]), np.array(["ok", "ok"]), np.array([9, 9]), drawn, ())
    >>> without_spread(f1).tolist()
    [True, False]
    """
    unsure = np.zeros(estimate.value.shape, dtype=np.bool_)
    if estimate.replicates is None:
        return unsure
    with np.errstate(invalid="ignore"):
        apart = np.ptp(estimate.replicates[:_SCREENED], axis=0) > _APART * np.abs(estimate.value)
    alike = np.flatnonzero(~apart)
    part = estimate.take(alike)
    assert part.replicates is not None
    spread = replicate_spread(part.replicates, np.abs(part.value), part.kind, part.value, part.spread_groups)
    unsure[alike] = spread.constant if part.reach is None else spread.constant & (part.reach == 0)
    return unsure


def difference_from_zero(
    estimate: Estimate, *, equal: Flags, level: float, absent: str = "not_requested"
) -> Difference:
    """The estimate itself as a difference, from 0; the arguments are those of `paired_difference`."""
    replicates = None if estimate.replicates is None else np.zeros_like(estimate.replicates)
    zero = replace(estimate, value=np.zeros_like(estimate.value), replicates=replicates, plausible=None)
    return paired_difference(estimate, zero, equal=equal, level=level, absent=absent)


def distance(estimate: Estimate) -> Estimate:
    """The distance of an estimate from 0."""
    replicates = None if estimate.replicates is None else np.abs(estimate.replicates)
    plausible = None if estimate.plausible is None else np.abs(estimate.plausible)
    value = np.abs(estimate.value)
    return replace(estimate, value=value, replicates=replicates, deviations=None, plausible=plausible)


def log_estimate(estimate: Estimate) -> Estimate:
    """The logarithm of an estimate: NaN where it is not positive."""
    replicates = None if estimate.replicates is None else _log(estimate.replicates)
    value = _log(estimate.value)
    plausible = None if estimate.plausible is None else _log(estimate.plausible)
    return Estimate(
        value,
        estimate.status,
        estimate.blocks,
        replicates,
        estimate.sizes,
        kind=estimate.kind,
        groups=estimate.groups,
        plausible=plausible,
        fingerprints=estimate.fingerprints,
        total=estimate.total,
    )


def paired_ratio(
    model: Estimate,
    baseline: Estimate,
    logs: tuple[Estimate, Estimate],
    *,
    equal: Flags,
    level: float,
    p_value: PValue = "t",
    absent: str = "not_requested",
    other_rows: bool = False,
    relative: bool = False,
) -> Difference:
    """Ratio model / baseline slice by slice; or the relative change, the ratio - 1.

    Interval and p value are those of the difference of the logarithms, as in `paired_difference`, and the ends are
    transformed back: p is below 1 - level exactly where the interval excludes 1 (a change: 0). The standard error is
    that of the replicates' ratios.

    A ratio needs a positive baseline: with one of 0 its status is `zero_denominator`, with a negative one
    `nonpositive_values`. Where the model's value is not positive there is a ratio, but no interval (`degenerate`).

    The `logs` are both as `log_estimate` makes them, and with `relative` it is the change; other arguments are those of
    `paired_difference`. Where both are `equal` the ratio is 1, its interval [1, 1] and p 1.

    >>> from plmetrics.inference.estimate import Estimate
    >>> def of(value, drawn):
    ...     return Estimate(np.array([value]), np.array(["ok"]), np.array([100]), np.array([drawn]).T, ())
    >>> model, baseline = of(0.8, [0.79, 0.80, 0.82]), of(0.4, [0.41, 0.39, 0.40])
    >>> found = paired_ratio(
    ...     model, baseline, (log_estimate(model), log_estimate(baseline)), equal=np.array([False]), level=0.95
    ... )
    >>> found.difference.tolist(), found.lower.round(3).tolist(), found.upper.round(3).tolist()
    ([2.0], [1.862], [2.149])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(equal, 1.0, model.value / baseline.value)
    status = ratio_status(model, baseline, ratio)
    options: dict[str, Any] = {"p_value": p_value, "absent": absent, "other_rows": other_rows}
    log_difference = paired_difference(*logs, equal=equal, level=level, logarithms=True, **options)
    ok = status == "ok"
    interval_status = np.where(ok, log_difference.interval_status, "undefined_value").astype(object)
    if logs[0].replicates is None or logs[1].replicates is None:
        interval_status[:] = absent
        std_error = log_difference.std_error
    else:
        interval_status[ok & ~np.isfinite(log_difference.difference)] = DEGENERATE
        hidden = hidden_error((logs[0].reach, logs[1].reach), log_difference.blocks, level)
        if other_rows:
            model, baseline = with_all_blocks(model), with_all_blocks(baseline)
        with np.errstate(invalid="ignore"):
            std_error = np.hypot(
                _ratio_error(model, baseline, ratio, equal), np.where(equal, 0.0, ratio) * hidden
            )
    lower, upper = back_transform(
        log_difference.lower, log_difference.upper, log_difference.p_value, log_difference.difference, level
    )
    # An end beyond all numbers, as few replicates give it, says nothing of the ratio.
    interval_status[(interval_status == "ok") & ~np.isfinite(upper)] = DEGENERATE
    move, blocks = (1.0 if relative else 0.0), log_difference.blocks
    return Difference.by_student(
        np.where(ok, ratio - move, np.nan),
        (lower - move, upper - move),
        np.where(ok & (blocks >= 2) & np.isfinite(std_error), std_error, np.nan),
        (log_difference.p_value, log_difference.statistic),
        blocks,
        (interval_status, status),
    )


def ratio_status(model: Estimate, baseline: Estimate, ratio: Array) -> Texts:
    """Reason for the absence of a ratio, "ok" without one."""
    status: Texts = np.where(model.status != "ok", model.status, baseline.status).astype(object)
    ok = status == "ok"
    status[ok & (baseline.value < 0)] = "nonpositive_values"
    status[ok & (baseline.value == 0)] = "zero_denominator"
    status[(status == "ok") & ~np.isfinite(ratio)] = "not_finite"
    return status


def back_transform(
    lower: Array, upper: Array, p: Array, difference: Array, level: float
) -> tuple[Array, Array]:
    """The ends of a ratio's interval from those of its logarithm; rounding does not bring 1 back into it."""
    with np.errstate(over="ignore"):
        low, high = np.exp(lower), np.exp(upper)
    far = p < 1 - level
    low = np.where(far & (difference > 0), np.maximum(low, np.nextafter(1.0, 2.0)), low)
    return low, np.where(far & (difference < 0), np.minimum(high, np.nextafter(1.0, 0.0)), high)


def student_test(difference: Array, error: Array, freedom: Array, level: float) -> tuple[Array, Array]:
    """Half width and p value of a difference with a standard error, NaN without one.

    Near p = 1 - level the two functions of Student's t round differently; the half width gives way, so that
    the interval excludes 0 exactly where p says so.
    """
    size = np.abs(difference)
    usable = (error > 0) & np.isfinite(size) & (freedom > 0)
    free, spread_of = np.where(usable, freedom, 1.0), np.where(usable, error, 1.0)
    with np.errstate(over="ignore"):
        p = 2 * stdtr(free, -size / spread_of)
    half = stdtrit(free, (1 + level) / 2) * spread_of
    half = np.where(p < 1 - level, np.minimum(half, np.nextafter(size, 0.0)), np.maximum(half, size))
    return np.where(usable, half, np.nan), np.where(usable, p, np.nan)


def student_statistic(difference: Array, error: Array, p: Array) -> Array:
    """The t of a difference with a standard error, NaN where it has no p value."""
    usable = np.isfinite(p)
    t: Array = np.divide(difference, error, out=np.full(difference.shape, np.nan), where=usable)
    return t


def _log(values: Array) -> Array:
    positive = values > 0
    return np.log(values, out=np.full(values.shape, np.nan), where=positive)


def _groups(model: Estimate, baseline: Estimate) -> Codes | None:
    """Number of nonempty blocks in either."""
    first, second = model.spread_groups, baseline.spread_groups
    if first is None or second is None:
        return None
    return np.maximum(first, second)


def _ratio_error(model: Estimate, baseline: Estimate, ratio: Array, equal: Flags) -> Array:
    assert model.replicates is not None
    assert baseline.replicates is not None
    ratios = np.full(model.replicates.shape, np.nan)
    with np.errstate(over="ignore"):
        np.divide(model.replicates, baseline.replicates, out=ratios, where=baseline.replicates > 0)
    described = replicate_spread(ratios, np.abs(ratio), model.kind, ratio, _groups(model, baseline))
    return np.where(equal, 0.0, described.std_error)


def _interval_status(ok: Flags, equal: Flags, blocks: Codes, described: Spread) -> Texts:
    status = np.full(ok.shape, "ok", dtype=object)
    status[described.constant] = DEGENERATE
    status[described.too_many_undefined] = "undefined_replicates"
    status[blocks < 2] = "too_few_units"
    status[equal] = "ok"
    status[~ok] = "undefined_value"
    return status


def _percentile_p(replicates: Array) -> Array:
    below, above = (replicates <= 0).sum(axis=0), (replicates >= 0).sum(axis=0)
    number = np.isfinite(replicates).sum(axis=0)
    p: Array = np.minimum(1.0, 2 * (np.minimum(below, above) + 1) / (number + 1))
    return p
