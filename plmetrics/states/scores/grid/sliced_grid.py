"""Counts of a slice set on a grid of the ordering number, in the form ordered metrics read.

A grid answers as sorted rows do, so that ordered metrics cannot tell which they read; only their `bound` can: bins that
hold several distinct scores leave their order open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.segments import Segments
from plmetrics.core.threads import steps
from plmetrics.states.arms import ARMS
from plmetrics.states.scores.bin_lookup import bins_of_one
from plmetrics.states.scores.coarse import tied_bins
from plmetrics.states.scores.sliced_scores import CLASSES, Binning, ScoresWithoutRows

if TYPE_CHECKING:
    from plmetrics.states.scores.exact.row_counts import RowCounts
    from plmetrics.states.scores.grid.grid_tally import BinKind

_POINTS_AT_ONCE = 1 << 17
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class SlicedGrid(ScoresWithoutRows):
    """The counts of a slice set: `fine` `[slice, bin, class]`, and by block as `parts` of a few slices give them.

    `coarse` gives the coarse bin of each fine one `[slice, bin]`, `ends` the lowest and highest number of each slice
    `[slice, end]` where quantiles are to be read, of two arms the lowest and highest outcome. `label_edges` are those
    of labels where these are counted together with predictions. `sparse` gives coarse counts by block as rows where
    these are few, else None.
    """

    edges: Array
    slices: int
    fine: Array
    parts: Callable[[BinKind], Iterator[tuple[int, int, Array]]]
    has_weights: bool
    coarse: Callable[[], NDArray[np.uint16]]
    ends: Array | None = None
    label_edges: Array | None = None
    sparse: Callable[[], RowCounts | None] = lambda: None
    has_bins: ClassVar[bool] = True

    @property
    def channels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the counts in each bin: two classes, or two arms with their outcomes."""
        return ARMS if self.fine.shape[-1:] == (len(ARMS),) else CLASSES

    def few_slices(self) -> list[tuple[int, int]]:
        """Slice ranges, each from a first to a last, with points in the processor's cache."""
        return steps(0, self.slices, max(1, _POINTS_AT_ONCE // (len(self.edges) + 1)))

    def point_state(self, first: int = 0, last: int | None = None) -> dict[str, Any]:
        """Fine bins of each slice, or of some slices, each at its lowest possible score.

        Those that can hold but one score are `tied`: their order is not open.

        Quantiles find the highest as well, the order of two arms the lowest and the highest outcome of each slice.
        """
        fine, ends = self.fine[first:last], None if self.ends is None else self.ends[first:last]
        offsets = np.arange(len(fine) + 1) * (len(self.edges) + 1)
        lowest = np.append(-np.inf, np.nextafter(self.edges, np.inf))
        scores = {"score": np.tile(lowest, len(fine))}
        if ends is not None and self.channels == CLASSES:
            low, high = (np.repeat(end, len(lowest)) for end in ends.T)
            scores["highest"] = np.tile(np.append(self.edges, np.inf), len(fine))
            scores = {name: np.minimum(np.maximum(score, low), high) for name, score in scores.items()}
        counts = dict(zip(self.channels, np.moveaxis(fine, -1, 0), strict=True))
        tied = {"tied": np.tile(bins_of_one(self.edges), len(fine))}
        state: dict[str, Any] = {
            name: Segments(values.reshape(-1), offsets) for name, values in (scores | counts | tied).items()
        }
        if ends is not None and self.channels == ARMS:
            state |= dict(zip(("lowest_outcome", "highest_outcome"), ends.T, strict=True))
        return state

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Weight per class on coarse bins by block."""
        del blocks  # a grid is counted for one number of blocks
        return self.parts("coarse")

    def row_counts(self) -> RowCounts | None:
        """Rows per class on coarse bins; None where their counts are not sparse, or not whole."""
        return self.sparse()

    def coarse_ties(self) -> Flags:
        """Whether all rows of a coarse bin are in one fine bin, a tie of scores `[slice, bin]`."""
        coarse = self.coarse()
        code, bins = np.nonzero(self.fine.any(axis=2))
        return tied_bins(code, coarse[code, bins], (self.slices, int(coarse.max(initial=0)) + 1))

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """The channels of fixed bins by block."""
        del blocks
        return self.parts(binning)

    def quantile_edges(self, bins: int) -> Array:
        """Edges of the last fine bins of bins of equal weight: `[slice, bins - 1]`."""
        return np.append(self.edges, np.inf)[quantile_places(self.fine, bins)]


def quantile_bins(fine: Array, bins: int) -> NDArray[np.uint16]:
    """The bin of equal weight of each fine bin `[slice, bin]`, from the counts of both classes `[slice, bin, class]`.

    A fine bin is in one of them as a whole, the one that its highest rows would be in.
    """
    return np.stack(
        [np.searchsorted(edges, np.arange(fine.shape[1])) for edges in quantile_places(fine, bins)]
    ).astype(np.uint16)


def quantile_places(fine: Array, bins: int) -> Codes:
    """The last fine bin of each bin of equal weight but the highest `[slice, bins - 1]`."""
    running = np.cumsum(fine.sum(axis=2), axis=1)
    shares = np.arange(1, bins) / bins
    rows = [np.searchsorted(row, shares * row[-1] * (1 - _TIE)) for row in running]
    return np.array(rows, dtype=np.int64).reshape(len(fine), bins - 1)
