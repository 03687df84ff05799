"""Pointwise bands of curves of a binary score, from the replicates of the areas under them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.percentile import percentile
from plmetrics.inference.intervals.spread import UNDEFINED_SHARE
from plmetrics.inference.weights import drawn_counts, exact_in_single, exact_occupied_blocks
from plmetrics.states.scores.exact.point_rows import BlockDraws, PointRows, block_counts
from plmetrics.states.scores.exact.row_counts import RowCounts
from plmetrics.states.scores.sliced_scores import CLASSES, SlicedScores

if TYPE_CHECKING:
    from plmetrics.inference.curves.ranking import Operating
    from plmetrics.inference.weights import ResamplingWeights


LEAST_BLOCKS = 2
"""With fewer effective blocks replicates hardly differ."""

_APART = 2.0
"""How far replicates lie from each other where all are interpolated at once: their shares are in [0, 1]."""

_RIGHT = 1e-9
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Replicates:
    """Coarse counts of a slice `[replicate, bin, class]`, ascending: those of all rows first, then of each replicate.

    `blocks` is the effective number of blocks, the least over positives, negatives and all rows.
    """

    counts: Array
    positive_blocks: int
    negative_blocks: int
    all_blocks: int

    @property
    def hits(self) -> Array:
        """Positives from the highest bin down, with none before `[replicate, point]`."""
        return _from_top(self.counts[..., 1])

    @property
    def alarms(self) -> Array:
        """Negatives from the highest bin down, with none before `[replicate, point]`."""
        return _from_top(self.counts[..., 0])


def _from_top(counts: Array) -> Array:
    out = np.zeros((len(counts), counts.shape[1] + 1))
    np.cumsum(counts[:, ::-1], axis=1, out=out[:, 1:])
    return out


def replicates_of(sliced: SlicedScores, weights: ResamplingWeights) -> Iterator[Replicates]:
    """The replicates of each slice, one after another."""
    for first, last, counts in block_counts(sliced, weights.shape[1]):
        for place in range(last - first):
            drawn, masses = _drawn_slice(weights, counts[place : place + 1])
            by_class = (*masses.T, masses.sum(axis=1))
            negative, positive, both = (int(effective_blocks((mass,))) for mass in by_class)
            yield Replicates(drawn, positive, negative, both)


def _drawn_slice(weights: ResamplingWeights, counts: NDArray[Any] | RowCounts) -> tuple[Array, Array]:
    """Counts of a slice with each block once, then in replicates, `[replicate, bin, class]`; and `[block, class]`."""
    if not isinstance(counts, RowCounts):
        total = counts[0].sum(axis=0, dtype=np.float64)
        drawn = np.concatenate([total[None], drawn_classes(weights, counts)[0]])
        return drawn, counts[0].sum(axis=1, dtype=np.float64)
    rows, blocks = PointRows.of(counts), weights.shape[1]
    every_draw = [BlockDraws.once(blocks), *weights.by_block]
    states = [state for part in every_draw for state in rows.replicate_points(part)]
    by_class = [np.concatenate([state[name][:, 0] for state in states]) for name in CLASSES]
    return np.stack(by_class, axis=-1), counts.masses(blocks)[0]


def drawn_classes(weights: ResamplingWeights, counts: NDArray[Any]) -> Array:
    """Replicates `[slice, replicate, bin, class]` of counts by block: in single precision if exact."""
    if not exact_in_single(counts):
        return drawn_counts(weights.matrix, counts, None)
    single = weights.single, counts.astype(np.float32, copy=False)
    return drawn_counts(*single, exact_occupied_blocks(counts)).astype(np.float64)


def band(
    curve: str, points: Operating, retained: Codes, replicates: Replicates, level: float
) -> tuple[Array, Array] | None:
    """The ends at some points of a curve; None where there are too few blocks, or too many undefined replicates.

    Ends are percentiles of the replicates' values at the same x, each moved by (value of the points - value of the
    coarse bins) there. Between bins replicates are lines, for pr lines of the numbers called (Davis and Goadrich). The
    value at an x that several points share is the highest recall of roc, and for pr the precision of the fewest rows.
    """
    reading = _READINGS[curve]
    others = replicates.negative_blocks if reading.both_classes else replicates.all_blocks
    if min(replicates.positive_blocks, others) < LEAST_BLOCKS:
        return None
    hits, alarms = replicates.hits, replicates.alarms
    sound = (hits[:, -1] > 0) & ((alarms[:, -1] > 0) | (not reading.both_classes))
    if np.mean(~sound[1:]) > UNDEFINED_SHARE:
        return None
    hits, alarms = hits[sound], alarms[sound]
    x = reading.x(points)[retained]
    starts = np.flatnonzero(np.append(True, np.diff(x) != 0)[: len(x)])
    value, top = reading.value(points)[retained[starts]], reading.most(points)[retained[starts]]
    ends = pointwise_band(
        x[starts], value, lambda some: reading.drawn(some, hits, alarms), len(hits), level, top
    )
    lower, upper = np.repeat(ends, np.diff(starts, append=len(x)), axis=1)
    return lower, upper


def pointwise_band(
    x: Array,
    value: Array,
    drawn: Callable[[Array], Array],
    replicates: int,
    level: float,
    most: Array | None = None,
) -> tuple[Array, Array]:
    """The ends at each x: percentiles of replicates there, moved by (value - that of the coarse bins of all rows).

    `drawn` reads all of so many replicates at some x, that of all rows first. With `most` they lie from 0 to that.
    """
    ends = np.empty((2, len(x)))
    step = max(1, _AT_ONCE // replicates)
    for low in range(0, len(x), step):
        part = slice(low, low + step)
        read = drawn(x[part])
        moved = read[1:] + (value[part] - read[0])
        ends[:, part] = percentile(moved if most is None else np.clip(moved, 0.0, most[part]), level)
    return ends[0], ends[1]


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reading of a curve: y over x of points, and the same of replicates.

    `value` is y as a function of x alone, `most` the largest that it can be. With `both_classes` negatives are needed.
    """

    x: Callable[[Operating], Array]
    value: Callable[[Operating], Array]
    drawn: Callable[[Array, Array, Array], Array]
    most: Callable[[Operating], Array] = lambda points: np.ones(len(points.hits))
    both_classes: bool = False


