"""The generalisation gap: how much a metric differs between the rows that were trained on and others.

A contrast of two slices of one table: both sides come from the same replicates, so that its interval is that of the
paired bootstrap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.features.cross_validation.fold_slices import TEST, TRAIN, VALID
from plmetrics.features.cross_validation.fold_summaries import outer_rows, summarise
from plmetrics.features.cross_validation.fold_values import IDENTITY
from plmetrics.inference.chunks import chunks, concatenate_estimates
from plmetrics.inference.comparisons.paired_bootstrap import paired_difference
from plmetrics.inference.contrasts import UNEQUAL_ROWS, same_size
from plmetrics.inference.estimates import Estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.features.cross_validation.fold_values import FoldSet, Ordered
    from plmetrics.inference.chunks import EstimateColumns
    from plmetrics.inference.subject import Analysis

_WITHIN = ["@set", "@slice", "configuration", "x"]
_PAIRED = [*IDENTITY, "configuration", "x"]


def pooled_gaps(analysis: Analysis, ordered: Ordered, derived: FoldSet) -> pl.DataFrame:
    """A row per model, metric and slice: value on training rows less that on validation rows, with its interval.

    Where there are no validation rows, those of the test stand in, and the note says so.
    """
    pairs = _pairs(derived.cells(analysis))
    if pairs.is_empty():
        return pl.DataFrame()
    parts = list(chunks(derived.states.sums, analysis.weights))
    estimates = [Estimates(analysis, derived.number, chunk, ordered) for chunk in parts]
    numbers = {metric.text: number for number, metric in enumerate(analysis.suite.computed)}
    name = analysis.sets[derived.source].slices.slice_set.name
    frames = []
    for metric in analysis.suite.listed(name):
        for place, (_, member) in enumerate(metric.per_class()):
            by_model = [each.of(member) for each in estimates]
            for model, model_name in enumerate(analysis.models):
                combined = concatenate_estimates([each[model_name] for each in by_model])
                row = {"@model": model, "@metric": numbers[metric.text], "@class": place}
                frames.append(_contrast_rows(combined, member, pairs, analysis, row))
    return pl.concat(frames)


def _pairs(cells: pl.DataFrame) -> pl.DataFrame:
    """The cells of training rows, beside the cells of the others that they are held against."""

    def of(split: str, cell: str) -> pl.DataFrame:
        return cells.filter(pl.col("split") == split).select(*_WITHIN, pl.col("@cell").alias(cell))

    pairs = of(TRAIN, "@train")
    for split in (VALID, TEST):
        pairs = pairs.join(
            of(split, f"@{split}"), on=_WITHIN, how="left", nulls_equal=True, maintain_order="left"
        )
    return pairs.with_columns(pl.coalesce("@valid", "@test").alias("@other")).filter(
        pl.col("@other").is_not_null()
    )


def _contrast_rows(
    estimates: EstimateColumns,
    metric: Metric,
    pairs: pl.DataFrame,
    analysis: Analysis,
    row: Mapping[str, int],
) -> pl.DataFrame:
    train, other = (estimates.take(pairs[name].to_numpy()) for name in ("@train", "@other"))
    difference = paired_difference(
        train.estimate,
        other.estimate,
        equal=np.zeros(pairs.height, dtype=np.bool_),
        level=analysis.level,
        absent=analysis.replication.refused(metric),
    )
    if metric.additive:
        difference = difference.refuse(~same_size(train, other), UNEQUAL_ROWS)
    stand_in = pl.when(pl.col("@valid").is_null()).then(pl.lit("of the test, for there are no rows of valid"))
    numbers: dict[str, Any] = {
        "value": difference.difference,
        "lower": difference.lower,
        "upper": difference.upper,
        "std_error": difference.std_error,
        "n": np.rint(train.n + other.n),
    }
    texts = {
        "method": difference.method,
        "interval_status": difference.interval_status,
        "status": difference.status,
    }
    return pairs.select(*_WITHIN, stand_in.alias("note")).with_columns(
        *(pl.lit(number, dtype=pl.Int64).alias(name) for name, number in row.items()),
        *(pl.Series(name, values, dtype=pl.Float64).fill_nan(None) for name, values in numbers.items()),
        *(pl.Series(name, values.tolist(), dtype=pl.String) for name, values in texts.items()),
    )


def fold_gaps(values: pl.DataFrame) -> pl.DataFrame:
    """The mean and the spread of the gaps of single folds, by model, metric, slice, configuration and x."""
    rows = outer_rows(values)
    on = [*_PAIRED, "repeat", "fold"]

    def of(split: str) -> pl.DataFrame:
        return rows.filter(pl.col("split") == split).select(
            *on, pl.col("value").alias(f"@{split}"), pl.col("status").alias(f"@why|{split}"), pl.col("n")
        )

    both = of(TRAIN)
    for split in (VALID, TEST):
        both = both.join(of(split).drop("n"), on=on, how="left", nulls_equal=True, maintain_order="left")
    other = pl.when(pl.col(f"@why|{VALID}").is_not_null()).then(f"@{VALID}").otherwise(f"@{TEST}")
    gaps = both.with_columns(
        (pl.col(f"@{TRAIN}") - other).alias("value"),
        pl.coalesce(
            *(pl.col(f"@why|{s}").replace("ok", None) for s in (TRAIN, VALID, TEST)), pl.lit("no_rows")
        ).alias("status"),
    )
    return summarise(gaps, _PAIRED)


def gaps(pooled: Sequence[pl.DataFrame], folds: pl.DataFrame | None) -> pl.DataFrame:
    """The gaps of all rows together, beside mean and spread of those of folds."""
    frames = [frame for frame in pooled if not frame.is_empty()]
    if not frames:
        return pl.DataFrame()
    table = pl.concat(frames).with_columns(pl.col("value").alias("pooled"))
    if folds is None:
        return table
    by_fold = fold_gaps(folds).drop("value", "status", "note", "n")
    return table.join(by_fold, on=_PAIRED, how="left", nulls_equal=True, maintain_order="left")
