"""Two arms, groups or periods: tests of unpaired rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from plmetrics.core.errors import ConfigError
from plmetrics.inference.comparisons.tests.arm_sums import (
    Moments,
    cohen_effects,
    lift_tests,
    proportion_tests,
    rank_tests,
    welch_tests,
)
from plmetrics.inference.comparisons.tests.outcome import TestResult, level_of, numbers
from plmetrics.inference.comparisons.tests.wilcoxon import middle_ranks


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
        `estimate` with p value and interval from the delta method: the variance of the ratio R is
        (var(mean a) + R^2 var(mean b)) / mean(b)^2. `zero_denominator` where mean(b) is 0, and `nonpositive_values`
        where it is below: a rise would be a negative lift.

    Raises:
        ConfigError: a value is no finite number.

    Source: Deng, Knoblich and Lu (2018), Applying the delta method in metric analytics, KDD.

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
