"""Two arms, groups or periods: tests of unpaired rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plmetrics.catalogue.variation import alike_variance
from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array
from plmetrics.core.special import ndtr, ndtri, stdtr, stdtrit
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TOO_FEW,
    TestOutcomes,
    TestResult,
    level_of,
    numbers,
    statuses,
    where,
)
from plmetrics.inference.comparisons.tests.power import share_variance
from plmetrics.inference.comparisons.tests.wilcoxon import middle_ranks

_ROUNDING = 1e-12


def welch_t(a: Any, b: Any, *, level: float = 0.95) -> TestResult:
    """Welch's t test of two means, of arms with possibly different variances.

    Args:
        a: the values of one arm.
        b: those of the other.
        level: two-sided level of the interval for the difference.

    Returns:
        `estimate` is mean(a) - mean(b). Without any spread in both arms, p is 1 for equal means, else there is none
        (`zero_variance`); none with fewer than 2 values in an arm (`too_few_units`).

    Raises:
        ConfigError: a value is no finite number.

    Source: Welch (1947), The generalization of Student's problem, Biometrika 34(1-2).

    >>> import plmetrics as plm
    >>> found = plm.tests.welch_t([5.1, 4.9, 6.2, 5.7], [4.1, 5.0, 4.4, 3.9])
    >>> round(found.statistic, 4), round(found.p_value, 4), round(found.df, 3)
    (2.9565, 0.0267, 5.756)
    """
    return welch_tests(_moments(a, "a"), _moments(b, "b"), level_of(level)).only("welch_t")


def welch_t_from_moments(
    n_a: int, mean_a: float, sd_a: float, n_b: int, mean_b: float, sd_b: float, *, level: float = 0.95
) -> TestResult:
    """Welch's t test from the size, mean and standard deviation (ddof 1) of each arm.

    Args:
        n_a: values in the first arm; mean_a and sd_a are theirs.
        mean_a: their mean.
        sd_a: their standard deviation.
        n_b: values in the second arm; mean_b and sd_b are theirs.
        mean_b: their mean.
        sd_b: their standard deviation.
        level: two-sided level of the interval for the difference.

    Returns:
        As for `welch_t`.

    >>> import plmetrics as plm
    >>> round(plm.tests.welch_t_from_moments(100, 5.2, 1.1, 120, 4.9, 1.4).p_value, 4)
    0.0766
    """
    a, b = Moments.of(n_a, mean_a, sd_a), Moments.of(n_b, mean_b, sd_b)
    return welch_tests(a, b, level_of(level)).only("welch_t")


def cohen_d(a: Any, b: Any, *, level: float = 0.95) -> TestResult:
    """The difference of two means in pooled standard deviations (ddof 1).

    Args:
        a: the values of one arm.
        b: those of the other.
        level: two-sided level of the interval.

    Returns:
        `estimate` is d, with an interval from its large-sample variance (n_a + n_b)/(n_a n_b) + d^2/(2 (n_a + n_b));
        there is no test. `zero_variance` where neither arm varies.

    Raises:
        ConfigError: a value is no finite number.

    Sources: Cohen (1988), Statistical power analysis for the behavioral sciences; Hedges and Olkin (1985) for the
    variance.

    >>> import plmetrics as plm
    >>> round(plm.tests.cohen_d([5.1, 4.9, 6.2, 5.7], [4.1, 5.0, 4.4, 3.9]).estimate, 4)
    2.0906
    """
    return cohen_effects(_moments(a, "a"), _moments(b, "b"), level_of(level)).only("cohen_d")


def lift(a: Any, b: Any, *, level: float = 0.95) -> TestResult:
    """The relative change mean(a) / mean(b) - 1.

    Args:
        a: the values of one arm.
        b: those of the arm that it is compared with.
        level: two-sided level of the interval.

    Returns:
        `estimate` with Fieller's interval, all lifts R - 1 that Welch's test of mean(a) - R mean(b) leaves, and the p
        value of `welch_t`; none where mean(b) itself may be 0. `std_error` is that of the delta method.
        `zero_denominator` where mean(b) is 0, `nonpositive_values` where it is below: a rise would be a negative lift.

    Raises:
        ConfigError: a value is no finite number.

    Source: Fieller (1954), Some problems in interval estimation, JRSS B 16(2).

    >>> import plmetrics as plm
    >>> round(plm.tests.lift([5.1, 4.9, 6.2, 5.7], [4.1, 5.0, 4.4, 3.9]).estimate, 4)
    0.2586
    """
    return lift_tests(_moments(a, "a"), _moments(b, "b"), level_of(level)).only("lift")


def mann_whitney(a: Any, b: Any) -> TestResult:
    """Whether values of one arm tend to lie above those of another, by their ranks.

    Args:
        a: the values of one arm.
        b: those of the other.

    Returns:
        `statistic` is U of the first arm, `estimate` is U / (n_a n_b), the chance that a value of a lies above one of
        b, ties counting half. The p value is from the normal distribution, corrected for ties and for continuity; it
        is 1 where all values are equal.

    Raises:
        ConfigError: a value is no finite number.

    Source: Mann and Whitney (1947), Annals of Mathematical Statistics 18(1).

    >>> import plmetrics as plm
    >>> found = plm.tests.mann_whitney([5.1, 4.9, 6.2, 5.7], [4.1, 5.0, 4.4, 3.9])
    >>> found.statistic, round(found.p_value, 4)
    (15.0, 0.0606)
    """
    first, second = numbers(a, "a"), numbers(b, "b")
    n = len(first) + len(second)
    ranks, ties = middle_ranks(np.concatenate([first, second]), np.zeros(n, dtype=np.int64), 1)
    u = float(ranks[: len(first)].sum() - len(first) * (len(first) + 1) / 2)
    sizes = np.array([float(len(first))]), np.array([float(len(second))])
    return rank_tests(*sizes, np.array([u]), np.asarray(ties, dtype=np.float64)).only("mann_whitney")


def two_proportion_z(a: Any, b: Any, *, level: float = 0.95) -> TestResult:
    """Compare the shares of successes of two arms.

    Args:
        a: 0 or 1, or booleans: the outcomes of one arm.
        b: those of the other.
        level: two-sided level of the interval for the difference.

    Returns:
        `estimate` is share(a) - share(b). The p value takes the variance from both arms pooled, the interval that of
        each arm: near the level the two may disagree.

    Raises:
        ConfigError: an outcome is neither 0 nor 1.

    Source: Fleiss, Levin and Paik (2003), Statistical methods for rates and proportions, chapter 3.

    >>> import plmetrics as plm
    >>> found = plm.tests.two_proportion_z([1, 1, 0, 1, 1, 0, 1, 1], [0, 1, 0, 0, 1, 0, 0, 1])
    >>> round(found.estimate, 3), round(found.p_value, 4)
    (0.375, 0.1306)
    """
    first, second = numbers(a, "a"), numbers(b, "b")
    for name, values in (("a", first), ("b", second)):
        if not np.isin(values, (0.0, 1.0)).all():
            msg = f"{name} must hold 0 and 1 only: outcomes of two_proportion_z are shares"
            raise ConfigError(msg)
    return two_proportion_z_from_counts(
        int(first.sum()), len(first), int(second.sum()), len(second), level=level
    )


def two_proportion_z_from_counts(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, level: float = 0.95
) -> TestResult:
    """Compare two shares from their counts.

    Args:
        successes_a: successes among n_a of the first arm.
        n_a: its size.
        successes_b: successes among n_b of the second arm.
        n_b: its size.
        level: two-sided level of the interval for the difference.

    Returns:
        As for `two_proportion_z`.

    Raises:
        ConfigError: there are more successes than outcomes, or fewer than 0.

    >>> import plmetrics as plm
    >>> found = plm.tests.two_proportion_z_from_counts(45, 300, 30, 300)
    >>> round(found.statistic, 4), round(found.p_value, 4)
    (1.8516, 0.0641)
    """
    level_of(level)
    for name, successes, size in (("a", successes_a, n_a), ("b", successes_b, n_b)):
        if not 0 <= successes <= size:
            msg = f"successes_{name} must lie between 0 and n_{name}: {successes} of {size}"
            raise ConfigError(msg)
    a, b = (Moments.of(n, share / max(n, 1), 0.0) for share, n in ((successes_a, n_a), (successes_b, n_b)))
    note = None
    if min(n_a, n_b) and successes_a in {0, n_a} and successes_b in {0, n_b}:
        same = successes_a + successes_b in {0, n_a + n_b}
        what = "all outcomes of both arms are the same" if same else "outcomes do not vary within either arm"
        note = f"no interval: {what}"
    return proportion_tests(a, b, level).only("two_proportion_z", note)


def _moments(sample: Any, name: str) -> Moments:
    values = numbers(sample, name)
    n = len(values)
    mean = float(values.mean()) if n else 0.0
    return Moments.of(n, mean, (float(((values - mean) ** 2).sum()) / max(n - 1, 1)) ** 0.5)


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

    @classmethod
    def of_errors(cls, n: Any, mean: Any, error: Any) -> Moments:
        """From standard errors of the means."""
        return cls.of(n, mean, error * np.sqrt(n))

    @property
    def of_mean(self) -> Array:
        """The variance of the mean."""
        return self.sd**2 / np.maximum(self.n, 1.0)

    def with_spread(self, other: Moments, where: Any) -> Moments:
        """These moments, in some places, where all values are alike, with a standard deviation from both arms together.

        >>> hits = Moments.of([15, 15], [0.0, 0.2], [0.0, 0.41]), Moments.of([45, 45], [0.2, 0.2], [0.4, 0.4])
        >>> hits[0].with_spread(hits[1], np.array([True, False])).sd.round(2).tolist()
        [0.36, 0.41]
        """
        n, varying = np.maximum(self.n, 1.0), np.maximum(other.n - 1, 0) * other.sd**2
        of_mean = alike_variance(n, np.maximum(other.n, 1.0), other.mean - self.mean, varying)
        return replace(self, sd=np.where(where, np.sqrt(n * of_mean), self.sd))


def welch_tests(a: Moments, b: Moments, level: float) -> TestOutcomes:
    """Welch's t of each place; see `welch_t`. A difference that is 0 for sure has an interval of 0."""
    too_few = np.minimum(a.n, b.n) < 2
    errors = [arm.sd / np.sqrt(np.maximum(arm.n, 1.0)) for arm in (a, b)]
    flat = np.maximum(a.sd, b.sd) <= _ROUNDING * np.maximum(abs(a.mean), abs(b.mean))
    error = np.where(flat, 0.0, np.hypot(*errors))
    safe = np.where(flat, 1.0, error)
    parts = ((own / safe) ** 4 / arm.freedom for own, arm in zip(errors, (a, b), strict=True))
    freedom = 1 / np.where(flat, 1.0, sum(parts))
    estimate = a.mean - b.mean
    testable = ~too_few & (~flat | (estimate == 0))
    statistic = np.where(flat, 0.0, estimate / safe)
    half = (stdtrit(freedom, (1 + level) / 2) * error).astype(np.float64)
    return TestOutcomes(
        where(testable, statistic),
        where(testable, np.where(flat, 1.0, 2 * stdtr(freedom, -abs(statistic)))),
        _total(a, b),
        statuses(a.n, (TOO_FEW, too_few), (NO_VARIANCE, ~testable)),
        where(~too_few, estimate),
        where(testable, estimate - half),
        where(testable, estimate + half),
        where(testable, error),
        where(~too_few & ~flat, freedom),
    )


