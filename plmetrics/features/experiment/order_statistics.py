"""Quantiles of the outcomes of an experiment by cell, with the variance that order statistics say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

_NORMAL = 1.959963984540054
"""Of 95 %, the level of the interval that the variance comes from."""


def quantile_moments(
    rows: pl.LazyFrame, column: str, keys: Sequence[str], level: float, index: int
) -> pl.LazyFrame:
    """For each cell a quantile of a number, `mean|i`, and the variance of that, `variance|i`; rows are units.

    The quantile is the averaged inverse of the distribution function. Its standard error is the distance of the
    quantiles level -+ z sqrt(level (1 - level) / n) over 2 z (Woodruff 1952); none where one of them is outside of
    the rows.
    """
    value, n = pl.col(column).sort(), pl.len().cast(pl.Float64)
    place = level * n
    near = place.round()
    whole = (place - near).abs() <= 1e-9 * n
    first = pl.when(whole).then(near - 1).otherwise(place.floor())
    last = pl.when(whole).then(near).otherwise(place.floor())
    away = _NORMAL * (level * (1 - level) / n).sqrt()
    low, high = ((level - away) * n).ceil() - 1, ((level + away) * n).ceil() - 1
    inside = (low >= 0) & (high <= n - 1)

    def ranked(rank: pl.Expr) -> pl.Expr:
        return value.get(rank.clip(0, n - 1).cast(pl.UInt32))

    width = ranked(high) - ranked(low)
    return rows.group_by(keys).agg(
        ((ranked(first) + ranked(last)) / 2).alias(f"mean|{index}"),
        pl.when(inside).then((width / (2 * _NORMAL)) ** 2).alias(f"variance|{index}"),
    )
