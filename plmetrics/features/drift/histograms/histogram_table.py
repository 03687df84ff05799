"""The table `drift_histograms`: rows and shares of each bin of a column in both windows, by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.results import DRIFT_HISTOGRAMS_SCHEMA, in_schema
from plmetrics.features.drift.histograms.histogram_bins import BIN, Bins
from plmetrics.table.tags import in_result_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.features.drift.counts import ColumnCounts
    from plmetrics.features.drift.sides import Sides
    from plmetrics.features.drift.slice_counts import SlicedCounts
    from plmetrics.table.slices import Slices

MOST_SLICES = 500
"""So many slices of a set have histograms: those with the most rows."""

_SIDES = ("reference", "current")


def histogram_table(columns: Sequence[pl.DataFrame], slices: Sequence[Slices]) -> pl.DataFrame:
    """The table `drift_histograms`, from the histograms of columns in the slices of all sets.

    Shares are of the weight of a slice in a window, null where it has none. A null is a bin of its own, except in
    scores and labels: rows without one are left out, as they are by psi.
    """
    table = pl.concat([DRIFT_HISTOGRAMS_SCHEMA.to_frame(), *columns])
    return in_result_order(table, slices, "subject", "model", "column")


def column_histograms(column: ColumnCounts, sides: Sequence[Sides]) -> pl.DataFrame:
    """The histograms of a column in all slice sets, whose counts `sides` are."""
    bins, subject = Bins.of(column, sides[0]), column.subject
    constants = {
        "subject": subject.subject,
        "model": subject.model,
        "column": subject.column,
        "unit": subject.kind if subject.kind in {"days", "seconds"} else None,
    }
    frames = [_of_set(*of_set, bins) for of_set in zip(column.sliced, sides, strict=True)]
    named = [pl.lit(value, dtype=pl.String).alias(name) for name, value in constants.items()]
    return in_schema(pl.concat(frames).with_columns(named), DRIFT_HISTOGRAMS_SCHEMA)


def _of_set(sliced: SlicedCounts, sides: Sides, bins: Bins) -> pl.DataFrame:
    """The histograms of a column in the slices of a set: counts are added in the order of places."""
    masses = [(sides.rows[side], sides.null_rows[side]) for side in (0, 1)]
    masses += [(sides.weight[side], sides.null_weight[side]) for side in (0, 1)]
    totals = bins.totals(sides, sliced.defined["place"], masses)
    counts, weights = totals[:2], totals[2:]
    size = bins.listed.height
    rows = (counts[0] + counts[1]).sum(axis=1)
    largest = np.lexsort((np.arange(sides.slices), -rows))[:MOST_SLICES]
    chosen = np.sort(largest[rows[largest] > 0])
    texts = pl.Series("slice", sliced.slices.texts(), dtype=pl.String).gather(chosen.repeat(size))
    columns: dict[str, Any] = {"slice_set": [sliced.slices.slice_set.name] * len(texts), "slice": texts}
    for side, name in enumerate(_SIDES):
        weight = weights[side][chosen]
        total = weight.sum(axis=1, keepdims=True)
        share = np.divide(weight, total, out=np.full(weight.shape, np.nan), where=total > 0)
        columns[f"n_{name}"] = np.rint(counts[side][chosen]).astype(np.int64).ravel()
        columns[f"share_{name}"] = pl.Series(share.ravel()).fill_nan(None)
    listed = bins.listed[np.tile(np.arange(size), len(chosen))].drop(BIN)
    return listed.hstack(pl.DataFrame(columns))
