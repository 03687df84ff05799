"""Summaries of the values of folds: mean and spread, over repeats, along curves, and of choices of inner folds.

In a nested cross-validation inner folds choose a configuration, and outer folds score the choice. The table is long: a
row of an inner fold holds the prediction of one configuration that was trained without that inner fold and without the
outer one; a row with a null inner fold holds that of a configuration which was trained on all but the outer fold. Both
name the outer fold. Configurations are those of the column, for each model by itself, or without it the models.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plmetrics.catalogue.metric import Metric
from plmetrics.core import special
from plmetrics.core.results import first_word
from plmetrics.features.cross_validation.fold_slices import TEST, TRAIN, VALID
from plmetrics.features.cross_validation.fold_values import GROUP, IDENTITY
from plmetrics.inference.comparisons.fold_tests import with_trained_rows
from plmetrics.table.joins import left_join

NO_FOLDS = "no_defined_folds"
ONE_FOLD = "one_fold"
METHOD = "corrected_resampled_t"
_PLACE = ["@set", "@slice", "@metric", "@class"]
_FOLD = ["x", "repeat", "fold"]
"""Keys of outer folds: each training size or parameter has its own choices."""
_LISTED = 8

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
        first_word({"ok": defined >= 2, ONE_FOLD: defined == 1}, NO_FOLDS).alias("sd_status"),
        first_word({"ok": defined > 0}, NO_FOLDS).alias("status"),
        pl.when(pl.col("undefined_folds") > 0).then(counted).alias("note"),
        pl.col("mean").alias("value"),
    ).drop("@why")


def outer_rows(values: pl.DataFrame) -> pl.DataFrame:
    """The values of folds themselves: not of inner ones, nor of rows without a fold."""
    return values.filter(pl.col("inner").is_null(), pl.col("fold").is_not_null())


def _held_out(rows: pl.DataFrame, first: str) -> pl.DataFrame:
    """Values of rows that were not trained on; where there are those of validation and test, of the `first` alone."""
    keys = [*(name for name in GROUP if name != "split"), "repeat", "fold", "inner"]
    is_first = pl.col("split").eq_missing(pl.lit(first))
    others = rows.filter(pl.col("split").ne_missing(pl.lit(TRAIN)))
    return others.filter(is_first | ~is_first.any().over(keys))


def join_pooled_values(summary: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """The summary with the value of all rows of the group together."""
    pooled_values = pooled.select(*GROUP, pl.col("value").alias("pooled"))
    return left_join(summary, pooled_values, GROUP)


def by_fold(values: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """A row per group: the mean of the folds' values, of all repeats, next to the value of their rows together."""
    return join_pooled_values(summarise(outer_rows(values), GROUP), pooled)


def by_repeat(values: pl.DataFrame, pooled: pl.DataFrame) -> pl.DataFrame:
    """Row per group: the mean of the repeats' means, and their spread; `folds` counts repeats."""
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


def of_totals(metrics: Sequence[Metric]) -> pl.Expr:
    """Mask of the rows of metrics that add up over rows, such as costs: `@metric` is their number."""
    return pl.col("@metric").is_in([number for number, metric in enumerate(metrics) if metric.additive])


def with_intervals(
    summary: pl.DataFrame, values: pl.DataFrame, level: float, metrics: Sequence[Metric], *, sizes: bool
) -> pl.DataFrame:
    """The means of folds with their intervals: t with a variance of (1 / folds + n_test / n_train) s^2.

    Models of different folds share most of their training rows, so that s^2 / folds is too small. Source: Nadeau and
    Bengio (2003). Rows that were trained on and totals have no interval, and ends stay in the range of the metric.
    `metrics` are those that `@metric` numbers. Without `sizes` the rows trained on are those of split train, or without
    any those of the other folds.
    """
    folds, setting = outer_rows(values), [name for name in GROUP if name != "split"]
    spread = (
        with_trained_rows(folds, folds, setting)
        .with_columns(share=pl.col("n") / pl.col("x" if sizes else "trained"))
        .filter(pl.col("value").is_not_null())
        .group_by(GROUP)
        .agg(
            pl.len().alias("@folds"),
            pl.col("value").std().alias("@sd"),
            pl.col("share").mean().alias("@share"),
        )
    )
    joined = left_join(summary, spread, GROUP)
    error = pl.col("@sd") * (1 / pl.col("@folds") + pl.col("@share")).sqrt()
    degrees = (joined["@folds"].fill_null(1) - 1).clip(lower_bound=1).to_numpy()
    asked = ~(pl.col("split") == "train").fill_null(value=False) & ~of_totals(metrics)
    reasons = {
        "not_requested": ~asked,
        "undefined_value": pl.col("value").is_null(),
        "too_few_units": pl.col("@folds") < 2,
        "degenerate": ~(error.is_finite() & (error > _ROUNDING * pl.col("value").abs())).fill_null(
            value=False
        ),
    }
    status = first_word(reasons, "ok")
    there = pl.col("interval_status") == "ok"
    reach = pl.Series("@t", special.stdtrit(degrees, (1 + level) / 2)) * pl.col("std_error")
    low, high = (
        pl.col("@metric").replace_strict(range(len(metrics)), ends, return_dtype=pl.Float64)
        for ends in zip(*(metric.range for metric in metrics), strict=True)
    )
    return (
        joined.with_columns(interval_status=status, std_error=error)
        .with_columns(pl.when(there).then("std_error").alias("std_error"))
        .with_columns(
            lower=(pl.col("value") - reach).clip(lower_bound=low),
            upper=(pl.col("value") + reach).clip(upper_bound=high),
            method=pl.when(there).then(pl.lit(METHOD)),
        )
        .drop("@folds", "@sd", "@share")
    )


