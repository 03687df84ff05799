"""Generalisation gaps of metrics between training rows and others, and diagnoses of models from curves.

A gap is a contrast of two slices of one table: both sides come from the same replicates, so that its interval is that
of the paired bootstrap. Rules that read curves are of one metric, whose better side counts; `gap` is by how much
training rows are better than others.

* high bias: the value of training rows misses `level`, and the gap is at most `gap`.
* high variance: the gap is above `gap`.
* still improving: the value of other rows at the largest size is better than two sizes before, by more than `delta`.

Along training sizes the largest is judged, along a parameter each of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.names import number_text
from plmetrics.features.cross_validation.fold_slices import SPLITS
from plmetrics.features.cross_validation.fold_summaries import outer_rows, summarise
from plmetrics.features.cross_validation.fold_values import IDENTITY, FoldSet
from plmetrics.inference.chunks import EstimateColumns, chunks, concatenate_estimates
from plmetrics.inference.comparisons.paired_bootstrap import paired_difference
from plmetrics.inference.contrasts import UNEQUAL_ROWS, same_size
from plmetrics.inference.estimates import Estimates
from plmetrics.table.joins import left_join

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.features.cross_validation.cross_validation_section import Diagnosis
    from plmetrics.features.cross_validation.fold_values import Ordered
    from plmetrics.inference.subject import Analysis

_WITHIN = ["@set", "@slice", "configuration", "x"]
_PAIRED = [*IDENTITY, "configuration", "x"]
_CURVE = [*IDENTITY, "configuration"]
_SIZES = 3
_OTHER = pl.when(pl.col("status|valid").is_not_null()).then("value|valid").otherwise("value|test")
"""Value of the rows of validation, or where there are none, of the test."""


def pooled_gaps(analysis: Analysis, ordered: Ordered, derived: FoldSet) -> pl.DataFrame:
    """Gap per model, metric and slice: value on training rows less the one on validation rows, with its interval.

    Where there are no validation rows, those of the test stand in, and the note says so.
    """
    pairs = _pairs(derived.cells(analysis))
    if pairs.is_empty():
        return pl.DataFrame()
    parts = list(chunks(derived.states.sums, analysis.weights))
    estimates = [Estimates(analysis, derived.number, chunk, ordered) for chunk in parts]
    numbers = analysis.metric_numbers
    name = analysis.sets[derived.source].slices.slice_set.name
    frames = []
    for metric in analysis.suite.metrics_in(name):
        for place, (_, member) in enumerate(metric.per_class()):
            by_model = [each.of(member) for each in estimates]
            for model, model_name in enumerate(analysis.models):
                combined = concatenate_estimates([each[model_name] for each in by_model])
                row = {"@model": model, "@metric": numbers[metric.text], "@class": place}
                frames.append(_contrast_rows(combined, member, pairs, analysis, row))
    return pl.concat(frames)


def _by_split(rows: pl.DataFrame, on: Sequence[str], *columns: str) -> pl.DataFrame:
    """Columns of each split beside each other, as `value|train`: places of training rows first."""
    parts = {split: rows.filter(pl.col("split") == split) for split in SPLITS}
    table = pl.concat([part.select(on) for part in parts.values()]).unique(maintain_order=True)
    for split, part in parts.items():
        of_split = part.select(*on, *(pl.col(name).alias(f"{name}|{split}") for name in columns))
        table = left_join(table, of_split, on)
    return table


def _pairs(cells: pl.DataFrame) -> pl.DataFrame:
    """Cells of training rows, with the compared cells of other rows."""
    pairs = _by_split(cells, _WITHIN, "@cell")
    others = pl.coalesce("@cell|valid", "@cell|test").alias("@other")
    return pairs.with_columns(others).drop_nulls(["@cell|train", "@other"])


def _contrast_rows(
    estimates: EstimateColumns,
    metric: Metric,
    pairs: pl.DataFrame,
    analysis: Analysis,
    row: Mapping[str, int],
) -> pl.DataFrame:
    train, other = (estimates.take(pairs[name].to_numpy()) for name in ("@cell|train", "@other"))
    difference = paired_difference(
        train.estimate,
        other.estimate,
        equal=np.zeros(pairs.height, dtype=np.bool_),
        level=analysis.level,
        absent=analysis.replication.refusal(metric),
    )
    if metric.additive:
        difference = difference.refuse(~same_size(train, other), UNEQUAL_ROWS)
    stand_in = pl.when(pl.col("@cell|valid").is_null()).then(
        pl.lit("of the test, for there are no rows of valid")
    )
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
    both = _by_split(rows, on, "value", "status", "n").drop_nulls("status|train")
    reasons = (pl.col(f"status|{split}").replace("ok", None) for split in SPLITS)
    gaps = both.with_columns(
        value=pl.col("value|train") - _OTHER,
        status=pl.coalesce(*reasons, pl.lit("no_rows")),
        n=pl.col("n|train"),
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
    return left_join(table, by_fold, _PAIRED)


def diagnosis(curve: pl.DataFrame, rules: Diagnosis, direction: str, *, sizes: bool) -> pl.DataFrame:
    """Row per applicable rule, with its verdict as words.

    `curve` holds `value` of one metric by split and x. With `sizes` x is the number of training rows.
    """
    sign = 1.0 if direction == "higher" else -1.0
    better = pl.col("@other") * sign
    by = _CURVE if sizes else [*_CURVE, "x"]
    last = (
        _points(curve)
        .group_by(by, maintain_order=True)
        .agg(
            *([pl.col("x").last()] if sizes else []),
            pl.col("@train").last(),
            pl.col("@other").last(),
            ((pl.col("@train") - pl.col("@other")).last() * sign).alias("@gap"),
            pl.when(pl.len() >= _SIZES).then(better.last() - better.slice(-_SIZES, 1).first()).alias("@rise"),
        )
    )
    rows = [_variance(last, rules), _bias(last, rules, sign)]
    if sizes:
        rows.append(_improving(last, rules))
    return pl.concat([frame for frame in rows if frame is not None])


def _points(curve: pl.DataFrame) -> pl.DataFrame:
    """Training rows beside the others at each x, ascending."""
    on = [*_CURVE, "x"]
    places = _by_split(curve, on, "value", "status").rename({"value|train": "@train"})
    return places.with_columns(_OTHER.alias("@other")).sort(on, nulls_last=True)


def _variance(last: pl.DataFrame, rules: Diagnosis) -> pl.DataFrame:
    limit = rules.high_variance.gap
    rule = f"high variance: training rows are better than others by more than {number_text(limit)}"
    return _with_verdict(last, pl.col("@gap"), pl.col("@gap") > limit, "high variance", rule)


def _bias(last: pl.DataFrame, rules: Diagnosis, sign: float) -> pl.DataFrame | None:
    if rules.high_bias is None:
        return None
    level, gap = rules.high_bias.level, rules.high_bias.gap
    rule = (
        f"high bias: training rows miss {number_text(level)}, and are better than others by at most "
        f"{number_text(gap)}"
    )
    holds = (pl.col("@train") * sign < level * sign) & (pl.col("@gap") <= gap)
    return _with_verdict(last, pl.col("@train"), holds, "high bias", rule)


def _improving(last: pl.DataFrame, rules: Diagnosis) -> pl.DataFrame:
    delta = rules.still_improving.delta
    rule = f"still improving: better than {_SIZES - 1} sizes before by more than {number_text(delta)}"
    return _with_verdict(last, pl.col("@rise"), pl.col("@rise") > delta, "still improving", rule)


def _with_verdict(last: pl.DataFrame, value: pl.Expr, holds: pl.Expr, name: str, rule: str) -> pl.DataFrame:
    decided = holds.is_not_null()
    return last.select(
        *_CURVE,
        "x",
        pl.when(decided).then(value).alias("value"),
        pl.when(holds).then(pl.lit(name)).when(~holds).then(pl.lit(f"no {name}")).alias("verdict"),
        pl.when(decided).then(pl.lit("ok")).otherwise(pl.lit("no_points")).alias("status"),
        pl.lit(rule).alias("note"),
    )
