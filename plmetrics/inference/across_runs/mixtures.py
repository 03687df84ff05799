"""Metrics of mixtures of two tables: each slice has its share of the rows and their distribution from either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Texts
from plmetrics.core.threads import parallel_map, steps
from plmetrics.inference.metric_values import conditions, finalise, finalising, score_view, value_or_nan
from plmetrics.inference.records import end_to_end

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.sums import View

Kinds = NDArray[np.int8]

BEFORE, SHARE, SCORES, AFTER = range(4)
"""Parts of a slice that a mixture takes from the second table: none, its share of the rows, its distribution, both."""

_AT_ONCE = 1 << 20
"""So many bins of mixtures are looked at together."""

_IN_ALL = 1 << 24
"""Of more bins of all mixtures together, neighbours are joined."""


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """Metric of some mixtures: its value, its error bound from bins, and `ok` or the reason why it is undefined."""

    value: Array
    bound: Array
    status: Texts

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

    def coarsen(self, bins: int) -> SlicedPair:
        """The pair on so many bins at most: equal shares of rows, of positives, and ever fewer of these to the top."""
        if self.bins <= bins:
            return self
        starts = bin_starts(self.before + self.after, bins)
        return SlicedPair(*(np.add.reduceat(side, starts, axis=-1) for side in (self.before, self.after)))

    def joined_for(self, mixtures: int) -> SlicedPair:
        """The pair on as many bins as there is room for in so many mixtures."""
        return self.coarsen(_IN_ALL // mixtures)

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


def bin_starts(weight: Array, bins: int) -> Codes:
    """First fine bins of at most so many coarser ones, for weights `[slice, class, bin]`.

    They hold equal shares of the rows, of the positives, and ever fewer of these towards the top.
    """
    total = weight.sum(axis=0)
    rows, positives = np.cumsum(total.sum(axis=0)[::-1]), np.cumsum(total[1][::-1])
    code = np.zeros(weight.shape[-1])
    for running in (rows, positives, np.log1p(positives)):
        code += np.floor(running / max(running[-1], np.finfo(float).tiny) * (bins // 3 - 1))
    return np.flatnonzero(np.diff(code[::-1], prepend=np.inf))
