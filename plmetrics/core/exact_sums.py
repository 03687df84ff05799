"""Exact sums of floats, equal in any order to the last bit.

Beside the ordinary sum of a column, which is off in the last bits by the order of its rows, stand two of whole numbers.
No value is further from 0 than 2^e. Its multiples of 2^(e - 58) are added in 64 bits, modulo 2^64, and what is left of
it in multiples of 2^(e - 88). Whole numbers add to the same in any order, and wrapping loses nothing: of all numbers
with that remainder one alone lies near the ordinary sum, and that is the total. It is off by less than 2^(e - 88) a
value. Where that is more than 2^-40 of the total, all values there are so small beside the largest of the run that the
ordinary sum is the better one, and is taken: such totals are right, but not the same in any order.

Of n values that are added one after another the ordinary sum is near enough up to n = 2^29, and as it is made, from
sums of parts, far beyond; what is left has room for 2^33 values. All three columns add, so states do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

if TYPE_CHECKING:
    from plmetrics.core.segments import Values

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

FIXED, LEFT = "@fixed|", "@left|"
"""Prefixes of the columns of a column's whole numbers, and of the remainders."""

HEADROOM = 4
"""By how much a value's exponent may exceed that of its column: 64 bits have room for it."""

PARTS = 3
"""How many numbers `SplitSums` keeps for each sum."""

_BITS = 58
_STEP = 4
_LEAST, _GREATEST = -960, 1080
_WRAP = 2.0**64
_NEAR = 2.0**-6
_FINER = 2.0**30
_SHARP = 2.0**40
_GREATEST_SUM = 2.0**900
_DIGITS = (20, 46, 72)
_BEFORE_CARRY = 1 << 26
_CUT = 960
"""Values are cut as if none were above 2 to this power: larger ones are added as they are."""


