"""The family scores: weight per class along the score.

The *point* state of a slice holds its distinct scores, ascending, with the weight of each class: exact. The *block*
state counts on coarse bins by block: it is what replicates are made of. Bins at fixed edges (calibration) are exact
in both. Rows come in sorted once per model; every slice set is a stable regrouping of that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.segments import Segments
from plmetrics.core.threads import steps
from plmetrics.states.scores.coarse import (
    DENSE_LIMIT,
    coarse_bins,
    coarse_edges,
    coarse_number,
    distinct_starts,
    tied_bins,
)
from plmetrics.states.scores.exact.class_rows import ClassMembers, in_parts
from plmetrics.states.scores.exact.row_counts import RowCounts, count
from plmetrics.states.scores.sliced_scores import CLASSES, Binning

_TIE = 1e-12
_PIECE = 1 << 16  # rows that are counted at a time: what is made of them stays near the processor


@dataclass(frozen=True, slots=True)
class SortedRows:
    """One model's rows ascending by score. `weight` is None where every row counts once; `block` without intervals."""

    score: Array
    positive: Flags
    weight: Array | None
    block: NDArray[np.int32] | None

    def regroup(self, codes: Codes | None, slices: int) -> SlicedRows:
        """The rows slice by slice, each ascending by score; rows of code -1 are left out.

        `codes` is None where all rows are one slice.
        """
        if codes is None:
            return SlicedRows(self, np.array([0, len(self.score)]), len(self.score))
        order, offsets = group_order(codes, slices)
        return SlicedRows(self.take(order), offsets, len(self.score))

    def take(self, index: Codes) -> SortedRows:
        """Some of the rows."""
        return SortedRows(
            self.score[index],
            self.positive[index],
            None if self.weight is None else self.weight[index],
            None if self.block is None else self.block[index],
        )


