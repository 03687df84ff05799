"""Counts of a column in two windows as arrays: the input of all drift measures, with bounds of their error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.ops import Array
from plmetrics.core.segments import Segments
from plmetrics.features.drift.slice_counts import WIDTH
from plmetrics.inference.comparisons.tests import unit_samples
from plmetrics.inference.comparisons.tests.two_samples import (
    SampleMoments,
    bin_edges,
    by_bin,
    moments,
    quantile,
    shares,
)

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.drift.slice_counts import SetCounts
    from plmetrics.features.drift.subjects import Subject
    from plmetrics.inference.comparisons.tests.unit_samples import UnitRows, UnitSums
    from plmetrics.table.slices import Slices


@dataclass(frozen=True, slots=True)
class Edges:
    """The reference's own values and their weight, of all rows: bins are cut there, the same for all slices."""

    values: Array
    weight: Segments

    def at(self, bins: int) -> Array:
        """The edges of so many bins."""
        return bin_edges(self.values, self.weight.values, bins, self.weight.cumulative().values)


@dataclass(frozen=True, slots=True)
class DriftCounts:
    """All columns of a comparison, in order, each in every slice set; `has_weights` says whether rows have weights.

    Columns are put in order one by one, the next while one is read, and once: what was counted of one is freed then.
    """

    slices: tuple[Slices, ...]
    columns: Iterable[tuple[ColumnCounts, ...]]
    has_weights: bool


