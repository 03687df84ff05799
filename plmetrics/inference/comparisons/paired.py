"""The paired bootstrap: the difference of two models on the same slices under the same resampling weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from plmetrics.inference.intervals.spread import Spread, spread
from plmetrics.inference.intervals.student import block_factor

if TYPE_CHECKING:
    from plmetrics.inference.estimate import Estimate

Array = NDArray[np.float64]
Texts = NDArray[np.object_]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Differences model - baseline over S slices, with interval and p value.

    `difference` is NaN exactly where `status` is not "ok"; `lower` and `upper` are NaN exactly where
    `interval_status` is not "ok", and `p_value` is NaN there as well. `method` is None without an interval.
    """

    difference: Array
    lower: Array
    upper: Array
    std_error: Array
    p_value: Array
    blocks: NDArray[np.int64]
    method: Texts
    interval_status: Texts
    status: Texts


def paired_difference(
    model: Estimate,
    baseline: Estimate,
    *,
    equal: Flags,
    level: float,
    p_value: Literal["t", "percentile"] = "t",
    absent: str = "not_requested",
) -> Difference:
    """Compare two models slice by slice, replicate by replicate.

    The interval is d -+ t sqrt(G / (G - 1)) SE(d) with G - 1 degrees of freedom, G the smaller number of
    effective blocks, and the p value is that of the same t: below 1 - level exactly where the interval
    excludes 0.

    There is no interval, with the reason as status, where the difference is undefined (`undefined_value`),
    with fewer than 2 blocks (`too_few_units`), with more than 5 % undefined replicates
    (`undefined_replicates`), where all replicates of the difference are equal (`degenerate`), and without
    replicates (`not_requested`).

    Args:
        model: the model.
        baseline: what it is compared with, of the same slices and replicates.
        equal: slices in which both models predict the same on every row: there the difference is 0, its
            interval [0, 0] and p 1, however many blocks there are.
        level: two-sided confidence level, such as 0.95.
        p_value: "percentile" counts replicates on the other side of 0 instead, and may then disagree with the
            interval; it cannot be smaller than 2 / (replicates + 1).
        absent: the status of an interval that is not made, for there are no replicates.

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
    if model.replicates is None or baseline.replicates is None:
        return _without_interval(difference, blocks, status, absent)
    with np.errstate(invalid="ignore"):
        replicates = model.replicates - baseline.replicates
    described = spread(replicates, np.maximum(np.abs(model.value), np.abs(baseline.value)))
    interval_status = _interval_status(ok, equal, blocks, described)
    std_error = np.where(ok & (blocks >= 2), described.std_error, np.nan)
    half, p = _student(difference, std_error, blocks, level)
    if p_value == "percentile":
        p = _percentile_p(replicates)
    none = interval_status != "ok"
    for found, sure in ((half, 0.0), (p, 1.0), (std_error, 0.0)):
        found[ok & equal] = sure
    half[none], p[none] = np.nan, np.nan
    method = np.full(none.shape, "t", dtype=object)
    method[none] = None
    ends = difference - half, difference + half
    return Difference(difference, *ends, std_error, p, blocks, method, interval_status, status)


def _interval_status(ok: Flags, equal: Flags, blocks: NDArray[np.int64], described: Spread) -> Texts:
    status = np.full(ok.shape, "ok", dtype=object)
    status[described.constant] = "degenerate"
    status[described.too_many_undefined] = "undefined_replicates"
    status[blocks < 2] = "too_few_units"
    status[equal] = "ok"
    status[~ok] = "undefined_value"
    return status


def _student(
    difference: Array, std_error: Array, blocks: NDArray[np.int64], level: float
) -> tuple[Array, Array]:
    """Half width and p value, NaN without a spread.

    Near p = 1 - level the two functions of Student's t round differently; the half width gives way, so that
    the interval excludes 0 exactly where p says so.
    """
    size = np.abs(difference)
    usable = (std_error > 0) & np.isfinite(size)
    freedom = np.where(usable, blocks - 1.0, 1.0)
    error = np.where(usable, std_error, 1.0) * block_factor(np.where(usable, blocks, 2))
    with np.errstate(over="ignore"):
        p = 2 * stdtr(freedom, -size / error)
    half = stdtrit(freedom, (1 + level) / 2) * error
    half = np.where(p < 1 - level, np.minimum(half, np.nextafter(size, 0.0)), np.maximum(half, size))
    return np.where(usable, half, np.nan), np.where(usable, p, np.nan)


def _percentile_p(replicates: Array) -> Array:
    below, above = (replicates <= 0).sum(axis=0), (replicates >= 0).sum(axis=0)
    number = np.isfinite(replicates).sum(axis=0)
    p: Array = np.minimum(1.0, 2 * (np.minimum(below, above) + 1) / (number + 1))
    return p


def _without_interval(difference: Array, blocks: NDArray[np.int64], status: Texts, reason: str) -> Difference:
    nothing = np.full(difference.shape, np.nan)
    method = np.full(difference.shape, None, dtype=object)
    requested = np.full(difference.shape, reason, dtype=object)
    return Difference(difference, nothing, nothing, nothing, nothing, blocks, method, requested, status)
