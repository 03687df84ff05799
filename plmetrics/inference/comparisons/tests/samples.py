"""Tests that two samples come from one distribution, beside measures of drift."""

from __future__ import annotations

from typing import Any

import numpy as np

from plmetrics.core.errors import ConfigError
from plmetrics.core.special import chdtrc
from plmetrics.inference.comparisons.tests.outcome import Array, TestResult, numbers, one_of, same_length
from plmetrics.inference.comparisons.tests.two_samples import ks_p_value

_EXACT_UP_TO = 4_000_000


def ks_2samp(a: Any, b: Any, *, method: str = "auto") -> TestResult:
    """Kolmogorov and Smirnov's test of two samples.

    Args:
        a: the values of one sample.
        b: those of the other.
        method: "exact" counts the orders of the two samples that lie so far apart, as if no values were equal;
            "asymptotic" takes the distribution for large samples; "auto" is exact while n_a n_b is at most 4,000,000.

    Returns:
        `statistic` is the largest distance of the two distribution functions. `no_rows` where a sample is empty.

    Raises:
        ConfigError: a value is no finite number, or the method is unknown.

    Sources: Smirnov (1939); Hodges (1958), The significance probability of the Smirnov two-sample test, Arkiv for
    Matematik 3(5).

    >>> import plmetrics as plm
    >>> found = plm.tests.ks_2samp([0.1, 0.4, 0.5, 0.9], [0.6, 0.7, 0.8, 1.1])
    >>> found.statistic, round(found.p_value, 4)
    (0.75, 0.2286)
    """
    one_of(method, "method", "auto", "exact", "asymptotic")
    first, second = np.sort(numbers(a, "a")), np.sort(numbers(b, "b"))
    n_a, n_b = len(first), len(second)
    if min(n_a, n_b) == 0:
        return TestResult("ks_2samp", n=n_a + n_b, status="no_rows")
    both = np.concatenate([first, second])
    above_a = np.searchsorted(first, both, side="right")
    above_b = np.searchsorted(second, both, side="right")
    apart = int(np.abs(above_a * n_b - above_b * n_a).max())
    exact = method == "exact" or (method == "auto" and n_a * n_b <= _EXACT_UP_TO)
    p = _exact(apart, n_a, n_b) if exact else _asymptotic(apart / (n_a * n_b), n_a, n_b)
    return TestResult("ks_2samp", apart / (n_a * n_b), p, n=n_a + n_b)


def _exact(apart: int, n_a: int, n_b: int) -> float:
    """1 - the chance that a random order of both samples stays nearer than `apart` / (n_a n_b) at each step.

    The chance to stand at each (i, j) is carried along diagonals i + j, so that it does not overflow.
    """
    chance = np.zeros(n_a + 1)
    chance[0] = 1.0
    steps = np.arange(n_a + 1)
    for position in range(n_a + n_b):
        left_a, left_b = n_a - steps, n_b - (position - steps)
        total = float(n_a + n_b - position)
        possible = (left_b >= 0) & (position >= steps)
        move_a = np.where(possible, chance * left_a / total, 0.0)
        move_b = np.where(possible, chance * left_b / total, 0.0)
        chance = move_b
        chance[1:] += move_a[:-1]
        near = np.abs(steps * n_b - (position + 1 - steps) * n_a) < apart
        chance = np.where(near, chance, 0.0)
    return float(min(1.0, max(0.0, 1.0 - chance[n_a]))) if apart else 1.0


def _asymptotic(distance: float, n_a: int, n_b: int) -> float:
    distances, *sizes = (np.array([float(part)]) for part in (distance, n_a, n_b))
    return float(ks_p_value(distances, *sizes)[0])


def chi2_2samp(a: Any, b: Any) -> TestResult:
    """Pearson's chi-squared test that two rows of counts have the same shares.

    Args:
        a: how many units of one sample fall into each category.
        b: those of the other, in the same order. Categories that are empty in both are left out.

    Returns:
        `statistic` is chi squared, with one degree of freedom less than there are categories; p is 1 for a single one.
        A note says where an expected count is below 5. `no_rows` where a sample is empty.

    Raises:
        ConfigError: a count is negative or no whole number, for weights have no such test, or lengths differ.

    Source: Pearson (1900), Philosophical Magazine 50(302).

    >>> import plmetrics as plm
    >>> found = plm.tests.chi2_2samp([30, 50, 20], [45, 40, 15])
    >>> round(found.statistic, 4), round(found.p_value, 4), found.df
    (4.8254, 0.0896, 2.0)
    """
    first, second = _counts(a, "a"), _counts(b, "b")
    same_length(("a", first), ("b", second))
    table = np.array([first, second])
    table = table[:, table.sum(axis=0) > 0]
    n = int(table.sum())
    if min(first.sum(), second.sum()) == 0:
        return TestResult("chi2_2samp", n=n, status="no_rows")
    freedom = table.shape[1] - 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
    statistic = float(((table - expected) ** 2 / expected).sum())
    note = "an expected count is below 5: p is rough" if expected.min() < 5 else None
    p = float(chdtrc(freedom, statistic)) if freedom else 1.0
    return TestResult("chi2_2samp", statistic, p, df=freedom, n=n, note=note)


def _counts(values: Any, name: str) -> Array:
    counts = numbers(values, name)
    if (counts < 0).any() or (counts != np.floor(counts)).any():
        msg = f"{name} must hold counts: whole numbers, 0 or more"
        raise ConfigError(msg)
    return counts
