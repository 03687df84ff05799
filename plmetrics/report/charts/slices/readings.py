"""Tests of slices in the table `comparisons`: worse than the rest or all rows, and by how many standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.sections.differences import usual_tests
from plmetrics.report.sections.worst import slice_error

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_KEYS = ["model", "slice_set", "slice", "class"]
CERTAIN = 1.96
"""Standard errors from which on an interval of 95 % does not hold 0."""
_CELL_KEYS = ["slice_set", "slice", "metric"]


def usual_differences(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Comparisons on the scale of differences without further tests, each once."""
    place = pl.struct(
        "contrast", "model", "baseline", "slice_set", "slice", "slice_values", "metric", "class"
    )
    return usual_tests(comparisons).filter(scale="difference").filter(place.is_first_distinct())


def slice_contrasts(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Comparisons of slices with others: those with the rest first, then with all rows, then the others."""
    rows = usual_differences(comparisons.filter(pl.col("contrast").is_in(["rest", "slice"])))
    order = (
        pl.when(pl.col("contrast") == "rest").then(0).when(pl.col("baseline") == "all").then(1).otherwise(2)
    )
    return rows.sort(order, maintain_order=True)


def slice_tests(summary: Summary, metric: str) -> pl.DataFrame:
    """Comparisons of slices by a metric with the rest, or with all rows where the rest was not asked for."""
    rows = _overall_contrasts(summary.comparisons).filter(metric=metric)
    return rows.unique(_KEYS, keep="first", maintain_order=True)


def _overall_contrasts(comparisons: pl.DataFrame) -> pl.DataFrame:
    to_all = (pl.col("contrast") == "rest") | (pl.col("baseline") == "all")
    return slice_contrasts(comparisons).filter(to_all)


def distances(summary: Summary, cells: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """`z` by slice and metric of one model: below `CERTAIN` where the interval of the difference holds 0.

    The difference is that of the table `comparisons` to the rest or to all rows; without one it is taken to the value
    of all rows, `whole`, and the slice's own error stands for that of the difference; noise that depends on the
    number of rows leaves that without meaning.
    """
    directions = {"higher": 1, "lower": -1}
    signs = {metric: directions.get(way, 0) for metric, way in summary.directions.items()}
    joined = (
        cells.join(whole.select("metric", whole="value"), on="metric", how="left")
        .select(*_CELL_KEYS, "value", "whole", error=slice_error(pl.col("whole"), summary.level))
        .join(_tests(summary.comparisons, cells["model"][0]), on=_CELL_KEYS, how="left", nulls_equal=True)
    )
    meant = pl.col("metric").is_in(summary.norms).not_()
    plain = (pl.col("value") - pl.col("whole")) / pl.when(meant).then(pl.col("error"))
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
    return joined.select(*_CELL_KEYS, z=decided)


def _tests(comparisons: pl.DataFrame, model: str) -> pl.DataFrame:
    tests = _overall_contrasts(comparisons).filter(pl.col("model") == model, pl.col("class").is_null())
    error = pl.when(pl.col("std_error") > 0).then(pl.col("std_error"))
    return tests.unique(_CELL_KEYS, keep="first", maintain_order=True).select(
        *_CELL_KEYS, "lower", "upper", tested=pl.col("difference") / error
    )
