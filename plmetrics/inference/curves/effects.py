"""Curves of predicted effects: gain of a treatment by rank, and predicted against observed effects.

Bands of gained outcomes are pointwise, from replicates of coarse counts of both arms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.uplift.bin_bounds import TargetedTotals
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.inference.curves.bands import LEAST_BLOCKS, interpolate, pointwise_band
from plmetrics.inference.curves.thinning import thin
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.percentile import percentile
from plmetrics.inference.intervals.spread import UNDEFINED_SHARE
from plmetrics.inference.metric_values import score_view
from plmetrics.inference.weights import ResamplingWeights, resample
from plmetrics.states.arms import ARMS
from plmetrics.states.scores.grid.sliced_grid import quantile_places

if TYPE_CHECKING:
    from plmetrics.core.segments import Segments
    from plmetrics.states.bin_sums import SliceBins
    from plmetrics.states.scores.sliced_scores import SlicedScores

Points = dict[str, Any]

TENTHS = 10


def points_of_effects(
    curve: str, sliced: SlicedScores, weights: ResamplingWeights | None, level: float
) -> list[dict[str, Any]]:
    """The points of a curve in each slice; none where an arm is empty.

    qini, uplift and guelman: y over the share x of rows with the highest scores, from nobody on, with the score of the
    last of them as `threshold`. Where blocks are resampled there are percentile bands.
    """
    state = sliced.point_state()
    replicates = repeat(None, sliced.slices) if weights is None else drawn_arms(sliced, weights.matrix)
    return [_gain_points(curve, state, index, drawn, level) for index, drawn in enumerate(replicates)]


def _gain_points(
    curve: str, state: Mapping[str, Segments], index: int, drawn: Array | None, level: float
) -> Points:
    low, high = state["score"].offsets[index : index + 2]
    channels = {name: state[name] for name in ("score", *ARMS)}
    view = score_view({name: part.values[low:high] for name, part in channels.items()})
    if view.treated_weight == 0 or view.control_weight == 0:
        return {}
    targeted, occupied = TargetedTotals(view), view.treated + view.control > 0
    x, y, threshold = (
        np.append(start, values[occupied][::-1])
        for start, values in ((0.0, targeted.share), (0.0, _GAINED[curve](targeted)), (np.nan, view.score))
    )
    keep = thin(x, y)
    out = {"x": x[keep], "y": y[keep], "threshold": threshold[keep]}
    if drawn is not None:
        sums = targeted.treated, targeted.treated_outcome, targeted.control, targeted.control_outcome
        alike = np.append(False, _is_alike(*sums)[occupied][::-1])[keep]
        ends = effect_band(_GAINED[curve], out["x"], out["y"], drawn, level)
        out["lower"], out["upper"] = (np.where(alike, np.nan, end) for end in ends)
    return out


def _is_alike(treated: Array, treated_outcome: Array, control: Array, control_outcome: Array) -> Flags:
    """Mask of points where outcomes of an arm are all 0, or all 1: replicates do not show how much they may vary."""
    arms = ((treated, treated_outcome), (control, control_outcome))
    parts = [(outcome == 0) | np.isclose(outcome, weight, rtol=1e-12, atol=0.0) for weight, outcome in arms]
    alike: Flags = parts[0] | parts[1]
    return alike


_GAINED: dict[str, Callable[[TargetedTotals], Any]] = {
    "qini": TargetedTotals.radcliffe,
    "uplift": TargetedTotals.uplift,
    "guelman": TargetedTotals.guelman,
}
EFFECT_CURVES = tuple(_GAINED)
"""The curves that are drawn here."""


def effect_points(
    part: SliceBins, resampled: tuple[SliceBins, NDArray[np.uint64], Array] | None, level: float
) -> Points:
    """Mean score and observed effect by tenth of the scores, lowest first; a tenth without rows of one arm is left out.

    For percentile bands `resampled` has sums by score and block, the keys of blocks, and how often each is drawn
    `[replicate, block]`.
    """
    tenth, size = _tenths(part.weight), TENTHS
    arms = [np.bincount(tenth, weights=each, minlength=size) for each in _arms(part)]
    both_arms = (arms[0] > 0) & (arms[1] > 0)
    if not len(tenth) or not both_arms.any():
        return {}
    effect = _effect(np.stack(arms, axis=-1))
    out: Points = {"x": part.mean("score", tenth, size), "y": effect}
    if part.rows is part.weight:
        out["n"] = np.bincount(tenth, weights=part.rows, minlength=size)
    if resampled is not None:
        out["lower"], out["upper"] = _band(part, tenth, effect, *resampled, level)
    return {name: values[both_arms] for name, values in out.items()}


def _tenths(weight: Array) -> Codes:
    """Tenth of the weight of each whole bin, bins ascending."""
    ends = np.unique(quantile_places(weight[None, :, None], TENTHS)[0]) if len(weight) else np.zeros(0)
    return np.searchsorted(ends, np.arange(len(weight)))


def _arms(part: SliceBins) -> tuple[Array, ...]:
    """The weight of the controls and of the treated, and the sums of their outcomes."""
    treated = part.sums["treated"]
    return (part.weight - treated, treated, part.sums["control outcome"], part.sums["treated outcome"])


def _band(
    part: SliceBins,
    tenth: Codes,
    effect: Array,
    by_block: SliceBins,
    keys: NDArray[np.uint64],
    weights: Array,
    level: float,
) -> Array:
    """Percentiles of the effects of replicates, corrected by the bias of wider bins over all rows."""
    assert by_block.block is not None
    tops = part.upper()[np.flatnonzero(np.diff(tenth, append=TENTHS))]
    there = np.unique(tenth)[np.minimum(np.searchsorted(tops, by_block.upper()), len(tops) - 1)]
    counts = np.zeros((len(keys), TENTHS, len(ARMS)))
    block = np.searchsorted(keys, by_block.block)
    for channel, values in enumerate(_arms(by_block)):
        np.add.at(counts[..., channel], (block, there), values)
    moved = effect - _effect(counts.sum(axis=0))
    effects = _effect(resample(weights, counts[None])[0]) + moved
    alone = effective_blocks((counts[..., 0].T, counts[..., 1].T)) < 2
    control, treated, control_outcome, treated_outcome = counts.sum(axis=0).T[: len(ARMS)]
    alike = _is_alike(treated, treated_outcome, control, control_outcome)
    return np.where(alone | alike, np.nan, percentile(effects, level))


def _effect(counts: Array) -> Array:
    """Mean outcome of the treated less that of the controls, from the channels of both arms."""
    control, treated, control_outcome, treated_outcome = np.moveaxis(counts, -1, 0)[: len(ARMS)]
    with np.errstate(divide="ignore", invalid="ignore"):
        effect: Array = treated_outcome / treated - control_outcome / control
    return effect


def drawn_arms(sliced: SlicedScores, weights: Array) -> Iterator[Array | None]:
    """Coarse counts of each slice `[replicate, bin, channel]`: all rows first, then the replicates with both arms.

    None for a slice with fewer than 2 effective blocks of an arm, or where more than 5 % of the replicates lack one.
    """
    every = np.concatenate([np.ones((1, weights.shape[1])), weights])
    for _, _, counts in sliced.block_counts(weights.shape[1]):
        for part in counts:
            by_block = part[..., :2].sum(axis=1, dtype=np.float64).T
            if min(int(effective_blocks((mass,))) for mass in by_block) < LEAST_BLOCKS:
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
    totals = TargetedTotals(score_view(dict(zip(ARMS, np.moveaxis(drawn, -1, 0), strict=True)), coarse=True))
    shares, values = (_from_nobody(each) for each in (totals.share, gained(totals)))
    return pointwise_band(x, y, lambda some: interpolate(some, shares, values), len(drawn), level)


def _from_nobody(values: Array) -> Array:
    """Totals from the highest bin down, with 0 before `[replicate, point]`."""
    return np.concatenate([np.zeros((len(values), 1)), values[:, ::-1]], axis=1)
