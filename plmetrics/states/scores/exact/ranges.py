"""Points of sorted rows, from scores by class or by arm, a range of scores at a time.

What a slice keeps of its sorted rows are small whole numbers, or sums of weights: the rows of each class at its points,
in pieces that the processor's cache holds. Neighbouring scores without positives are one point, for no operating point
lies between them, unless the scores themselves are to be read. Of two arms every score is a point, with the outcomes
of each arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.pieces import Pieces
from plmetrics.core.segments import Along, Segments, run_starts
from plmetrics.core.threads import parallel_map
from plmetrics.states.arms import ARMS
from plmetrics.states.scores.exact.class_rows import Ascending, ByCell
from plmetrics.states.scores.exact.point_pieces import SCORE, Piece
from plmetrics.states.scores.exact.sorting import sort
from plmetrics.states.scores.sliced_scores import CLASSES, Binning, ScoresWithoutRows, SlicedScores

if TYPE_CHECKING:
    State = Mapping[str, Along]


class RangePoints(Protocol):
    """Points of a slice set, as ranges of scores bring them."""

    def jobs(self, classes: tuple[ByCell, ByCell], code: Codes) -> Sequence[tuple[int, Callable[[], Any]]]:
        """Jobs for its parts of one range of scores, and the number of rows of each."""

    def add(self, pieces: Any) -> None:
        """Append the parts of a range of scores above all earlier ones."""


SHORT = 1 << 15
"""Slices with fewer rows, or points, are taken together up to so many."""

PIECE = 1 << 17
"""A slice is cut into pieces of about so many rows of a class."""

_OF_ARMS = 4
"""Pieces of two arms are so many times shorter: their formulas have more running totals side by side."""


class SetPoints:
    """The points of the slices of a set, as ranges of scores bring them, from low to high."""

    def __init__(self, slices: int, *, scores: bool, arms: bool = False) -> None:
        self.slices = slices
        self._scores = scores
        self._names = (*(ARMS if arms else CLASSES), *([SCORE] if scores else []))
        self._joined = not scores and not arms
        self._pieces: list[Piece] = []

    def jobs(
        self, classes: tuple[ByCell, ByCell], code: Codes
    ) -> list[tuple[int, Callable[[], list[Piece]]]]:
        """Jobs for the pieces of a range of scores, and their numbers of rows; `code` is the slice of cells, or -1."""
        order = np.argsort(code, kind="stable")
        starts = np.searchsorted(code[order], np.arange(self.slices + 1))
        mass = np.diff(classes[0].offsets) + np.diff(classes[1].offsets)
        rows = np.diff(np.append(0, np.cumsum(mass[order]))[starts])
        jobs: list[tuple[int, Callable[[], list[Piece]]]] = []
        for first, last in _together(rows, SHORT):
            cells = [order[low:high] for low, high in pairwise(starts[first : last + 1].tolist())]
            make = self._long if last - first == 1 else self._short
            jobs.append((int(rows[first:last].sum()), partial(make, classes, first, cells)))
        return jobs

    def add(self, pieces: Sequence[Piece]) -> None:
        """Append the pieces of a range of scores above all earlier ones."""
        self._pieces += pieces

    def clear(self) -> None:
        """Drop all points."""
        self._pieces = []

    def _long(self, classes: tuple[ByCell, ByCell], first: int, cells: list[Codes]) -> list[Piece]:
        """One slice, piece by piece."""
        negative, positive = (Ascending.of(*part.of_cells(cells[0])) for part in classes)
        pieces: list[Piece] = []
        size = PIECE if negative.outcome is None else max(1, PIECE // _OF_ARMS)
        for (low, low_positive), (high, high_positive) in _windows(negative.score, positive.score, size):
            parts = negative.part(low, high), positive.part(low_positive, high_positive)
            channels = class_masses(*parts) if self._joined else distinct(*parts, scores=self._scores)
            offsets = np.array([0, len(channels[self._names[0]])])
            pieces.append(Piece.of(first, offsets, channels))
        return pieces

    def _short(self, classes: tuple[ByCell, ByCell], first: int, cells: list[Codes]) -> list[Piece]:
        """Some slices of few rows, in one piece."""
        every = np.concatenate(cells)
        slices = np.repeat(np.arange(len(cells)), [len(part) for part in cells])
        parts = [part.of_cells(every) for part in classes]
        code = np.concatenate([np.repeat(slices, np.diff(part.offsets)[every]) for part in classes])
        rows, order = in_order(parts)
        code = code[order]
        by_slice = np.argsort(code.astype(np.uint16), kind="stable")
        bounds = np.searchsorted(code[by_slice], np.arange(len(cells) + 1))
        member = order[by_slice] >= len(parts[0][0])
        return [points_of(first, rows.take(by_slice), member, bounds, scores=self._scores)]

    def parts(self) -> list[Callable[[], State]]:
        """Jobs for the points of slices, a few short ones at a time, or a single long one."""
        return [partial(self.state, *part) for part in self.few_slices()]

    def few_slices(self) -> list[tuple[int, int]]:
        """Consecutive slices for one job, from the first to the last."""
        sizes = np.zeros(self.slices, dtype=np.int64)
        for piece in self._pieces:
            sizes[piece.first : piece.last] += np.diff(piece.offsets)
        return list(_together(sizes, SHORT))

    def whole(self) -> State:
        """The points of all slices."""
        return self.state(0, self.slices, long=False)

    def state(self, first: int, last: int, *, long: bool = True) -> State:
        """The points of some slices; those of a single one in pieces, if it may be `long`."""
        pieces = [piece for piece in self._pieces if piece.first < last and piece.last > first]
        places = [piece.sizes(first, last) for piece in pieces]
        parts = {
            name: [piece.channels[name][place] for piece, (place, _) in zip(pieces, places, strict=True)]
            for name in self._names
        }
        if long and last - first == 1:
            counted = self._names[: len(CLASSES)]
            return {name: Pieces.of(values, counts=name in counted) for name, values in parts.items()}
        sizes = np.array([size for _, size in places], dtype=np.int64).reshape(len(pieces), last - first)
        offsets = np.append(0, np.cumsum(sizes.sum(axis=0)))
        order = None
        if len(pieces) > 1:
            order = np.argsort(
                np.repeat(np.tile(np.arange(last - first), len(pieces)), sizes.ravel()), kind="stable"
            )
        return {name: Segments(_in_order(values, order), offsets) for name, values in parts.items()}


@dataclass(frozen=True, slots=True)
class SlicedPoints(ScoresWithoutRows):
    """The scores of a slice set: exact points for values, and counts on a grid for replicates.

    What nothing reads is None: `joined` points, those of each score, and counts.
    """

    slices: int
    joined: SetPoints | None
    distinct: SetPoints | None
    counted: SlicedScores | None
    has_weights: bool = False
    arms: bool = False

    @property
    def channels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the sums at each point."""
        return ARMS if self.arms else CLASSES

    def point_state(self) -> Any:
        """Distinct scores per slice with the weight of each class."""
        assert self.distinct is not None
        return self.distinct.whole()

    def parts(self, *, scores: bool) -> list[Callable[[], State]]:
        """The points of a few slices at a time; those between positives joined, unless scores are to be read.

        Of two arms those that there are.
        """
        points = (self.distinct or self.joined) if scores else (self.joined or self.distinct)
        assert points is not None
        return points.parts()

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Weight per class on coarse bins by block."""
        assert self.counted is not None
        return self.counted.block_counts(blocks)

    def coarse_ties(self) -> Flags:
        """Whether all rows of a coarse bin are in one fine bin."""
        assert self.counted is not None
        return self.counted.coarse_ties()

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """The channels of fixed bins by block."""
        assert self.counted is not None
        return self.counted.bin_counts(binning, blocks)

    def quantile_edges(self, bins: int) -> Array:
        """Edges of bins of equal weight, on the grid."""
        assert self.counted is not None
        return self.counted.quantile_edges(bins)


def add_range(sets: Sequence[tuple[RangePoints, tuple[ByCell, ByCell], Codes]]) -> None:
    """Sort the rows of a range of scores in several slice sets, and keep their points, or their order.

    For each set come the rows by cell and the slice of each cell.
    """
    jobs = [
        (number, *job)
        for number, (points, classes, code) in enumerate(sets)
        for job in points.jobs(classes, code)
    ]
    largest_first = sorted(range(len(jobs)), key=lambda index: -jobs[index][1])
    results = dict(
        zip(largest_first, parallel_map(lambda index: jobs[index][2](), largest_first), strict=True)
    )
    for index, (number, *_) in enumerate(jobs):
        sets[number][0].add(results[index])


def class_masses(negative: Ascending, positive: Ascending) -> dict[str, NDArray[Any]]:
    """Weights of each class at the positives' scores and between them.

    >>> parts = Ascending(np.array([0.1, 0.2, 0.4])), Ascending(np.array([0.4, 0.4, 0.9]))
    >>> class_masses(*parts)
    {'negative': array([2, 1, 0]), 'positive': array([0, 2, 1])}
    """
    starts = np.flatnonzero(np.append(True, positive.score[1:] != positive.score[:-1]))[: len(positive.score)]
    score, others = positive.score[starts], negative.score
    low = np.searchsorted(others, score)
    high = low.copy()
    tied = np.flatnonzero(others[np.minimum(low, len(others) - 1)] == score) if len(others) else low[:0]
    high[tied] = np.searchsorted(others, score[tied], side="right")
    ends = np.concatenate(([0], np.column_stack((low, high)).reshape(-1), [len(others)]))
    negatives = negative.masses(ends)
    members = np.zeros(len(negatives), dtype=np.int64 if positive.weight is None else np.float64)
    members[1::2] = positive.masses(np.append(starts, len(positive.score)))
    occupied = np.flatnonzero(members + negatives)
    return {"negative": negatives[occupied], "positive": members[occupied]}


def distinct(negative: Ascending, positive: Ascending, *, scores: bool = True) -> dict[str, NDArray[Any]]:
    """Weights of each class, or of each arm with its outcomes, at each score, and the scores if they are read.

    >>> parts = Ascending(np.array([0.1, 0.2, 0.4])), Ascending(np.array([0.4, 0.4, 0.9]))
    >>> distinct(*parts, scores=False)
    {'negative': array([1, 1, 1, 0]), 'positive': array([0, 0, 2, 1])}
    """
    score = np.concatenate([negative.score, positive.score])
    sort(score)
    score = score[run_starts(score)]
    sides = [
        (part, np.append(0, np.searchsorted(part.score, score, side="right")))
        for part in (negative, positive)
    ]
    return _channels(
        [part.masses(bounds) for part, bounds in sides],
        [part.outcomes(bounds) for part, bounds in sides],
        score if scores else None,
    )


def _channels(
    masses: Sequence[NDArray[Any]], outcomes: Sequence[Array | None], score: Array | None
) -> dict[str, NDArray[Any]]:
    """The channels of two classes, or of two arms if there are outcomes."""
    present = [part for part in outcomes if part is not None]
    channels = dict(zip(ARMS if present else CLASSES, [*masses, *present], strict=True))
    return channels if score is None else {**channels, SCORE: score}


def _windows(
    negative: Array, positive: Array, size: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Boundaries of ranges of scores in both classes; equal scores are in one range."""
    ends = np.union1d(negative[size::size], positive[size::size])
    edges = [
        [0, *np.searchsorted(values, ends, side="right").tolist(), len(values)]
        for values in (negative, positive)
    ]
    for low, high in pairwise(zip(*edges, strict=True)):
        if low != high:
            yield low, high


