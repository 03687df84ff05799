"""What tests of the table `comparisons` say of slices: which are worse than the rest, or than all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.inference.tables import DELONG, INDEPENDENT_TEST, TESTS

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_KEYS = ["model", "slice_set", "slice", "class"]


def usual_tests(comparisons: pl.DataFrame) -> pl.DataFrame:
    """The comparisons on the scale of differences that are not of further tests."""
    usual = pl.col("test").is_null() | pl.col("test").is_in([*TESTS.values(), INDEPENDENT_TEST, DELONG])
    place = pl.struct(
        "contrast", "model", "baseline", "slice_set", "slice", "slice_values", "metric", "class"
    )
    return comparisons.filter(usual, pl.col("scale") == "difference").filter(place.is_first_distinct())


def slice_contrasts(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Comparisons of slices with others: those with the rest first, then with all rows, then the others."""
    rows = usual_tests(comparisons).filter(pl.col("contrast").is_in(["rest", "slice"]))
    order = (
        pl.when(pl.col("contrast") == "rest").then(0).when(pl.col("baseline") == "all").then(1).otherwise(2)
    )
    return rows.sort(order, maintain_order=True)


def slice_tests(summary: Summary, metric: str) -> pl.DataFrame:
    """Comparisons of slices by a metric with the rest, or with all rows where the rest was not asked for."""
    rows = slice_contrasts(summary.comparisons).filter(
        pl.col("metric") == metric, (pl.col("contrast") == "rest") | (pl.col("baseline") == "all")
    )
    return rows.unique(_KEYS, keep="first", maintain_order=True)
