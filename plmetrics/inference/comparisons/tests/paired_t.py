"""Paired t tests: the mean of differences of losses, scores of folds, or values of queries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array
from plmetrics.core.special import fdtrc, stdtr, stdtrit
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TOO_FEW,
    TestOutcomes,
    TestResult,
    as_pair,
    level_of,
    positive,
    statuses,
    where,
)

_DIETTERICH = 5
_ROUNDING = 1e-12


def paired_t(model: Any, baseline: Any, *, level: float = 0.95) -> TestResult:
    """Student's t test of paired differences.

    For losses of rows, values of queries or scores of folds. Differences must be independent: scores of folds whose
    training sets overlap are not, see `corrected_resampled_t`.

    Args:
        model: the model's value in each place.
        baseline: the baseline's, in the same order.
        level: two-sided level of the interval for the mean difference.

    Returns:
        `estimate` is the mean of model - baseline. Where all differences are 0, p is 1; where they are all the same
        otherwise, there is no p value (`zero_variance`), and none for fewer than 2 (`too_few_units`).

    Raises:
        ConfigError: the columns differ in length or hold something that is no finite number.

    Source: Student (1908), The probable error of a mean, Biometrika 6(1).

    >>> import plmetrics as plm
    >>> boosted, forest = [0.861, 0.837, 0.859, 0.842, 0.851], [0.853, 0.831, 0.862, 0.839, 0.855]
    >>> found = plm.tests.paired_t(boosted, forest)
    >>> round(found.statistic, 4), round(found.p_value, 3)
    (0.8377, 0.449)
    """
    first, second = as_pair(model, baseline)
    n, mean, spread = moments(first - second)
    return t_tests(n, mean, spread, level=level).only("paired_t")


def corrected_resampled_t(model: Any, baseline: Any, *, ratio: float, level: float = 0.95) -> TestResult:
    """Student's t for scores of folds or repeated splits with overlapping training sets.

    The variance of the mean is s^2 (1/k + n_test/n_train) for k scores, with k - 1 degrees of freedom: the second term
    stands for what the overlap hides.

    Args:
        model: the model's score on each test fold, of every repeat.
        baseline: the baseline's, in the same order.
        ratio: n_test / n_train; 1/(K - 1) for K folds.
        level: two-sided level of the interval for the mean difference.

    Returns:
        As for `paired_t`.

    Raises:
        ConfigError: as for `paired_t`, or the ratio is not above 0.

    Source: Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52(3).

    >>> import plmetrics as plm
    >>> boosted, forest = [0.861, 0.837, 0.859, 0.842, 0.851], [0.853, 0.831, 0.862, 0.839, 0.855]
    >>> round(plm.tests.corrected_resampled_t(boosted, forest, ratio=0.25).statistic, 4)
    0.5585
    """
    first, second = as_pair(model, baseline)
    n, mean, spread = moments(first - second)
    share = np.array([positive(ratio, "ratio")])
    return t_tests(n, mean, spread, ratio=share, level=level).only("corrected_resampled_t")


def five_by_two_cv_f(model: Any, baseline: Any) -> TestResult:
    """The F test of five repeats of two-fold cross-validation.

    F = sum d^2 / (2 sum s^2) with (10, 5) degrees of freedom, s^2 the sum of squares of a repeat's two differences
    around their mean.

    Args:
        model: ten scores: both folds of the first repeat, both of the second, and so on; or an array of 5 x 2.
        baseline: the baseline's, in the same order.

    Returns:
        `estimate` is the mean difference; there is no interval. Where all differences are 0, p is 1; where the two of
        every repeat are the same otherwise, there is no p value (`zero_variance`).

    Raises:
        ConfigError: there are not ten scores of each.

    Source: Alpaydin (1999), Combined 5x2 cv F test, Neural Computation 11(8).

    >>> import plmetrics as plm
    >>> better = [0.82, 0.80, 0.81, 0.83, 0.79, 0.82, 0.80, 0.84, 0.81, 0.80]
    >>> worse = [0.78, 0.77, 0.80, 0.79, 0.78, 0.77, 0.79, 0.78, 0.80, 0.76]
    >>> found = plm.tests.five_by_two_cv_f(better, worse)
    >>> round(found.statistic, 3), found.df
    (2.033, (10, 5))
    """
    first, second = as_pair(np.ravel(model), np.ravel(baseline))
    if len(first) != 2 * _DIETTERICH:
        msg = f"five_by_two_cv_f needs 5 repeats of 2 folds, ten scores of each model, not {len(first)}"
        raise ConfigError(msg)
    return replace(five_by_two((first - second)[None]).only("five_by_two_cv_f"), df=(10, 5))


def five_by_two(differences: Array) -> TestOutcomes:
    """The F test in S places, from differences `[place, 10]`, the two of a repeat beside each other."""
    pairs = differences.reshape(len(differences), _DIETTERICH, 2)
    squares = (differences**2).sum(axis=1)
    within = ((pairs - pairs.mean(axis=2, keepdims=True)) ** 2).sum(axis=(1, 2))
    flat = within <= _ROUNDING * squares
    nothing = flat & (squares == 0)
    statistic = where(~flat, squares / np.where(flat, 1.0, 2.0 * within))
    p = np.where(nothing, 1.0, where(~flat, fdtrc(10, 5, np.where(flat, 1.0, statistic))))
    n = np.full(len(differences), 2 * _DIETTERICH)
    return TestOutcomes(
        np.where(nothing, 0.0, statistic),
        p,
        n,
        statuses(n, (NO_VARIANCE, flat & ~nothing)),
        differences.mean(axis=1),
    )


def moments(differences: Array) -> tuple[Array, Array, Array]:
    """Number, mean and standard deviation (ddof 1) of the differences, an array of one each."""
    n = len(differences)
    mean = float(differences.mean()) if n else np.nan
    spread = float(differences.std(ddof=1)) if n > 1 else np.nan
    return np.array([n]), np.array([mean]), np.array([spread])


def t_tests(n: Any, mean: Array, spread: Array, *, ratio: Any = 0.0, level: float = 0.95) -> TestOutcomes:
    """Student's t tests of mean differences from their number, mean and standard deviation in each place.

    `ratio` is what stands beside 1/n in the variance of the mean. A spread within rounding of the mean is none.
    """
    number = np.asarray(n, dtype=np.int64)
    testable = number >= 2
    flat = testable & (spread <= _ROUNDING * np.abs(mean))
    usable = testable & ~flat
    freedom = np.where(usable, number - 1.0, 1.0)
    factor = np.sqrt(1.0 / np.maximum(number, 1) + ratio)
    error = np.where(usable, spread, 1.0) * factor
    statistic = np.where(usable, mean, 0.0) / error
    half = stdtrit(freedom, (1.0 + level_of(level)) / 2.0) * error
    same = flat & (mean == 0)
    p = 2.0 * stdtr(freedom, -np.abs(statistic))
    status = statuses(number, ("no_rows", number == 0), (TOO_FEW, ~testable), (NO_VARIANCE, flat & ~same))
    numbers = where(number > 0, mean), half, error, statistic, p
    df = where(testable, number - 1.0)
    return TestOutcomes.around(*numbers, number, status, usable=usable, same=same, df=df)
