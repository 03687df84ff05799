"""Scores counted on a grid, in place of sorted rows where these do not fit into memory.

Edges are constants of the run. Rows are small whole numbers here: the fine bin of a score and its class, the cell, the
block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import SplitSums
from plmetrics.core.ops import Array, Codes
from plmetrics.core.threads import add_at
from plmetrics.states.scores.coarse import coarse_number
from plmetrics.states.scores.grid.placed_rows import Channel, Members, PlacedRows, WaitingRows
from plmetrics.states.scores.grid.roll_up import NO_ENDS, combine_digits
from plmetrics.states.scores.sliced_scores import Binning

if TYPE_CHECKING:
    from plmetrics.states.scores.bin_lookup import FixedBins

FINE_BINS = 20_000
BinKind = Literal["fine", "ends", "coarse", "joint"] | Binning
"""Kinds of bins; `ends` is none, but the lowest and the highest number of a slice.

`joint` are those of predictions by those of labels.
"""

UNBLOCKED: frozenset[str | Binning] = frozenset({"fine", "ends", "joint"})
"""The kinds that are counted of all blocks together."""
_LONG_RUN = 512
_WAITING_RUNS = 16
"""Runs wait where so many of them are fewer rows than the slice has counts."""

_FEW_WAITING = 1 << 14
"""At most so many rows of a slice wait where values wait with them."""

_WAITING_SHARE = 4
"""Nor more than a part of the slice's counts: a row with its values takes more memory than a count."""

_ROOM_IN_32_BITS = 1 << 31


def shape(bins: BinKind, edges: Array, slices: int, channels: int = 2) -> tuple[int, int]:
    """Number of bins of a kind in a set of so many slices, and of channels in each.

    `edges` are those of the fine bins, `channels` what is counted in these: of two classes, or of two arms.
    """
    if isinstance(bins, Binning):
        return bins.bins, bins.channels
    if bins == "ends":
        return 1, 2
    return (len(edges) + 1 if bins == "fine" else coarse_number(slices)), channels


