"""Net benefit over the threshold probability: of acting on a model, and of acting on all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.ops import Array
from plmetrics.inference.curves.bands import LEAST_BLOCKS, drawn_classes
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.percentile import percentile

if TYPE_CHECKING:
    from plmetrics.inference.weights import ResamplingWeights
    from plmetrics.states.scores.sliced_scores import Binning, SlicedScores

    Points = dict[str, Any]


def net_benefits(
    sliced: SlicedScores, binning: Binning, weights: ResamplingWeights | None, level: float
) -> Iterator[tuple[Points, Points]]:
    """Net benefit tp/n - fp/n t/(1 - t) at each edge t of the bins, of the model and of all rows, in each slice.

    Rows of a score of t or more are called. Bands are percentiles of replicates; there are none with fewer than 2
    effective blocks. `weights` are draws of blocks. Source: Vickers and Elkin (2006).
    """
    t = binning.all_edges()[1:-1]
    for _, _, counts in sliced.bin_counts(binning, 1 if weights is None else weights.shape[1]):
        for part in counts:
            total = part.sum(axis=0)[None]
            if total[..., 0].sum() == 0:
                yield {}, {}
                continue
            blocks = int(effective_blocks((part[..., 0].sum(axis=1),)))
            drawn = None
            if weights is not None and blocks >= LEAST_BLOCKS:
                drawn = drawn_classes(weights, part[None])[0]
            yield (
                _curve(total, drawn, t, level, treats_all=False),
                _curve(total, drawn, t, level, treats_all=True),
            )


def _curve(total: Array, drawn: Array | None, t: Array, level: float, *, treats_all: bool) -> Points:
    points = {"x": t, "y": _benefit(total, t, treats_all=treats_all)[0], "threshold": t}
    if drawn is not None:
        benefit = _benefit(drawn, t, treats_all=treats_all)
        lower, upper = percentile(benefit, level)
        points |= {"lower": lower, "upper": upper}
    return points


def _benefit(counts: Array, t: Array, *, treats_all: bool) -> Array:
    """Net benefit of calling all rows, or those of a score of t or more, from bins `[..., bin, (all, positive)]`."""
    everyone = counts.sum(axis=1, keepdims=True)
    called = everyone if treats_all else np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:]
    rows = counts[..., 0].sum(axis=1, keepdims=True)
    right, wrong = called[..., 1], called[..., 0] - called[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        benefit: Array = (right - wrong * t / (1 - t)) / rows
    return benefit
