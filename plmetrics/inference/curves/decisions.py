"""The confusion matrix of two classes, from the sums of its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.binary.counts import confusion_cells
from plmetrics.core.results import CURVES_SCHEMA
from plmetrics.inference.curves.forecasts import values_of_curves

if TYPE_CHECKING:
    from plmetrics.inference.subject import Analysis

CLASSES = ("negative", "positive")


def confusion_curve(analysis: Analysis) -> pl.DataFrame:
    """The matrices of all models in all slices of the curve, as rows of the table `curves`; none of too few rows.

    A point is a true class (`class`) and a called one (`x`, its number). `y` is the share of the true class's weight,
    null where it has none, `threshold` the weight itself and `n` the rows, as of several classes.
    """
    place = ["model", "slice_set", "slice"]
    values = values_of_curves(analysis, analysis.suite.confusion_cells("overall"))
    cells = [cell.text for cell in confusion_cells(weighted=True)]
    number = pl.col("metric").replace_strict(cells, range(len(cells)), return_dtype=pl.Int64)
    key = pl.struct(*place, "slice_values").rle_id()
    counts = (
        values.filter(pl.col("value").is_not_null())
        .with_columns(key.alias("@place"), (number % 4).alias("@cell"))
        .group_by("@place", *place, "@cell", maintain_order=True)
        .agg(pl.col("value").first().alias("threshold"), pl.col("value").last().alias("n"))
    )
    true, called = pl.col("@cell") // 2, pl.col("@cell") % 2
    total = pl.col("threshold").sum().over("@place", true)
    points = counts.with_columns(
        pl.lit("confusion").alias("curve"),
        true.replace_strict(dict(enumerate(CLASSES)), return_dtype=pl.String).alias("class"),
        called.cast(pl.Float64).alias("x"),
        pl.when(total > 0).then(pl.col("threshold") / total).alias("y"),
        pl.col("n").round().cast(pl.Int64),
        *(pl.lit(None, dtype=pl.Float64).alias(end) for end in ("lower", "upper")),
    )
    return points.select(list(CURVES_SCHEMA))
