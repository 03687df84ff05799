"""Scores counted on a grid: what stands in for the sorted rows where these do not fit into memory.

Edges are constants of the run. Rows are small whole numbers here: the fine bin of a score and its class, the cell, the
block. A grid answers as sorted rows do, so that ordered metrics cannot tell which they read; only their `bound` can:
bins that hold several distinct scores leave their order open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from plmetrics.core.segments import Segments
from plmetrics.states.coarse import Array, Codes, coarse_number, coarse_of_fine
from plmetrics.states.scores import CLASSES, Binning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from plmetrics.states.locate import FixedBins, Keys

FINE_BINS = 16_384
Bins = Literal["fine", "coarse"] | Binning


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

    def take(self, index: NDArray[Any] | None) -> Placed:
        """Some of the rows, all of them without an index."""
        if index is None:
            return self
        parts = (self.weight, self.block, self.score, self.key)
        return Placed(self.place[index], *(None if part is None else part[index] for part in parts))


class Tally:
    """Counts `[slice, block, bin, channel]` of the slices, or cells, from `first` on."""

    def __init__(self, first: int, counts: NDArray[Any]) -> None:
        self.first = first
        self.counts = counts

    def add(self, rows: Placed, code: Codes) -> None:
        """Count some rows; `code` is the slice of each, -1 for none."""
        slices, blocks, bins, channels = self.counts.shape
        part = code - self.first if self.first else code
        held = None
        if len(part) and (part.min() < 0 or part.max() >= slices):
            held = np.flatnonzero((part >= 0) & (part < slices))
            part, rows = part[held], rows.take(held)
        key = part * blocks
        if rows.block is not None and blocks > 1:
            key += rows.block
        key *= bins * channels
        self._count(key, rows, part)

    def _count(self, key: Codes, rows: Placed, code: Codes) -> None:  # noqa: ARG002
        """Count rows whose slice and block begin at `key`, on fine bins."""
        key += rows.place
        self._sum(key, rows.weight)

    def _sum(self, key: Codes, mass: Array | None) -> None:
        flat = self.counts.reshape(-1)
        np.add.at(flat, key, flat.dtype.type(1) if mass is None else mass)


class CoarseTally(Tally):
    """Counts on coarse bins, made of fine ones by a table for each slice."""

    def __init__(self, first: int, counts: NDArray[Any], fine: Array, slices: int) -> None:
        super().__init__(first, counts)
        coarse = coarse_of_fine(fine, slices)
        self._fine = 2 * coarse.shape[1]
        self._places = np.stack([2 * coarse, 2 * coarse + 1], axis=-1).reshape(-1)

    def _count(self, key: Codes, rows: Placed, code: Codes) -> None:
        place = code * self._fine
        place += rows.place
        key += self._places.take(place)
        self._sum(key, rows.weight)


class FixedTally(Tally):
    """Counts on bins at fixed edges, with the channels that `Binning` names."""

    def __init__(self, first: int, counts: NDArray[Any], binning: Binning, bins: FixedBins) -> None:
        super().__init__(first, counts)
        self._binning = binning
        self._bins = bins

    def _count(self, key: Codes, rows: Placed, code: Codes) -> None:  # noqa: ARG002
        score, weight = rows.score, rows.weight
        assert score is not None
        assert rows.key is not None
        key += self._bins.bins(score, rows.key) * self._binning.channels
        positive = rows.place & 1
        self._sum(key, weight)
        members = np.flatnonzero(positive)
        self._sum(key[members] + 1, None if weight is None else weight[members])
        self._sum(key + 2, score if weight is None else score * weight)
        if self._binning.distances:
            distance = (score - positive) ** 2
            self._sum(key + 3, distance if weight is None else distance * weight)


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
