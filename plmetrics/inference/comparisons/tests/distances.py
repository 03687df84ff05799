"""Distances between two samples without a test: the measures of drift as functions of two columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError
from plmetrics.core.segments import Segments
from plmetrics.inference.comparisons.tests import two_samples
from plmetrics.inference.comparisons.tests.outcome import Array, TestResult, numbers, one_of, positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_BINS = 1000


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
    """Jensen-Shannon distance of the shares of bins, which are those of `psi`: the root of the divergence to base 2.

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
    """The area between two distribution functions: how far values moved on average, at the least.

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
    deviation = float(first.std())
    if deviation == 0:
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
    """How many values of each sample fall into each bin or category; nulls into the last."""
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
    """The values, ascending, and how often each occurs."""
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
