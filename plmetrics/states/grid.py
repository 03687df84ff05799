"""Scores counted on a grid: what stands in for the sorted rows where these do not fit into memory.

Edges are constants of the run. A grid answers as sorted rows do, so that ordered metrics cannot tell which they
read; only their `bound` can: bins that hold several distinct scores leave their order open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from plmetrics.core.segments import Segments
from plmetrics.states.coarse import Array, Codes, coarse_number
from plmetrics.states.scores import CLASSES, Binning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

FINE_BINS = 4096
Bins = Literal["fine", "coarse"] | Binning


def shape(bins: Bins, edges: Array, slices: int) -> tuple[int, int]:
    """Number of bins of a kind in a set of so many slices, and of what is counted in each.

    `edges` are those of the fine bins.
    """
    if isinstance(bins, Binning):
        return bins.bins, bins.channels
    return (len(edges) + 1 if bins == "fine" else coarse_number(slices)), 2


class Batch:
    """Some rows of one model, in any order; what fine bin each lies in is found once."""

    def __init__(
        self,
        edges: Array,
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
        return np.searchsorted(self.edges, self.score)


class Tally:
    """Counts of the slices from `first` up to `last`: `[slice, block, bin, channel]`.

    On fine and coarse bins the channels are the weights of the negatives and of the positives; on fixed bins those
    that `Binning` names. `coarse` is the coarse bin of each fine one, for each of the slices.
    """

    def __init__(
        self,
        bins: Bins,
        first: int,
        size: tuple[int, int, int, int],
        coarse: NDArray[np.uint16] | None = None,
    ) -> None:
        self.bins = bins
        self.first = first
        self.counts = np.zeros(size)
        self._coarse = coarse

    def add(self, batch: Batch, code: Codes) -> None:
        """Count some rows; `code` is the slice of each, -1 for none."""
        slices, blocks, bins, channels = self.counts.shape
        place = code - self.first
        key = place * blocks if batch.block is None or blocks == 1 else place * blocks + batch.block
        key = (key * bins + self._bin_of(batch, code)) * channels
        own = np.ones(len(code)) if batch.weight is None else batch.weight
        masses = [own]
        if isinstance(self.bins, Binning):
            masses += [own * batch.positive, own * batch.score]
            if self.bins.distances:
                masses.append(own * (batch.score - batch.positive) ** 2)
        else:
            key += batch.positive
        held = (place >= 0) & (place < slices)
        if not held.all():
            key, masses = key[held], [mass[held] for mass in masses]
        for channel, mass in enumerate(masses):
            np.add.at(self.counts.reshape(-1), key + channel, mass)

    def _bin_of(self, batch: Batch, code: Codes) -> Codes | NDArray[np.uint16]:
        if isinstance(self.bins, Binning):
            return np.searchsorted(self.bins.uniform_edges(), batch.score)
        if self._coarse is None:
            return batch.fine
        return self._coarse[np.clip(code - self.first, 0, len(self._coarse) - 1), batch.fine]


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
