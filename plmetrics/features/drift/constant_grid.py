"""Fixed grid for counts of numbers, independent of the data, so that counts of all days add up.

A bin holds the numbers that share their sign, their exponent and the first ten binary digits behind it: it is at most a
thousandth as wide as what it holds is large. Whole numbers up to 2,048 have a bin each. Moments and durations of more
than a month are counted by 45 minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from plmetrics.features.drift.subjects import Kind

_DROPPED = (1 << 42) - 1
"""The bits of a number that a bin does not tell apart."""

_SIGN = (1 << 63) - 1
_LARGEST = 1.7976931348623157e308
_LONG_DAYS, _PER_DAY = 32.0, 32.0


def lower_edge(value: pl.Expr, kind: Kind) -> pl.Expr:
    """The lower end of the bin of each finite number.

    >>> frame = pl.DataFrame({"x": [0.0, 0.1, -0.1, 2047.0, 2049.0]})
    >>> frame.select(lower_edge(pl.col("x"), "number"))["x"].to_list()
    [0.0, 0.0999755859375, -0.10003662109375, 2047.0, 2048.0]
    """
    edge = _number_at(_place(value) & ~_DROPPED)
    if kind != "days":
        return edge
    return pl.when(value.abs() < _LONG_DAYS).then(edge).otherwise((value * _PER_DAY).floor() / _PER_DAY)


def upper_edge(edge: pl.Expr, kind: Kind) -> pl.Expr:
    """Upper end of the bin from an edge on."""
    above = _number_at((_place(edge) & ~_DROPPED) + _DROPPED + 1)
    if kind != "days":
        return above
    long = (edge >= _LONG_DAYS) | (edge < -_LONG_DAYS)
    return pl.when(long).then(edge + 1 / _PER_DAY).otherwise(above)


def _place(value: pl.Expr) -> pl.Expr:
    """Order-preserving integer of a float: its bits, those of a negative one negated."""
    bits = value.reinterpret(dtype=pl.Int64)
    return pl.when(bits >= 0).then(bits).otherwise(-(bits & _SIGN))


def _number_at(place: pl.Expr) -> pl.Expr:
    above, below = (each.reinterpret(dtype=pl.Float64) for each in (place, -place))
    return pl.when(place >= 0).then(above).otherwise(-below).clip(-_LARGEST, _LARGEST)
