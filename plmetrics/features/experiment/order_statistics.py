"""Quantiles of the outcomes of an experiment with their variance, and Mann-Whitney's U, from values in order."""

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


def value_counts(rows: pl.LazyFrame, column: str, keys: Sequence[str], arm: str, arms: int) -> pl.LazyFrame:
    """How many rows of each arm, `arm|i`, have each value of a number, in order by cell."""
    counted = rows.filter(pl.col(column).is_finite()).group_by(*keys, column)
    return counted.agg(
        (pl.col(arm) == place).sum().cast(pl.Int64).alias(f"arm|{place}") for place in range(arms)
    ).sort(*keys, column, nulls_last=True)


def rank_sums(rows: pl.LazyFrame, column: str, keys: Sequence[str], arm: str, arms: int) -> pl.LazyFrame:
    """Mann-Whitney's U of each arm against the control, and the ties, from counts of values.

    Controls below a value are counted from the first row of the table: those before a slice are taken off at the end,
    which is cheaper than a count within each slice.
    """
    keys = list(keys) or ["@all"]
    counted = value_counts(rows.with_columns(pl.lit(0, dtype=pl.Int8).alias("@all")), column, keys, arm, arms)
    control = pl.col("arm|0")
    below, before = 2 * pl.col("@below") - control, (pl.col("@below") - control).min()
    plan = counted.with_columns(control.cum_sum().alias("@below")).group_by(keys)
    parts = []
    for place in range(1, arms):
        arm_ranks = pl.col(f"arm|{place}")
        wide, both = arm_ranks.cast(pl.Int128), (arm_ranks + control).cast(pl.Int128)
        above = (wide * below).sum() - 2 * before.cast(pl.Int128) * wide.sum()
        parts += [
            (above.cast(pl.Float64) / 2).alias(f"above|{place}"),
            (both * both * both - both).sum().cast(pl.Float64).alias(f"ties|{place}"),
        ]
    return plan.agg(parts).drop("@all", strict=False)
