"""Two arms from their sums, in many places at once: the input of the tests of `arms` and of experiments' readouts.

Arrays hold a place each: the size, mean and standard deviation (ddof 1) of an arm `a` and of the arm `b` it is
compared with. Rows do not matter any more, so slices and arms cost an entry each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plmetrics.core.special import ndtr, ndtri, stdtr, stdtrit
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TOO_FEW,
    Array,
    TestOutcomes,
    statuses,
    where,
)
from plmetrics.inference.comparisons.tests.power import share_variance

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Sizes, means and standard deviations (ddof 1) of an arm in S places; of an empty arm they do not matter.

    `freedom` are the degrees of freedom of the variance.
    """

    n: Array
    mean: Array
    sd: Array
    freedom: Array

    @classmethod
    def of(cls, n: Any, mean: Any, sd: Any, freedom: Any = None) -> Moments:
        """Sums from columns of numbers; 0 for non-finite ones. The freedom is n - 1 by default."""
        size, means, spreads = (
            np.where(np.isfinite(part), part, 0.0)
            for part in (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (n, mean, sd))
        )
        degrees = size - 1 if freedom is None else np.where(np.isfinite(freedom), freedom, 0.0)
        return cls(size, means, spreads, np.maximum(degrees, 1.0))

    @property
    def of_mean(self) -> Array:
        """The variance of the mean."""
        return self.sd**2 / np.maximum(self.n, 1.0)


def welch_tests(a: Moments, b: Moments, level: float) -> TestOutcomes:
    """Welch's t of each place; see `welch_t`."""
    too_few = np.minimum(a.n, b.n) < 2
    variance = a.of_mean + b.of_mean
    flat = variance <= (_ROUNDING * np.maximum(abs(a.mean), abs(b.mean))) ** 2
    safe = np.where(flat, 1.0, variance)
    parts = a.of_mean**2 / a.freedom + b.of_mean**2 / b.freedom
    freedom = np.where(flat, 1.0, safe**2 / np.where(flat, 1.0, np.where(parts > 0, parts, 1.0)))
    outcome = _outcomes(a, b, a.mean - b.mean, np.sqrt(safe), too_few, flat)
    p = 2 * stdtr(freedom, -abs(outcome.statistic))
    half = (stdtrit(freedom, (1 + level) / 2) * np.sqrt(safe)).astype(np.float64)
    return _with(outcome, too_few, flat, p, half, df=where(~too_few & ~flat, freedom))


def lift_tests(a: Moments, b: Moments, level: float) -> TestOutcomes:
    """The relative change of each place, by the delta method; see `lift`."""
    too_few = np.minimum(a.n, b.n) < 2
    none = b.mean <= 0
    base = np.where(none, 1.0, b.mean)
    ratio = a.mean / base
    error = np.sqrt(a.of_mean + ratio**2 * b.of_mean) / base
    flat = error <= _ROUNDING * abs(ratio)
    safe = np.where(flat, 1.0, error)
    reasons = ("zero_denominator", b.mean == 0), ("nonpositive_values", none)
    outcome = _outcomes(a, b, ratio - 1, safe, too_few, flat, *reasons)
    p = 2 * ndtr(-abs(outcome.statistic))
    return _with(outcome, too_few | none, flat, p, ndtri((1 + level) / 2) * safe)


def cohen_effects(a: Moments, b: Moments, level: float) -> TestOutcomes:
    """The difference in pooled standard deviations of each place; see `cohen_d`."""
    too_few = np.minimum(a.n, b.n) < 2
    both = np.maximum(a.n + b.n, 1)
    pooled = np.sqrt(
        (np.maximum(a.n - 1, 0) * a.sd**2 + np.maximum(b.n - 1, 0) * b.sd**2) / np.maximum(both - 2, 1)
    )
    flat = pooled <= _ROUNDING * np.maximum(abs(a.mean), abs(b.mean))
    d = (a.mean - b.mean) / np.where(flat, 1.0, pooled)
    error = np.sqrt(both / np.maximum(a.n * b.n, 1) + d**2 / (2 * both))
    sound = ~too_few & ~flat
    half = ndtri((1 + level) / 2) * error
    none = np.full(d.shape, np.nan)
    status = statuses(both, (TOO_FEW, too_few), (NO_VARIANCE, flat))
    ends = where(sound, d - half), where(sound, d + half)
    return TestOutcomes(none, none, _total(a, b), status, where(sound, d), *ends, where(sound, error))


