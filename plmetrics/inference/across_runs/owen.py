"""Owen values of slices: what each does to a change by its share of the rows, and by what its rows are like.

A slice changes in two halves, one right after the other; each half counts as the mean of what it does first and of what
it does second. Together they are the slice's Shapley value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.across_runs.mixtures import AFTER, BEFORE, SCORES, SHARE
from plmetrics.inference.across_runs.shapley import Coalitions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from plmetrics.inference.across_runs.mixtures import Kinds, Worth

Array = NDArray[np.float64]

MOST_EXACT = 12
"""Of so many slices every coalition is looked at."""

MOST_HALVES = 8
"""Of so many slices what each does is parted at every coalition, too."""

_MIXTURES, _FEWEST_PAIRS = 1 << 12, 16


@dataclass(frozen=True, slots=True)
class Parts:
    """Numbers of slices, how wrong bins may make them, and their standard errors where orders were drawn."""

    value: Array
    bound: Array
    error: Array | None


@dataclass(frozen=True, slots=True)
class Steps:
    """The mixtures whose worth is asked for: those of coalitions, and those half a step on from others.

    `coalitions` say what slices do, `halves` what of that is within: these are the former where they are few.
    """

    coalitions: Coalitions
    halves: Coalitions

    @classmethod
    def of(cls, slices: int, seed: int) -> Self:
        """Every coalition of at most `MOST_EXACT` slices, and random orders of more; of halves sooner."""
        if slices <= MOST_HALVES:
            every = Coalitions.every(slices)
            return cls(every, every)
        pairs = max(_FEWEST_PAIRS, _MIXTURES // (2 * (3 * slices + 1)))
        sampled = Coalitions.along_orders(slices, pairs, seed)
        return cls(Coalitions.every(slices) if slices <= MOST_EXACT else sampled, sampled)

    @classmethod
    def single(cls, slices: int, seed: int) -> Self:
        """One order and its reverse, by which it is told how values vary."""
        both = Coalitions.along_orders(slices, 1, seed)
        return cls(both, both)

    @property
    def mixtures(self) -> Kinds:
        """Parts of each slice as in this run: of coalitions, and where halves lead from, by share and by scores."""
        distinct = [self.coalitions] if self.halves is self.coalitions else [self.coalitions, self.halves]
        whole = [_kinds(coalitions.members) for coalitions in distinct]
        slices, steps = self.halves.before.shape
        half, every = _kinds(self.halves.members[self.halves.before]), np.arange(slices)
        of_halves = []
        for kind in (SHARE, SCORES):
            half[every, :, every] = kind
            of_halves.append(half.reshape(slices * steps, slices).copy())
        return np.concatenate([*whole, *of_halves])

    def parts(self, worth: Worth) -> tuple[Parts, Parts, Parts]:
        """Within, mix, and both together, of each slice, from the worth of mixtures."""
        before, after, by_share, by_scores = self._steps(worth.value)
        bound = self.halves.mean([numbers / 2 for numbers in self._steps(worth.bound)])
        within = _parts(self.halves, [(by_scores - before) / 2, (after - by_share) / 2], bound)
        both = _effects(self.coalitions, worth)
        if self.halves.sampled and not self.coalitions.sampled:
            return within, Parts(both.value - within.value, bound, within.error), both
        return within, _parts(self.halves, [(by_share - before) / 2, (after - by_scores) / 2], bound), both

    def values(self, worth: Array) -> Array:
        """Within, mix, and both together `[..., slice, part]`, from the worth of mixtures `[..., mixture]`."""
        before, after, by_share, by_scores = self._steps(worth)
        within = self.halves.mean([(by_scores - before) / 2, (after - by_share) / 2])
        mix = self.halves.mean([(by_share - before) / 2, (after - by_scores) / 2])
        return np.stack([within, mix, within + mix], axis=-1)

    def _steps(self, numbers: Array) -> tuple[Array, Array, Array, Array]:
        """Numbers of mixtures at the steps of halves `[slice, step]`: before, after, and with either half alone."""
        steps = self.halves.before
        whole, *half = np.split(numbers, [-2 * steps.size, -steps.size], axis=-1)
        of_coalitions = whole[..., -len(self.halves.members) :]
        share, scores = (part.reshape(*part.shape[:-1], *steps.shape) for part in half)
        return of_coalitions[..., steps], of_coalitions[..., self.halves.after], share, scores


def _kinds(members: NDArray[np.bool_]) -> Kinds:
    return np.where(members, AFTER, BEFORE).astype(np.int8)


def _effects(coalitions: Coalitions, worth: Worth) -> Parts:
    """Shapley values from the worth of coalitions, which come first."""
    before, after = coalitions.before, coalitions.after
    bound = coalitions.mean([worth.bound[after], worth.bound[before]])
    return _parts(coalitions, [worth.value[after], -worth.value[before]], bound)


def _parts(coalitions: Coalitions, terms: Sequence[Array], bound: Array) -> Parts:
    return Parts(coalitions.mean(terms), bound, coalitions.error(terms))
