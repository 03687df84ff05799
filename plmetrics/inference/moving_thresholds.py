"""Sums with a threshold of each replicate, for `uncertainty: {thresholds: resampled}`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array
from plmetrics.engine.order.threshold_replicates import Draws, threshold_replicates
from plmetrics.inference.weights import ResamplingWeights, draw_weights

if TYPE_CHECKING:
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.inference.subject import SetStates

_ELSEWHERE = 0x5E1EC7
"""Draws of units that are not evaluated must be none of those that are."""


def with_threshold_replicates(
    sets: Sequence[SetStates], plan: RunPlan, block_keys: NDArray[np.uint64], weights: ResamplingWeights
) -> list[SetStates]:
    """States of the slice sets, with replicates of counts at a threshold chosen in each."""
    uncertainty = plan.request.suite.uncertainty
    assert uncertainty is not None

    def further(blocks: int) -> Array:
        seed = uncertainty.seed ^ _ELSEWHERE
        return draw_weights(np.ones(blocks, dtype=np.int64), uncertainty.replicates, seed).matrix

    draws = Draws(weights.matrix, block_keys, further)
    complements = [states.complements is not None for states in sets]
    replicates = threshold_replicates(plan, block_keys, draws, complements=complements)
    out = []
    for states, (columns, complement_columns) in zip(sets, replicates, strict=True):
        others = states.complements
        if others is not None:
            others = replace(others, sums=replace(others.sums, replicates=complement_columns))
        out.append(replace(states, sums=replace(states.sums, replicates=columns), complements=others))
    return out
