"""Operators of metrics' formulas.

A metric's `finalise` is written once. Its inputs are NumPy arrays of any leading axes (slices, replicates),
`Segments` (exact scores of many slices end to end), `Pieces` (those of one long slice) or Polars expressions; these
functions hide which.
Operations "along the points" (`cumulative`, `total`, `largest`) run over the last axis, within each segment,
or over the rows of a group.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from functools import reduce

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.pieces import Pieces
from plmetrics.core.segments import Along, Operand, Segments
from plmetrics.core.threads import batches

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Texts = NDArray[np.object_]

_NESTED = 32
"""Expressions nest about so deep: what Polars takes to plan them grows with the square of the depth."""

_ROUNDING = 64 * sys.float_info.epsilon
"""Of two means of equal numbers: how far they lie apart at most, in any order of addition, as a share of one."""

_TIE, _TIE_IN_SINGLE = 1e-12, 2.0**-21


class Counts(np.ndarray):
    """Counts with known running totals along the last axis: these add as counts do, so products give them at once.

    What is made of them is an array like any other.

    >>> counts = Counts.of(np.array([1.0, 3.0, 6.0]))
    >>> counts.tolist(), counts.cumulative(descending=True).tolist()
    ([1.0, 2.0, 3.0], [6.0, 5.0, 3.0])
    """

    running: Array | None = None

    @classmethod
    def of(cls, running: Array) -> Counts:
        """Counts with these running totals, whole numbers within the type of the array."""
        counts = np.empty_like(running)
        counts[..., :1] = running[..., :1]
        np.subtract(running[..., 1:], running[..., :-1], out=counts[..., 1:])
        out = counts.view(cls)
        out.running = running
        return out

    def total(self) -> Array:
        """Sum along the last axis: the last running total, which must be known."""
        assert self.running is not None
        return self.running[..., -1] if self.shape[-1] else np.zeros(self.shape[:-1], dtype=self.dtype)

    def cumulative(self, *, descending: bool = False) -> Array | None:
        """The running total, each point included; None where it is not known, as in a part of them."""
        if self.running is None or not descending:
            return self.running
        total = np.empty_like(self.running)
        total[..., :1] = self.running[..., -1:]
        np.subtract(self.running[..., -1:], self.running[..., :-1], out=total[..., 1:])
        return total


def where(condition: Operand, then: Operand, otherwise: Operand) -> Operand:
    """`then` where the condition holds, else `otherwise`."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    if isinstance(condition, pl.Expr):
        return pl.when(condition).then(then).otherwise(otherwise)
    if isinstance(condition, Along):
        return condition.where(then, otherwise)
    return np.where(condition, then, otherwise)


def each_row(value: pl.Expr) -> pl.Expr:
    """Value of each row: a constant, one row for Polars, becomes as long as the table.

    >>> pl.DataFrame({"x": [5, 6, 7]}).select(each_row(pl.lit(2.0)).sum()).item()
    6.0
    """
    if value.meta.root_names():
        return value
    return pl.when(pl.first().is_null()).then(value).otherwise(value)