def lift_tests(a: Moments, b: Moments, level: float, limit: Array | None = None) -> TestOutcomes:
    """The relative change of each place, by Fieller; see `lift`. `limit` stands in for that of Welch's t."""
    test, none = welch_tests(a, b, level), b.mean <= 0
    too_few, sound = test.status == TOO_FEW, ~none & np.isfinite(test.p_value)
    base = np.where(none, 1.0, b.mean)
    ratio, own, other = a.mean / base, a.of_mean / base**2, b.of_mean / base**2
    usual = stdtrit(np.nan_to_num(np.asarray(test.df), nan=1.0), (1 + level) / 2)
    square = np.nan_to_num(usual if limit is None else limit) ** 2
    left = where(square * other < 1, 1 - square * other)
    half = np.sqrt(square * (own * left + ratio**2 * other)) / left
    reasons = ("zero_denominator", b.mean == 0), ("nonpositive_values", none)
    return replace(
        test,
        statistic=where(sound, test.statistic),
        p_value=where(sound, test.p_value),
        status=statuses(a.n, (TOO_FEW, too_few), *reasons, (NO_VARIANCE, ~np.isfinite(test.p_value))),
        estimate=where(~none & ~too_few, ratio - 1),
        lower=where(sound, ratio / left - half - 1),
        upper=where(sound, ratio / left + half - 1),
        std_error=where(sound, np.sqrt(own + ratio**2 * other)),
    )


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
    error = np.sqrt(_of_share(a, size_a) + _of_share(b, size_b))
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


def _of_share(arm: Moments, size: Array) -> Array:
    """The variance of an arm's share; at an end of its range that of its moments, 0 unless they say otherwise."""
    variance = share_variance(arm.mean)
    return np.where(variance > 0, variance / size, arm.of_mean)


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
