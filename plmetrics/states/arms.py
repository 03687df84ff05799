"""Scores of two arms: weight and outcome of the treated and of the controls along the score.

Outcomes are a second weight of the same rows: what is counted of one is summed of the other, point by point and bin by
bin. Rows come in sorted once per model, as those of two classes do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.segments import Segments
from plmetrics.states.scores.exact.sorted_rows import SlicedRows, SortedRows, group_order
from plmetrics.states.scores.sliced_scores import Binning

ARMS = ("control", "treated", "control_outcome", "treated_outcome")
"""Names of the channels of two arms: weights, and sums of weight times outcome."""


@dataclass(frozen=True, slots=True)
class EffectRows:
    """One model's rows ascending by score: `arms` has the treated as its positives, `outcome` one value per row."""

    arms: SortedRows
    outcome: Array

    def regroup(self, codes: Codes | None, slices: int) -> SlicedEffects:
        """The rows slice by slice, each ascending by score; rows of code -1 are left out, None is one slice of all."""
        arms, outcome, offsets = self.arms, self.outcome, np.array([0, len(self.outcome)])
        if codes is not None:
            order, offsets = group_order(codes, slices)
            arms, outcome = arms.take(order), outcome[order]
        with np.errstate(over="ignore"):
            weighed = outcome if arms.weight is None else outcome * arms.weight
        rows = (arms, replace(arms, weight=weighed))
        return SlicedEffects(*(SlicedRows(part, offsets, len(self.outcome)) for part in rows))


@dataclass(frozen=True, slots=True)
class SlicedEffects:
    """Rows of two arms in a slice set; `outcomes` are the rows of `arms` with outcomes as weights."""

    arms: SlicedRows
    outcomes: SlicedRows
    channels: ClassVar[tuple[str, ...]] = ARMS
    has_bins: ClassVar[bool] = False

    @property
    def slices(self) -> int:
        """Number of slices."""
        return self.arms.slices

    @property
    def rows(self) -> int:
        """Number of the model's rows."""
        return self.arms.rows

    @property
    def has_weights(self) -> bool:
        """Whether rows carry weights."""
        return self.arms.has_weights

    def point_state(self) -> dict[str, Segments]:
        """Distinct scores per slice with weight and outcome of each arm."""
        starts = self.arms.starts()
        return _arm_segments(self.arms.point_state(starts), self.outcomes.point_state(starts))

    def replicate_points(self, weights: Array, *, scores: bool = False) -> Iterator[dict[str, Segments]]:  # noqa: ARG002
        """The point state under resampled blocks, exactly, for a few replicates at a time.

        Every distinct score is a point, asked for or not: a run of scores of one arm has outcomes along it.
        """
        parts = (part.replicate_points(weights, scores=True) for part in (self.arms, self.outcomes))
        for arms, outcomes in zip(*parts, strict=True):
            yield _arm_segments(arms, outcomes)

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """The channels on coarse bins by block: `[slice, block, bin, channel]` for a few slices at a time."""
        parts = (part.block_counts(blocks) for part in (self.arms, self.outcomes))
        for (first, last, arms), (_, _, outcomes) in zip(*parts, strict=True):
            yield first, last, np.concatenate([arms, outcomes], axis=-1)

    def coarse_scores(self) -> Array:
        """Weighted mean score of the rows in each coarse bin `[slice, bin]`."""
        return self.arms.coarse_scores()

    def coarse_ties(self) -> Flags:
        """Whether all rows of a coarse bin have one score `[slice, bin]`."""
        return self.arms.coarse_ties()

    def quantile_edges(self, bins: int) -> Array:
        """Quantiles i/bins of each slice's scores: `[slice, bins - 1]`."""
        return self.arms.quantile_edges(bins)

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """The channels and the sum of scores of fixed bins: `[slice, block, bin, channel]`, a few slices at a time."""
        edges = self.arms.quantile_edges(binning.bins) if binning.strategy == "quantile" else None
        parts = (part.bin_counts(binning, blocks, edges) for part in (self.arms, self.outcomes))
        for (first, last, arms), (_, _, outcomes) in zip(*parts, strict=True):
            weight, treated, score = np.moveaxis(arms, -1, 0)[:3]
            outcome, treated_outcome = np.moveaxis(outcomes, -1, 0)[:2]
            channels = [weight - treated, treated, outcome - treated_outcome, treated_outcome, score]
            yield first, last, np.stack(channels, axis=-1)


def _arm_segments(arms: dict[str, Segments], outcomes: dict[str, Segments]) -> dict[str, Segments]:
    return {
        "score": arms["score"],
        "control": arms["negative"],
        "treated": arms["positive"],
        "control_outcome": outcomes["negative"],
        "treated_outcome": outcomes["positive"],
    }