class GridTally:
    """Counts `[slice, block, bin, channel]` of the slices, or cells, from `first` on.

    Keys of short runs of one slice wait until there are as many of them as counts: then they are counted by one pass
    over both. `finish` counts what still waits. With an `exponent` what rows weigh is added so that their order does
    not show: no value is further from 0 than about 2 to that power. Totals are in parts then, the `digits`, which add.
    """

    _by_slice: bool = False
    """Whether bins differ from slice to slice."""

    def __init__(self, first: int, counts: NDArray[Any], exponent: int | None = None) -> None:
        self.first = first
        self.counts = counts
        self.digits: tuple[NDArray[Any], ...] = (counts,)
        self._exponent = exponent
        self._parts = None if exponent is None else SplitSums(counts, exponent)
        self._waiting: dict[int, WaitingRows] = {}
        self._size = self._patience = math.prod(counts.shape[1:])
        self._long = self._patience // _WAITING_RUNS
        self._width = math.prod(counts.shape[2:])

    def add(self, rows: PlacedRows, members: Members) -> None:
        """Count some rows: run by run where runs are long, for one slice at a time is fewer steps a row."""
        if rows.weight is not None or members.rows < _LONG_RUN * len(members.code):
            self._add_slices(rows, members)
            return
        inside = range(self.first, self.first + len(self.counts))
        runs = [(code - self.first, run) for code, run in members.runs() if code in inside]
        if runs:
            first, last = runs[0][1].start, runs[-1][1].stop
            runs = [(member, slice(run.start - first, run.stop - first)) for member, run in runs]
            self._add_runs(rows.take(slice(first, last)), runs)

    def finish(self) -> None:
        """Count the waiting rows."""
        for member, waiting in self._waiting.items():
            self._count_run(member, waiting.take())
        self._waiting = {}
        if self._parts is not None:
            self.digits = self._parts.digits()

    def totals(self) -> NDArray[Any]:
        """The counts, put together where they are in parts."""
        return combine_digits(self.digits, self._exponent)

    def _add_runs(self, rows: PlacedRows, runs: Sequence[tuple[int, slice]]) -> None:
        """Count rows of one slice after another, now or later."""
        channels = list(self._channels(rows, self._keys(rows, self._places(rows, runs), self._size)))
        for member, run in runs:
            if run.stop - run.start >= self._long:
                self._count_run(member, [channel.take(run) for channel in channels])
                continue
            if member not in self._waiting:
                self._waiting[member] = WaitingRows(channels, self._patience)
            waiting = self._waiting[member]
            if waiting.add(channels, run):
                continue
            self._count_run(member, waiting.take())
            if not waiting.add(channels, run):
                self._count_run(member, [channel.take(run) for channel in channels])

    def _count_run(self, member: int, channels: Sequence[Channel]) -> None:
        for channel in channels:
            self._add_at(member * self._size, self._size, channel)

    def _add_slices(self, rows: PlacedRows, members: Members) -> None:
        """Count rows of several slices: among the counts from the first of these to the last."""
        code = members.code.astype(np.int64) - self.first
        inside = (code >= 0) & (code < len(self.counts))
        if not inside.any():
            return
        lowest, highest = int(code[inside].min()), int(code[inside].max())
        number = members.spread(code)
        if not inside.all():
            index = np.flatnonzero(members.spread(inside))
            number, rows = number[index], rows.take(index)
        room = (highest + 1 - lowest) * self._size
        key = self._keys(rows, self._place(rows, number), room)
        key += ((number - lowest) * self._size).astype(key.dtype, copy=False)
        for channel in self._channels(rows, key):
            self._add_at(lowest * self._size, room, channel)

    def _keys(self, rows: PlacedRows, place: NDArray[Any], room: int) -> NDArray[Any]:
        """Index of each row's count in its slice, from its bin and block, in a sufficient integer type."""
        kind = np.int32 if room < _ROOM_IN_32_BITS else np.int64
        if rows.block is None or self.counts.shape[1] == 1:
            return place.astype(kind)
        key: NDArray[Any] = np.multiply(rows.block, self._width, dtype=kind)
        key += place.astype(kind, copy=False)
        return key

    def _places(self, rows: PlacedRows, runs: Sequence[tuple[int, slice]]) -> NDArray[Any]:
        """Bins of rows of one slice after another; any bin for rows between the runs."""
        if not self._by_slice:
            return self._place(rows, 0)
        places = np.zeros(len(rows.place), dtype=np.int32)
        for member, run in runs:
            places[run] = self._place(rows.take(run), member)
        return places

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:  # noqa: ARG002
        """Bin of each row; `number` is the slice, one for all rows or one per row."""
        return rows.place

    def _channels(self, rows: PlacedRows, key: NDArray[Any]) -> Iterator[Channel]:
        """Addends of the rows to their slice, given the places where they count."""
        yield Channel(0, key, rows.weight)

    def _add_at(self, place: int, size: int, channel: Channel) -> None:
        """Add a channel to so many of the counts, from a place on."""
        pairs: Iterable[tuple[NDArray[Any], Array | None]] = [(self.counts, channel.values)]
        if channel.values is not None and self._parts is not None:
            pairs = self._parts.cut(channel.values)
        for counts, part in pairs:
            add_at(counts.reshape(-1)[place + channel.first : place + size], channel.key, part)


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

    def __init__(
        self, first: int, counts: NDArray[Any], coarse: NDArray[np.uint16], exponent: int | None = None
    ) -> None:
        super().__init__(first, counts, exponent)
        self._table = np.stack([2 * coarse, 2 * coarse + 1], axis=-1).reshape(len(coarse), -1)

    def _places(self, rows: PlacedRows, runs: Sequence[tuple[int, slice]]) -> NDArray[Any]:
        places = np.zeros(len(rows.place), dtype=self._table.dtype)
        for member, run in runs:
            self._table[member].take(rows.place[run], mode="clip", out=places[run])  # lets other threads run
        return places

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:
        return self._table.reshape(-1).take(number * self._table.shape[1] + rows.place, mode="clip")


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
        self._add_slices(rows, members)

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
    """Counts on the bins of a `Binning`, with its channels.

    `bins` are at fixed edges, or of equal weight, made of fine ones by a table for each slice `[slice, fine bin]`.

    Until they are finished channels lie one after another, `[slice, channel, block, bin]`: what is added to one at a
    time is near the processor then.
    """

    def __init__(
        self,
        first: int,
        counts: NDArray[Any],
        binning: Binning,
        bins: FixedBins | NDArray[np.uint16],
        exponent: int | None = None,
    ) -> None:
        super().__init__(first, counts, exponent)
        self._binning = binning
        self._bins = bins
        self._by_slice = isinstance(bins, np.ndarray)
        self._width = counts.shape[2]
        self._patience = self._long = min(self._size // _WAITING_SHARE, _FEW_WAITING)

    def finish(self) -> None:
        """Add the counts of positives to those of negatives, for the weight of a bin, and put channels last."""
        super().finish()
        blocks, bins, channels = self.counts.shape[1:]
        for of_slice in chain.from_iterable(self.digits):
            of_channels = of_slice.reshape(channels, blocks, bins)
            of_channels[0] += of_channels[1]
            of_slice[:] = np.moveaxis(of_channels.copy(), 0, -1)

    def _place(self, rows: PlacedRows, number: Codes | int) -> NDArray[Any]:
        if isinstance(self._bins, np.ndarray):
            places: NDArray[Any] = self._bins[number, rows.place >> 1]
            return places
        assert rows.score is not None
        return self._bins.bins(rows.score, rows.place)

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


def zero_counts(size: tuple[int, ...], dtype: type, spare: NDArray[Any] | None = None) -> NDArray[Any]:
    """Zeros, in spare memory of the same shape: new memory costs more than counting in it."""
    if spare is None or spare.shape != size or spare.dtype != dtype:
        spare = np.empty(size, dtype=dtype)  # in large pages where it is large; `zeros` has small ones
    spare.fill(0)
    return spare
