"""Variation around a mean from moments about a centre, and whether its digits are there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core import ops
from plmetrics.states.moments import centre_name
from plmetrics.states.sums import Atom, Distances, Rows, RowValue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LEAST = 1e-12
"""Of the sum of squares: variation below that is rounding."""

_ONE_NUMBER = 1e-10
"""Numbers whose distances from a centre are below this share of it are one number in double precision."""

_SIGN = 1e-312
"""Least addend of a number other than 0 to a sum of squares, which tells it from 0 where its square underflows."""

_FAINT = 1e-301
"""A mean square below that has lost digits to the smallest numbers there are, or is nothing but signs."""


def square(value: pl.Expr) -> pl.Expr:
    """Square of a number of each row; that of a tiny one is not 0, so that `faint` knows of it.

    >>> pl.select(square(pl.Series([0.0, 3.0, 1e-200]))).to_series().to_list()
    [0.0, 9.0, 1e-312]
    """
    return pl.when(value == 0).then(0.0).otherwise(value**2 + _SIGN)


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


def _vague(centred: Any, second: Any, n: Any) -> Any:
    limit = ops.larger(LEAST, (n + 8.0) * sys.float_info.epsilon)
    return (centred <= limit * second) & (second < float("inf"))