def exponent_of(most: float) -> int:
    """Exponent e of a column with absolute values of at most `most`: a multiple of 4.

    >>> exponent_of(1.0), exponent_of(17.0), exponent_of(0.0)
    (0, 8, -960)
    """
    if not most > 0.0:
        return _LEAST
    fraction, exponent = math.frexp(most)
    exponent -= fraction == 0.5
    return min(max(_STEP * -(-exponent // _STEP), _LEAST), _GREATEST)


def fixed_parts(name: str, value: pl.Expr, exponent: int) -> list[pl.Expr]:
    """Whole numbers of each row, added beside the values of a column."""
    scaled = value.cast(pl.Float64) * pl.lit(2.0 ** (_BITS - exponent))
    units = scaled.cast(pl.Int64, wrap_numerical=True)
    remainder = ((scaled - units.cast(pl.Float64)) * pl.lit(_FINER)).cast(pl.Int64, wrap_numerical=True)
    return [units.alias(f"{FIXED}{name}"), remainder.alias(f"{LEFT}{name}")]


def fixed_sums(name: str, value: pl.Expr, exponent: int) -> list[pl.Expr]:
    """Aggregations beside the ordinary sum of a column."""
    return [part.sum() for part in fixed_parts(name, value, exponent)]


def ordered_sum(value: pl.Expr, exponent: int) -> pl.Expr:
    """Exact sum of a column in any order of its rows, as one expression, of up to 2^26 rows; see `SplitSums`.

    >>> frame = pl.DataFrame({"x": [0.1, 0.7, -0.3, 0.4]})
    >>> one, other = (x.select(ordered_sum(pl.col("x"), 0)).item() for x in (frame, frame.reverse()))
    >>> one == other, round(one, 12)
    (True, 0.9)
    """
    remainder = value.cast(pl.Float64)
    sums = []
    for digits in _DIGITS:
        near = pl.lit(1.5 * 2.0 ** (52 + min(exponent, _CUT) - digits))
        part = (remainder + near) - near
        remainder = remainder - part
        sums.append(part.sum())
    high, middle, low = sums
    return high + (middle + low)


def exact_total(ordinary: Array, fixed: Whole, finer: Whole, exponent: int, rows: Values) -> Array:
    """Totals from ordinary sums, those of whole numbers and of remainders of values, and numbers of values.

    Where the first two contradict each other, the ordinary sum is the total: it overflowed, or a value was further
    from 0 than 2^exponent, as one of a later table may be.

    >>> exact_total(np.array([2.9999999999]), np.array([3 << 58]), np.array([0]), 0, np.array([4]))
    array([3.])
    """
    unit = 2.0 ** (exponent - _BITS)
    finest = unit / _FINER * rows
    with np.errstate(over="ignore", invalid="ignore"):
        remainder = fixed.astype(np.float64)
        wraps = np.rint((ordinary / unit - remainder) / _WRAP)
        total: Array = (wraps * _WRAP + (remainder + finer / _FINER)) * unit
        near = np.abs(total - ordinary) <= np.ldexp(_NEAR, exponent)
        vague = (np.abs(total) < finest * _SHARP) & (np.abs(total - ordinary) <= finest)
    return np.where(near & ~vague, total, ordinary)


def exact_columns(frame: pl.DataFrame, exponents: Mapping[str, int]) -> Iterator[tuple[str, pl.Series]]:
    """Columns of a frame of sums; those with whole numbers beside them as exact totals.

    The numbers of rows are in its column `n` or `rows`. A sum without whole numbers is the total as it is.
    """
    names = frozenset(frame.columns)
    counted = next((name for name in ("rows", "n") if name in names), None)
    for column in frame:
        name = column.name
        if name.startswith((FIXED, LEFT)):
            continue
        if counted is not None and f"{FIXED}{name}" in names:
            ordinary, rows = (frame[key].to_numpy() for key in (name, counted))
            fixed, remainder = (frame[f"{kind}{name}"].fill_null(0).to_numpy() for kind in (FIXED, LEFT))
            total = exact_total(ordinary, fixed, remainder, exponents[name], rows)
            alone = frame[f"{FIXED}{name}"].is_null().to_numpy()
            yield name, pl.Series(name, np.where(alone, ordinary, total) if alone.any() else total)
        else:
            yield name, column


@dataclass(frozen=True, slots=True)
class Addition:
    """Addition of columns of floats: exact in any order of the rows for those with exponents.

    Values of those that are `inexact` lie beyond their exponents: they are added as they come.
    """

    exponents: Mapping[str, int] = field(default_factory=dict)
    inexact: frozenset[str] = frozenset()

    @property
    def exact(self) -> frozenset[str]:
        """Columns with whole numbers beside their sums."""
        return frozenset(self.exponents) - self.inexact

    def parts(self, values: Mapping[str, pl.Expr]) -> list[pl.Expr]:
        """Terms of each row for some columns: the value, and whole numbers beside it where it is exact."""
        parts, exact = [], self.exact
        for name, value in values.items():
            parts.append(value.alias(name))
            if name in exact:
                parts += fixed_parts(name, value, self.exponents[name])
        return parts

    def sums(self, values: Mapping[str, pl.Expr]) -> list[pl.Expr]:
        """Aggregations of some columns, the input of `totals`; those of any two tables add."""
        return [part.sum() for part in self.parts(values)]

    def totals(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A frame of sums with totals in their place, see `exact_columns`."""
        return pl.DataFrame([column for _, column in exact_columns(frame, self.exponents)])

    def total(self, name: str, value: pl.Expr) -> pl.Expr:
        """The total of one column as an expression; see `ordered_sum`."""
        return ordered_sum(value, self.exponents[name]) if name in self.exponents else value.sum()


class SplitSums:
    """Exact sums in an array, in any order of values.

    Values are cut into three parts, each a few multiples of a unit of its own: 2^(e - 20), 2^(e - 46) and 2^(e - 72),
    where 2^e is about the largest value. What is smaller is rounded, value by value: a total is off by less than
    2^(e - 73) a value. There is room for 2^33 values; the smaller parts are carried over before they are full.
    """

    def __init__(self, counts: Array, exponent: int, smaller: Sequence[Array] = ()) -> None:
        """Accumulators in `counts`, of zeros, or of the largest parts if `smaller` are given."""
        self._digits = [counts, *(smaller or (np.zeros_like(counts) for _ in _DIGITS[1:]))]
        self._units = _units(exponent)
        self._waiting = 0

    def cut(self, values: Array) -> Iterator[tuple[Array, Array]]:
        """Accumulator arrays, each with its part of the values."""
        if self._waiting + len(values) > _BEFORE_CARRY:
            self._carry()
        self._waiting += len(values)
        odd = ~np.isfinite(values)
        if odd.any():
            yield self._digits[0], np.where(odd, values, 0.0)
        remainder = np.where(odd, 0.0, values)
        for target, unit in zip(self._digits, self._units, strict=True):
            near = 1.5 * 2.0**52 * unit
            part = (remainder + near) - near
            remainder -= part
            yield target, part

    def digits(self) -> tuple[Array, ...]:
        """Parts of the totals, in canonical form: `add` takes them for other totals."""
        self._carry()
        return tuple(self._digits)

    def add(self, place: NDArray[np.int64], digits: Sequence[Array]) -> None:
        """Add the parts of other totals with the same exponent, each at its place."""
        for target, part in zip(self._digits, digits, strict=True):
            target[place] += part
        self._carry()

    def join(self) -> Array:
        """Put the totals together, in the first array."""
        self._carry()
        high: Array
        high, middle, low = self._digits
        middle += low
        high += middle
        for target in (middle, low):
            target.fill(0)
        return high

    def _carry(self) -> None:
        """Leave in each part less than a unit of the one before: so every total has one form."""
        for place in reversed(range(1, len(_DIGITS))):
            unit, target = self._units[place - 1], self._digits[place]
            over = np.floor(target / unit) * unit
            target -= over
            self._digits[place - 1] += over
        self._waiting = 0


def _units(exponent: int) -> list[float]:
    return [2.0 ** (min(exponent, _CUT) - digits) for digits in _DIGITS]


def integer_parts(digits: Sequence[Array], exponent: int) -> Array:
    """Parts of totals `[..., sum]` as whole numbers side by side `[..., PARTS * sum]`: an additive form.

    >>> counts = np.zeros((1, 2))
    >>> parts = SplitSums(counts, 0)
    >>> for target, part in parts.cut(np.array([[0.1, 0.75]])):
    ...     target += part
    >>> held = integer_parts(parts.digits(), 0)
    >>> held.shape, join_parts(held + held, 0)
    ((1, 6), array([[0.2, 1.5]]))
    """
    units = _units(exponent)
    return np.concatenate([part / unit for part, unit in zip(digits, units, strict=True)], axis=-1)


def join_parts(whole: Array, exponent: int) -> Array:
    """Totals `[..., sum]` from `integer_parts`, or from sums of such: the same in any order of addition."""
    digits = [
        part * unit for part, unit in zip(np.split(whole, PARTS, axis=-1), _units(exponent), strict=True)
    ]
    return SplitSums(digits[0], exponent, digits[1:]).join()


_products: ContextVar[bool] = ContextVar("exact_products", default=False)


@contextmanager
def exact_products(*, enabled: bool) -> Iterator[None]:
    """Within it, `product` gives the same on any number of threads."""
    token = _products.set(enabled)
    try:
        yield
    finally:
        _products.reset(token)


def are_exact() -> bool:
    """Whether `product` gives the same on any number of threads here.

    >>> are_exact()
    False
    """
    return _products.get()


def product(weights: Values, states: Values, out: Values | None = None) -> Values:
    """Matrix product of whole numbers and sums, `[r, k] x [..., k, m]`. There is room for it in `out`.

    A library may add the terms of a product in an order that depends on the number of threads. Where that must not
    show, states are cut into two parts of so few digits that no order rounds the sums of either. What is left of them
    counts only in sums that are very small beside the largest state.
    """
    if not are_exact():
        result: Values = np.matmul(weights, states, out=out)
        return result
    weights, states = weights.astype(np.float64, copy=False), states.astype(np.float64, copy=False)
    most = np.abs(states).max(axis=-2, keepdims=True, initial=0.0)
    if not (most < _GREATEST_SUM).all():
        plain: Array = np.matmul(weights, states)
        return plain
    draws = float(np.abs(weights).sum(axis=1).max(initial=1.0))
    room = math.ceil(math.log2(draws)) + 2
    exponent = np.frexp(most)[1] + room
    high = _round_to_grid(states, exponent)
    remainder = states - high
    total: Array = np.matmul(weights, high, out=out)
    if not remainder.any():
        return total
    low = _round_to_grid(remainder, exponent + (room - 53))
    total += np.matmul(weights, low)
    low_bits = remainder - low
    if low_bits.any():
        vague = np.abs(total) < np.ldexp(draws * _SHARP, exponent + (room - 106))
        total = np.where(vague, total + np.matmul(weights, low_bits), total)
    return total


def _round_to_grid(values: Array, exponent: Values) -> Array:
    """Values as multiples of 2^(exponent - 53), ties to even."""
    near = np.ldexp(1.5, exponent - 1)
    rounded: Array = (values + near) - near
    return rounded
