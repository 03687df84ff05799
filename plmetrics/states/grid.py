"""Scores counted on a grid: what stands in for the sorted rows where these do not fit into memory.

Edges are constants of the run. Rows are small whole numbers here: the fine bin of a score and its class, the cell, the
block. A grid answers as sorted rows do, so that ordered metrics cannot tell which they read; only their `bound` can:
bins that hold several distinct scores leave their order open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from plmetrics.core.exact_sums import Parts
from plmetrics.core.segments import Segments
from plmetrics.states.coarse import Array, Codes, coarse_number
from plmetrics.states.scores import CLASSES, Binning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from plmetrics.states.locate import FixedBins, Keys

FINE_BINS = 20_000
Bins = Literal["fine", "coarse"] | Binning
_LONG_RUN = 512
_DENSE_SHARE = 0.5
_ROOM_IN_32_BITS = 1 << 32


def shape(bins: Bins, edges: Array, slices: int) -> tuple[int, int]:
    """Number of bins of a kind in a set of so many slices, and of what is counted in each.

    `edges` are those of the fine bins.
    """
    if isinstance(bins, Binning):
        return bins.bins, bins.channels
    return (len(edges) + 1 if bins == "fine" else coarse_number(slices)), 2


@dataclass(frozen=True, slots=True)
class Placed:
    """Some rows of one model, in any order.

    `place` is twice the fine bin of a row, plus one for a positive. `score` and its `key` are there where fixed bins
    are to be counted.
    """

    place: NDArray[Any]
    weight: Array | None
    block: NDArray[Any] | None
    score: Array | None = None
    key: Codes | None = None

    def take(self, index: NDArray[Any] | slice | None) -> Placed:
        """Some of the rows, all of them without an index."""
        if index is None:
            return self
        weight, block = _some(self.weight, index), _some(self.block, index)
        return Placed(self.place[index], weight, block, _some(self.score, index), _some(self.key, index))


def _some(values: NDArray[Any] | None, index: NDArray[Any] | slice) -> NDArray[Any] | None:
    return None if values is None else values[index]


@dataclass(frozen=True, slots=True)
class Members:
    """The slice or cell of some rows, in runs of rows that share one: `code` of each run, -1 for none."""

    code: NDArray[Any]
    starts: NDArray[Any]
    rows: int

    @classmethod
    def of(cls, code: NDArray[Any]) -> Members:
        """From the code of each row."""
        change = np.flatnonzero(code[1:] != code[:-1]) + 1
        starts = np.concatenate(([0], change)) if len(code) else change
        return cls(code[starts], starts.astype(np.min_scalar_type(len(code))), len(code))

    def named(self, names: Codes) -> Members:
        """Other codes: those that stand in `names` at the place of these."""
        return Members(names.take(self.code), self.starts, self.rows)

    def take(self, index: NDArray[Any] | None) -> Members:
        """Of some of the rows, all of them without an index."""
        return self if index is None else Members.of(self.each()[index])

    def each(self) -> Codes:
        """The code of each row."""
        ends = np.append(self.starts[1:], self.rows)[: len(self.starts)].astype(np.int64)
        return np.repeat(self.code.astype(np.int64), ends - self.starts)

    def runs(self) -> Iterator[tuple[int, slice]]:
        """The runs, each with its rows."""
        starts = self.starts.tolist()
        for code, (first, last) in zip(self.code.tolist(), pairwise([*starts, self.rows]), strict=False):
            yield code, slice(first, last)


class Tally:
    """Counts `[slice, block, bin, channel]` of the slices, or cells, from `first` on.

    Keys of rows wait until there are as many of them as counts: then they are counted by one pass over both, which lets
    other threads run. `finish` counts what still waits. With an `exponent` what rows weigh is added so that their order
    does not show: no value is further from 0 than about 2 to that power.
    """

    def __init__(self, first: int, counts: NDArray[Any], exponent: int | None = None) -> None:
        self.first = first
        self.counts = counts
        self._parts = None if exponent is None else Parts(counts, exponent)
        self._waiting: dict[int, list[NDArray[Any]]] = {}
        self._size = math.prod(counts.shape[1:])
        self._width = math.prod(counts.shape[2:])
        self._key = np.uint32 if self._size <= _ROOM_IN_32_BITS else np.int64

    def add(self, rows: Placed, members: Members) -> None:
        """Count some rows: run by run where runs are long, for one slice at a time is fewer steps a row."""
        if members.rows < _LONG_RUN * len(members.code):
            self._add_mixed(rows, members.each() - self.first)
            return
        for code, run in members.runs():
            if 0 <= code - self.first < len(self.counts):
                self._add_run(rows.take(run), code - self.first)

    def finish(self) -> None:
        """Count what still waits."""
        for member in list(self._waiting):
            self._count_waiting(member)
        if self._parts is not None:
            self._parts.join()

    def _add_run(self, rows: Placed, member: int) -> None:
        """Count rows of one slice."""
        place = self._place(rows, member)
        if rows.block is None or self.counts.shape[1] == 1:
            key = place.astype(self._key)
        else:
            key = np.multiply(rows.block, self._width, dtype=self._key)
            key += place
        self._sum_run(member, key, rows)

    def _sum_run(self, member: int, key: NDArray[Any], rows: Placed) -> None:
        """Add what rows of one slice weigh at their keys, now or later."""
        if rows.weight is not None:
            self._sum(member, key, rows)
            return
        waiting = self._waiting.setdefault(member, [])
        waiting.append(key)
        if sum(map(len, waiting)) >= self._size:
            self._count_waiting(member)

    def _count_waiting(self, member: int) -> None:
        key = np.concatenate(self._waiting.pop(member), dtype=np.int64)
        add_at(self.counts[member].reshape(-1), key, None)

    def _add_mixed(self, rows: Placed, code: Codes) -> None:
        """Count rows each of a slice of its own."""
        slices, blocks = self.counts.shape[:2]
        held = np.flatnonzero((code >= 0) & (code < slices))
        if len(held) < len(code):
            code, rows = code[held], rows.take(held)
        key = code * blocks
        if rows.block is not None and blocks > 1:
            key += rows.block
        key *= self._width
        key += self._place(rows, code)
        self._sum(None, key, rows)

    def _place(self, rows: Placed, code: Codes | int) -> NDArray[Any]:  # noqa: ARG002
        """Where each row counts among the bins of its slice and block; `code` is its slice, or that of all."""
        return rows.place

    def _sum(self, member: int | None, key: NDArray[Any], rows: Placed) -> None:
        """Add what the rows weigh at their keys, among the counts of one slice or of all."""
        self._add_at(member, key, rows.weight)

    def _add_at(
        self, member: int | None, key: NDArray[Any], values: Array | None, channel: int | None = None
    ) -> None:
        """Add values, or ones, at some keys: among all counts, or those of a channel."""
        pairs: Iterable[tuple[NDArray[Any], Array | None]] = [(self.counts, values)]
        if values is not None and self._parts is not None:
            pairs = self._parts.cut(values)
        for counts, part in pairs:
            here = counts if member is None else counts[member]
            one = here.reshape(-1) if channel is None else here.reshape(-1, here.shape[-1])[:, channel]
            add_at(one, key, part)


def add_at(flat: NDArray[Any], key: NDArray[Any], weight: Array | None) -> None:
    """Add weights, or ones, at some keys: by a pass over all of `flat` where keys are many, for that is faster."""
    if len(key) < _DENSE_SHARE * len(flat):
        np.add.at(flat, key, flat.dtype.type(1) if weight is None else weight)
    else:
        np.add(flat, np.bincount(key, weight, len(flat)), out=flat, casting="unsafe")


class CoarseTally(Tally):
    """Counts on coarse bins, made of fine ones by a table for each slice."""

    def __init__(
        self, first: int, counts: NDArray[Any], coarse: NDArray[np.uint16], exponent: int | None = None
    ) -> None:
        super().__init__(first, counts, exponent)
        self._places = np.stack([2 * coarse, 2 * coarse + 1], axis=-1).reshape(len(coarse), -1)

    def _place(self, rows: Placed, code: Codes | int) -> NDArray[Any]:
        if isinstance(code, int):
            table, place = self._places[code], rows.place
        else:
            table, place = self._places.reshape(-1), code * self._places.shape[1] + rows.place
        found: NDArray[Any] = table.take(place)
        return found


class FixedTally(Tally):
    """Counts on bins at fixed edges, with the channels that `Binning` names."""

    def __init__(
        self,
        first: int,
        counts: NDArray[Any],
        binning: Binning,
        bins: FixedBins,
        exponent: int | None = None,
    ) -> None:
        super().__init__(first, counts, exponent)
        self._binning = binning
        self._bins = bins
        self._width = counts.shape[2]

    def _place(self, rows: Placed, code: Codes | int) -> NDArray[Any]:  # noqa: ARG002
        assert rows.score is not None
        assert rows.key is not None
        return self._bins.bins(rows.score, rows.key)

    def _sum_run(self, member: int, key: NDArray[Any], rows: Placed) -> None:
        self._sum(member, key, rows)

    def _sum(self, member: int | None, key: NDArray[Any], rows: Placed) -> None:
        score, weight = rows.score, rows.weight
        assert score is not None
        positive = (rows.place & 1).astype(np.bool_)
        members = np.flatnonzero(positive)
        self._add_at(member, key, weight, 0)
        self._add_at(member, key[members], None if weight is None else weight[members], 1)
        self._add_at(member, key, score if weight is None else score * weight, 2)
        if self._binning.distances:
            distance = (score - positive) ** 2
            self._add_at(member, key, distance if weight is None else distance * weight, 3)


def fixed_bins(binning: Binning, keys: Keys) -> FixedBins:
    """The bins of a `Binning` for scores with such keys."""
    from plmetrics.states.locate import FixedBins

    return FixedBins.at(binning.uniform_edges(), keys)


def rolled_up(counts: NDArray[Any], code: Codes, slices: int) -> NDArray[Any]:
    """The counts of slices from those of cells `[cell, ...]`; `code` is the slice of each cell, -1 for none."""
    if len(code) == slices and (code == np.arange(slices)).all():
        return counts
    out = np.zeros((slices, *counts.shape[1:]), dtype=counts.dtype)
    order = np.argsort(code, kind="stable")
    order = order[np.searchsorted(code[order], 0) :]
    if len(order):
        present, starts = np.unique(code[order], return_index=True)
        out[present] = np.add.reduceat(counts[order], starts, axis=0)
    return out


@dataclass(frozen=True, slots=True)
class SlicedGrid:
    """The counts of a slice set: `fine` `[slice, bin, class]`, and by block as `parts` of a few slices give them."""

    edges: Array
    slices: int
    fine: Array
    parts: Callable[[Bins], Iterator[tuple[int, int, Array]]]
    weighted: bool
    channels: ClassVar[tuple[str, ...]] = CLASSES

    @property
    def rows(self) -> None:
        """Only counts are left."""
        return None

    @property
    def binned(self) -> bool:
        """Points are bins."""
        return True

    def point_state(self) -> dict[str, Segments]:
        """The fine bins of each slice, each at the lowest score that it can hold."""
        offsets = np.arange(self.slices + 1) * (len(self.edges) + 1)
        lowest = np.append(-np.inf, np.nextafter(self.edges, np.inf))
        return {
            "score": Segments(np.tile(lowest, self.slices), offsets),
            "negative": Segments(self.fine[..., 0].reshape(-1), offsets),
            "positive": Segments(self.fine[..., 1].reshape(-1), offsets),
        }

    def replicate_points(self, weights: Array, *, scores: bool = False) -> Iterator[dict[str, Segments]]:
        """A grid has no rows to resample."""
        raise NotImplementedError

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Weight per class on coarse bins by block."""
        del blocks  # a grid is counted for one number of blocks
        return self.parts("coarse")

    def coarse_scores(self) -> Array:
        """A grid holds counts alone: metrics that read scores are refused before."""
        raise NotImplementedError

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """The channels of fixed bins by block."""
        del blocks
        return self.parts(binning)
