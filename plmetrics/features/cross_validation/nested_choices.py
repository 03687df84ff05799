"""Nested cross-validation: inner folds choose a configuration, and outer folds score the choice.

The table is long: a row of an inner fold holds the prediction of one configuration that was trained without that inner
fold and without the outer one; a row with a null inner fold holds that of a configuration which was trained on all but
the outer fold. Both name the outer fold. Configurations are those of the column, for each model by itself, or without
it the models.
"""

from __future__ import annotations

import polars as pl

from plmetrics.features.cross_validation.fold_summaries import outer_rows, summarise
from plmetrics.features.cross_validation.fold_values import IDENTITY

_PLACE = ["@set", "@slice", "@metric", "@class"]
_FOLD = ["repeat", "fold"]
_LISTED = 8


def choices(values: pl.DataFrame, metric: int, direction: str, *, by_model: bool) -> pl.DataFrame:
    """The configuration that each outer fold's inner folds choose, and what these say of it.

    The mean over its inner folds is best in the metric's direction; the first in order wins ties. Inner folds without a
    value are left out, and so is a configuration without any. Slices take the choice of all rows. `metric` is the
    number of the metric that chooses; with `by_model` models are the configurations.

    Returns:
        A row per outer fold (and model, unless models are chosen among): `@model` or `configuration`, and `inner_best`.
    """
    inner = values.filter(
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
    """The outer folds' values of what was chosen; a fold without a choice, or without rows of it, has none."""
    rows = outer_rows(values)
    keys = [*_PLACE, *_FOLD] if by_model else ["@model", *_PLACE, *_FOLD]
    folds = rows.select(keys).unique(maintain_order=True)
    picked = rows.join(
        chosen.select("@model", "configuration", *_FOLD),
        on=["@model", "configuration", *_FOLD],
        how="semi",
        nulls_equal=True,
    )
    columns = [*keys, "value", "n", "status", *(["@model"] if by_model else [])]
    values_of_choices = folds.join(
        picked.select(columns), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    return values_of_choices.with_columns(pl.col("status").fill_null("no_choice"), pl.col("n").fill_null(0))


def nested_rows(
    values: pl.DataFrame, chosen: pl.DataFrame, reasons: pl.DataFrame, *, by_model: bool
) -> pl.DataFrame:
    """A row per slice and metric: mean and spread over outer folds of the value of each fold's own choice."""
    outer = chosen_values(values, chosen, by_model=by_model)
    group = _PLACE if by_model else IDENTITY
    summary = summarise(outer, group)
    return _with_words(_as_model(summary, by_model=by_model), reasons)


def selection_optimism(
    values: pl.DataFrame, chosen: pl.DataFrame, metric: int, *, by_model: bool
) -> pl.DataFrame:
    """By how much the inner folds' mean of what they chose exceeds the outer folds' mean of it.

    Folds where either is undefined are left out of both. The best of several noisy means is too good on average: above
    0 for a metric that is better higher, below for one that is better lower.
    """
    outer = chosen_values(values, chosen, by_model=by_model).filter(
        pl.col("@metric") == metric, pl.col("@set") == 0
    )
    on = _FOLD if by_model else ["@model", *_FOLD]
    both = outer.join(
        chosen.select(*on, "inner_best"), on=on, how="left", nulls_equal=True, maintain_order="left"
    )
    differences = both.with_columns((pl.col("inner_best") - pl.col("value")).alias("value"))
    return _as_model(summarise(differences, _PLACE if by_model else IDENTITY), by_model=by_model)


def words(chosen: pl.DataFrame, models: list[str], metric: str, *, by_model: bool) -> pl.DataFrame:
    """Choices with the number of folds, as text, for each model or for all."""
    what = (
        pl.col("@model").replace_strict(range(len(models)), models, return_dtype=pl.String)
        if by_model
        else pl.col("configuration").fill_null("null")
    )
    within = [] if by_model else ["@model"]
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
    if by_model:
        return counted.select(reason).with_columns(pl.lit(None, dtype=pl.Int64).alias("@model"))
    return counted.group_by("@model", maintain_order=True).agg(reason)


def _as_model(summary: pl.DataFrame, *, by_model: bool) -> pl.DataFrame:
    """No one model has what is chosen among them."""
    return summary.with_columns(pl.lit(None, dtype=pl.Int64).alias("@model")) if by_model else summary


def _with_words(summary: pl.DataFrame, reasons: pl.DataFrame) -> pl.DataFrame:
    joined = summary.join(reasons, on="@model", how="left", nulls_equal=True, maintain_order="left")
    both = pl.concat_str(["@said", "note"], separator="; ", ignore_nulls=True).replace("", None)
    return joined.with_columns(both.alias("note")).drop("@said")
