"""Reliability: mean score against the rate of positives, by bin of the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.closed_forms import wilson
from plmetrics.inference.intervals.percentile import quantiles
from plmetrics.inference.weights import resample

if TYPE_CHECKING:
    from plmetrics.states.scores.sorted import Binning, SlicedScores

Array = NDArray[np.float64]


def reliability(
    sliced: SlicedScores, binning: Binning, weights: Array | None, level: float
) -> list[dict[str, Any]]:
    """Mean score and rate of positives by bin, for each slice, with Wilson intervals or, weighted, bootstrap bands.

    `weights` is W `[replicate, block]`. The threshold is the upper edge of a bin, at most 1.
    """
    blocks = 1 if weights is None or not sliced.weighted else weights.shape[1]
    if binning.strategy == "quantile":
        inner = np.minimum(sliced.quantile_edges(binning.bins), 1.0)
        edges = np.column_stack([inner, np.ones(len(inner))])
    else:
        edges = np.tile(binning.all_edges()[1:], (sliced.slices, 1))
    out: list[dict[str, Any]] = []
    for first, last, counts in sliced.bin_counts(binning, blocks):
        for part, upper_edge in zip(counts, edges[first:last], strict=True):
            points = _bins(part, weights, level, weighted=sliced.weighted)
            occupied = part[..., 0].sum(axis=0) > 0
            out.append({**points, "threshold": upper_edge[occupied]})
    return out


def _bins(part: Array, weights: Array | None, level: float, *, weighted: bool) -> dict[str, Any]:
    """Bins of one slice `[block, bin, channel]`, those that have weight."""
    weight, positive, score = np.moveaxis(part.sum(axis=0), -1, 0)
    occupied = weight > 0
    rate = positive[occupied] / weight[occupied]
    out: dict[str, Any] = {"x": score[occupied] / weight[occupied], "y": rate}
    if not weighted:
        out["lower"], out["upper"] = wilson(rate, weight[occupied], level)
        out["n"] = weight[occupied]
    elif weights is not None:
        replicates = resample(weights, part[None, :, occupied])[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = replicates[..., 1] / replicates[..., 0]
        alone = effective_blocks((part[:, occupied, 0].T,)) < 2
        ends = quantiles(rates, ((1 - level) / 2, (1 + level) / 2))
        out["lower"], out["upper"] = np.where(alone, np.nan, ends)
    return out
