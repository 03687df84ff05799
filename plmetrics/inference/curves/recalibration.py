"""The CORP reliability curve: the isotonic regression of the label on the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core import ops
from plmetrics.inference.curves.bands import LEAST_BLOCKS
from plmetrics.inference.curves.thinning import thin
from plmetrics.inference.intervals.percentile import quantiles

if TYPE_CHECKING:
    from plmetrics.inference.curves.bands import Replicates
    from plmetrics.inference.curves.ranking import Operating

Array = NDArray[np.float64]

_EQUAL = 1e-12
"""Rates that differ by less differ by rounding."""


def recalibration(
    points: Operating, replicates: Replicates | None, level: float, *, weighted: bool
) -> dict[str, Any]:
    """Both ends of each flat piece of the isotonic regression, with the rows of the piece; one where they are one.

    Bands are percentiles of the regressions of replicates on coarse bins; there are none with fewer than 2 effective
    blocks of either class. Source: Dimitriadis, Gneiting and Jordan (2021).
    """
    mass = points.positive + points.negative
    if len(mass) == 0:
        return {}
    rate = ops.isotonic(points.positive, mass)
    first = np.flatnonzero(np.append(True, np.diff(rate) > _EQUAL))
    last = np.append(first[1:], len(rate)) - 1
    ends = np.unique(np.concatenate([first, last]))
    ends = ends[thin(points.score[ends], rate[ends])]
    rows = np.add.reduceat(mass, first)[np.searchsorted(first, ends, side="right") - 1]
    out: dict[str, Any] = {"x": points.score[ends], "y": rate[ends], "threshold": points.score[ends]}
    if not weighted:
        out["n"] = rows
    if replicates is not None and min(replicates.positive_blocks, replicates.negative_blocks) >= LEAST_BLOCKS:
        middle = np.cumsum(mass)[ends] - mass[ends] / 2
        out["lower"], out["upper"] = _band(middle, replicates, level)
    return out


def _band(middle: Array, replicates: Replicates, level: float) -> tuple[Array, Array]:
    """Percentiles at points whose middle rows are given, from the regressions of the coarse bins that these are in."""
    counts = replicates.counts
    mass = counts.sum(axis=2)
    drawn = _forward_fill(ops.isotonic(counts[1:, :, 1], mass[1:]), mass[1:])
    bins = np.minimum(np.searchsorted(np.cumsum(mass[0]), middle), mass.shape[1] - 1)
    lower, upper = quantiles(drawn[:, bins], ((1 - level) / 2, (1 + level) / 2))
    return lower, upper


def _forward_fill(rates: Array, mass: Array) -> Array:
    """Rates with those of empty bins: that of the bin before, and before all that of the first."""
    occupied = mass > 0
    lowest = np.take_along_axis(rates, occupied.argmax(axis=1)[:, None], axis=1)
    rising: Array = np.maximum(np.maximum.accumulate(rates, axis=1), lowest)
    return rising
