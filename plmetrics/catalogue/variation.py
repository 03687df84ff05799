"""Variation around a mean from moments about a centre, and whether its digits are there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from plmetrics.core import ops
from plmetrics.states.moments import SIGN, centre_name
from plmetrics.states.sums import Atom, Distances, Rows, RowValue

LEAST = 1e-12
"""Of the sum of squares: variation below that is rounding."""

_ONE_NUMBER = 1e-10
"""Numbers whose distances from a centre are below this share of it are one number in double precision."""

LAST_DIGITS = 1e-14
"""Of a number: what sums and differences of a few decimals leave."""

_NORMAL = 1.959963984540054
"""Of 95 %, the level of the interval that ends where rows of another kind would be too many to be all missed."""

_FAINT = 1e-301
"""A mean square below that has lost digits to the smallest numbers there are, or is nothing but signs."""


def square(value: pl.Expr) -> pl.Expr:
    """Square of a number of each row; that of a tiny one is not 0, so that `faint` knows of it.

    >>> pl.select(square(pl.Series([0.0, 3.0, 1e-200]))).to_series().to_list()
    [0.0, 9.0, 1e-312]
    """
    return pl.when(value == 0).then(0.0).otherwise(value**2 + SIGN)


def faint(squares: Any, mass: Any) -> Any:
    """Whether squares by `squared` are too small on average for significant digits in their sum."""
    return (squares > 0) & (squares < _FAINT * mass)


def square_sums(atoms: Mapping[str, Atom | tuple[Atom, ...]]) -> list[str]:
    """The names of sums of squares of numbers of any size."""
    return [name for name, part in atoms.items() if isinstance(part, Atom) and part.squares]


def moment(
    key: str,
    values: tuple[RowValue, ...],
    build: Callable[[Rows], pl.Expr],
    mass: str | None = None,
    alone: tuple[str, ...] = (),
) -> Atom:
    """The sum of distances of a value from its centre, or of products of those of two; see `Distances`."""
    keys = tuple(value.key for value in values)
    return Atom(key, build, squares=len(keys) > len(set(keys)), about=Distances(keys, mass, alone))


def variation(first: Any, second: Any, mass: Any, n: Any) -> Any:
    """Sum of w (x - mean x)^2 from the sums of w (x - c) and w (x - c)^2; exactly 0 where it is within rounding.

    The rounding of n summands of the size that the squares have is not variation: equal numbers stay equal
    whatever the constant their moments were taken around.
    """
    centred = second - first * ops.ratio(first, mass)
    return ops.where(_vague(centred, second, n), 0.0, centred)


def is_one_number(state: Any, key: str, first: Any, second: Any, mass: Any) -> Any:
    """Whether numbers differ from their mean by no more than the last digits, as 0.1 + 0.2 from 0.3.

    `key` names the value that the moments are of. Where nobody knows the centre, they are not one number.
    """
    centre = getattr(state, centre_name(key), None)
    if centre is None:
        return second != second  # noqa: PLR0124 (false, of the state's kind)
    centred = second - first * ops.ratio(first, mass)
    return centred <= mass * (LAST_DIGITS * ops.absolute(centre)) ** 2


def is_lost(state: Any, key: str, first: Any, second: Any, mass: Any) -> Any:
    """Whether numbers vary, but too far from their centre for significant digits of the variation.

    `key` names the value that the moments are of. Where nobody knows the centre, nothing is lost.
    """
    centre = getattr(state, centre_name(key), None)
    if centre is None:
        return second != second  # noqa: PLR0124 (false, of the state's kind)
    centred = second - first * ops.ratio(first, mass)
    apart = second > mass * (_ONE_NUMBER * ops.absolute(centre)) ** 2
    return _vague(centred, second, state.n) & apart & (state.n > 1)


def explained_share(whole: Any, left: Any, squares: Any, n: Any) -> Any:
    """Share of a variation that another lacks; exactly 0 where they differ by no more than their rounding.

    `squares` are the sums of squares about a centre that both come from: where the centre lies far from the mean, as
    in replicates without an outlier, their rounding is a larger part of what is left.
    """
    share = 1.0 - ops.ratio(left, whole)
    rounding = (n + 8.0) * sys.float_info.epsilon * squares
    return ops.where(ops.absolute(whole - left) <= rounding, 0.0, share)


def alike_variance(n: Any, other: Any, away: Any, varying: Any) -> Any:
    """Variance of the mean of n rows that are all alike beside others that vary: 0 of 15 is no proof of a rate of 0.

    It is that of a mean of n rows which vary as all rows together do about their common mean (ddof 1); but no more than
    Wilson's interval of 0 of n leaves, from 0 to z^2 / (n + z^2): a row that differs does so by the mean square of the
    others' distances over their mean distance, as rows of two values do. So many rows that are all alike are certain.

    Args:
        n: effective number of the rows that are all alike.
        other: that of the others.
        away: distance of the mean of the others from these.
        varying: sum of squares of the others about their mean.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22(158).

    >>> import numpy as np
    >>> none_of, tenth_of_200 = np.array([15.0, 1e6]), (200.0, 0.1, 18.0)
    >>> np.sqrt(alike_variance(none_of, *tenth_of_200)).round(6).tolist()
    [0.075173, 2e-06]
    """
    both = n + other
    common = ops.ratio(varying + ops.ratio(n * other, both) * away**2, (both - 1.0) * n)
    square = ops.ratio(varying, other) + away**2
    step = ops.ratio(square, ops.absolute(away), otherwise=float("inf"))
    return ops.smaller(common, (step * _NORMAL / (n + _NORMAL**2)) ** 2)


def _vague(centred: Any, second: Any, n: Any) -> Any:
    limit = ops.larger(LEAST, (n + 8.0) * sys.float_info.epsilon)
    return (centred <= limit * second) & (second < float("inf"))
