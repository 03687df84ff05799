"""Views of ordered metrics: points and bins, as dense arrays or segments, with their totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core import ops
from plmetrics.states.scores.sorted_rows import BIN_CHANNELS
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Array = NDArray[np.float64]


def score_view(
    state: Mapping[str, Any], *, coarse: bool = False, joined: bool = False, binned: bool = False
) -> View:
    """Points of each class, or of each arm, with their totals, as a metric reads them.

    `coarse` points are bins of a replicate's state, in which a metric that looks for a threshold may look further, and
    `binned` ones those of a grid, whose order is open: but of both those that are `tied`, of a single score. `joined`
    ones are runs of scores without positives between them.
    """
    of_arms = "treated" in state
    first, second = ("treated", "control") if of_arms else ("positive", "negative")
    first_total, second_total = ops.total(state[first]), ops.total(state[second])
    names = ("treated_weight", "control_weight") if of_arms else ("positives", "negatives")
    totals = {
        **dict(zip(names, (first_total, second_total), strict=True)),
        "weight": first_total + second_total,
        "n": first_total + second_total,
    }
    return View({"tied": False, **state, **totals, "coarse": coarse, "joined": joined, "binned": binned})


def bin_view(counts: Array) -> View:
    """Bins `[..., bin, channel]` as a metric reads them."""
    weight, positive = counts[..., 0].sum(axis=-1), counts[..., 1].sum(axis=-1)
    channels = dict(zip(BIN_CHANNELS, np.moveaxis(counts, -1, 0), strict=False))
    return View(
        {
            **channels,
            "weight": weight,
            "n": weight,
            "positives": positive,
            "negatives": weight - positive,
        }
    )


def channel_view(
    channels: Iterable[NDArray[Any]], names: tuple[str, ...], further: Mapping[str, Array]
) -> View:
    """Points of each channel `[..., point]` as a metric reads them."""
    return score_view({**further, **dict(zip(names, channels, strict=True))}, coarse=True)
