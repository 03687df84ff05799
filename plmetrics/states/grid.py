"""Scores counted on a fine grid: what stands in for the sorted rows where these do not fit into memory.

Edges are constants of the run. A grid answers as sorted rows do, so that ordered metrics cannot tell which they
read; only their `bound` can: bins that hold several distinct scores leave their order open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.segments import Segments
from plmetrics.states.scores import COARSE_BINS, Array, Binning, Codes, balanced_edges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

FINE_BINS = 4096


@dataclass(frozen=True, slots=True)
class GridEdges:
    """Edges of the fine bins of one model, and the coarse bin of each."""

    fine: Array
    coarse: Codes

    @classmethod
    def of(cls, score: Array, positives: Array) -> GridEdges:
        """Balanced edges from a sample of all scores and the positives' among them."""
        fine = balanced_edges(score, positives, FINE_BINS)
        every = max(1, (len(fine) + 1) // COARSE_BINS)
        return cls(fine, np.arange(len(fine) + 1) // every)

    @property
    def bins(self) -> int:
        """Number of fine bins."""
        return len(self.fine) + 1

    @property
    def coarse_bins(self) -> int:
        """Number of coarse bins."""
        return int(self.coarse[-1]) + 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of one model, in any order."""

    score: Array
    positive: NDArray[np.bool_]
    weight: Array | None
    cell: Codes
    block: NDArray[np.int32] | None


class Grid:
    """Counts of one model on one cube: by cell on fine bins, by cell and block on coarse and on fixed bins."""

    def __init__(
        self, edges: GridEdges, cells: int, blocks: int, binnings: tuple[Binning, ...], *, weighted: bool
    ) -> None:
        self.edges = edges
        self.weighted = weighted
        self.fine = np.zeros((cells, edges.bins, 2))
        self.blocks = np.zeros((cells, blocks, edges.coarse_bins, 2)) if blocks > 1 else None
        self.fixed = {binning: np.zeros((cells, blocks, binning.bins, 3)) for binning in binnings}

    def add(self, batch: Batch) -> None:
        """Count some rows."""
        own = 1.0 if batch.weight is None else batch.weight
        fine = np.searchsorted(self.edges.fine, batch.score)
        member = batch.positive.astype(np.int64)
        np.add.at(self.fine.reshape(-1), (batch.cell * self.edges.bins + fine) * 2 + member, own)
        place = batch.cell
        if self.blocks is not None and batch.block is not None:
            place = batch.cell * self.blocks.shape[1] + batch.block
            key = (place * self.edges.coarse_bins + self.edges.coarse[fine]) * 2 + member
            np.add.at(self.blocks.reshape(-1), key, own)
        for binning, counts in self.fixed.items():
            key = (place * binning.bins + np.searchsorted(binning.uniform_edges(), batch.score)) * 3
            flat = counts.reshape(-1)
            np.add.at(flat, key, own)
            np.add.at(flat, key + 1, own * member)
            np.add.at(flat, key + 2, own * batch.score)

    def regroup(self, codes: Codes, slices: int) -> SlicedGrid:
        """The counts of each slice: its cells added. `codes` is the slice of each cell, -1 for none."""
        return SlicedGrid(
            self.edges,
            _added(self.fine, codes, slices),
            None if self.blocks is None else _added(self.blocks, codes, slices),
            {binning: _added(counts, codes, slices) for binning, counts in self.fixed.items()},
            self.weighted,
        )


@dataclass(frozen=True, slots=True)
class SlicedGrid:
    """A grid by slice."""

    edges: GridEdges
    fine: Array
    blocks: Array | None
    fixed: Mapping[Binning, Array]
    weighted: bool

    @property
    def slices(self) -> int:
        """Number of slices."""
        return len(self.fine)

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
        bins = self.edges.bins
        offsets = np.arange(self.slices + 1) * bins
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
        assert self.blocks is not None
        assert self.blocks.shape[1] == blocks
        yield 0, self.slices, self.blocks

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Weight, positive weight and weight times score on fixed bins by block."""
        counts = self.fixed[binning]
        yield 0, self.slices, counts if blocks > 1 else counts.sum(axis=1, keepdims=True)


def _added(counts: Array, codes: Codes, slices: int) -> Array:
    out = np.zeros((slices, *counts.shape[1:]))
    held = codes >= 0
    np.add.at(out, codes[held], counts[held])
    return out