@dataclass(frozen=True, slots=True)
class SlicedRows:
    """Rows of a slice set: slice after slice, each ascending by score.

    `offsets` are the slices' boundaries, `rows` counts all rows of the model, in any slice or none.
    """

    ordered: SortedRows
    offsets: Codes
    rows: int
    channels: ClassVar[tuple[str, ...]] = CLASSES
    has_bins: ClassVar[bool] = False

    @property
    def has_weights(self) -> bool:
        """Whether rows carry weights."""
        return self.ordered.weight is not None

    @property
    def slices(self) -> int:
        """Number of slices."""
        return len(self.offsets) - 1

    def code(self, first: int, last: int) -> Codes:
        """The slice of each row of a range of slices, counted from the first of them."""
        return np.repeat(np.arange(last - first), np.diff(self.offsets[first : last + 1]))

    def part(self, slices: Codes) -> SlicedRows:
        """Some of the slices."""
        sizes = np.diff(self.offsets)[slices]
        offsets = np.append(0, np.cumsum(sizes))
        index = np.arange(offsets[-1]) + np.repeat(self.offsets[slices] - offsets[:-1], sizes)
        return SlicedRows(self.ordered.take(index), offsets, self.rows)

    def starts(self) -> Codes:
        """The first row of each distinct score of each slice."""
        return distinct_starts(self.ordered.score, self.offsets)

    def point_state(self, starts: Codes | None = None) -> dict[str, Segments]:
        """Distinct scores per slice with the weight of each class; `starts` where they are known."""
        starts = self.starts() if starts is None else starts
        offsets = np.searchsorted(starts, self.offsets)
        weight, member = self.ordered.weight, self.ordered.positive
        if weight is None:
            positive = _reduce(member, starts)
            negative = np.diff(starts, append=len(member)) - positive
        else:
            positive = _reduce(np.where(member, weight, 0.0), starts)
            negative = _reduce(np.where(member, 0.0, weight), starts)
        return {
            "score": Segments(self.ordered.score[starts], offsets),
            "positive": Segments(positive, offsets, whole=weight is None),
            "negative": Segments(negative, offsets, whole=weight is None),
        }

    def replicate_points(self, weights: Array, *, scores: bool = False) -> Iterator[dict[str, Segments]]:
        """The point state under resampled blocks, exactly, for a few replicates `[replicates, blocks]` at a time.

        Neighbouring scores without positives are one point here: no operating point that an ordered metric reads
        lies between them. With `scores` they are points of their own, and the scores stand beside them.
        """
        starts = self.starts() if scores else self.replicate_starts()
        offsets = np.searchsorted(starts, self.offsets)
        point = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(self.ordered.score))))
        classes = {"positive": self.ordered.positive, "negative": ~self.ordered.positive}
        members = {name: self._members(member, point, len(starts)) for name, member in classes.items()}
        constant = {"score": Segments(self.ordered.score[starts], offsets)} if scores else {}
        for part in in_parts(weights, len(point)):
            integral = self.ordered.weight is None and bool((part == np.rint(part)).all())
            replicated = {
                name: Segments(rows.draws(part), offsets, whole=integral) for name, rows in members.items()
            }
            yield {**constant, **replicated}

    def replicate_starts(self) -> Codes:
        """The first row of each point of replicates: neighbouring scores without positives are one."""
        starts = self.starts()
        if len(starts) == 0:
            return starts
        bare = ~np.logical_or.reduceat(self.ordered.positive, starts)
        joined = np.zeros(len(starts), dtype=np.bool_)
        joined[1:] = bare[1:] & bare[:-1]
        joined[np.isin(starts, self.offsets)] = False
        return starts.compress(~joined)

    def _members(self, member: Flags, point: Codes, points: int) -> ClassMembers:
        """The rows of a class by point."""
        assert self.ordered.block is not None
        weight = None if self.ordered.weight is None else self.ordered.weight.compress(member)
        return ClassMembers.of(self.ordered.block.compress(member), weight, point.compress(member), points)

    def row_counts(self) -> RowCounts:
        """The rows on their coarse bins."""
        return self.at_points(self.coarse_bins(), coarse_number(self.slices))

    def at_points(self, point: NDArray[np.integer[Any]], points: int) -> RowCounts:
        """The rows at so many points of their slice, by the number of each."""
        assert self.ordered.block is not None
        place = point * point.dtype.type(2) + self.ordered.positive
        return RowCounts(place, self.ordered.block, self.ordered.weight, self.offsets, points)

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Weight per class on coarse bins by block: `[slice, block, bin, class]` for a few slices at a time."""
        return self.row_counts().dense_parts(blocks)

    def coarse_bins(self) -> NDArray[np.uint16]:
        """The coarse bin of each row."""
        edges = coarse_edges(self.ordered.score, self.ordered.positive, self.offsets)
        return coarse_bins(self.ordered.score, self.offsets, edges)

    def coarse_scores(self) -> Array:
        """Weighted mean score of the rows in each coarse bin `[slice, bin]`; 0.5 in an empty one."""
        bins = coarse_number(self.slices)
        key = self.code(0, self.slices) * bins + self.coarse_bins()
        weight = np.ones(len(key)) if self.ordered.weight is None else self.ordered.weight
        mass, sums = (count(key, each, (self.slices, bins)) for each in (weight, weight * self.ordered.score))
        mean: Array = np.divide(sums, mass, out=np.full(mass.shape, 0.5), where=mass > 0)
        return mean

    def coarse_ties(self) -> Flags:
        """Whether all rows of a coarse bin have one score `[slice, bin]`."""
        edges = coarse_edges(self.ordered.score, self.ordered.positive, self.offsets)
        starts = self.starts()
        offsets = np.searchsorted(starts, self.offsets)
        code = np.repeat(np.arange(self.slices), np.diff(offsets))
        bins = coarse_bins(self.ordered.score[starts], offsets, edges)
        return tied_bins(code, bins, (self.slices, coarse_number(self.slices)))

    def quantile_edges(self, bins: int) -> Array:
        """Averaged-inverted-CDF quantiles i/bins of each slice's weighted scores: `[slice, bins - 1]`."""
        state = self.point_state()
        score, mass = state["score"], state["positive"] + state["negative"]
        if len(score.values) == 0:
            return np.zeros((self.slices, bins - 1))
        targets = np.arange(1, bins) / bins * mass.total()[:, None]
        last = np.maximum(score.offsets[1:, None] - 1, 0)
        first, second = (
            score.values[np.minimum(mass.cumulative().places(targets * near), last)]
            for near in (1 - _TIE, 1 + _TIE)
        )
        edges: Array = (first + second) / 2
        return edges

    def bin_counts(
        self, binning: Binning, blocks: int, edges: Array | None = None
    ) -> Iterator[tuple[int, int, Array]]:
        """The channels of the bins: `[slice, block, bin, channel]` for a few slices at a time.

        `edges` `[slice, edge]` replace the quantiles of the slices' scores.
        """
        if binning.strategy == "quantile" and edges is None:
            edges = self.quantile_edges(binning.bins)
        step = max(1, DENSE_LIMIT // (blocks * binning.bins * binning.channels))
        for first in range(0, self.slices, step):
            last = min(first + step, self.slices)
            part = slice(self.offsets[first], self.offsets[last])
            code, score = self.code(first, last), self.ordered.score[part]
            if edges is None:
                bin_of = np.searchsorted(binning.uniform_edges(), score)
            else:
                bin_of = np.zeros(len(score), dtype=np.int64)
                for column in edges[first:last].T:
                    bin_of += score > column[code]
            block = 0 if self.ordered.block is None or blocks == 1 else self.ordered.block[part]
            key = (code * blocks + block) * binning.bins + bin_of
            shape = (last - first, blocks, binning.bins)
            weight = None if self.ordered.weight is None else self.ordered.weight[part]
            yield first, last, count_bins(binning, key, score, self.ordered.positive[part], weight, shape)


def count_bins(
    binning: Binning,
    key: NDArray[np.integer],
    score: Array,
    positive: Flags,
    weight: Array | None,
    shape: tuple[int, ...],
) -> Array:
    """The channels of fixed bins, from the place of each row: `[..., channel]`; a few rows at a time."""
    counts = np.zeros((*shape, binning.channels))
    for rows in (slice(*step) for step in steps(0, len(key), max(_PIECE, counts.size))):
        part, member = key[rows].astype(np.int64), positive[rows]
        mass = None if weight is None else weight[rows]
        classes = count(2 * part + member, mass, (*shape, 2))
        counts[..., 0] += classes[..., 0] + classes[..., 1]
        counts[..., 1] += classes[..., 1]
        sums = [score[rows]] if binning.scores else []
        sums += [(score[rows] - member) ** 2] if binning.distances else []
        for channel, values in enumerate(sums, 2):
            counts[..., channel] += count(part, values if mass is None else values * mass, shape)
    return counts


def group_order(codes: Codes, slices: int) -> tuple[Codes, Codes]:
    """Stable sort order by slice, and the slices' boundaries in it."""
    small = np.uint16 if slices < (1 << 16) - 1 else np.uint32
    order = np.argsort((codes + 1).astype(small), kind="stable")
    sizes = np.bincount(codes + 1, minlength=slices + 1)
    return order[sizes[0] :], np.concatenate(([0], np.cumsum(sizes[1:])))


def _reduce(values: NDArray[Any], starts: Codes) -> Array:
    if len(starts) == 0:
        return np.zeros((*values.shape[:-1], 0))
    if len(starts) == values.shape[-1]:
        return values.astype(np.float64)
    return np.add.reduceat(values, starts, axis=-1, dtype=np.float64)
