"""Quantiles of weighted values."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.segments import run_starts

Array = NDArray[np.float64]

_TIE = 1e-12
_WHOLE = 1 << 53
"""Up to this size each whole number is a float."""


def quantile_edges(ascending: pl.Series, weight: Array, number: int) -> tuple[float, ...]:
    """Edges of so many bins of equal weight, each once, without the least value: finite averaged inverses.

    Whole numbers beyond 2^53, which floats do not tell apart, are cut at whole numbers, by their distance from the
    least one. Edges of floats of fewer than 64 bits are of these bits, in their shortest decimal.

    >>> quantile_edges(pl.Series([2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3]), np.ones(4), 2)
    (1152921504606846978,)
    >>> quantile_edges(pl.Series([1, 2, 2, 5, 6]), np.ones(5), 2), quantile_edges(pl.Series([1, 2]), np.ones(2), 2)
    ((2,), (1.5,))
    >>> quantile_edges(pl.Series([0.1, 0.2, 0.3], dtype=pl.Float32), np.ones(3), 3)
    (0.15, 0.25)
    """
    integral = ascending.dtype.is_integer()
    origin = ascending[0] if integral and max(-ascending[0], ascending[-1]) > _WHOLE else 0
    values = ascending.cast(pl.Int128) - pl.Series([origin], dtype=pl.Int128) if origin else ascending
    numbers = values.cast(pl.Float64).to_numpy()
    cuts = averaged_inverse(numbers, weight, np.arange(1, number) / number)
    if ascending.dtype.is_float():
        cuts = shortest_decimals(pl.Series(cuts).cast(ascending.dtype)).to_numpy()
    cuts = np.unique(cuts)
    edges = cuts[np.isfinite(cuts) & (cuts > numbers[0])].tolist()
    if origin:
        return tuple(dict.fromkeys(origin + math.ceil(edge) for edge in edges))
    return tuple(int(edge) if integral and edge.is_integer() else edge for edge in edges)


def shortest_decimals(column: pl.Series) -> pl.Series:
    """Floats of fewer than 64 bits as those of 64 that their shortest decimals name; other columns as they are.

    >>> shortest_decimals(pl.Series([0.1, None], dtype=pl.Float32)).to_list()
    [0.1, None]
    """
    if column.dtype not in {pl.Float32, pl.Float16}:
        return column
    return pl.Series(column.name, column.to_numpy().astype(str)).cast(pl.Float64).set(column.is_null(), None)


def averaged_inverse(ascending: Array, weight: Array, shares: Array, running: Array | None = None) -> Array:
    """The averaged inverse of a weighted distribution function at some shares between 0 and 1.

    The first value at which the share is reached, averaged with the first at which it is passed; shares are compared
    with a relative tolerance of 1e-12. Values must ascend, and one must have weight; `running` are the running totals
    of weights, where these are known. Else the rows of a value are summed first: a total that grows row by row is off
    by more than the tolerance after some 10,000.

    >>> averaged_inverse(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0]), np.array([0.25, 0.5, 0.9]))
    array([1.5, 3. , 4. ])
    """
    if running is None:
        starts = np.flatnonzero(run_starts(ascending))
        ascending, running = ascending[starts], np.cumsum(np.add.reduceat(weight, starts))
    targets = shares * running[-1]
    last = np.searchsorted(running, running[-1])
    reached = np.minimum(np.searchsorted(running, targets * (1 - _TIE)), last)
    passed = np.minimum(np.searchsorted(running, targets * (1 + _TIE), side="right"), last)
    low, high = ascending[reached], ascending[passed]
    with np.errstate(invalid="ignore"):  # -inf and inf have no middle
        middle = low / 2.0 + high / 2.0  # a sum may be larger than any float
    inverse: Array = np.where(low == high, low, middle)
    return inverse
