"""Pointwise bands of curves of gained outcomes, from replicates of coarse counts of both arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.uplift.targeted import TargetedTotals
from plmetrics.inference.curves.bands import interpolated
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.percentile import quantiles
from plmetrics.inference.intervals.spread import UNDEFINED_SHARE
from plmetrics.inference.ordered.views import channel_view
from plmetrics.inference.weights import resample
from plmetrics.states.arms import ARMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from plmetrics.states.scores.sorted import SlicedScores

Array = NDArray[np.float64]

_LEAST_BLOCKS = 2
_AT_ONCE = 1 << 20


def drawn_arms(sliced: SlicedScores, weights: Array) -> Iterator[Array | None]:
    """Coarse counts of each slice `[replicate, bin, channel]`: all rows first, then the replicates with both arms.

    None for a slice with fewer than 2 effective blocks of an arm, or where more than 5 % of the replicates lack one.
    """
    every = np.concatenate([np.ones((1, weights.shape[1])), weights])
    for _, _, counts in sliced.block_counts(weights.shape[1]):
        for part in counts:
            by_block = part[..., :2].sum(axis=1, dtype=np.float64).T
            if min(int(effective_blocks((mass,))) for mass in by_block) < _LEAST_BLOCKS:
                yield None
                continue
            drawn = resample(every, part[None].astype(np.float64, copy=False))[0]
            sound = (drawn[..., :2].sum(axis=1) > 0).all(axis=-1)
            yield None if np.mean(~sound[1:]) > UNDEFINED_SHARE else drawn[sound]


def effect_band(
    gained: Callable[[TargetedTotals], Any], x: Array, y: Array, drawn: Array, level: float
) -> tuple[Array, Array]:
    """The ends at each x of a curve: percentiles of the replicates' values there.

    Replicates are lines between the ends of coarse bins, each moved by (y - value of the coarse bins of all rows).
    """
    totals = TargetedTotals(channel_view(np.moveaxis(drawn, -1, 0), ARMS, {}))
    shares, values = (_from_nobody(each) for each in (totals.share, gained(totals)))
    ends = np.empty((2, len(x)))
    step = max(1, _AT_ONCE // len(drawn))
    for low in range(0, len(x), step):
        part = slice(low, low + step)
        read = interpolated(x[part], shares, values)
        moved = read[1:] + (y[part] - read[0])
        ends[:, part] = quantiles(moved, ((1 - level) / 2, (1 + level) / 2))
    return ends[0], ends[1]


def _from_nobody(values: Array) -> Array:
    """Totals from the highest bin down, with 0 before `[replicate, point]`."""
    return np.concatenate([np.zeros((len(values), 1)), values[:, ::-1]], axis=1)
