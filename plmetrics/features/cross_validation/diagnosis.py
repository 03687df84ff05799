"""Plain rules that read training and learning curves: too simple a model, one that learnt by heart, too few rows.

Every rule is of one metric, whose better side counts: `gap` is by how much training rows are better than others.

* high bias: the value of training rows misses `level`, and the gap is at most `gap`.
* high variance: the gap is above `gap`.
* still improving: the value of other rows at the largest size is better than two sizes before, by more than `delta`.

Along training sizes the largest is judged, along a parameter each of its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.names import number_text
from plmetrics.features.cross_validation.fold_slices import TEST, TRAIN, VALID
from plmetrics.features.cross_validation.fold_values import IDENTITY

if TYPE_CHECKING:
    from plmetrics.features.cross_validation.cross_validation_section import Diagnosis

_CURVE = [*IDENTITY, "configuration"]
_SIZES = 3


def diagnosis(curve: pl.DataFrame, rules: Diagnosis, direction: str, *, sizes: bool) -> pl.DataFrame:
    """A row per rule that can be judged, with its verdict as words.

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

    def of(split: str) -> pl.DataFrame:
        return curve.filter(pl.col("split") == split).select(*on, pl.col("value").alias(f"@{split}"))

    places = curve.select(on).unique(maintain_order=True)
    for split in (TRAIN, VALID, TEST):
        places = places.join(of(split), on=on, how="left", nulls_equal=True, maintain_order="left")
    return places.with_columns(pl.coalesce(f"@{VALID}", f"@{TEST}").alias("@other")).sort(on, nulls_last=True)


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
