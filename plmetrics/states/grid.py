"""Scores counted on a grid: what stands in for the sorted rows where these do not fit into memory.

Edges are constants of the run. A grid answers as sorted rows do, so that ordered metrics cannot tell which they
read; only their `bound` can: bins that hold several distinct scores leave their order open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from plmetrics.core.segments import Segments
from plmetrics.states.scores import COARSE_BINS, Array, Binning, Codes, balanced_edges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

FINE_BINS = 4096
Bins = Literal["fine", "coarse"] | Binning


@dataclass(frozen=True, slots=True)
class GridEdges:
    """Edges of the fine bins of one model, and the coarse bin of each."""

    fine: Array
    coarse: Codes

    @classmethod
    def of(cls, score: Array, positives: Array, bins: int = FINE_BINS) -> GridEdges:
        """Balanced edges from a sample of all scores and the positives' among them."""
        fine = balanced_edges(score, positives, bins)
        every = max(1, (len(fine) + 1) // COARSE_BINS)
        return cls(fine, np.arange(len(fine) + 1) // every)

    def shape(self, bins: Bins) -> tuple[int, int]:
        """Number of bins of a kind, and of what is counted in each."""
        if isinstance(bins, Binning):
            return bins.bins, 3
        return (len(self.fine) + 1 if bins == "fine" else int(self.coarse[-1]) + 1), 2


class Batch:
    """Some rows of one model, in any order; what bin each lies in is found once."""

    def __init__(
        self,
        edges: GridEdges,
        score: Array,
        positive: NDArray[np.bool_],
        weight: Array | None,
        block: NDArray[np.int32] | None,
    ) -> None:
        self.edges = edges
        self.score = score
        self.positive = positive.astype(np.int64)
        self.weight = weight
        self.block = block

    @cached_property
    def fine(self) -> Codes:
        """The fine bin of each row."""
        return np.searchsorted(self.edges.fine, self.score)

    def bin_of(self, bins: Bins) -> Codes:
        """The bin of each row."""
        if isinstance(bins, Binning):
            return np.searchsorted(bins.uniform_edges(), self.score)
        return self.fine if bins == "fine" else self.edges.coarse[self.fine]


class Tally:
    """Counts of the slices from `first` up to `last`: `[slice, block, bin, channel]`.

    On fine and coarse bins the channels are the weights of the negatives and of the positives; on fixed bins the
    weight, the positives' weight, and weight times score.
    """

    def __init__(self, edges: GridEdges, bins: Bins, first: int, last: int, blocks: int) -> None:
        self.bins = bins
        self.first = first
        self.counts = np.zeros((last - first, blocks, *edges.shape(bins)))

    def add(self, batch: Batch, code: Codes) -> None:
        """Count some rows; `code` is the slice of each, -1 for none."""
        slices, blocks, bins, channels = self.counts.shape
        place = code - self.first
        key = place * blocks if batch.block is None or blocks == 1 else place * blocks + batch.block
        key = (key * bins + batch.bin_of(self.bins)) * channels
        own = np.ones(len(code)) if batch.weight is None else batch.weight
        masses = [own]
        if isinstance(self.bins, Binning):
            masses += [own * batch.positive, own * batch.score]
        else:
            key += batch.positive
        held = (place >= 0) & (place < slices)
        if not held.all():
            key, masses = key[held], [mass[held] for mass in masses]
        for channel, mass in enumerate(masses):
            np.add.at(self.counts.reshape(-1), key + channel, mass)


@dataclass(frozen=True, slots=True)
class SlicedGrid:
    """The counts of a slice set: `fine` `[slice, bin, class]`, and by block as `parts` of a few slices give them."""

    edges: GridEdges
    slices: int
    fine: Array
    parts: Callable[[Bins], Iterator[tuple[int, int, Array]]]
    weighted: bool

    @property
    def rows(self) -> None:
        """Only counts are left."""
        return None

    @property
    def binned(self) -> bool:
        """Points are bins."""
        return True

    def point_state(self) -> dict[str, Segments]:
        """The fine bins of each slice, each at its upper edge."""
        offsets = np.arange(self.slices + 1) * (len(self.edges.fine) + 1)
        upper = np.append(self.edges.fine, np.inf)
        return {
            "score": Segments(np.tile(upper, self.slices), offsets),
            "negative": Segments(self.fine[..., 0].reshape(-1), offsets),
            "positive": Segments(self.fine[..., 1].reshape(-1), offsets),
        }

    def replicate_points(self, weights: Array) -> Iterator[dict[str, Segments]]:
        """A grid has no rows to resample."""
        raise NotImplementedError

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Weight per class on coarse bins by block."""
        del blocks  # a grid is counted for one number of blocks
        return self.parts("coarse")

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Weight, positive weight and weight times score on fixed bins by block."""
        del blocks
        return self.parts(binning)
