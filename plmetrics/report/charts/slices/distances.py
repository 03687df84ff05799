"""How far slices lie from the others, in standard errors of the difference: positive where they are better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.slices.readings import slice_contrasts

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

CERTAIN = 1.96
"""Standard errors from which on an interval of 95 % does not hold 0."""
_KEYS = ["slice_set", "slice", "metric"]


def distances(summary: Summary, cells: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """`z` by slice and metric of one model: below `CERTAIN` where the interval of the difference holds 0.

    The difference is that of the table `comparisons` to the rest or to all rows; without one it is taken to the value
    of all rows, `whole`, and the slice's own error stands for that of the difference.
    """
    directions = {"higher": 1, "lower": -1}
    signs = {metric: directions.get(way, 0) for metric, way in summary.directions.items()}
    joined = (
        cells.select(*_KEYS, "value", "std_error")
        .join(whole.select("metric", whole="value"), on="metric", how="left")
        .join(_tests(summary, cells["model"][0]), on=_KEYS, how="left", nulls_equal=True)
    )
    plain = (pl.col("value") - pl.col("whole")) / pl.when(pl.col("std_error") > 0).then(pl.col("std_error"))
    z = pl.coalesce("tested", plain) * pl.col("metric").replace_strict(signs, default=0)
    uncertain = (pl.col("lower") <= 0) & (pl.col("upper") >= 0)
    below = CERTAIN * 0.99
    decided = (
        pl.when(uncertain)
        .then(z.clip(-below, below))
        .when(uncertain.not_() & (z.abs() < CERTAIN))
        .then(z.sign() * CERTAIN)
        .otherwise(z)
    )
    return joined.select(*_KEYS, z=decided)


def _tests(summary: Summary, model: str) -> pl.DataFrame:
    tests = slice_contrasts(summary.comparisons).filter(
        pl.col("model") == model,
        pl.col("class").is_null(),
        (pl.col("contrast") == "rest") | (pl.col("baseline") == "all"),
    )
    error = pl.when(pl.col("std_error") > 0).then(pl.col("std_error"))
    return tests.unique(_KEYS, keep="first", maintain_order=True).select(
        *_KEYS, "lower", "upper", tested=pl.col("difference") / error
    )
