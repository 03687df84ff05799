"""Two samples: tests of one common distribution, and distances between them, the measures of drift."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array
from plmetrics.core.segments import Segments
from plmetrics.inference.comparisons.tests import smirnov, two_samples
from plmetrics.inference.comparisons.tests.outcome import TestResult, numbers, one_of, positive, same_length

_EXACT_UP_TO = 4_000_000

_MOST_BINS = 1000


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
    distance = apart / (n_a * n_b)
    sizes = (np.array([float(size)]) for size in (n_a, n_b))
    p_value = (
        smirnov.exact(np.array([apart]), *sizes)
        if exact
        else smirnov.asymptotic(np.array([distance]), *sizes)
    )
    return TestResult("ks_2samp", distance, float(p_value[0]), n=n_a + n_b)


def chi2_2samp(a: Any, b: Any) -> TestResult:
    """Pearson's chi-squared test of equal shares in two rows of counts.

    Args:
        a: how many units of one sample fall into each category.
        b: those of the other, in the same order. Categories that are empty in both are left out.

    Returns:
        `statistic` is chi squared, with one degree of freedom less than there are categories; p is 1 for a single one.
        Where an expected count is below 5, which a note says, p is by the mean and the variance that the statistic has
        among all tables of these totals (Haldane, 1940). `no_rows` where a sample is empty.

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
    n = int(first.sum() + second.sum())
    if min(first.sum(), second.sum()) == 0:
        return TestResult("chi2_2samp", n=n, status="no_rows")
    found = two_samples.chi2_homogeneity(_segment(first), _segment(second))
    freedom = float(np.count_nonzero(first + second) - 1)
    note = "an expected count is below 5: p is approximate" if found.few_rows[0] else None
    statistic, p = float(found.statistic[0]), float(found.p_value[0])
    return TestResult("chi2_2samp", statistic, p, df=freedom, n=n, note=note)


def _counts(values: Any, name: str) -> Array:
    counts = numbers(values, name)
    if (counts < 0).any() or (counts != np.floor(counts)).any():
        msg = f"{name} must hold counts: whole numbers, 0 or more"
        raise ConfigError(msg)
    return counts


def psi(reference: Any, current: Any, *, bins: int = 10, floor: float = 1e-4) -> TestResult:
    """Population stability index: the sum of (c - r) ln(c / r) over the bins' shares r before and c now.

    Numbers fall into bins at quantiles of the reference, with open ends; other values are categories. Nulls are a bin
    of their own. Below 0.1 is called stable by convention, 0.25 and more a shift.

    Args:
        reference: the values before.
        current: the values now.
        bins: how many bins numbers fall into, 2 to 1,000.
        floor: shares of less are taken as that, so that empty bins have a logarithm; above 0.

    Returns:
        `estimate` is the index, from 0; `no_rows` where a sample is empty. There is no p value.

    Raises:
        ConfigError: a number is not finite, the samples are not of one kind, or a parameter is out of range.

    Source: Siddiqi (2006), Credit Risk Scorecards.

    >>> import plmetrics as plm
    >>> round(plm.tests.psi(["a"] * 5 + ["b"] * 5, ["a"] * 8 + ["b"] * 2).estimate, 4)
    0.4159
    """
    least = positive(floor, "floor")
    before, now = _by_bin(reference, current, bins)
    return _measure("psi", before, now, lambda: two_samples.psi(before, now, least))


def jensen_shannon(reference: Any, current: Any, *, bins: int = 10) -> TestResult:
    """Jensen-Shannon distance of the shares in the bins of `psi`: the root of the divergence to base 2.

    Args:
        reference: the values before.
        current: the values now.
        bins: how many bins numbers fall into, 2 to 1,000.

    Returns:
        `estimate` is the distance, from 0 (the same) to 1 (nothing in common); `no_rows` where a sample is empty.

    Raises:
        ConfigError: as for `psi`.

    Source: Lin (1991), Divergence measures based on the Shannon entropy, IEEE Transactions on Information Theory 37(1).

    >>> import plmetrics as plm
    >>> plm.tests.jensen_shannon(["a", "b"], ["c", "c"]).estimate
    1.0
    """
    before, now = _by_bin(reference, current, bins)
    return _measure("jensen_shannon", before, now, lambda: two_samples.jensen_shannon(before, now))


