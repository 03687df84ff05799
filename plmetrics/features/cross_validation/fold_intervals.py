"""Intervals of means over folds along learning and validation curves: the corrected resampled t."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core import special
from plmetrics.features.cross_validation.fold_summaries import outer_rows
from plmetrics.features.cross_validation.fold_values import GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

METHOD = "corrected_resampled_t"


def with_intervals(
    summary: pl.DataFrame, values: pl.DataFrame, level: float, totals: Sequence[int], *, sizes: bool
) -> pl.DataFrame:
    """The means of folds with their intervals: t with a variance of (1 / folds + n_test / n_train) s^2.

    Models of different folds share most of their training rows, so that s^2 / folds is too small. Source: Nadeau and
    Bengio (2003). Rows that were trained on and totals have no interval.

    Args:
        summary: a row per group with the mean of its folds.
        values: those of the folds.
        level: of the intervals.
        totals: the numbers of metrics that grow with the rows.
        sizes: whether `x` is the number of rows trained on; else these are the rows of the other folds.
    """
    train = pl.col("x") if sizes else pl.col("n").sum().over(*GROUP, "repeat") - pl.col("n")
    spread = (
        outer_rows(values)
        .with_columns(share=pl.col("n") / train)
        .filter(pl.col("value").is_not_null())
        .group_by(GROUP)
        .agg(
            pl.len().alias("@folds"),
            pl.col("value").std().alias("@sd"),
            pl.col("share").mean().alias("@share"),
        )
    )
    joined = summary.join(spread, on=GROUP, how="left", nulls_equal=True, maintain_order="left")
    error = pl.col("@sd") * (1 / pl.col("@folds") + pl.col("@share")).sqrt()
    degrees = (joined["@folds"].fill_null(1) - 1).clip(lower_bound=1).to_numpy()
    asked = ~(pl.col("split") == "train").fill_null(value=False) & ~pl.col("@metric").is_in(list(totals))
    status = (
        pl.when(~asked)
        .then(pl.lit("not_requested"))
        .when(pl.col("value").is_null())
        .then(pl.lit("undefined_value"))
        .when(pl.col("@folds") < 2)
        .then(pl.lit("too_few_units"))
        .when(~(error.is_finite() & (error > 0)).fill_null(value=False))
        .then(pl.lit("degenerate"))
        .otherwise(pl.lit("ok"))
    )
    there = pl.col("interval_status") == "ok"
    reach = pl.Series("@t", special.stdtrit(degrees, (1 + level) / 2)) * pl.col("std_error")
    return (
        joined.with_columns(interval_status=status, std_error=error)
        .with_columns(pl.when(there).then("std_error").alias("std_error"))
        .with_columns(
            lower=pl.col("value") - reach,
            upper=pl.col("value") + reach,
            method=pl.when(there).then(pl.lit(METHOD)),
        )
        .drop("@folds", "@sd", "@share")
    )
