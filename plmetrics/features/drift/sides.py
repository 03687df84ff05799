"""Counts of two windows as arrays: the input of drift measures, with bounds of their error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.segments import Segments
from plmetrics.features.drift.slice_counts import WIDTH, SlicedCounts
from plmetrics.inference.comparisons.tests.two_samples import (
    Array,
    SampleMoments,
    bin_edges,
    by_bin,
    moments,
    quantile,
    shares,
)

if TYPE_CHECKING:
    from plmetrics.features.drift.counts import ColumnCounts


@dataclass(frozen=True, slots=True)
class Edges:
    """The reference's own values and their weight, of all rows: bins are cut there, the same for all slices."""

    values: Array
    weight: Segments

    def at(self, bins: int) -> Array:
        """The edges of so many bins."""
        return bin_edges(self.values, self.weight.values, bins, self.weight.cumulative().values)


@dataclass(frozen=True, slots=True)
class Sides:
    """Counts of one slice set as arrays: values as segments, and nulls by slice.

    `rows`, `weight`, `offset` and `square` are pairs: the reference, and the rows that are evaluated; `known_rows` are
    those of each slice that have a value.
    """

    column: ColumnCounts
    edges: Edges | None
    slices: int
    values: Segments
    rows: tuple[Segments, Segments]
    known_rows: tuple[Array, Array]
    weight: tuple[Segments, Segments]
    offset: tuple[Any, Any]
    square: tuple[Any, Any]
    null_rows: tuple[Array, Array]
    null_weight: tuple[Array, Array]
    width: Segments | None

    @classmethod
    def of_sets(cls, column: ColumnCounts, *, weighted: bool) -> list[Sides]:
        """Counts of a column in the slices of each set; the first set is all rows."""
        first, *others = (cls.of(sliced, column, None, weighted=weighted) for sliced in column.sliced)
        if column.subject.of_numbers:
            edges = Edges(first.values.values, first.weight[0])
            return [replace(sides, edges=edges) for sides in (first, *others)]
        return [first, *others]

    @classmethod
    def of(
        cls, sliced: SlicedCounts, column: ColumnCounts, edges: Edges | None, *, weighted: bool = True
    ) -> Sides:
        """The counts of a column in the slices of a set; `weighted` says whether rows have weights."""
        size, defined, absent = len(sliced.slices), sliced.defined, sliced.absent
        offsets = np.searchsorted(defined["slice"].to_numpy(), np.arange(size + 1))

        def cut(name: str, *, whole: bool = False) -> Segments:
            return Segments(defined[name].to_numpy(), offsets, whole=whole)

        def lost(name: str) -> Array:
            values = absent[name].to_numpy()
            return np.bincount(absent["slice"].to_numpy(), weights=values, minlength=size).astype(np.float64)

        numbers = defined["place"].to_numpy() if column.subject.of_numbers else np.zeros(defined.height)
        rows = cut("rows_0", whole=True), cut("rows_1", whole=True)
        pairs: Any = {
            "rows": rows,
            "known_rows": tuple(side.total() for side in rows),
            "weight": (cut("weight_0"), cut("weight_1")) if weighted else rows,
            "offset": (cut("offset_0"), cut("offset_1")) if column.binned else (None, None),
            "square": (cut("square_0"), cut("square_1")) if column.binned else (None, None),
            "null_rows": (lost("rows_0"), lost("rows_1")),
            "null_weight": (lost("weight_0"), lost("weight_1")),
            "width": cut(WIDTH) if WIDTH in defined.columns else None,
        }
        return cls(column, edges, size, Segments(numbers, offsets), **pairs)

    def rows_of(self, side: int, *, nulls: bool) -> Array:
        """Number of compared rows of each slice; rows without a score or a label count with `nulls`."""
        counted = nulls or self._null_counts
        return self.known_rows[side] + self.null_rows[side] if counted else self.known_rows[side]

    @property
    def _null_counts(self) -> bool:
        """Whether a null counts as a value; in a score or label it is one not there yet."""
        return self.column.subject.subject == "column"

    def bins(self, bins: int) -> tuple[Segments, Segments]:
        """The weights of both windows by bin, or by category; nulls of a column without a role are one more."""
        if self.edges is not None:
            edges = self.edges.at(bins)
            before, now = (
                by_bin(self.values, self.weight[side], edges, self._null_bin(side)) for side in (0, 1)
            )
            return before, now
        return self._categories(0), self._categories(1)

    def _categories(self, side: int) -> Segments:
        behind = self.weight[side].offsets[1:]
        masses = np.insert(self.weight[side].values, behind, self._null_bin(side))
        return Segments(masses, self.weight[side].offsets + np.arange(self.slices + 1))

    def _null_bin(self, side: int) -> Array:
        weight = self.null_weight[side]
        return weight if self._null_counts else np.zeros_like(weight)

    def moments(self, side: int) -> SampleMoments:
        """Mean and variance of a window."""
        return moments(self.values, self.weight[side], self.offset[side], self.square[side])

    def largest_share(self) -> Array | None:
        """Error bound of a distance of distribution functions: the largest share of a bin."""
        if not self.column.binned:
            return None
        masses = [shares(side) for side in self.weight]
        if self.width is not None:
            masses = [
                Segments(np.where(self.width.values > 0, side.values, 0.0), side.offsets) for side in masses
            ]
        largest: Array = np.maximum(*(np.maximum(side.largest(), 0.0) for side in masses))
        return _off(largest)

    def between(self, share: float) -> Array | None:
        """Error bound of the difference of two quantiles: the width of the wider of their bins."""
        if self.width is None:
            return None
        ends = Segments(self.values.values + self.width.values, self.values.offsets)
        wide = [quantile(ends, side, share) - quantile(self.values, side, share) for side in self.weight]
        return _off(np.maximum(*wide))

    def moved(self) -> Array | None:
        """Mean distance of values above their bins' edges, over both windows."""
        if not self.column.binned:
            return None
        before, now = (
            offset.total() / np.where(weight.total() > 0, weight.total(), 1.0)
            for offset, weight in zip(self.offset, self.weight, strict=True)
        )
        total: Array = before + now
        return _off(total)


def _off(bound: Array) -> Array:
    """Error bound, NaN for exact counts."""
    return np.where(bound > 0, bound, np.nan)
