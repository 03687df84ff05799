"""Bins of equal weight made of fine bins: what quantiles of sorted rows are where rows are counted on a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array, Codes

_TIE = 1e-12


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