def interpolate(x: Array, xs: Array, ys: Array) -> Array:
    """Lines through the points of each replicate `[replicate, point]` at some x, the last of equal ones there."""
    apart = _APART * np.arange(len(xs))[:, None]
    flat: Array = np.interp((x + apart).reshape(-1), (xs + apart).reshape(-1), ys.reshape(-1))
    return flat.reshape(len(xs), len(x))


def _to_the_right(x: Array, end: float) -> Array:
    """A little beyond x, up to an end: at x itself rounding would decide the side of a jump."""
    return np.minimum(x + _RIGHT, end)


def _recall_at_fpr(x: Array, hits: Array, alarms: Array) -> Array:
    return interpolate(_to_the_right(x, 1.0), alarms / alarms[:, -1:], hits / hits[:, -1:])


def _precision_at_recall(x: Array, hits: Array, alarms: Array) -> Array:
    """Precision of the first rows with the recall; NaN for a recall of 0."""
    recall = hits / hits[:, -1:]
    called = interpolate(_to_the_right(-x[::-1], 0.0), -recall[:, ::-1], alarms[:, ::-1])[:, ::-1]
    right = x * hits[:, -1:]
    with np.errstate(invalid="ignore"):
        precision: Array = right / (right + called)
    precision[:, x == 0] = np.nan
    return precision


def _recall_at_share(x: Array, hits: Array, alarms: Array) -> Array:
    calls = hits + alarms
    return interpolate(x, calls / calls[:, -1:], hits / hits[:, -1:])


def _lift_at_share(x: Array, hits: Array, alarms: Array) -> Array:
    with np.errstate(invalid="ignore"):
        lift: Array = _recall_at_share(x, hits, alarms) / x
    return lift


def _highest_lift(points: Operating) -> Array:
    """Upper limit of lift: all called rows are positive, or all positives are called."""
    with np.errstate(divide="ignore"):
        most: Array = 1 / points.share
    return most


_READINGS = {
    "roc": _Reading(
        lambda points: points.fpr,
        lambda points: points.recall[np.searchsorted(points.alarms, points.alarms, side="right") - 1],
        _recall_at_fpr,
        both_classes=True,
    ),
    "pr": _Reading(
        lambda points: points.recall,
        lambda points: points.precision[np.searchsorted(points.hits, points.hits)],
        _precision_at_recall,
    ),
    "gain": _Reading(lambda points: points.share, lambda points: points.recall, _recall_at_share),
    "lift": _Reading(lambda points: points.share, lambda points: points.lift, _lift_at_share, _highest_lift),
}
