"""Counts on grids of few rows in many slices: sparse ones, where dense ones would take far more memory than rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from plmetrics.engine.order.on_grid import GridCounts
from plmetrics.engine.order.parts import GridPart
from plmetrics.states.scores.grid.slot_counts import SlotCounts, SlotTally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.core.ops import Array
    from plmetrics.states.scores.grid.grid_tally import BinKind, GridTally

_FEW = 64
"""Rows are few where there are so many times more counts: a row takes as long to sort as these to look through."""


class SparseGridCounts(GridCounts):
    """Counts on grids, of which those on fine and coarse bins are sparse where rows are few."""

    def is_sparse(self, name: str, bins: BinKind) -> bool:
        """Whether the counts of an ordering on bins of a kind are sparse."""
        ordering = self.orderings[name]
        plain = bins in {"fine", "coarse"} and ordering.across is None and not ordering.arms
        if not plain or self._complement_sets or self.exponent(name, bins) is not None:
            return False
        sizes = (
            math.prod(self._sizes.size(GridPart(name, self._sizes.group(index), bins, 0, len(slices))))
            for index, slices in enumerate(self._plan.slices)
        )
        return self._plan.rows.read * ordering.width * _FEW < max(sizes)

    def slot_counts(self, name: str, index: int, bins: BinKind) -> Iterator[tuple[int, SlotCounts]]:
        """Sparse counts of the slices of a set, from a first one on."""
        if bins == "fine":
            yield 0, self._fine_slots(name, index)
            return
        for part in self._parts_of(name, index, bins):
            tally = self._tally_of(part)
            assert isinstance(tally, SlotTally)
            yield part.first, tally.slot_counts

    def fine(self, name: str, index: int, complement_of: int | None = None) -> Callable[[int, int], Array]:
        """Function from a first and a last slice of a set to counts on fine bins: `[slice, bin, class]`."""
        if not self.is_sparse(name, "fine"):
            return super().fine(name, index, complement_of)
        slots = self._fine_slots(name, index)
        return lambda first, last: slots.dense(first, last)[:, 0]

    def _fine_slots(self, name: str, index: int) -> SlotCounts:
        tally, codes = self._shared_tally(name, index, "fine")
        assert isinstance(tally, SlotTally)
        counts = tally.slot_counts
        return counts if codes is None else counts.rolled_up(codes, len(self._plan.slices[index]))

    def _tally(self, part: GridPart, spare: NDArray[Any] | None = None) -> GridTally:
        if not self.is_sparse(part.ordering, part.bins):
            return super()._tally(part, spare)
        return SlotTally(part.first, self._sizes.size(part), self._table(part))
