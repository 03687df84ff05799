"""The reliability curve: what is promised against what happens, over bins of the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.resampling import resample
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.closed_forms import wilson
from plmetrics.inference.intervals.percentile import quantiles
from plmetrics.states.scores.sorted import Binning

if TYPE_CHECKING:
    from plmetrics.states.scores.sorted import SlicedScores

Array = NDArray[np.float64]

RELIABILITY_BINS = 15


def reliability(sliced: SlicedScores, weights: Array | None, level: float) -> list[dict[str, Any]]:
    """Mean score and rate of positives by bin, for each slice, with Wilson intervals or, weighted, bootstrap bands."""
    binning = Binning(RELIABILITY_BINS)
    blocks = 1 if weights is None else weights.shape[1]
    out: list[dict[str, Any]] = []
    for _, _, counts in sliced.bin_counts(binning, blocks):
        out += [_bins(part, weights, level, weighted=sliced.weighted) for part in counts]
    return out


def _bins(part: Array, weights: Array | None, level: float, *, weighted: bool) -> dict[str, Any]:
    weight, positive, score = np.moveaxis(part.sum(axis=0), -1, 0)
    held = weight > 0
    rate = positive[held] / weight[held]
    upper_edge = np.append(Binning(RELIABILITY_BINS).uniform_edges(), 1.0)
    out: dict[str, Any] = {"x": score[held] / weight[held], "y": rate, "threshold": upper_edge[held]}
    if not weighted:
        out["lower"], out["upper"] = wilson(rate, weight[held], level)
        out["n"] = weight[held]
    elif weights is not None:
        drawn = resample(weights, part[None, :, held])[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = drawn[..., 1] / drawn[..., 0]
        alone = effective_blocks((part[:, held, 0].T,)) < 2
        ends = quantiles(rates, ((1 - level) / 2, (1 + level) / 2))
        out["lower"], out["upper"] = np.where(alone, np.nan, ends)
    return out
