"""Summaries of the values of folds: their mean and spread, over repeats, and along a curve."""

from __future__ import annotations

import polars as pl

from plmetrics.features.cross_validation.fold_values import GROUP

NO_FOLDS = "no_defined_folds"
ONE_FOLD = "one_fold"


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


def join_pooled(summary: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """The summary with the value of all rows of the group together."""
    pooled_values = pooled.select(*GROUP, pl.col("value").alias("pooled"))
    return summary.join(pooled_values, on=GROUP, how="left", nulls_equal=True, maintain_order="left")


def by_fold(values: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """A row per group: the mean of the folds' values, of all repeats, next to the value of their rows together."""
    return join_pooled(summarise(outer_rows(values), GROUP), pooled)


def by_repeat(values: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """A row per group: the mean of the repeats' means, and how these differ; `folds` counts repeats."""
    repeats = outer_rows(values).filter(pl.col("repeat").is_not_null())
    means = summarise(repeats, [*GROUP, "repeat"])
    return join_pooled(summarise(means, GROUP), pooled)


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
