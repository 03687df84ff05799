"""Net benefit over the threshold probability: of acting on a model, and of acting on all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.curves.bands import LEAST_BLOCKS, drawn_classes
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.percentile import quantiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.states.scores.sorted_rows import Binning, SlicedScores

    Points = dict[str, Any]

Array = NDArray[np.float64]


def net_benefits(
    sliced: SlicedScores, binning: Binning, weights: Array | None, level: float
) -> Iterator[tuple[Points, Points]]:
    """Net benefit tp/n - fp/n t/(1 - t) at each edge t of the bins, of the model and of all rows, in each slice.

    Rows of a score of t or more are called. Bands are percentiles of replicates; there are none with fewer than 2
    effective blocks. `weights` is W `[replicate, block]`. Source: Vickers and Elkin (2006).
    """
    t = binning.all_edges()[1:-1]
    for _, _, counts in sliced.bin_counts(binning, 1 if weights is None else weights.shape[1]):
        for part in counts:
            total = part.sum(axis=0)[None]
            if total[..., 0].sum() == 0:
                yield {}, {}
                continue
            blocks = int(effective_blocks((part[..., 0].sum(axis=1),)))
            drawn = (
                None if weights is None or blocks < LEAST_BLOCKS else drawn_classes(weights, part[None])[0]
            )
            yield (
                _curve(_model_benefit, total, drawn, t, level),
                _curve(_treat_all_benefit, total, drawn, t, level),
            )


def _curve(reading: Any, total: Array, drawn: Array | None, t: Array, level: float) -> Points:
    points = {"x": t, "y": reading(total, t)[0], "threshold": t}
    if drawn is not None:
        lower, upper = quantiles(reading(drawn, t), ((1 - level) / 2, (1 + level) / 2))
        points |= {"lower": lower, "upper": upper}
    return points


def _model_benefit(counts: Array, t: Array) -> Array:
    """From bins `[..., bin, (all, positive)]`."""
    called = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:]
    return _benefit(called, counts, t)


def _treat_all_benefit(counts: Array, t: Array) -> Array:
    return _benefit(counts.sum(axis=1, keepdims=True), counts, t)


def _benefit(called: Array, counts: Array, t: Array) -> Array:
    rows = counts[..., 0].sum(axis=1, keepdims=True)
    right, wrong = called[..., 1], called[..., 0] - called[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        benefit: Array = (right - wrong * t / (1 - t)) / rows
    return benefit
