"""Diebold and Mariano's test: losses of two forecasts of the same series, with autocorrelated errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from plmetrics.core.ops import Array, Codes
from plmetrics.core.special import stdtr, stdtrit
from plmetrics.inference.comparisons.tests.outcome import (
    NO_VARIANCE,
    TOO_FEW,
    TestOutcomes,
    TestResult,
    as_pair,
    check_minimum,
    level_of,
    statuses,
    where,
)

NEGATIVE = "negative_variance"
_ROUNDING = 1e-24


def diebold_mariano(model: Any, baseline: Any, *, horizon: int = 1, level: float = 0.95) -> TestResult:
    """Compare the losses of two forecasts, in order of time.

    The variance of the mean loss difference holds its autocovariances up to lag h - 1, for forecasts h steps ahead;
    statistic and p value have the small-sample correction, with T - 1 degrees of freedom for T times.

    Args:
        model: the loss of the model at each time, in order.
        baseline: the baseline's.
        horizon: how many steps ahead the forecasts were made.
        level: two-sided level of the interval for the mean loss difference.

    Returns:
        `estimate` is the mean of model - baseline: below 0 the model loses less. No p value (`too_few_units`) where
        there are not more times than 1 and the horizon, where the estimated variance is below 0
        (`negative_variance`), or where losses differ by a constant (`zero_variance`); p is 1 where they are equal.

    Raises:
        ConfigError: the columns differ in length, or the horizon is less than 1.

    Sources: Diebold and Mariano (1995), JBES 13(3); Harvey, Leybourne and Newbold (1997), Testing the equality of
    prediction mean squared errors, International Journal of Forecasting 13(2).

    >>> import plmetrics as plm
    >>> found = plm.tests.diebold_mariano([1.0, 0.5, 1.2, 0.7, 0.9, 0.6], [1.3, 0.9, 1.1, 1.2, 1.0, 1.1])
    >>> round(found.statistic, 4), round(found.p_value, 4)
    (-2.8901, 0.0342)
    """
    first, second = as_pair(model, baseline)
    place = np.zeros(len(first), dtype=np.int64)
    return diebold_mariano_tests(first - second, place, 1, horizon=horizon, level=level).only(
        "diebold_mariano"
    )


def diebold_mariano_tests(
    differences: Array, code: Codes, slices: int, *, horizon: int = 1, level: float = 0.95
) -> TestOutcomes:
    """Tests in S slices, of differences grouped by slice in order of time."""
    check_minimum(horizon, "horizon", 1)
    n = np.bincount(code, minlength=slices)
    mean = _mean(differences, code, n)
    away = differences - mean[code]
    long_run = _mean(away**2, code, n)
    for lag in range(1, min(horizon, len(away))):
        same = code[lag:] == code[:-lag]
        product = np.where(same, away[lag:] * away[:-lag], 0.0)
        long_run += 2.0 * np.bincount(code[lag:], weights=product, minlength=slices) / np.maximum(n, 1)
    enough = (n > 1) & (n > horizon)
    size = np.maximum(n, 2)
    flat = enough & (
        _mean(away**2, code, n) <= _ROUNDING * np.maximum(_mean(differences**2, code, n), 1e-300)
    )
    same, usable = flat & (mean == 0), enough & ~flat & (long_run > 0)
    shrunk = np.maximum((size + 1.0 - 2.0 * horizon + horizon * (horizon - 1.0) / size) / size, 1e-300)
    error = np.sqrt(np.where(usable, long_run, 1.0) / size / shrunk)
    statistic = mean / error
    half = stdtrit(size - 1.0, (1.0 + level_of(level)) / 2.0) * error
    p = 2.0 * stdtr(size - 1.0, -np.abs(statistic))
    status = statuses(
        n, ("no_rows", n == 0), (TOO_FEW, ~enough), (NO_VARIANCE, flat & ~same), (NEGATIVE, ~usable & ~same)
    )
    numbers = where(n > 0, mean), half, error, statistic, p
    df = where(enough, n - 1.0)
    return TestOutcomes.around(*numbers, n, status, usable=usable, same=same, df=df)


def _mean(values: Array, code: Codes, n: Codes) -> Array:
    return np.bincount(code, weights=values, minlength=len(n)) / np.maximum(n, 1)