def proportion_tests(a: Moments, b: Moments, level: float) -> TestOutcomes:
    """The z of two shares of each place, from sizes and shares; see `two_proportion_z`."""
    none = np.minimum(a.n, b.n) == 0
    size_a, size_b = np.maximum(a.n, 1), np.maximum(b.n, 1)
    pooled = (a.mean * a.n + b.mean * b.n) / np.maximum(a.n + b.n, 1)
    spread = np.sqrt(share_variance(pooled) * (1 / size_a + 1 / size_b))
    same = (spread == 0) & ~none
    difference = a.mean - b.mean
    z = difference / np.where(spread == 0, 1.0, spread)
    error = np.sqrt(share_variance(a.mean) / size_a + share_variance(b.mean) / size_b)
    p = np.where(same, 1.0, 2 * ndtr(-abs(z)))
    half = where(~none & (error > 0), ndtri((1 + level) / 2) * error)
    return TestOutcomes(
        where(~none, z),
        where(~none, p),
        _total(a, b),
        statuses(a.n, ("no_rows", none)),
        where(~none, difference),
        difference - half,
        difference + half,
        where(~none, error),
    )


def rank_tests(n_a: Array, n_b: Array, u: Array, ties: Array) -> TestOutcomes:
    """The Mann-Whitney test of each place, from U of the arm and the sum of t^3 - t over tied values."""
    none = np.minimum(n_a, n_b) == 0
    n, pairs = n_a + n_b, np.maximum(n_a * n_b, 1)
    variance = pairs / 12 * (n + 1 - ties / np.maximum(n * (n - 1), 1))
    away = np.maximum(abs(u - n_a * n_b / 2) - 0.5, 0.0)
    flat = ~(variance > _ROUNDING * pairs)
    p = np.where(flat, 1.0, np.minimum(1.0, 2 * ndtr(-away / np.sqrt(np.where(flat, 1.0, variance)))))
    status = statuses(n, ("no_rows", none))
    return TestOutcomes(where(~none, u), where(~none, p), n.astype(np.int64), status, where(~none, u / pairs))


def _total(a: Moments, b: Moments) -> Any:
    return (a.n + b.n).astype(np.int64)


def _outcomes(
    a: Moments, b: Moments, estimate: Array, error: Array, too_few: Any, flat: Any, *reasons: tuple[str, Any]
) -> TestOutcomes:
    """Estimates with their statuses, `reasons` why there is none among them; the rest of the test follows."""
    status = statuses(a.n, (TOO_FEW, too_few), *reasons, (NO_VARIANCE, flat & (estimate != 0)))
    statistic = np.where(flat, 0.0, estimate / error)
    return TestOutcomes(statistic, statistic, _total(a, b), status, estimate, std_error=error)


def _with(
    outcome: TestOutcomes, absent: Any, flat: Any, p: Array, half: Array, df: Array | None = None
) -> TestOutcomes:
    """The test with p values and intervals, where nothing is in their way: 0 for sure is 0 with an interval of 0."""
    estimate = np.asarray(outcome.estimate)
    sure, testable = flat & (estimate == 0), ~absent & (~flat | (estimate == 0))
    half = np.where(sure, 0.0, half)
    return TestOutcomes(
        where(testable, outcome.statistic),
        where(testable, np.where(sure, 1.0, p)),
        outcome.n,
        outcome.status,
        where(~absent, estimate),
        where(testable, estimate - half),
        where(testable, estimate + half),
        where(testable, np.where(sure, 0.0, np.asarray(outcome.std_error))),
        df,
    )
