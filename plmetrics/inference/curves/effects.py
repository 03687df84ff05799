"""Curves of predicted effects: what is gained by treating the highest first, and predicted against observed effects."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.uplift.targeted import TargetedTotals
from plmetrics.inference.curves.effect_bands import drawn_arms, effect_band
from plmetrics.inference.curves.thinning import thin
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.percentile import quantiles
from plmetrics.inference.ordered.views import score_view
from plmetrics.inference.weights import resample
from plmetrics.states.arms import ARMS
from plmetrics.states.scores.sorted import Binning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.core.segments import Segments
    from plmetrics.states.scores.sorted import SlicedScores

Array = NDArray[np.float64]
Points = dict[str, Any]

DECILES = Binning(10, "quantile")


def points_of_effects(
    curve: str, sliced: SlicedScores, weights: Array | None, level: float
) -> list[dict[str, Any]]:
    """The points of a curve in each slice; none where an arm is empty.

    qini, uplift and guelman: y over the share x of rows with the highest scores, from nobody on, with the score of the
    last of them as `threshold`. effect_calibration: mean score and observed effect by tenth of the scores, lowest
    first; a tenth without rows of one arm is left out. Where blocks are resampled there are percentile bands.
    """
    if curve == "effect_calibration":
        out: list[dict[str, Any]] = []
        for _, _, counts in sliced.bin_counts(DECILES, 1 if weights is None else weights.shape[1]):
            out += [_calibration(part, weights, level, weighted=sliced.weighted) for part in counts]
        return out
    state = sliced.point_state()
    replicates = repeat(None, sliced.slices) if weights is None else drawn_arms(sliced, weights)
    return [_gain_points(curve, state, index, drawn, level) for index, drawn in enumerate(replicates)]


def _gain_points(
    curve: str, state: Mapping[str, Segments], index: int, drawn: Array | None, level: float
) -> Points:
    low, high = state["score"].offsets[index : index + 2]
    channels = {name: state[name] for name in ("score", *ARMS)}
    view = score_view({name: part.values[low:high] for name, part in channels.items()})
    if view.treated_weight == 0 or view.control_weight == 0:
        return {}
    targeted = TargetedTotals(view)
    x, y, threshold = (
        np.append(start, values[::-1])
        for start, values in ((0.0, targeted.share), (0.0, _GAINED[curve](targeted)), (np.nan, view.score))
    )
    keep = thin(x, y)
    out = {"x": x[keep], "y": y[keep], "threshold": threshold[keep]}
    if drawn is not None:
        out["lower"], out["upper"] = effect_band(_GAINED[curve], out["x"], out["y"], drawn, level)
    return out


_GAINED: dict[str, Callable[[TargetedTotals], Any]] = {
    "qini": TargetedTotals.radcliffe,
    "uplift": TargetedTotals.uplift,
    "guelman": TargetedTotals.guelman,
}
EFFECT_CURVES = (*_GAINED, "effect_calibration")
"""The curves that are drawn here."""


def _calibration(part: Array, weights: Array | None, level: float, *, weighted: bool) -> Points:
    """Bins of one slice `[block, bin, channel]`."""
    total = part.sum(axis=0)
    both_arms = (total[:, 0] > 0) & (total[:, 1] > 0)
    part, total = part[:, both_arms], total[both_arms]
    mass = total[:, 0] + total[:, 1]
    out: Points = {"x": total[:, len(ARMS)] / mass, "y": _effect(total)}
    if not weighted:
        out["n"] = mass
    if weights is not None:
        effects = _effect(resample(weights, part[None, ..., : len(ARMS)])[0])
        alone = effective_blocks((part[..., 0].T, part[..., 1].T)) < 2
        ends = quantiles(effects, ((1 - level) / 2, (1 + level) / 2))
        out["lower"], out["upper"] = np.where(alone, np.nan, ends)
    return out


def _effect(counts: Array) -> Array:
    """Mean outcome of the treated less that of the controls, from the channels of both arms."""
    control, treated, control_outcome, treated_outcome = np.moveaxis(counts, -1, 0)[: len(ARMS)]
    with np.errstate(divide="ignore", invalid="ignore"):
        effect: Array = treated_outcome / treated - control_outcome / control
    return effect
