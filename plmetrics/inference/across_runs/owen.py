"""Owen values of slices: effects on a change by their shares of the rows, and by the distribution of their rows.

A coalition is a set of parts that have changed while the others have not, and its worth v a number. The Shapley value
of a part is the mean, over all orders in which parts change one after another, of v after it has changed - v before.
Values add up to v(all) - v(none). A slice changes in two halves, one right after the other; each half counts as the
mean of what it does first and of what it does second. Together they are the Shapley value of the slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import Self

import numpy as np

from plmetrics.core.hashing import ORDER_SALT, mix, mix_int
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.inference.across_runs.mixtures import AFTER, BEFORE, SCORES, SHARE, Kinds, Worth

MOST_EXACT = 12
"""Of so many slices every coalition is looked at."""
MOST_HALVES = 8
"""Of so many slices what each does is parted at every coalition, too."""
_MIXTURES, _FEWEST_PAIRS = 1 << 12, 16


@dataclass(frozen=True, slots=True, eq=False)
class Coalitions:
    """Coalitions `[coalition, part]`, from none to all, and the steps of parts from one to the next.

    `before` and `after` are the places of the coalitions that a step leads from and to, `share` in how large a share of
    orders it is made: `[part, step]`. Steps of `sampled` orders go by order, each next to its reverse.
    """

    members: Flags
    before: Codes
    after: Codes
    share: Array
    sampled: bool

    @classmethod
    def subsets(cls, parts: int) -> Self:
        """All coalitions.

        >>> Coalitions.subsets(2).members.astype(int).tolist()
        [[0, 0], [1, 0], [0, 1], [1, 1]]
        """
        members = (np.arange(1 << parts)[:, None] >> np.arange(parts)) & 1 == 1
        before = np.stack([np.flatnonzero(~members[:, part]) for part in range(parts)])
        of_size = np.array(
            [factorial(size) * factorial(parts - size - 1) / factorial(parts) for size in range(parts)]
        )
        share = of_size[members.sum(axis=1)[before]]
        return cls(members, before, before + (1 << np.arange(parts))[:, None], share, sampled=False)

    @classmethod
    def along_orders(cls, parts: int, pairs: int, seed: int) -> Self:
        """Owen values along random orders, each with its reverse.

        Of any two parts each comes first in one of the two: what pairs of parts do to each other is shared out exactly.
        """
        draws = np.arange(pairs * parts, dtype=np.uint64) + np.uint64(mix_int(seed ^ ORDER_SALT))
        orders = np.argsort(mix(draws).reshape(pairs, parts), axis=1, kind="stable")
        orders = np.stack([orders, orders[:, ::-1]], axis=1).reshape(-1, parts)
        place = np.argsort(orders, axis=1)
        members = place[:, None, :] < np.arange(parts + 1)[None, :, None]
        before = (place + np.arange(len(orders))[:, None] * (parts + 1)).T
        share = np.full(before.shape, 1.0 / len(orders))
        return cls(members.reshape(-1, parts), before, before + 1, share, sampled=True)

    def mean(self, terms: Sequence[Array]) -> Array:
        """The mean over orders of the addends of each step `[..., part, step]`.

        >>> every, worth = Coalitions.subsets(2), np.array([0.0, 1.0, 2.0, 5.0])
        >>> every.mean([worth[every.after], -worth[every.before]]).tolist()
        [2.0, 3.0]
        """
        total: Array = (self.share * np.sum(terms, axis=0)).sum(axis=-1)
        return total

    def error(self, terms: Sequence[Array]) -> Array | None:
        """Standard error of `mean` from the sampling of orders; None with all coalitions."""
        if not self.sampled:
            return None
        steps = np.sum(terms, axis=0)
        pairs = steps.reshape(len(steps), -1, 2).mean(axis=2)
        error: Array = pairs.std(axis=1, ddof=1) / np.sqrt(pairs.shape[1])
        return error


@dataclass(frozen=True, slots=True)
class OwenValues:
    """Numbers of slices, their error bounds from bins, and their standard errors from sampled orders."""

    value: Array
    bound: Array
    error: Array | None


@dataclass(frozen=True, slots=True)
class Steps:
    """Evaluated mixtures: those of coalitions, and those half a step on from others.

    `coalitions` say what slices do, `halves` what of that is within: these are the former where they are few.
    """

    coalitions: Coalitions
    halves: Coalitions

    @classmethod
    def of(cls, slices: int, seed: int) -> Self:
        """Every coalition of at most `MOST_EXACT` slices, and random orders of more; of halves sooner."""
        if slices <= MOST_HALVES:
            every = Coalitions.subsets(slices)
            return cls(every, every)
        pairs = max(_FEWEST_PAIRS, _MIXTURES // (2 * (3 * slices + 1)))
        sampled = Coalitions.along_orders(slices, pairs, seed)
        return cls(Coalitions.subsets(slices) if slices <= MOST_EXACT else sampled, sampled)

    @classmethod
    def single(cls, slices: int, seed: int) -> Self:
        """One order and its reverse, the unit of variation of the values."""
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

    def parts(self, worth: Worth) -> tuple[OwenValues, OwenValues, OwenValues]:
        """Within, mix, and both together, of each slice, from the worth of mixtures."""
        before, after, by_share, by_scores = self._steps(worth.value)
        bound = self.halves.mean([numbers / 2 for numbers in self._steps(worth.bound)])
        within = _parts(self.halves, [(by_scores - before) / 2, (after - by_share) / 2], bound)
        both = _effects(self.coalitions, worth)
        if self.halves.sampled and not self.coalitions.sampled:
            return within, OwenValues(both.value - within.value, bound, within.error), both
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


def _kinds(members: Flags) -> Kinds:
    return np.where(members, AFTER, BEFORE).astype(np.int8)


def _effects(coalitions: Coalitions, worth: Worth) -> OwenValues:
    """Shapley values from the worth of coalitions `[coalition, ...]`."""
    before, after = coalitions.before, coalitions.after
    bound = coalitions.mean([worth.bound[after], worth.bound[before]])
    return _parts(coalitions, [worth.value[after], -worth.value[before]], bound)


def _parts(coalitions: Coalitions, terms: Sequence[Array], bound: Array) -> OwenValues:
    return OwenValues(coalitions.mean(terms), bound, coalitions.error(terms))
