"""Grids of scores as constants of a run: edges of the fine bins, and where coarse bins cut them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.core.threads import steps
from plmetrics.states.scores.bin_lookup import Keys, Locator, locator_at
from plmetrics.states.scores.coarse import bins_of_places, coarse_number, coarse_of_fine
from plmetrics.states.scores.grid.sliced_grid import quantile_bins
from plmetrics.table.joins import left_join, with_types

if TYPE_CHECKING:
    Grids = Mapping[str, "ModelGrid"]
    """The grids of a run by model."""

_PLAIN = 2
"""A number of slices for which coarse bins are not finer."""

_AT_ONCE = 1 << 20
"""So many fine bins are cut at a time: those of all slices would be copied several times over."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Starts of the coarse bins of the slices of a set among the fine ones: `[slice, coarse bin - 1]`.

    `values` tell the slices apart, a row each.
    """

    values: pl.DataFrame
    places: Codes

    @property
    def bins(self) -> int:
        """Number of coarse bins."""
        return int(self.places.shape[1]) + 1


@dataclass(frozen=True, slots=True)
class ModelGrid:
    """The grid of one model: its fine bins, the cuts by number of the slice set, and those of slices without any.

    `usual` are the cuts of all rows for a set of several slices.
    """

    keys: Keys
    edges: Array
    cuts: Mapping[int, Cuts]
    usual: Codes

    @property
    def locator(self) -> Locator:
        """Lookup of the fine bin of a score."""
        return locator_at(self.edges, self.keys)

    def coarse_bins(self, number: int) -> int:
        """Number of coarse bins of the slices of a set."""
        return self.cuts[number].bins if number in self.cuts else len(self.usual) + 1

    def coarse(self, number: int, values: pl.DataFrame) -> NDArray[np.uint16]:
        """The coarse bin of each fine bin `[slice, fine bin]`, of slices of a set by their key values."""
        places = np.tile(self._without(number), (values.height, 1))
        if number in self.cuts:
            rows = matching_rows(values, self.cuts[number].values)
            matched = rows >= 0
            places[matched] = self.cuts[number].places[rows[matched]]
        return bins_of_places(places, len(self.edges) + 1)

    def _without(self, number: int) -> Codes:
        """Cuts of a slice without its own: those of all rows."""
        overall = self.cuts[0].places[0]
        return overall if self.coarse_bins(number) == len(overall) + 1 else self.usual


def matching_rows(values: pl.DataFrame, table: pl.DataFrame) -> Codes:
    """The row of each slice among the known ones, -1 where it is none of them."""
    if not values.width:
        return np.zeros(values.height, dtype=np.int64)
    values, table = with_types([values, table])
    joined = left_join(values, table.with_row_index("@row"), values.columns)
    return joined["@row"].cast(pl.Int64).fill_null(-1).to_numpy()


def coarse_bins(fine: Array, slices: int, equal: int | None = None) -> NDArray[np.uint16]:
    """The coarse bin of each fine one, from the counts of some slices on fine bins `[slice, bin, class]`.

    They serve the order of scores in a set of so many slices; or they are of equal weight, so many as `equal`.
    """
    return coarse_of_fine(fine, slices) if equal is None else quantile_bins(fine, equal)


def cuts_of(fine: Array, slices: int, equal: int | None) -> Codes:
    """First fine bin of each coarse one, from counts of slices on fine bins `[slice, bin, class]`, as `coarse_bins`."""
    number = (equal or coarse_number(slices)) - 1
    cuts = np.empty((len(fine), number), dtype=np.int64)
    for few in steps(0, len(fine), max(1, _AT_ONCE // max(1, fine.shape[1]))):
        for row, bins in zip(cuts[slice(*few)], coarse_bins(fine[slice(*few)], slices, equal), strict=True):
            row[:] = np.searchsorted(bins, np.arange(1, number + 1))
    return cuts


def usual_cuts(fine: Array, equal: int | None) -> Codes:
    """The cuts of all rows for sets of several slices, from the counts of all rows `[1, bin, class]`."""
    cuts: Codes = cuts_of(fine, _PLAIN, equal)[0]
    return cuts
