"""The table `drift_histograms`: rows and shares of each bin of a column in both windows, by slice.

There is one list of bins for both windows and all slices.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.names import number_text
from plmetrics.core.ops import Array
from plmetrics.core.results import DRIFT_HISTOGRAMS_SCHEMA, in_schema
from plmetrics.table.tags import in_result_order

if TYPE_CHECKING:
    from plmetrics.core.segments import Segments
    from plmetrics.features.drift.column_counts import ColumnCounts
    from plmetrics.table.slices import Slices

MOST_SLICES = 500
"""So many slices of a set have histograms: those with the most rows."""

_SIDES = ("reference", "current")
MOST_INTERVALS = 28
"""Intervals of numbers between the two that are open."""
MOST_CATEGORIES_SHOWN = 30
_TAIL = 0.01
_WIDER = 2.0
"""The range is cut at its outer per cents where it is wider than what lies between them by more than this."""
BIN, PLACE = "number", "place"
LIST = pl.Schema(
    {BIN: pl.Int64(), "bin": pl.String(), "kind": pl.String(), "lower": pl.Float64(), "upper": pl.Float64()}
)


def histogram_table(columns: Sequence[pl.DataFrame], slices: Sequence[Slices]) -> pl.DataFrame:
    """The table `drift_histograms`, from the histograms of columns in the slices of all sets.

    Shares are of the weight of a slice in a window, null where it has none. A null is a bin of its own, except in
    scores and labels: rows without one are left out, as they are by psi.
    """
    table = pl.concat([DRIFT_HISTOGRAMS_SCHEMA.to_frame(), *columns])
    return in_result_order(table, slices, "subject", "model", "column")


def column_histograms(in_sets: Sequence[ColumnCounts]) -> pl.DataFrame:
    """Histograms of a column in all slice sets, from its counts in each; the first is all rows."""
    bins, subject = HistogramBins.of(in_sets[0]), in_sets[0].subject
    constants = {
        "subject": subject.subject,
        "model": subject.model,
        "column": subject.column,
        "unit": subject.kind if subject.kind in {"days", "seconds"} else None,
    }
    frames = [_of_set(counts, bins) for counts in in_sets]
    named = [pl.lit(value, dtype=pl.String).alias(name) for name, value in constants.items()]
    return in_schema(pl.concat(frames).with_columns(named), DRIFT_HISTOGRAMS_SCHEMA)


def _of_set(column: ColumnCounts, bins: HistogramBins) -> pl.DataFrame:
    """The histograms of a column in the slices of a set: counts are added in the order of places."""
    masses = [(column.rows[side], column.null_rows[side]) for side in (0, 1)]
    masses += [(column.weight[side], column.null_weight[side]) for side in (0, 1)]
    totals = bins.totals(column, masses)
    counts, weights = totals[:2], totals[2:]
    size = bins.listed.height
    rows = (counts[0] + counts[1]).sum(axis=1)
    largest = np.lexsort((np.arange(len(column.slices)), -rows))[:MOST_SLICES]
    chosen = np.sort(largest[rows[largest] > 0])
    texts = pl.Series("slice", column.slices.texts(), dtype=pl.String).gather(chosen.repeat(size))
    columns: dict[str, Any] = {"slice_set": [column.slices.slice_set.name] * len(texts), "slice": texts}
    for side, name in enumerate(_SIDES):
        weight = weights[side][chosen]
        total = weight.sum(axis=1, keepdims=True)
        share = np.divide(weight, total, out=np.full(weight.shape, np.nan), where=total > 0)
        columns[f"n_{name}"] = np.rint(counts[side][chosen]).astype(np.int64).ravel()
        columns[f"share_{name}"] = pl.Series(share.ravel()).fill_nan(None)
    listed = bins.listed[np.tile(np.arange(size), len(chosen))].drop(BIN)
    return listed.hstack(pl.DataFrame(columns))


@dataclass(frozen=True, slots=True)
class HistogramBins:
    """Bins of a column in order, as rows of `LIST`, and the assignment of values to them.

    `kind` is `interval` (lower <= value < upper, an end is null where there is none), `value`, `other` (all other
    values) or `null`, the last, which `has_nulls` says is there. Of numbers `edges` are where bins but the first begin,
    of categories `places` has the number of the bin of each.
    """

    listed: pl.DataFrame
    edges: Array | None = None
    places: pl.DataFrame | None = None
    has_nulls: bool = False

    @classmethod
    def of(cls, column: ColumnCounts) -> HistogramBins:
        """Bins of a column, from its counts in all rows."""
        if column.place.is_empty():
            bins = _categories(column)
        elif column.too_many:
            bins = cls(_rows([("other", "other", None, None)]), np.empty(0))
        elif column.subject.of_numbers:
            bins = _intervals(column)
        else:
            bins = _categories(column)
        has_nulls = column.subject.subject == "column" and column.has_nulls
        return bins.with_null() if has_nulls else bins

    def totals(self, column: ColumnCounts, masses: Sequence[tuple[Segments, Array]]) -> list[Array]:
        """The totals of some masses by slice and bin.

        `masses` are what is counted at each value, with that of the nulls of each slice.
        """
        if self.edges is not None:
            inner = column.values.places(self.edges)
            totals = [mass.between(inner) for mass, _ in masses]
        else:
            assert self.places is not None
            shape = len(column.slices), self.places[BIN].n_unique()
            joined = column.place.to_frame(PLACE).join(
                self.places, on=PLACE, how="left", maintain_order="left"
            )
            cell = np.repeat(np.arange(shape[0]), column.values.sizes) * shape[1] + joined[BIN].to_numpy()
            totals = [
                np.bincount(cell, mass.values, shape[0] * shape[1]).reshape(shape) for mass, _ in masses
            ]
        if not self.has_nulls:
            return totals
        return [np.column_stack([total, lost]) for total, (_, lost) in zip(totals, masses, strict=True)]

    def with_null(self) -> HistogramBins:
        """Bins with one of nulls, the last."""
        null = _rows([(None, "null", None, None)]).with_columns(pl.lit(self.listed.height).alias(BIN))
        return replace(self, listed=pl.concat([self.listed, null.cast(LIST)]), has_nulls=True)


def _rows(rows: Sequence[tuple[str | None, str, float | None, float | None]]) -> pl.DataFrame:
    numbered = [(number, *row) for number, row in enumerate(rows)]
    return pl.DataFrame(numbered, schema=LIST, orient="row")


def _pooled_share(column: ColumnCounts) -> Array:
    """The share of each place, the mean of its shares in both windows: neither counts for more."""
    share, present = np.zeros(len(column.place)), 0
    for mass in (weight.values for weight in column.weight):
        if (total := mass.sum()) > 0:
            share += mass / total
            present += 1
    share /= max(present, 1)
    return share


def _categories(column: ColumnCounts) -> HistogramBins:
    """The categories with the largest shares, largest first, and the others as one."""
    ranked = pl.DataFrame({PLACE: column.place, "share": _pooled_share(column)}).sort(
        "share", PLACE, descending=[True, False]
    )
    named = ranked.height if ranked.height <= MOST_CATEGORIES_SHOWN else MOST_CATEGORIES_SHOWN - 1
    rows: list[tuple[str | None, str, float | None, float | None]] = [
        (text, "value", None, None) for text in ranked[PLACE].head(named)
    ]
    if ranked.height > named:
        rows.append(("other", "other", None, None))
    numbers = pl.int_range(pl.len(), dtype=pl.Int64).clip(upper_bound=named).alias(BIN)
    return HistogramBins(_rows(rows), places=ranked.select(PLACE, numbers))


def _intervals(column: ColumnCounts) -> HistogramBins:
    """Intervals of equal width between round numbers, with an open one at an end with outliers.

    Where places are lower edges of finer bins, edges are moved up to one of these: no count is divided.
    """
    place, binned = column.values.values, column.has_bins
    low, high = _range(column)
    if low == high:
        value = float(place[0])
        return HistogramBins(_rows([(number_text(value), "value", value, value)]), np.empty(0))
    whole = not binned and place[0] == np.floor(place[0]) and bool(np.all(place == np.floor(place)))
    edges = round_edges(low, high, whole=whole)
    if binned:
        edges = np.unique(place[np.searchsorted(place, edges[edges <= place[-1]])])
    first, last = int(place[0] >= edges[0]), len(edges) - int(place[-1] < edges[-1])
    rows = [_interval(edges, at) for at in range(first, last + 1)]
    return HistogramBins(_rows(rows), edges[first:last])


def _range(column: ColumnCounts) -> tuple[float, float]:
    """Range of the intervals: that of all values, or of all but the outer per cents."""
    place = column.values.values
    top = place if column.width is None else place + column.width.values
    least, most = float(place[0]), float(top[-1])
    running = [weight.cumulative().values for weight in column.weight]
    totals = [(mass, mass[-1]) for mass in running if mass[-1] > 0]

    def pooled(at: int) -> float:
        """The share of all places up to one, the mean of those in both windows."""
        return float(sum(mass[at] / total for mass, total in totals)) / max(len(totals), 1)

    ends = [bisect_left(range(len(place)), share, key=pooled) for share in (_TAIL, 1 - _TAIL)]
    low, high = float(place[ends[0]]), float(top[min(ends[1], len(top) - 1)])
    far_off = low < high and most / 2 - least / 2 > _WIDER * (high / 2 - low / 2)
    return (low, high) if far_off else (least, most)


def round_edges(low: float, high: float, *, whole: bool = False) -> Array:
    """Edges at multiples of 1, 2 or 5 times a power of ten, of at most 28 intervals; the last lies above `high`.

    >>> round_edges(0.0, 1.0)[[0, 1, -1]].tolist()
    [0.0, 0.05, 1.05]
    >>> round_edges(0.0, 3.0, whole=True).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    least = (high / 2 - low / 2) / (MOST_INTERVALS / 2 - 1)
    exponent = math.floor(math.log10(least)) if least > 0 else 0
    factor = next(each for each in (1, 2, 5, 10) if each * 10.0**exponent >= least * (1 - 1e-9))
    if whole and exponent < 0:
        factor, exponent = 1, 0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        unit = np.float64(10.0) ** abs(exponent)
        step = factor * unit if exponent >= 0 else factor / unit
        first, last = np.floor(low / step), np.floor(high / step)
        if not last - first <= MOST_INTERVALS:
            return _even_edges(low, high)
        multiples = factor * (first + np.arange(last - first + 2))
        edges: Array = multiples * unit if exponent >= 0 else multiples / unit
    sound = np.isfinite(edges).all() and (np.diff(edges) > 0).all() and edges[0] <= low and edges[-1] > high
    return edges if sound else _even_edges(low, high)


def _even_edges(low: float, high: float) -> Array:
    """Edges of intervals of equal width, where no power of ten can be told apart."""
    part = np.linspace(0.0, 1.0, MOST_INTERVALS + 1)
    edges: Array = np.unique(low * (1 - part) + high * part)
    return edges


def _interval(edges: Array, at: int) -> tuple[str, str, float | None, float | None]:
    """The interval below the edge of a number, open at either end of the list."""
    lower = float(edges[at - 1]) if at > 0 else None
    upper = float(edges[at]) if at < len(edges) else None
    if lower is None:
        return f"< {number_text(float(edges[0]))}", "interval", lower, upper
    if upper is None:
        return f">= {number_text(lower)}", "interval", lower, upper
    return f"[{number_text(lower)}, {number_text(upper)})", "interval", lower, upper
