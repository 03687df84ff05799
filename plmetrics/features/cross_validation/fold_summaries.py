"""Summaries of the values of folds: their mean and spread, over repeats, and along a curve with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core import special
from plmetrics.features.cross_validation.fold_values import GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_FOLDS = "no_defined_folds"
ONE_FOLD = "one_fold"
METHOD = "corrected_resampled_t"

_ROUNDING = 1e-12
"""Values of folds that differ by less than that part of them are equal."""


def summarise(values: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Mean, sd, least and largest of `value` over the rows of each group.

    Every row counts the same, however many rows of the table it stands for. `sd` divides by the number of defined
    values (ddof 0); with fewer than two it is null, and `sd_status` says `one_fold` or `no_defined_folds`. Rows
    without a value are left out, counted in `undefined_folds`, and named in `note`; where none has one, `status` is
    `no_defined_folds`.

    >>> folds = {"model": ["a", "a", "a"], "value": [0.5, 0.75, None], "n": [8, 8, 8]}
    >>> folds["status"] = ["ok", "ok", "no_positives"]
    >>> summarise(pl.DataFrame(folds), ["model"]).select("mean", "sd", "folds", "note").row(0)
    (0.625, 0.125, 3, 'undefined folds left out: 1 (no_positives)')
    """
    undefined = pl.col("value").is_null()
    defined = pl.col("folds") - pl.col("undefined_folds")
    summary = values.group_by(by, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("folds"),
        undefined.sum().cast(pl.Int64).alias("undefined_folds"),
        pl.col("value").mean().alias("mean"),
        pl.col("value").std(ddof=0).alias("sd"),
        pl.col("value").min().alias("minimum"),
        pl.col("value").max().alias("maximum"),
        pl.col("n").sum(),
        pl.col("status").filter(undefined).unique().sort().str.join(", ").alias("@why"),
    )
    counted = pl.format("undefined folds left out: {} ({})", "undefined_folds", "@why")
    return summary.with_columns(
        pl.when(defined >= 2).then("sd").alias("sd"),
        pl.when(defined >= 2)
        .then(pl.lit("ok"))
        .when(defined == 1)
        .then(pl.lit(ONE_FOLD))
        .otherwise(pl.lit(NO_FOLDS))
        .alias("sd_status"),
        pl.when(defined > 0).then(pl.lit("ok")).otherwise(pl.lit(NO_FOLDS)).alias("status"),
        pl.when(pl.col("undefined_folds") > 0).then(counted).alias("note"),
        pl.col("mean").alias("value"),
    ).drop("@why")


def outer_rows(values: pl.DataFrame) -> pl.DataFrame:
    """The values of folds themselves: not of inner ones, nor of rows without a fold."""
    return values.filter(pl.col("inner").is_null(), pl.col("fold").is_not_null())


def join_pooled_values(summary: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """The summary with the value of all rows of the group together."""
    pooled_values = pooled.select(*GROUP, pl.col("value").alias("pooled"))
    return summary.join(pooled_values, on=GROUP, how="left", nulls_equal=True, maintain_order="left")


def by_fold(values: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """A row per group: the mean of the folds' values, of all repeats, next to the value of their rows together."""
    return join_pooled_values(summarise(outer_rows(values), GROUP), pooled)


def by_repeat(values: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """A row per group: the mean of the repeats' means, and how these differ; `folds` counts repeats."""
    repeats = outer_rows(values).filter(pl.col("repeat").is_not_null())
    means = summarise(repeats, [*GROUP, "repeat"])
    return join_pooled_values(summarise(means, GROUP), pooled)


def along_curve(values: pl.DataFrame, pooled: pl.DataFrame, *, folded: bool) -> pl.DataFrame:
    """A row per group and x: the mean of the folds' values, or without folds the value of the rows together."""
    if folded:
        return by_fold(values, pooled).filter(pl.col("x").is_not_null())
    empty = pl.lit(0, dtype=pl.Int64)
    return pooled.filter(pl.col("x").is_not_null()).select(
        *GROUP,
        "value",
        "n",
        "status",
        "note",
        empty.alias("folds"),
        empty.alias("undefined_folds"),
        pl.col("value").alias("pooled"),
        pl.lit(NO_FOLDS).alias("sd_status"),
    )


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
        .when(~(error.is_finite() & (error > _ROUNDING * pl.col("value").abs())).fill_null(value=False))
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
