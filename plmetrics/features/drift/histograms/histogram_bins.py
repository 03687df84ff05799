"""Bins of a column's histogram: one list of them for both windows and all slices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.names import number_text
from plmetrics.features.drift.slice_counts import WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.features.drift.counts import ColumnCounts

Array = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of a column in order, as rows of `LIST`, and the number of the bin of each place, null included.

    `kind` is `interval` (lower <= value < upper, an end is null where there is none), `value`, `other` (all other
    values) or `null`.
    """

    listed: pl.DataFrame
    places: pl.DataFrame

    @classmethod
    def of(cls, column: ColumnCounts) -> Bins:
        """Those of a column, from its counts in all rows."""
        counts = column.sliced[0].frame
        defined = counts.filter(pl.col(PLACE).is_not_null())
        if column.too_many:
            bins = _categories(defined.clear())
            numbers = defined.select(PLACE, pl.lit(0, dtype=pl.Int64).alias(BIN))
            bins = cls(_rows([("other", "other", None, None)]), numbers) if defined.height else bins
        elif column.subject.of_numbers:
            bins = _intervals(defined, binned=column.binned)
        else:
            bins = _categories(defined)
        has_nulls = column.subject.subject == "column" and counts.height > defined.height
        return bins.with_null() if has_nulls else bins

    def number_of(self, place: pl.Series) -> NDArray[np.int64]:
        """The number of the bin of each place, -1 for a null that has none."""
        if not place.dtype.is_numeric():
            joined = (
                place.alias(PLACE)
                .to_frame()
                .join(self.places, on=PLACE, how="left", nulls_equal=True, maintain_order="left")
            )
            return joined[BIN].fill_null(-1).to_numpy()
        defined = self.places.drop_nulls(PLACE)
        of_null = int(self.listed.height - 1) if defined.height < self.places.height else -1
        number = defined[BIN].to_numpy()
        first = np.flatnonzero(np.diff(number, prepend=-1))
        absent = place.is_null().to_numpy()
        if not len(first):
            return np.full(len(place), of_null)
        edges = defined[PLACE].to_numpy()[first]
        at = np.searchsorted(edges, place.fill_null(edges[0]).to_numpy(), side="right") - 1
        return np.where(absent, of_null, number[first][at])

    def with_null(self) -> Bins:
        """The same with a bin of nulls, the last."""
        number = self.listed.height
        null = _rows([(None, "null", None, None)]).with_columns(pl.lit(number, dtype=pl.Int64).alias(BIN))
        place = pl.DataFrame({PLACE: [None], BIN: [number]}, schema=self.places.schema)
        return Bins(pl.concat([self.listed, null]), pl.concat([self.places, place]))


def _rows(rows: Sequence[tuple[str | None, str, float | None, float | None]]) -> pl.DataFrame:
    numbered = [(number, *row) for number, row in enumerate(rows)]
    return pl.DataFrame(numbered, schema=LIST, orient="row")


def _pooled_share(defined: pl.DataFrame) -> Array:
    """The share of each place, the mean of its shares in both windows: neither counts for more."""
    masses = [defined[f"weight_{side}"].to_numpy().astype(np.float64) for side in (0, 1)]
    present = [mass / mass.sum() for mass in masses if mass.sum() > 0]
    share: Array = np.mean(present, axis=0) if present else np.zeros(defined.height)
    return share


def _categories(defined: pl.DataFrame) -> Bins:
    """The categories with the largest shares, largest first, and the others as one."""
    ranked = defined.select(PLACE, pl.Series("share", _pooled_share(defined)))
    ranked = ranked.sort("share", PLACE, descending=[True, False])
    named = ranked.height if ranked.height <= MOST_CATEGORIES_SHOWN else MOST_CATEGORIES_SHOWN - 1
    rows: list[tuple[str | None, str, float | None, float | None]] = [
        (text, "value", None, None) for text in ranked[PLACE].head(named)
    ]
    if ranked.height > named:
        rows.append(("other", "other", None, None))
    numbers = pl.int_range(pl.len(), dtype=pl.Int64).clip(upper_bound=named).alias(BIN)
    return Bins(_rows(rows), ranked.select(PLACE, numbers))


def _intervals(defined: pl.DataFrame, *, binned: bool) -> Bins:
    """Intervals of equal width between round numbers, with an open one at an end that lies far off.

    Where places are lower edges of finer bins, edges are moved up to one of these: no count is divided.
    """
    place = defined[PLACE].to_numpy().astype(np.float64)
    if len(place) == 0:
        return Bins(_rows([]), defined.select(PLACE, pl.lit(0, dtype=pl.Int64).alias(BIN)))
    low, high = _range(defined, place)
    if low == high:
        value = float(place[0])
        kinds = [(number_text(value), "value", value, value)]
        return Bins(_rows(kinds), defined.select(PLACE, pl.lit(0, dtype=pl.Int64).alias(BIN)))
    edges = round_edges(low, high, whole=bool(np.all(place == np.floor(place))) and not binned)
    if binned:
        edges = np.unique(place[np.searchsorted(place, edges[edges <= place[-1]])])
    number = np.searchsorted(edges, place, side="right")
    first, last = (0 if number[0] == 0 else 1), (len(edges) if number[-1] == len(edges) else len(edges) - 1)
    rows = [_interval(edges, at) for at in range(first, last + 1)]
    numbers = pl.Series(BIN, (number - first).astype(np.int64))
    return Bins(_rows(rows), defined.select(PLACE).with_columns(numbers))


def _range(defined: pl.DataFrame, place: Array) -> tuple[float, float]:
    """The range that intervals share out: that of all values, or of all but the outer per cents."""
    top = place + defined[WIDTH].to_numpy() if WIDTH in defined.columns else place
    least, most = float(place[0]), float(top[-1])
    running = np.cumsum(_pooled_share(defined))
    ends = np.searchsorted(running, [_TAIL, 1 - _TAIL])
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