def wasserstein(reference: Any, current: Any, *, scale: str = "unit") -> TestResult:
    """Area between two distribution functions: the least mean displacement of values.

    Args:
        reference: the numbers before.
        current: the numbers now.
        scale: "unit" of the numbers, or "sd": over the reference's standard deviation (divided by n).

    Returns:
        `estimate` is the distance; `no_rows` where a sample is empty, `zero_variance` where there is no deviation.

    Raises:
        ConfigError: a value is no finite number, or the scale is unknown.

    Source: Vallender (1974), Calculation of the Wasserstein distance between probability distributions on the line,
    Theory of Probability and its Applications 18(4).

    >>> import plmetrics as plm
    >>> plm.tests.wasserstein([1.0, 2.0], [3.0, 4.0]).estimate
    2.0
    """
    one_of(scale, "scale", "unit", "sd")
    first, second = numbers(reference, "reference"), numbers(current, "current")
    values, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    before, now = (
        _segment(np.bincount(places, minlength=len(values))) for places in np.split(place, [len(first)])
    )
    result = _measure(
        "wasserstein", before, now, lambda: two_samples.wasserstein(_segment(values), before, now)
    )
    if scale == "unit" or result.estimate is None:
        return result
    deviation = float(np.sqrt(two_samples.moments(_segment(values), before).variance[0]))
    if not deviation > 0:
        return TestResult("wasserstein", n=result.n, status="zero_variance")
    return TestResult("wasserstein", estimate=result.estimate / deviation, n=result.n)


def _measure(name: str, before: Segments, now: Segments, measure: Any) -> TestResult:
    sizes = [int(sample.total()[0]) for sample in (before, now)]
    if min(sizes) == 0:
        return TestResult(name, n=sum(sizes), status="no_rows")
    return TestResult(name, estimate=float(measure()[0]), n=sum(sizes))


def _segment(values: NDArray[Any]) -> Segments:
    return Segments(values.astype(np.float64), np.array([0, len(values)]))


def _by_bin(reference: Any, current: Any, bins: int) -> tuple[Segments, Segments]:
    """Counts of each sample by bin or category; nulls in the last."""
    if not 2 <= bins <= _MOST_BINS:
        msg = f"bins must be from 2 to {_MOST_BINS:,}, not {bins!r}"
        raise ConfigError(msg)
    first, second = _column(reference, "reference"), _column(current, "current")
    if (
        first.dtype.is_numeric() != second.dtype.is_numeric()
        and min(_categories(first), _categories(second)) > 0
    ):
        msg = f"reference and current must be of one kind, not {first.dtype} and {second.dtype}"
        raise ConfigError(msg)
    if _categories(first) == 0 or not first.dtype.is_numeric():
        return _by_category(first, second)
    defined = numbers(first.drop_nulls(), "reference")
    counts = _value_counts(defined), _value_counts(numbers(second.drop_nulls(), "current"))
    edges = two_samples.bin_edges(*counts[0], bins)
    before, now = (
        two_samples.by_bin(_segment(values), _segment(times), edges, np.array([float(column.null_count())]))
        for (values, times), column in zip(counts, (first, second), strict=True)
    )
    return before, now


def _by_category(first: pl.Series, second: pl.Series) -> tuple[Segments, Segments]:
    texts = [column.cast(pl.String) for column in (first, second)]
    categories = pl.concat(texts).unique().sort(nulls_last=True)
    place = pl.DataFrame({"value": categories}).with_row_index("place")
    before, now = (
        _segment(
            np.bincount(
                pl.DataFrame({"value": text}).join(place, on="value", how="left", nulls_equal=True)["place"],
                minlength=len(categories),
            )
        )
        for text in texts
    )
    return before, now


def _value_counts(values: Array) -> tuple[Array, Array]:
    """Distinct values, ascending, and their counts."""
    ascending, count = np.unique(values, return_counts=True)
    return ascending, count.astype(np.float64)


def _categories(column: pl.Series) -> int:
    return len(column) - column.null_count()


def _column(values: Any, name: str) -> pl.Series:
    try:
        return pl.Series(name, values)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        msg = f"{name} must be one column of numbers or of texts"
        raise ConfigError(msg) from error