def in_order(parts: Sequence[tuple[Array, Array | None, Array | None]]) -> tuple[Ascending, Codes]:
    """The rows of two classes, or arms, one after the other, ascending by score, and their places.

    Among equal scores weights and outcomes ascend, and rows of one class come first: how rows came does not show.
    """
    score = np.concatenate([part[0] for part in parts])
    weight, outcome = (
        None
        if any(part[column] is None for part in parts)
        else np.concatenate([part[column] for part in parts])
        for column in (1, 2)
    )
    numbers = [column for column in (outcome, weight) if column is not None]
    order = np.lexsort((*numbers, score)) if numbers else np.argsort(score)
    return Ascending(score, weight, outcome).take(order), order


def points_of(first: int, rows: Ascending, member: Flags, bounds: Codes, *, scores: bool) -> Piece:
    """Points of rows grouped by slice, ascending by score within each."""
    score, weight, outcome = rows.score, rows.weight, rows.outcome
    begins = bounds[:-1][np.diff(bounds) > 0]
    change = run_starts(score)
    change[begins] = True
    starts = np.flatnonzero(change)
    positive = _class_weights(member, weight, starts)
    if not scores and outcome is None and len(starts):
        bare = positive == 0
        retained = np.append(True, ~(bare[1:] & bare[:-1]))
        retained[np.searchsorted(starts, begins)] = True
        kept_at = np.flatnonzero(retained)
        starts, positive = starts[kept_at], np.add.reduceat(positive, kept_at)
    rows_each = np.diff(starts, append=len(score))
    negative = rows_each - positive if weight is None else _class_weights(~member, weight, starts)
    outcomes = [
        None if outcome is None else _class_weights(side, outcome, starts) for side in (~member, member)
    ]
    channels = _channels([negative, positive], outcomes, score[starts] if scores else None)
    return Piece.of(first, np.searchsorted(starts, bounds), channels)


def _class_weights(member: Flags, weight: Array | None, starts: Codes) -> NDArray[Any]:
    """Weight of the rows of a class from each start up to the next, or the sum of their outcomes."""
    dtype = np.int64 if weight is None else np.float64
    if len(starts) == 0:
        return np.zeros(0, dtype=dtype)
    return np.add.reduceat(member if weight is None else np.where(member, weight, 0.0), starts, dtype=dtype)


def _together(sizes: Codes, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive slices with at most so many rows together; a larger slice is alone."""
    first, rows = 0, 0
    for number, size in enumerate(sizes.tolist()):
        if number > first and rows + size > limit:
            yield first, number
            first, rows = number, 0
        rows += size
    if first < len(sizes):
        yield first, len(sizes)


def _in_order(values: list[NDArray[Any]], order: Codes | None) -> Array:
    together = np.concatenate([np.zeros(0), *values])
    return together if order is None else together[order]
