"""Two estimates from independent samples, from their standard errors alone, as a difference or as a ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.inference.comparisons.moderation import SampleErrors, widen
from plmetrics.inference.comparisons.paired_bootstrap import (
    Difference,
    back_transform,
    log_estimate,
    ratio_status,
    student_statistic,
    student_test,
)
from plmetrics.inference.estimate import Estimate
from plmetrics.inference.intervals.spread import DEGENERATE, block_factor

if TYPE_CHECKING:
    from plmetrics.suite.sections.basics import ContrastScale


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Estimates of one sample as its result says them: NaN where there is no value or no standard error.

    `resampled` says whether standard errors are those of resampled blocks, which are a little too small. `size` is the
    number of units, NaN where errors are no spread of these; None where the samples do not borrow from each other.
    """

    value: Array
    status: Texts
    std_error: Array
    blocks: Codes
    interval_status: Texts
    resampled: bool = True
    size: Array | None = None

    @property
    def estimate(self) -> Estimate:
        """The same without replicates."""
        return Estimate(self.value, self.status, self.blocks, None, ())

    @property
    def error(self) -> Array:
        """Standard error, the factor of Student's quantiles; NaN with fewer than 2 blocks."""
        return np.where(self.blocks >= 2, self._factor * self.std_error, np.nan)

    @property
    def _factor(self) -> Array | float:
        return block_factor(np.maximum(self.blocks, 2)) if self.resampled else 1.0

    def moderate(self, other: Sample) -> tuple[Array, Array]:
        """Error for Student's quantiles, moderated by that of the other sample, and its degrees of freedom."""
        freedom = self.blocks.astype(np.float64) - 1.0
        if self.size is None or other.size is None:
            return self.error, freedom
        mine = SampleErrors(self.std_error, self.blocks, self.size)
        added = mine.moderating_error(SampleErrors(other.std_error, other.blocks, other.size))
        return widen(self.error, self._factor * added, freedom)


_LOST = ("undefined_value", "too_few_units", "undefined_replicates", "not_requested", "not_estimable")


def independent_difference(
    model: Sample, baseline: Sample, *, level: float, scale: ContrastScale = "difference"
) -> Difference:
    """The difference model - baseline of independent samples; or their ratio, or the relative change (ratio - 1).

    The interval is d -+ t sqrt(e1^2 + e0^2) with Satterthwaite's degrees of freedom
    (e1^2 + e0^2)^2 / (e1^4 / (G1 - 1) + e0^4 / (G0 - 1)), e the standard errors and G the effective blocks of either
    sample, and the p value that of the same t. With sizes e is moderated, see `moderation`. A ratio has its interval on
    the scale of logarithms, with e / value in place of e, and is undefined as `paired_ratio` says.

    There is no interval where either sample has no standard error, with its reason as status, and where one is 0 (no
    replicate moves the value, and its spread is not known) or an end is beyond all numbers (`degenerate`). `blocks` are
    one more than the degrees of freedom, rounded down.

    Source: Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics
    Bulletin 2(6).

    >>> def of(value, error, blocks):
    ...     ok = np.array(["ok"], dtype=object)
    ...     return Sample(np.array([value]), ok, np.array([error]), np.array([blocks]), ok, resampled=False)
    >>> found = independent_difference(of(0.8, 0.03, 20), of(0.7, 0.04, 30), level=0.95)
    >>> found.lower.round(4).tolist(), found.upper.round(4).tolist(), found.p_value.round(4).tolist()
    ([-0.0005], [0.2005], [0.0512])
    """
    first, second = model.estimate, baseline.estimate
    sides = model.moderate(baseline), baseline.moderate(model)
    errors, move = [error for error, _ in sides], 0.0
    if scale == "difference":
        status = np.where(first.status != "ok", first.status, second.status).astype(object)
        difference = first.value - second.value
        centre = difference
    else:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            difference = first.value / second.value
        errors = [_relative(errors[0], first.value), _relative(errors[1], second.value)]
        status = ratio_status(first, second, difference)
        centre = log_estimate(first).value - log_estimate(second).value
        move = 1.0 if scale == "relative_change" else 0.0
    ok = status == "ok"
    error, freedom = satterthwaite(np.stack(errors), np.stack([freedom for _, freedom in sides]))
    half, p = student_test(centre, error, freedom, level)
    blocks = np.floor(freedom).astype(np.int64) + 1
    interval_status = _interval_status(model, baseline, ok, half)
    ends = centre - half, centre + half
    std_error = np.hypot(model.std_error, baseline.std_error)
    if scale != "difference":
        ends = back_transform(*ends, p, centre, level)
        relative = _relative(model.std_error, first.value), _relative(baseline.std_error, second.value)
        std_error = np.abs(difference) * np.hypot(*relative)
    # An end beyond all numbers says nothing of the ratio.
    interval_status[(interval_status == "ok") & ~np.isfinite(ends[1])] = DEGENERATE
    return Difference.by_student(
        np.where(ok, difference - move, np.nan),
        (ends[0] - move, ends[1] - move),
        np.where(ok & np.isfinite(std_error), std_error, np.nan),
        (p, student_statistic(centre, error, p)),
        blocks,
        (interval_status, status),
    )


def _relative(error: Array, value: Array) -> Array:
    """The standard error of a logarithm; NaN where there is none."""
    out: Array = np.divide(error, value, out=np.full(value.shape, np.nan), where=value > 0)
    return out


def satterthwaite(error: Array, freedom: Array) -> tuple[Array, Array]:
    """The error of a sum of independent numbers `[number, ...]`, and its degrees of freedom: 1 without an error."""
    squares = error * error
    total = squares.sum(axis=0)
    shares = np.divide(squares, total, out=np.ones_like(squares), where=total > 0)
    return np.sqrt(total), np.where(
        total > 0, 1 / (shares * shares / np.maximum(freedom, 1.0)).sum(axis=0), 1.0
    )


def _interval_status(model: Sample, baseline: Sample, ok: Flags, half: Array) -> Texts:
    status = np.full(ok.shape, "ok", dtype=object)
    status[~np.isfinite(half)] = DEGENERATE
    for side in (baseline, model):
        status[~np.isfinite(side.std_error)] = "not_estimable"
        status[side.std_error == 0] = DEGENERATE
        status[side.blocks < 2] = "too_few_units"
        lost = np.isin(side.interval_status.astype(str), _LOST)
        status[lost] = side.interval_status[lost]
    status[~ok] = "undefined_value"
    return status