def choices(values: pl.DataFrame, metric: int, direction: str, *, by_model: bool) -> pl.DataFrame:
    """Configuration chosen by the inner folds of each outer fold, and their mean of it.

    The mean over its inner folds is best in the metric's direction; the first in order wins ties. Inner folds without a
    value are left out, and so is a configuration without any. Slices take the choice of all rows. Rows that were
    trained on have no say, nor have those of the test beside others of validation. `metric` is the number of the metric
    that chooses; with `by_model` models are the configurations.

    Returns:
        A row per outer fold (and model, unless models are chosen among): `@model` or `configuration`, and `inner_best`.
    """
    inner = _held_out(values, VALID).filter(
        pl.col("inner").is_not_null(),
        pl.col("fold").is_not_null(),
        pl.col("@metric") == metric,
        pl.col("@set") == 0,
        pl.col("value").is_not_null(),
    )
    means = inner.group_by(["@model", "configuration", *_FOLD], maintain_order=True).agg(
        pl.col("value").mean().alias("inner_best")
    )
    best = pl.col("inner_best")
    rank = {"higher": -best, "lower": best, "zero": best.abs()}[direction]
    within = _FOLD if by_model else ["@model", *_FOLD]
    ranked = means.with_columns(rank.alias("@rank")).sort("@rank", maintain_order=True)
    return ranked.group_by(within, maintain_order=True).first().drop("@rank")


def chosen_values(values: pl.DataFrame, chosen: pl.DataFrame, *, by_model: bool) -> pl.DataFrame:
    """The outer folds' values of the choices; a fold without a choice, or without rows of it, has none."""
    rows = outer_rows(_held_out(values, TEST))
    keys = [*_PLACE, *_FOLD] if by_model else ["@model", *_PLACE, *_FOLD]
    folds = rows.select(keys).unique(maintain_order=True)
    picked = rows.join(
        chosen.select("@model", "configuration", *_FOLD),
        on=["@model", "configuration", *_FOLD],
        how="semi",
        nulls_equal=True,
    )
    columns = [*keys, "value", "n", "status", *(["@model"] if by_model else [])]
    values_of_choices = left_join(folds, picked.select(columns), keys)
    return values_of_choices.with_columns(pl.col("status").fill_null("no_choice"), pl.col("n").fill_null(0))


def nested_rows(
    values: pl.DataFrame, chosen: pl.DataFrame, reasons: pl.DataFrame, *, by_model: bool
) -> pl.DataFrame:
    """A row per slice and metric: mean and spread over outer folds of the value of each fold's own choice."""
    outer = chosen_values(values, chosen, by_model=by_model)
    return _with_words(_summary_of_choices(outer, by_model=by_model), reasons)


def selection_optimism(
    values: pl.DataFrame, chosen: pl.DataFrame, metric: int, *, by_model: bool
) -> pl.DataFrame:
    """Optimism of the selection: the inner folds' mean of the choices less the outer folds' mean of them.

    Folds where either is undefined are left out of both. The best of several noisy means is too good on average: above
    0 for a metric that is better higher, below for one that is better lower.
    """
    outer = chosen_values(values, chosen, by_model=by_model).filter(
        pl.col("@metric") == metric, pl.col("@set") == 0
    )
    on = _FOLD if by_model else ["@model", *_FOLD]
    both = left_join(outer, chosen.select(*on, "inner_best"), on)
    differences = both.with_columns((pl.col("inner_best") - pl.col("value")).alias("value"))
    return _summary_of_choices(differences, by_model=by_model)


def words(chosen: pl.DataFrame, models: list[str], metric: str, *, by_model: bool) -> pl.DataFrame:
    """Choices with the number of folds, as text, at each x for each model or for all."""
    what = (
        pl.col("@model").replace_strict(range(len(models)), models, return_dtype=pl.String)
        if by_model
        else pl.col("configuration").fill_null("null")
    )
    within = ["x"] if by_model else ["@model", "x"]
    counted = (
        chosen.with_columns(what.alias("@what"))
        .group_by([*within, "@what"], maintain_order=True)
        .agg(pl.len().alias("@times"))
        .sort([*within, "@times", "@what"], descending=[*(False for _ in within), True, False])
        .with_columns(pl.format("{} in {}", "@what", "@times").alias("@text"))
    )
    texts = pl.col("@text").head(_LISTED).str.join(", ")
    more = pl.when(pl.len() > _LISTED).then(pl.lit(", ...")).otherwise(pl.lit(""))
    reason = pl.format("chosen by {} of inner folds: {}{}", pl.lit(metric), texts, more).alias("@said")
    return _as_model(counted.group_by(within, maintain_order=True).agg(reason), by_model=by_model)


def _summary_of_choices(outer: pl.DataFrame, *, by_model: bool) -> pl.DataFrame:
    return _as_model(summarise(outer, [*(_PLACE if by_model else IDENTITY), "x"]), by_model=by_model)


def _as_model(frame: pl.DataFrame, *, by_model: bool) -> pl.DataFrame:
    """Results of a choice among models, as of no single model."""
    return frame.with_columns(pl.lit(None, dtype=pl.Int64).alias("@model")) if by_model else frame


def _with_words(summary: pl.DataFrame, reasons: pl.DataFrame) -> pl.DataFrame:
    joined = left_join(summary, reasons, ["@model", "x"])
    both = pl.concat_str(["@said", "note"], separator="; ", ignore_nulls=True).replace("", None)
    return joined.with_columns(both.alias("note")).drop("@said")
