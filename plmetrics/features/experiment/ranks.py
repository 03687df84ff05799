"""Mann-Whitney's U of the arms of an experiment, from counts of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence


def rank_sums(rows: pl.LazyFrame, column: str, keys: Sequence[str], arm: str, arms: int) -> pl.LazyFrame:
    """Mann-Whitney's U of each arm against the control, and the ties, from counts of values.

    Controls below a value are counted from the first row of the table: those before a slice are taken off at the end,
    which is cheaper than a count within each slice.
    """
    keys = list(keys) or ["@all"]
    value = pl.col(column)
    counted = (
        rows.filter(value.is_finite())
        .with_columns(pl.lit(0, dtype=pl.Int8).alias("@all"))
        .group_by(*keys, column)
        .agg((pl.col(arm) == place).sum().cast(pl.Int64).alias(f"arm|{place}") for place in range(arms))
        .sort(*keys, column, nulls_last=True)
    )
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
