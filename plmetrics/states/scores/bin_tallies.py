"""Tallies of scores by the kind of their bins: ends, coarse bins, two arms, bins at fixed edges or of equal weight."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.states.scores.grid import Channel, GridTally
from plmetrics.states.scores.roll_up import NO_ENDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from plmetrics.states.scores.bin_lookup import FixedBins
    from plmetrics.states.scores.coarse import Codes
    from plmetrics.states.scores.grid import Members, PlacedRows
    from plmetrics.states.scores.sorted_rows import Binning

_FEW_WAITING = 1 << 14
"""At most so many rows of a slice wait where values wait with them."""

_WAITING_SHARE = 4
"""Nor more than a part of the slice's counts: a row with its values takes more memory than a count."""


class EndsTally(GridTally):
    """The lowest and the highest number of each slice, or cell, in place of counts: `[slice, 1, 1, end]`.

    Of two arms they are those of the outcomes.
    """

    def __init__(self, first: int, counts: NDArray[Any]) -> None:
        super().__init__(first, counts)
        counts[:] = NO_ENDS

    def add(self, rows: PlacedRows, members: Members) -> None:
        """Look at some rows, run by run."""
        code = members.code.astype(np.int64) - self.first
        inside = (code >= 0) & (code < len(self.counts))
        if not len(code) or not inside.any():
            return
        numbers = rows.score if rows.outcome is None else rows.outcome
        assert numbers is not None
        low, high = (end.reduceat(numbers, members.starts)[inside] for end in (np.minimum, np.maximum))
        np.minimum.at(self.counts[:, 0, 0, 0], code[inside], low)
        np.maximum.at(self.counts[:, 0, 0, 1], code[inside], high)


class CoarseTally(GridTally):
    """Counts on coarse bins, made of fine ones by a table for each slice."""

    _by_slice = True

    def __init__(
        self, first: int, counts: NDArray[Any], coarse: NDArray[np.uint16], exponent: int | None = None
    ) -> None:
        super().__init__(first, counts, exponent)
        self._table = np.stack([2 * coarse, 2 * coarse + 1], axis=-1).reshape(len(coarse), -1)

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:
        if isinstance(number, int):
            table, place = self._table[number], rows.place
        else:
            table, place = self._table.reshape(-1), number * self._table.shape[1] + rows.place
        places: NDArray[Any] = table.take(place, mode="clip")  # which lets other threads run
        return places


class ArmsTally(GridTally):
    """Weight and outcome of two arms, see `arms.ARMS`; on fine bins, or by a table on coarse ones."""

    def __init__(
        self,
        first: int,
        counts: NDArray[Any],
        coarse: NDArray[np.uint16] | None = None,
        exponent: int | None = None,
    ) -> None:
        super().__init__(first, counts, exponent)
        self._coarse = coarse

    def add(self, rows: PlacedRows, members: Members) -> None:
        """Count some rows, slice by slice, as weighted rows are."""
        self._add_mixed(rows, members)

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:
        places = rows.place >> 1
        if self._coarse is not None:
            places = self._coarse[number, places]
        key: NDArray[Any] = places.astype(np.int32) * self.counts.shape[-1] + (rows.place & 1)
        return key

    def _channels(self, rows: PlacedRows, key: NDArray[Any]) -> Iterator[Channel]:
        assert rows.outcome is not None
        weight = np.ones_like(rows.outcome) if rows.weight is None else rows.weight
        yield Channel(0, key, weight)
        yield Channel(2, key, weight * rows.outcome)


class BinnedTally(GridTally):
    """Counts on the bins of a `Binning`, with the channels that it names.

    Until they are finished channels lie one after another, `[slice, channel, block, bin]`: what is added to one at a
    time is near the processor then. Subclasses give the bin of each row.
    """

    def __init__(
        self, first: int, counts: NDArray[Any], binning: Binning, exponent: int | None = None
    ) -> None:
        super().__init__(first, counts, exponent)
        self._binning = binning
        self._width = counts.shape[2]
        self._patience = min(self._size // _WAITING_SHARE, _FEW_WAITING)

    def finish(self) -> None:
        """Add the counts of positives to those of negatives, for the weight of a bin, and put channels last."""
        super().finish()
        blocks, bins, channels = self.counts.shape[1:]
        for of_slice in chain.from_iterable(self.digits):
            of_channels = of_slice.reshape(channels, blocks, bins)
            of_channels[0] += of_channels[1]
            of_slice[:] = np.moveaxis(of_channels.copy(), 0, -1)

    def _channels(self, rows: PlacedRows, key: NDArray[Any]) -> Iterator[Channel]:
        """The first two together, then sums of scores and of distances."""
        score, positive = rows.score, rows.place & 1
        assert score is not None
        sums = [score] if self._binning.scores else []
        if self._binning.distances:
            sums.append((score - positive) ** 2)
        size = self._size // self.counts.shape[-1]
        yield Channel(0, key + positive * key.dtype.type(size), rows.weight)
        for number, values in enumerate(sums, 2):
            yield Channel(number * size, key, values if rows.weight is None else values * rows.weight)


class FixedTally(BinnedTally):
    """Counts on bins at fixed edges."""

    def __init__(
        self,
        first: int,
        counts: NDArray[Any],
        binning: Binning,
        bins: FixedBins,
        exponent: int | None = None,
    ) -> None:
        super().__init__(first, counts, binning, exponent)
        self._bins = bins

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:  # noqa: ARG002
        assert rows.score is not None
        return self._bins.bins(rows.score, rows.place)


class QuantileTally(BinnedTally):
    """Counts on bins of equal weight, made of fine ones by a table for each slice `[slice, fine bin]`."""

    _by_slice = True

    def __init__(
        self,
        first: int,
        counts: NDArray[Any],
        binning: Binning,
        table: NDArray[np.uint16],
        exponent: int | None = None,
    ) -> None:
        super().__init__(first, counts, binning, exponent)
        self._table = table

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:
        places: NDArray[Any] = self._table[number, rows.place >> 1]
        return places
