"""Metrics of mixtures of two tables, with slices as in either, and Owen values of slices.

A coalition is a set of parts that have changed while the others have not, and its worth v a number. The Shapley value
of a part is the mean, over all orders in which parts change one after another, of v after it has changed - v before.
Values add up to v(all) - v(none). A slice changes in two halves, its share of the rows and the distribution of these,
one right after the other; each half counts as the mean of what it does first and of what it does second. Together they
are the Shapley value of the slice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.hashing import ORDER_SALT, mix, mix_int
from plmetrics.core.threads import parallel_map, steps
from plmetrics.inference.metric_values import conditions, finalise, finalising, score_view, value_or_nan
from plmetrics.inference.records import end_to_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.sums import View

Array = NDArray[np.float64]
Kinds = NDArray[np.int8]

BEFORE, SHARE, SCORES, AFTER = range(4)
"""Parts of a slice that a mixture takes from the second table: none, its share of the rows, its distribution, both."""

_AT_ONCE = 1 << 20
"""So many bins of mixtures are looked at together."""

_IN_ALL = 1 << 24
"""Of more bins of all mixtures together, neighbours are joined."""
Places = NDArray[np.int64]
MOST_EXACT = 12
"""Of so many slices every coalition is looked at."""
MOST_HALVES = 8
"""Of so many slices what each does is parted at every coalition, too."""
_MIXTURES, _FEWEST_PAIRS = 1 << 12, 16


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """Metric of some mixtures: its value, its error bound from bins, and `ok` or the reason why it is undefined."""

    value: Array
    bound: Array
    status: NDArray[np.object_]

    @classmethod
    def of(cls, metric: Metric, view: View) -> Self:
        """The worth of a metric on a state."""
        value = finalise(metric, view)
        with finalising(metric):
            bound = np.asarray(metric.bound(view), dtype=np.float64)
        status = np.full(value.shape, "ok", dtype=object)
        for name, condition in reversed(conditions(metric, view)):
            status[np.broadcast_to(condition, value.shape)] = name
        return cls(np.where(status == "ok", value, np.nan), np.broadcast_to(bound, value.shape), status)


@dataclass(frozen=True, slots=True, eq=False)
class SlicedPair:
    """Weight on common bins of the score in the slices of two tables: `[..., slice, class, bin]`, negatives first.

    Slices hold every row once. Both tables weigh the same in all. Replicates are an axis before the others.
    """

    before: Array
    after: Array

    @classmethod
    def of(cls, before: Array, after: Array) -> Self:
        """Restriction to nonempty bins."""
        occupied = (before.sum(axis=(0, 1)) + after.sum(axis=(0, 1))) > 0
        return cls.with_equal_weight(before[..., occupied], after[..., occupied])

    @classmethod
    def with_equal_weight(cls, before: Array, after: Array) -> Self:
        """The first table weighed as the second one."""
        first, second = (side.sum(axis=(-3, -2, -1), keepdims=True) for side in (before, after))
        return cls(before * np.divide(second, first, out=np.ones_like(first), where=first > 0), after)

    @property
    def slices(self) -> int:
        """Number of slices."""
        return int(self.before.shape[-3])

    @property
    def bins(self) -> int:
        """Number of bins."""
        return int(self.before.shape[-1])

    def joined(self, bins: int) -> SlicedPair:
        """The pair on so many bins at most: equal shares of rows, of positives, and ever fewer of these to the top."""
        if self.bins <= bins:
            return self
        starts = bin_starts(self.before + self.after, bins)
        return SlicedPair(*(np.add.reduceat(side, starts, axis=-1) for side in (self.before, self.after)))

    def joined_for(self, mixtures: int) -> SlicedPair:
        """The pair on as many bins as there is room for in so many mixtures."""
        return self.joined(_IN_ALL // mixtures)

    def worths(self, metrics: Sequence[Metric], kinds: Kinds) -> list[Worth]:
        """Metrics of mixtures, by the parts of each slice from the second table `[mixture, slice]`.

        Of many mixtures, bins are joined; values are then moved by what that costs the two tables themselves.
        """
        joined = self.joined_for(len(kinds))
        worths = _worths(joined, metrics, kinds)
        if joined is self:
            return worths
        ends = np.repeat([[BEFORE], [AFTER]], self.slices, axis=1).astype(np.int8)
        fine, coarse = (_worths(pair, metrics, ends) for pair in (self, joined))
        share = kinds.mean(axis=1) / AFTER
        out = []
        for worth, exact, rough in zip(worths, fine, coarse, strict=True):
            before, after = exact.value - rough.value
            out.append(Worth(worth.value + before + share * (after - before), worth.bound, worth.status))
        return out

    def of_kinds(self) -> tuple[Array, Array, Array, Array]:
        """Weight in slices of each kind. A slice of one table alone has equal parts in the other."""
        first, second = (side.sum(axis=(-2, -1), keepdims=True) for side in (self.before, self.after))
        both = (first > 0) & (second > 0)
        growth = np.divide(second, first, out=np.zeros_like(first), where=both)
        shrinkage = np.divide(first, second, out=np.zeros_like(first), where=both)
        share = np.where(both, self.before * growth, self.after)
        scores = np.where(both, self.after * shrinkage, self.before)
        return self.before, share, scores, self.after


def _worths(pair: SlicedPair, metrics: Sequence[Metric], kinds: Kinds) -> list[Worth]:
    """Metrics of mixtures on nonempty bins."""
    sides = np.concatenate(pair.of_kinds()).reshape(4 * pair.slices, -1)
    return weighted_worths(sides, np.hstack([kinds == kind for kind in range(4)]), metrics)


def weighted_worths(sides: Array, weights: NDArray[Any], metrics: Sequence[Metric]) -> list[Worth]:
    """Metrics of mixtures of parts, `[part, class x bin]`, with weights `[mixture, part]`."""
    bins = sides.shape[1] // 2

    def of_some(step: tuple[int, int]) -> list[Worth]:
        counts = (weights[slice(*step)].astype(np.float64) @ sides).reshape(-1, 2, bins)
        view = score_view({"negative": counts[:, 0], "positive": counts[:, 1]}, binned=True)
        return [Worth.of(metric, view) for metric in metrics]

    parts = parallel_map(of_some, steps(0, len(weights), max(1, _AT_ONCE // max(bins, 1))))
    return [end_to_end(of_metric) for of_metric in zip(*parts, strict=True)]


def replicate_worths(pair: SlicedPair, metrics: Sequence[Metric], kinds: Kinds) -> list[Array]:
    """Metrics of mixtures of the replicates of two tables: `[replicate, mixture]`, NaN where they are undefined."""
    chosen = np.hstack([kinds == kind for kind in range(4)]).astype(np.float64)

    def of_some(step: tuple[int, int]) -> list[Array]:
        some = SlicedPair.with_equal_weight(*(side[slice(*step)] for side in (pair.before, pair.after)))
        sides = np.concatenate(some.of_kinds(), axis=-3).reshape(step[1] - step[0], 4 * pair.slices, -1)
        counts = (chosen @ sides).reshape(len(sides), len(kinds), 2, pair.bins)
        view = score_view({"negative": counts[:, :, 0], "positive": counts[:, :, 1]}, binned=True)
        return [value_or_nan(metric, view) for metric in metrics]

    at_once = max(1, _AT_ONCE // (len(kinds) * max(pair.bins, 1)))
    parts = parallel_map(of_some, steps(0, len(pair.before), at_once))
    return [np.concatenate(of_metric) for of_metric in zip(*parts, strict=True)]


def bin_starts(weight: Array, bins: int) -> NDArray[np.int64]:
    """First fine bins of at most so many coarser ones, for weights `[slice, class, bin]`.

    They hold equal shares of the rows, of the positives, and ever fewer of these towards the top.
    """
    total = weight.sum(axis=0)
    rows, positives = np.cumsum(total.sum(axis=0)[::-1]), np.cumsum(total[1][::-1])
    code = np.zeros(weight.shape[-1])
    for running in (rows, positives, np.log1p(positives)):
        code += np.floor(running / max(running[-1], np.finfo(float).tiny) * (bins // 3 - 1))
    return np.flatnonzero(np.diff(code[::-1], prepend=np.inf))


@dataclass(frozen=True, slots=True, eq=False)
class Coalitions:
    """Coalitions `[coalition, part]`, from none to all, and the steps of parts from one to the next.

    `before` and `after` are the places of the coalitions that a step leads from and to, `share` in how large a share of
    orders it is made: `[part, step]`. Steps of `sampled` orders go by order, each next to its reverse.
    """

    members: NDArray[np.bool_]
    before: Places
    after: Places
    share: Array
    sampled: bool

    @classmethod
    def every(cls, parts: int) -> Self:
        """All coalitions.

        >>> Coalitions.every(2).members.astype(int).tolist()
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

        >>> every, worth = Coalitions.every(2), np.array([0.0, 1.0, 2.0, 5.0])
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
            every = Coalitions.every(slices)
            return cls(every, every)
        pairs = max(_FEWEST_PAIRS, _MIXTURES // (2 * (3 * slices + 1)))
        sampled = Coalitions.along_orders(slices, pairs, seed)
        return cls(Coalitions.every(slices) if slices <= MOST_EXACT else sampled, sampled)

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


def _kinds(members: NDArray[np.bool_]) -> Kinds:
    return np.where(members, AFTER, BEFORE).astype(np.int8)


def _effects(coalitions: Coalitions, worth: Worth) -> OwenValues:
    """Shapley values from the worth of coalitions `[coalition, ...]`."""
    before, after = coalitions.before, coalitions.after
    bound = coalitions.mean([worth.bound[after], worth.bound[before]])
    return _parts(coalitions, [worth.value[after], -worth.value[before]], bound)


def _parts(coalitions: Coalitions, terms: Sequence[Array], bound: Array) -> OwenValues:
    return OwenValues(coalitions.mean(terms), bound, coalitions.error(terms))
