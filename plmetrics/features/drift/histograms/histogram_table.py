"""The table `drift_histograms`: rows and shares of each bin of a column in both windows, by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.results import DRIFT_HISTOGRAMS_SCHEMA
from plmetrics.features.drift.histograms.histogram_bins import BIN, PLACE, Bins
from plmetrics.table.tags import in_result_order

if TYPE_CHECKING:
    from plmetrics.features.drift.counts import ColumnCounts, DriftCounts
    from plmetrics.features.drift.slice_counts import SlicedCounts

MOST_SLICES = 500
"""So many slices of a set have histograms: those with the most rows."""

_SIDES = ("reference", "current")


def drift_histograms(counts: DriftCounts | None) -> pl.DataFrame:
    """All bins of all columns in all slices that occur in one of the windows, those without rows included.

    Shares are of the weight of a slice in a window, null where it has none. A null is a bin of its own, except in
    scores and labels: rows without one are left out, as they are by psi.

    Args:
        counts: both windows; None where there is no reference yet.
    """
    if counts is None or not counts.columns:
        return DRIFT_HISTOGRAMS_SCHEMA.to_frame()
    table = pl.concat([_of_column(column) for column in counts.columns])
    slices = [sliced.slices for sliced in counts.columns[0].sliced]
    return in_result_order(table, slices, "subject", "model", "column")


def _of_column(column: ColumnCounts) -> pl.DataFrame:
    """The histograms of a column in all slice sets."""
    bins, subject = Bins.of(column), column.subject
    constants = {
        "subject": subject.subject,
        "model": subject.model,
        "column": subject.column,
        "unit": subject.kind if subject.kind in {"days", "seconds"} else None,
    }
    frames = [_of_set(sliced, bins) for sliced in column.sliced]
    named = [pl.lit(value, dtype=pl.String).alias(name) for name, value in constants.items()]
    return pl.concat(frames).with_columns(named).select(list(DRIFT_HISTOGRAMS_SCHEMA))


def _of_set(sliced: SlicedCounts, bins: Bins) -> pl.DataFrame:
    """The histograms of a column in the slices of a set."""
    summed = (
        sliced.frame.join(bins.places, on=PLACE, how="inner", nulls_equal=True)
        # Sums of weights are the same to the last bit in whatever order the counts come.
        .sort("slice", BIN, "weight_0", "weight_1")
        .group_by(pl.col("slice").cast(pl.Int64), BIN, maintain_order=True)
        .agg(pl.col(f"{name}_{side}").sum() for name in ("rows", "weight") for side in (0, 1))
    )
    rows = pl.col("rows_0") + pl.col("rows_1")
    slices = (
        summed.group_by("slice").agg(rows.sum().alias("rows")).sort("rows", "slice", descending=[True, False])
    )
    chosen = slices.head(MOST_SLICES).select("slice").sort("slice")
    texts = pl.Series("text", sliced.slices.texts(), dtype=pl.String)
    cells = chosen.join(bins.listed, how="cross").join(
        summed, on=["slice", BIN], how="left", maintain_order="left"
    )
    return cells.with_columns(
        slice_set=pl.lit(sliced.slices.slice_set.name),
        slice=texts.gather(cells["slice"]),
        **{f"n_{name}": pl.col(f"rows_{side}").fill_null(0) for side, name in enumerate(_SIDES)},
        **{f"share_{name}": _share(f"weight_{side}") for side, name in enumerate(_SIDES)},
    ).drop(BIN, "rows_0", "rows_1", "weight_0", "weight_1")


def _share(name: str) -> pl.Expr:
    """The part of a slice's weight, null where that is 0."""
    weight = pl.col(name).fill_null(0.0)
    total = weight.sum().over("slice")
    return pl.when(total > 0).then(weight / total)
