"""Scores of a slice set as ordered metrics read them, exact or on a grid, and their fixed bins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from plmetrics.core.ops import Array, Flags
from plmetrics.core.segments import Segments

CLASSES = ("negative", "positive")
"""Names of the channels of two classes: weights."""

BIN_CHANNELS = ("bin_weight", "bin_positive", "bin_score", "bin_distance")
"""Names of the channels of fixed bins; see `Binning`."""


@dataclass(frozen=True, slots=True)
class Binning:
    """A request for fixed bins: their number, and equal width or quantiles of a slice's scores.

    Channels are the weight, the positives' weight, and weight times score; with `distances` also weight times
    (score - class)^2, which most metrics can do without; without `scores` the first two alone. Bins of equal width
    lie between the ends of `span`, those at its ends are open. An edge is in the bin below, or, of bins that are
    `closed_below`, in the one above.
    """

    bins: int
    strategy: Literal["uniform", "quantile"] = "uniform"
    distances: bool = False
    scores: bool = True
    span: tuple[float, float] = (0.0, 1.0)
    closed_below: bool = False

    @property
    def channels(self) -> int:
        """Number of sums a bin holds."""
        return 2 + int(self.scores) + int(self.distances)

    def uniform_edges(self) -> Array:
        """Edges of all bins but the last; a score belongs to the first bin with score <= edge."""
        edges = self.all_edges()[1:-1]
        return np.nextafter(edges, -np.inf) if self.closed_below else edges

    def all_edges(self) -> Array:
        """Edges of bins of equal width, from one end of their span to the other."""
        low, high = self.span
        return low + (high - low) * (np.arange(self.bins + 1, dtype=np.float64) / self.bins)


class SlicedScores(Protocol):
    """Scores of a slice set, as ordered metrics read them: sorted rows, or a grid.

    `rows` is the number of the model's rows, which says whether to resample them one by one, None where that cannot
    be done; `has_bins` says whether a point may hold several distinct scores.
    """

    @property
    def slices(self) -> int:
        """Number of slices."""

    @property
    def rows(self) -> int | None:
        """Number of the model's rows."""

    @property
    def has_bins(self) -> bool:
        """Whether points are bins."""

    @property
    def has_weights(self) -> bool:
        """Whether rows carry weights."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the counts at each point, in the order of the last axis of `block_counts`."""

    def point_state(self) -> dict[str, Segments]:
        """Scores per slice, ascending, with the weight of each class."""

    def replicate_points(self, weights: Array, *, scores: bool = False) -> Iterator[dict[str, Segments]]:
        """The point state under resampled blocks, a few replicates at a time."""

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """`[slice, block, coarse bin, class]`, a few slices at a time."""

    def coarse_scores(self) -> Array:
        """Mean score of each coarse bin `[slice, coarse bin]`."""

    def coarse_ties(self) -> Flags:
        """Whether all rows of a coarse bin have one score `[slice, coarse bin]`."""

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """`[slice, block, bin, channel]`, a few slices at a time."""

    def quantile_edges(self, bins: int) -> Array:
        """Edges of bins of equal weight `[slice, bins - 1]`."""


class ScoresWithoutRows:
    """Scores without single rows to resample: these are gone, or do not know their blocks. Points are exact."""

    __slots__ = ()
    channels: ClassVar[tuple[str, ...]] = CLASSES
    rows: ClassVar[None] = None
    has_bins: ClassVar[bool] = False

    def replicate_points(self, weights: Array, *, scores: bool = False) -> Iterator[dict[str, Segments]]:
        """Never asked for without `rows`."""
        raise NotImplementedError

    def coarse_scores(self) -> Array:
        """Counts have no scores: metrics of scores are refused before."""
        raise NotImplementedError