@dataclass(frozen=True, slots=True)
class ColumnCounts:
    """Counts of a column in the slices of one set, from which all measures are made: by value, and of nulls by slice.

    Places are values, or lower edges of bins (`has_bins`), or one for all values (`too_many`); `values` are those of
    numbers. `rows`, `weight`, `offset` and `square` are pairs: the reference, and the rows that are evaluated;
    `known_rows` are those of each slice that have a value, `units` the rows by block of units where windows tell these.
    """

    subject: Subject
    slices: Slices
    has_bins: bool
    too_many: bool
    edges: Edges | None
    place: pl.Series
    values: Segments
    rows: tuple[Segments, Segments]
    known_rows: tuple[Array, Array]
    weight: tuple[Segments, Segments]
    offset: tuple[Any, Any]
    square: tuple[Any, Any]
    null_rows: tuple[Array, Array]
    null_weight: tuple[Array, Array]
    width: Segments | None
    units: UnitRows | None

    @classmethod
    def of_sets(
        cls,
        subject: Subject,
        sets: Sequence[Slices],
        frames: Sequence[SetCounts],
        *,
        weighted: bool,
        binned: bool = False,
        too_many: bool = False,
    ) -> tuple[ColumnCounts, ...]:
        """Counts in each set, from frames of `roll_up_windows`; the first set is all rows."""
        first, *others = (
            cls._of(subject, slices, *counts, weighted=weighted, binned=binned, too_many=too_many)
            for slices, counts in zip(sets, frames, strict=True)
        )
        if not subject.of_numbers:
            return first, *others
        edges = Edges(first.values.values, first.weight[0])
        return tuple(replace(counts, edges=edges) for counts in (first, *others))

    @classmethod
    def _of(
        cls,
        subject: Subject,
        slices: Slices,
        frame: pl.DataFrame,
        units: UnitRows | None,
        *,
        weighted: bool,
        binned: bool,
        too_many: bool,
    ) -> ColumnCounts:
        """The counts in the slices of a set; `weighted` says whether rows have weights."""
        defined, absent = frame, frame.clear()
        if frame["place"].null_count():
            has_place = frame["place"].is_not_null().to_numpy()
            if units is not None:
                point = np.where(has_place, np.cumsum(has_place, dtype=np.int32) - 1, -1)
                units = replace(units, point=point[units.point])
            defined, absent = (
                frame.filter(mask) for mask in (frame["place"].is_not_null(), frame["place"].is_null())
            )
        offsets = np.searchsorted(defined["slice"].to_numpy(), np.arange(len(slices) + 1))

        def cut(name: str, *, whole: bool = False) -> Segments:
            return Segments(defined[name].to_numpy(), offsets, whole=whole)

        def nulls(name: str) -> Array:
            values = absent[name].to_numpy()
            return np.bincount(absent["slice"].to_numpy(), values, len(slices)).astype(np.float64)

        numbers = defined["place"].to_numpy() if subject.of_numbers else np.zeros(defined.height)
        rows = cut("rows_0", whole=True), cut("rows_1", whole=True)
        pairs: Any = {
            "rows": rows,
            "known_rows": tuple(side.total() for side in rows),
            "weight": (cut("weight_0"), cut("weight_1")) if weighted else rows,
            "offset": (cut("offset_0"), cut("offset_1")) if binned else (None, None),
            "square": (cut("square_0"), cut("square_1")) if binned else (None, None),
            "null_rows": (nulls("rows_0"), nulls("rows_1")),
            "null_weight": (nulls("weight_0"), nulls("weight_1")),
            "width": cut(WIDTH) if WIDTH in defined.columns else None,
            "units": units,
        }
        values = Segments(numbers, offsets)
        return cls(subject, slices, binned, too_many, None, defined["place"], values, **pairs)

    @property
    def has_nulls(self) -> bool:
        """Whether a row of a slice has no value."""
        return any(rows.any() for rows in self.null_rows)

    def rows_of(self, side: int, *, nulls: bool) -> Array:
        """Number of compared rows of each slice; rows without a score or a label count with `nulls`."""
        counted = nulls or self._null_counts
        return self.known_rows[side] + self.null_rows[side] if counted else self.known_rows[side]

    @property
    def _null_counts(self) -> bool:
        """Whether a null counts as a value; in a score or label it is one not there yet."""
        return self.subject.subject == "column"

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
        return Segments(masses, self.weight[side].offsets + np.arange(len(self.slices) + 1))

    def _null_bin(self, side: int) -> Array:
        weight = self.null_weight[side]
        return weight if self._null_counts else np.zeros_like(weight)

    def unit_bins(self, bins: int) -> Iterator[tuple[slice, UnitSums]]:
        """Rows of both windows by bin, or category, and block of units, of some slices at a time."""
        units = self._unit_rows
        if self.edges is not None:
            term = np.searchsorted(edges := self.edges.at(bins), self.values.values, side="right")
            nulls = len(edges) + 1
        else:
            first = np.repeat(self.values.offsets[:-1], self.values.sizes)
            term, nulls = np.arange(len(first)) - first, int(self.values.sizes.max(initial=0))
        null = nulls if self._null_counts else -1
        return units.parts(np.append(term, null)[units.point], nulls + 1, units.rows)

    def unit_steps(self) -> Iterator[tuple[slice, UnitSums]]:
        """Rows of both windows by step of their common distribution, and block of units, of some slices at a time."""
        units, both = self._unit_rows, self.rows[0] + self.rows[1]
        share = both.cumulative() / both.spread(np.maximum(both.total(), 1.0))
        step = np.floor(share.values * unit_samples.STEPS).astype(np.int64)
        return units.parts(np.append(step, -1)[units.point], unit_samples.STEPS + 1, units.rows)

    def unit_values(self, centre: Array) -> Iterator[tuple[slice, UnitSums]]:
        """Sums of values of both windows, about a centre of each slice, by block of units, of some slices at a time."""
        units = self._unit_rows
        with np.errstate(over="ignore", invalid="ignore"):
            apart = self.values - self.values.spread(centre)
            sums = np.append(apart.values, 0.0)[units.point] * units.rows + units.offset
        return units.parts(np.where(units.point < 0, -1, 0), 1, sums)

    @property
    def _unit_rows(self) -> UnitRows:
        assert self.units is not None
        return self.units

    def moments(self, side: int) -> SampleMoments:
        """Mean and variance of a window."""
        return moments(self.values, self.weight[side], self.offset[side], self.square[side])

    def largest_share(self) -> Array | None:
        """Error bound of a distance of distribution functions: the largest share of a bin."""
        if not self.has_bins:
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

    def mean_offset(self) -> Array | None:
        """Mean distance of values above their bins' edges, over both windows."""
        if not self.has_bins:
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