def ratio(numerator: Operand, denominator: Operand, otherwise: float = float("nan")) -> Operand:
    """Numerator / denominator, and `otherwise` where the denominator is 0.

    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    pieces = next((part for part in (numerator, denominator) if isinstance(part, Pieces)), None)
    if pieces is not None:
        return pieces.map_values(ratio, numerator, denominator, otherwise)
    zero = denominator == 0
    if not isinstance(zero, pl.Expr) and not np.any(zero.values if isinstance(zero, Segments) else zero):
        return numerator / denominator
    if isinstance(zero, (np.ndarray, Segments)):
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = numerator / denominator
        return _fill(quotient, zero, otherwise)
    safe = where(zero, 1.0, denominator)
    return where(zero, otherwise, numerator / safe)


def tie(share: Operand) -> float:
    """How far a share may miss its limit by rounding of the sums that it is of.

    >>> tie(np.array([0.6])), tie(np.array([0.6], dtype=np.float32)) > 4e-7
    (1e-12, True)
    """
    return _TIE_IN_SINGLE if getattr(share, "dtype", None) == np.float32 else _TIE


def _fill(quotient: Operand, places: Operand, value: float) -> Operand:
    """A new array or segments, with a value in some places."""
    if isinstance(quotient, Segments):
        mask = places.values if isinstance(places, Segments) else places
        np.copyto(quotient.values, value, where=mask)
        return quotient
    out = np.asarray(quotient)
    np.copyto(out, value, where=places)
    return out


def sqrt(x: Operand) -> Operand:
    """Square root; NaN below 0 without a warning."""
    if isinstance(x, pl.Expr):
        return x.sqrt()
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


def log(x: Operand) -> Operand:
    """Natural logarithm; -inf at 0 and NaN below without a warning."""
    if isinstance(x, pl.Expr):
        return x.log()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(x)


def log1p(x: Operand) -> Operand:
    """Natural logarithm of 1 + x, precise near 0."""
    return x.log1p() if isinstance(x, pl.Expr) else np.log1p(x)


def folded_normal_mean(mean: Operand, deviation: Operand) -> Operand:
    """Mean of abs(X) for a normal X; abs(mean) where the deviation is 0. Arrays only.

    >>> folded_normal_mean(np.array([0.0, 2.0]), np.array([1.0, 0.0])).round(4)
    array([0.7979, 2.    ])
    """
    from scipy.special import erf

    scale = where(deviation == 0, 1.0, deviation)
    z = mean / scale
    folded = scale * math.sqrt(2.0 / math.pi) * np.exp(-z * z / 2.0) + mean * erf(z / math.sqrt(2.0))
    return where(deviation == 0, absolute(mean), folded)


def floor(x: Operand) -> Operand:
    """Largest whole number at or below."""
    return x.floor() if isinstance(x, pl.Expr) else np.floor(x)


def absolute(x: Operand) -> Operand:
    """Absolute value."""
    return x.abs() if isinstance(x, pl.Expr) else abs(x)


def smaller(a: Operand, b: Operand) -> Operand:
    """The smaller of two, element by element."""
    if isinstance(a, pl.Expr) or isinstance(b, pl.Expr):
        return pl.min_horizontal(a, b)
    return np.minimum(a, b)


def larger(a: Operand, b: Operand) -> Operand:
    """The larger of two, element by element."""
    if isinstance(a, pl.Expr) or isinstance(b, pl.Expr):
        return pl.max_horizontal(a, b)
    return np.maximum(a, b)


def difference(a: Operand, b: Operand) -> Operand:
    """First less second of two means or rates; exactly 0 where they are equal but for rounding.

    What rounding leaves of equal numbers would be a value with a sign, and a spread of replicates.

    >>> difference(np.array([0.1 * 3, 0.4]), np.array([0.3, 0.1])).round(3).tolist()
    [0.0, 0.3]
    """
    apart = a - b
    return where(absolute(apart) < _ROUNDING * absolute(a), 0.0, apart)


def cumulative(x: Operand, *, descending: bool = False) -> Operand:
    """Running total along the points, each point included; `descending` starts at the last point.

    >>> cumulative(np.array([1.0, 2.0, 3.0]), descending=True)
    array([6., 5., 3.])
    """
    if isinstance(x, pl.Expr):
        return x.cum_sum(reverse=descending)
    if isinstance(x, Along):
        return x.cumulative(descending=descending)
    if isinstance(x, Counts) and (running := x.cumulative(descending=descending)) is not None:
        return running
    if descending:
        return np.cumsum(x[..., ::-1], axis=-1)[..., ::-1]
    return np.cumsum(x, axis=-1)


def running_largest(x: Operand, *, descending: bool = False) -> Operand:
    """Largest value up to each point, it included; `descending` starts at the last point. Arrays and segments.

    >>> running_largest(np.array([1.0, 3.0, 2.0]))
    array([1., 3., 3.])
    """
    if isinstance(x, Along):
        return x.running_largest(descending=descending)
    if descending:
        return np.maximum.accumulate(x[..., ::-1], axis=-1)[..., ::-1]
    return np.maximum.accumulate(x, axis=-1)


def final(running: Operand, *, descending: bool = False) -> Operand:
    """The final value of a running total along the points; -inf where there are none.

    >>> final(np.array([[1.0, 3.0]])), final(np.array([[3.0, 2.0]]), descending=True)
    (array([3.]), array([3.]))
    """
    if isinstance(running, np.ndarray) and running.shape[-1]:
        return running[..., 0 if descending else -1]
    return largest(running)


def above(x: Operand, top: float) -> Operand:
    """The value at the next higher point; `top` at the highest. Arrays and segments.

    >>> above(np.array([1.0, 3.0, 2.0]), 0.0)
    array([3., 2., 0.])
    """
    if isinstance(x, Along):
        return x.above(top)
    return np.concatenate([x[..., 1:], np.full_like(x[..., :1], top)], axis=-1)


def isotonic(part: Operand, whole: Operand) -> Operand:
    """Isotonic shares part / whole along the points, pooled where they would fall.

    Points without a whole have a share of 0 and take no part. Arrays and segments.

    >>> isotonic(np.array([1.0, 0.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    array([0.5, 0.5, 1. ])
    """
    if isinstance(whole, Pieces):
        parts, masses = part.whole(), whole.whole()
        return whole.cut_alike(_pool_adjacent(parts, masses, np.zeros(masses.shape, dtype=np.int64)))
    if isinstance(whole, Segments):
        row = np.repeat(np.arange(len(whole.sizes)), whole.sizes)
        rows = np.broadcast_to(
            _leading_positions(whole.values.shape[:-1]) * len(whole.sizes) + row, whole.values.shape
        )
        return Segments(_pool_adjacent(part.values, whole.values, rows), whole.offsets)
    return _pool_adjacent(part, whole, np.broadcast_to(_leading_positions(whole.shape[:-1]), whole.shape))


def _leading_positions(shape: tuple[int, ...]) -> Operand:
    """A number for each of the leading positions, with an axis for the points."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(*shape, 1)


def _pool_adjacent(part: Array, total: Array, row: NDArray[np.int64]) -> Array:
    """One regression for all rows: each lies by more than any share above the one before."""
    from scipy.optimize import isotonic_regression

    out = np.zeros(total.shape)
    occupied = total > 0
    if not occupied.any():
        return out
    masses, parts = total[occupied], part[occupied]
    blocks = isotonic_regression(parts / masses + 2.0 * row[occupied], weights=masses).blocks
    shares = np.add.reduceat(parts, blocks[:-1]) / np.add.reduceat(masses, blocks[:-1])
    out[occupied] = np.repeat(shares, np.diff(blocks))
    return out


def total(x: Operand) -> Operand:
    """Sum along the points."""
    if isinstance(x, pl.Expr):
        return x.sum()
    if isinstance(x, Counts) and x.running is not None:
        return x.total()
    return x.total() if isinstance(x, Along) else np.sum(x, axis=-1)


def dot(x: Operand, y: Operand) -> Operand:
    """Sum of products along the points.

    Of arrays whose points lie apart in memory one point is added after another either way: without the products' array.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    np.float64(11.0)
    """
    apart = isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.strides[-1] != x.itemsize
    return np.einsum("...i,...i->...", x, y) if apart else total(x * y)


def largest(x: Operand) -> Operand:
    """Largest value along the points; -inf where there is none, null in an expression."""
    if isinstance(x, pl.Expr):
        return x.max()
    return x.largest() if isinstance(x, Along) else np.max(x, axis=-1, initial=-np.inf)


def compress(mask: Operand, *values: Operand) -> tuple[Operand, ...]:
    """Values at the points of a mask, a segment for each slice and leading position with some. Pieces stay as they are.

    >>> (chosen,) = compress(np.array([[True, False], [False, False], [True, True]]), np.array([1.0, 2.0]))
    >>> chosen.values, chosen.offsets
    (array([1., 1., 2.]), array([0, 1, 3]))
    """
    if isinstance(mask, Pieces):
        return values
    sizes = np.ravel(total(where(mask, 1, 0)))
    offsets = np.append(0, np.cumsum(sizes[sizes > 0])).astype(np.int64)
    flags, *arrays = (part.values if isinstance(part, Segments) else part for part in (mask, *values))
    return tuple(Segments(np.broadcast_to(array, flags.shape)[flags], offsets) for array in arrays)


def broadcast(totals: Operand, points: Operand) -> Operand:
    """Broadcast one value per slice to each of its points."""
    if isinstance(points, pl.Expr):
        return totals
    if isinstance(points, Along):
        return points.spread(totals)
    return np.expand_dims(totals, -1)


def row_sum(values: Sequence[pl.Expr]) -> pl.Expr:
    """Sum of the values of a row in their order, of many by groups; null if one is null."""
    while len(values) > _NESTED:
        values = [reduce(operator.add, group) for group in batches(values, _NESTED)]
    return reduce(operator.add, values)


def case_value(cases: Sequence[tuple[pl.Expr, pl.Expr]]) -> pl.Expr:
    """Value of the first condition of a row that is true, null without one. No later one is, or the value is not null.

    >>> cases = [(pl.col("x") == number, pl.lit(10.0 * number)) for number in range(100)]
    >>> pl.DataFrame({"x": [70, 3, 500]}).select(case_value(cases)).to_series().to_list()
    [700.0, 30.0, None]
    """
    values = []
    for group in batches(cases, _NESTED):
        value = pl.lit(None, dtype=pl.Float64)
        for condition, of_condition in reversed(group):
            value = pl.when(condition).then(of_condition).otherwise(value)
        values.append(value)
    return pl.coalesce(values)
