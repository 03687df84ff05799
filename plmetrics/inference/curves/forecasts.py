"""Curves of metric values: coverage, histograms of the probability integral transform, confusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.binary.counts import confusion_cells
from plmetrics.core.results import CURVES_SCHEMA
from plmetrics.inference.analysis import tables
from plmetrics.inference.intervals.closed_forms import wilson
from plmetrics.inference.subject import Analysis, base_analysis

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.uncertainty import Uncertainty

_TEXTS, _NUMBERS = ("model", "metric", "curve"), ("x", "threshold", "width")
_POINTS = pl.Schema(dict.fromkeys(_TEXTS, pl.String()) | dict.fromkeys(_NUMBERS, pl.Float64()))

CLASSES = ("negative", "positive")

_DECIMALS = 6
"""Numbers of rows that are a half are rounded alike, in whatever order shares were added up."""


def forecast_curves(analysis: Analysis) -> pl.DataFrame:
    """The points of all curves of forecasts, as rows of the table `curves`; none where a share is undefined.

    Shares of independent rows that count once have Wilson intervals; others have percentiles of the bootstrap, where a
    suite asks for intervals. A share of a bin of the transform is divided by the bin's width, which 1 is expected of;
    `n` is the number of its rows, null under weights.
    """
    independent = analysis.population.independent
    shares = _shares(analysis, resampled=not independent)
    points = pl.DataFrame(list(_points(analysis.suite)), schema=_POINTS, orient="row")
    located = shares.join(points, on=["model", "metric"], how="inner", maintain_order="left")
    located = located.filter(pl.col("value").is_not_null())
    if independent:
        lower, upper = wilson(located["value"].to_numpy(), located["n"].to_numpy(), analysis.level)
        located = located.with_columns(pl.Series("lower", lower), pl.Series("upper", upper))
    return _curves(located, weighted=analysis.suite.has_weights)


def _curves(shares: pl.DataFrame, *, weighted: bool) -> pl.DataFrame:
    """Shares as points: those of bins as densities."""
    in_bins = pl.col("width").is_not_null()
    per_width = 1.0 / pl.col("width").fill_null(1.0)
    number = (pl.col("value") * pl.col("n")).round(_DECIMALS).round()
    rows = pl.lit(None, dtype=pl.Int64) if weighted else number.cast(pl.Int64)
    frame = shares.with_columns(
        (pl.col("value") * per_width).alias("y"),
        *(pl.col(end) * per_width for end in ("lower", "upper")),
        pl.when(in_bins).then(rows).otherwise("n").alias("n"),
        pl.lit(None, dtype=pl.String).alias("class"),
    )
    parts = frame.partition_by("curve", maintain_order=True)
    return pl.concat([CURVES_SCHEMA.to_frame(), *(part.select(list(CURVES_SCHEMA)) for part in parts)])


def _shares(analysis: Analysis, *, resampled: bool) -> pl.DataFrame:
    """The shares as rows of the table `metrics`."""
    suite = analysis.suite
    uncertainty = None
    if resampled and suite.uncertainty is not None:
        asked = {"method": "bootstrap", "methods": None, "interval": "percentile"}
        uncertainty = suite.uncertainty.model_copy(update=asked)
    return values_of_curves(analysis, suite.calibration_shares("overall"), uncertainty).drop("threshold")


def values_of_curves(
    analysis: Analysis, drawn: Mapping[Any, tuple[str, ...]], uncertainty: Uncertainty | None = None
) -> pl.DataFrame:
    """Values behind curves, as rows of the table `metrics`; `drawn` are the metrics and their sets."""
    alone: dict[str, Any] = {
        "metrics": tuple(drawn),
        "metric_slices": {metric.text: sets for metric, sets in drawn.items()},
        "gates": (),
        "compare": None,
        "curves": (),
        "uncertainty": uncertainty,
    }
    suite = analysis.suite.model_copy(update=alone)
    about = replace(analysis, suite=suite, pairs=(), contrasts=False)
    return tables(base_analysis(about), {})[0]


def _points(suite: Suite) -> Iterator[tuple[str, str, str, float, float | None, float | None]]:
    """Coordinates of each share of each model: its x, and for a bin its upper edge and width."""
    for name, model in suite.models.items():
        parts = tuple(model.columns())
        for share in suite.calibration_shares("overall"):
            points = share.points(parts)
            if share.number < len(points):
                yield name, share.text, share.curve, *share.place(points[share.number])


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
