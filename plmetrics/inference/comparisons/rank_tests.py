"""Tests of all models together, by their ranks in the slices of a set or in folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.core.results import MEAN_RANK
from plmetrics.inference.comparisons.fold_tests import outer_folds
from plmetrics.inference.comparisons.tests.friedman import (
    friedman_of,
    iman_davenport_of,
    nemenyi_of,
    rank_models,
)
from plmetrics.inference.comparisons.tests.outcome import OK, TOO_FEW
from plmetrics.suite.sections.compare import FOLDS, ON_RANKS

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.comparisons.tests.friedman import ModelRanks
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.section import ComparisonTest

_OMNIBUS = {"friedman": friedman_of, "iman_davenport": iman_davenport_of}


def rank_tests(
    suite: Suite,
    metrics: pl.DataFrame,
    folds: pl.DataFrame,
    tests: Sequence[ComparisonTest],
    *,
    level: float = 0.95,
) -> Iterator[pl.DataFrame]:
    """Rows of `comparisons` for rank tests, of each metric with a better side.

    Slices or folds where a model has no value are left out. `contrast` is models; Friedman's test has one row, whose
    `difference` is the statistic, Nemenyi's one a pair, with the difference of mean ranks (rank 1 is the best). Tests
    that are not of ranks are passed over; `level` is that of Nemenyi's critical difference.
    """
    for test in (test for test in tests if test.test in ON_RANKS and len(suite.models) > 1):
        by_slice = test.over in suite.slices
        for metric in suite.metrics:
            listed = not is_across_slices(metric) and test.over in (*suite.sets_of(metric), FOLDS)
            if not listed or metric.direction == "none":
                continue
            source = metrics if by_slice else outer_folds(folds)
            keys = ["slice"] if by_slice else ["repeat", "fold"]
            slice_set = test.over if by_slice else "overall"
            blocks = _blocks(source, metric, slice_set, keys, tuple(suite.models))
            ranking = _ranks(blocks, metric, tuple(suite.models))
            yield _rows(test, ranking, level).with_columns(
                pl.lit("models").alias("contrast"),
                pl.lit(test.text).alias("test"),
                pl.lit(metric.text).alias("metric"),
                pl.lit(slice_set).alias("slice_set"),
                pl.lit("all").alias("slice"),
                pl.lit([]).alias("slice_values"),
                pl.when(pl.col("status") == OK)
                .then(pl.lit("no_interval"))
                .otherwise("status")
                .alias("interval_status"),
                pl.lit(blocks.height, dtype=pl.Int64).alias("n"),
            )


def _blocks(
    table: pl.DataFrame, metric: Metric, slice_set: str, keys: list[str], models: tuple[str, ...]
) -> pl.DataFrame:
    """A row per slice or fold with a value of every model, a column per model."""
    rows = table.filter(
        pl.col("metric") == metric.text, pl.col("slice_set") == slice_set, pl.col("class").is_null()
    )
    values = [pl.col("value").filter(pl.col("model") == model).first().alias(model) for model in models]
    return rows.group_by(keys, maintain_order=True).agg(values).drop_nulls(list(models))


def _ranks(blocks: pl.DataFrame, metric: Metric, models: tuple[str, ...]) -> ModelRanks:
    near_zero = metric.direction == "zero"
    values = {model: blocks[model].abs() if near_zero else blocks[model] for model in models}
    return rank_models(values, higher_is_better=metric.direction == "higher")


def _rows(test: ComparisonTest, ranking: ModelRanks, level: float) -> pl.DataFrame:
    single_block = len(ranking.ranks) < 2
    if test.test != "nemenyi":
        single = _OMNIBUS[test.test](ranking, tie_correction=test.tie_correction)
        note = "; ".join(filter(None, [single.note, _mean_ranks(ranking)])) or None
        columns = {"difference": single.statistic, "statistic": single.statistic, "p_value": single.p_value}
        row = pl.DataFrame([columns | {"status": single.status, "note": note}], schema=_OF_ROW)
        return row.with_columns(pl.lit("statistic").alias("scale"))
    if single_block:
        row = pl.DataFrame([{"status": TOO_FEW}], schema=_OF_ROW)
        return row.with_columns(pl.lit(MEAN_RANK).alias("scale"))
    table = nemenyi_of(ranking, level=level, df=test.df)
    limit = pl.format("critical difference of mean ranks: {}", pl.col("critical_difference").round(4))
    return table.select(
        "model",
        "baseline",
        "difference",
        "p_value",
        pl.lit(OK).alias("status"),
        limit.alias("note"),
        pl.lit(MEAN_RANK).alias("scale"),
    )


_NUMBERS = dict.fromkeys(("difference", "statistic", "p_value"), pl.Float64)
_OF_ROW = pl.Schema({**_NUMBERS, "status": pl.String, "note": pl.String})


def _mean_ranks(ranking: ModelRanks) -> str:
    """The mean ranks in words, the best first."""
    if not len(ranking.ranks):
        return ""
    order = ranking.mean.argsort(kind="stable")
    return "mean ranks: " + ", ".join(f"{ranking.models[place]} {ranking.mean[place]:.2f}" for place in order)
