"""Points of sorted rows, made from scores that come class by class, a range of scores at a time.

What a slice keeps of its sorted rows are small whole numbers, or sums of weights: the rows of each class at its points,
in pieces that the processor's cache holds. Neighbouring scores without positives are one point, for no operating point
lies between them, unless the scores themselves are to be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plmetrics.core.pieces import Pieces
from plmetrics.core.segments import Segments
from plmetrics.core.threads import parallel_map
from plmetrics.states.scores.class_rows import Ascending
from plmetrics.states.scores.sorted import ExactPoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.core.segments import Along
    from plmetrics.states.scores.class_rows import ByCell
    from plmetrics.states.scores.coarse import Array, Codes
    from plmetrics.states.scores.sorted import Binning, SlicedScores

    State = Mapping[str, Along]


@dataclass(frozen=True, slots=True)
class NonZero:
    """An array that is read by slices, which are made anew.

    >>> held = NonZero.of(np.array([0.0, 2.0, 0.0, 0.5]))
    >>> held[1:3], held.values
    (array([2., 0.]), array([2. , 0.5]))
    """

    values: Array
    bits: NDArray[np.uint8]
    size: int

    @classmethod
    def of(cls, numbers: Array) -> NonZero:
        """From all numbers."""
        mask = numbers != 0
        return cls(numbers[mask], np.packbits(mask), len(numbers))

    def __getitem__(self, place: slice) -> Array:
        """Consecutive numbers."""
        out = np.zeros(self.size)
        out[np.unpackbits(self.bits, count=self.size).astype(np.bool_)] = self.values
        return out[place]


class RangePoints(Protocol):
    """What is kept of the rows of a slice set, as ranges of scores bring them."""

    def jobs(self, classes: tuple[ByCell, ByCell], code: Codes) -> Sequence[tuple[int, Callable[[], Any]]]:
        """What makes its parts of one range of scores, and how many rows each job holds."""

    def add(self, pieces: Any) -> None:
        """Keep the parts of a range of scores above all that came before."""


SHORT = 1 << 15
"""Slices with fewer rows, or points, are taken together up to so many."""

PIECE = 1 << 17
"""A slice is cut into pieces of about so many rows of a class."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The points of consecutive slices from `first` on, in one range of scores, ascending within each slice.

    `offsets` are the slices' boundaries, `score` is None where it is not to be read.
    """

    first: int
    offsets: Codes
    positive: NDArray[Any] | NonZero
    negative: NDArray[Any] | NonZero
    score: Array | None

    @property
    def last(self) -> int:
        """The slice after the last one."""
        return self.first + len(self.offsets) - 1

    def sizes(self, first: int, last: int) -> tuple[slice, Codes]:
        """Where the points of some slices are, and how many each has."""
        sizes = np.zeros(last - first, dtype=np.int64)
        low, high = max(first, self.first), min(last, self.last)
        if low >= high:
            return slice(0, 0), sizes
        ends = self.offsets[low - self.first : high - self.first + 1]
        sizes[low - first : high - first] = np.diff(ends)
        return slice(int(ends[0]), int(ends[-1])), sizes


class SetPoints:
    """The points of the slices of a set, as ranges of scores bring them, from low to high."""

    def __init__(self, slices: int, *, scores: bool) -> None:
        self.slices = slices
        self._scores = scores
        self._pieces: list[Piece] = []

    def jobs(
        self, classes: tuple[ByCell, ByCell], code: Codes
    ) -> list[tuple[int, Callable[[], list[Piece]]]]:
        """What makes the pieces of one range of scores, and how many rows each job holds.

        Args:
            classes: negatives and positives.
            code: the slice of each cell, -1 for none.
        """
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
        """Keep the pieces of a range of scores above all that came before."""
        self._pieces += pieces

    def _long(self, classes: tuple[ByCell, ByCell], first: int, cells: list[Codes]) -> list[Piece]:
        """One slice, piece by piece."""
        negative, positive = (Ascending.of(*part.of_cells(cells[0])) for part in classes)
        points = distinct if self._scores else class_masses
        return [
            _piece(first, *points(negative.part(low, high), positive.part(low_positive, high_positive)))
            for (low, low_positive), (high, high_positive) in _windows(negative.score, positive.score)
        ]

    def _short(self, classes: tuple[ByCell, ByCell], first: int, cells: list[Codes]) -> list[Piece]:
        """Some slices of few rows, in one piece."""
        every = np.concatenate(cells)
        slices = np.repeat(np.arange(len(cells)), [len(part) for part in cells])
        parts = [part.of_cells(every) for part in classes]
        code = np.concatenate([np.repeat(slices, np.diff(part.offsets)[every]) for part in classes])
        score = np.concatenate([part for part, _ in parts])
        weights = [part for _, part in parts if part is not None]
        weight = np.concatenate(weights) if weights else None
        order = np.argsort(score) if weight is None else np.lexsort((weight, score))
        order = order[np.argsort(code[order].astype(np.uint16), kind="stable")]
        bounds = np.searchsorted(code[order], np.arange(len(cells) + 1))
        rows = Ascending(score[order], None if weight is None else weight[order])
        return [points_of(first, rows, order >= len(parts[0][0]), bounds, scores=self._scores)]

    def parts(self) -> list[Callable[[], State]]:
        """What makes the points of slices, a few short ones at a time, or a single long one."""
        sizes = np.zeros(self.slices, dtype=np.int64)
        for piece in self._pieces:
            sizes[piece.first : piece.last] += np.diff(piece.offsets)
        return [partial(self._state, first, last) for first, last in _together(sizes, SHORT)]

    def whole(self) -> State:
        """The points of all slices."""
        return self._state(0, self.slices, long=False)

    def _state(self, first: int, last: int, *, long: bool = True) -> State:
        pieces = [piece for piece in self._pieces if piece.first < last and piece.last > first]
        places = [piece.sizes(first, last) for piece in pieces]
        names = ("positive", "negative", "score") if self._scores else ("positive", "negative")
        parts = {
            name: [getattr(piece, name)[place] for piece, (place, _) in zip(pieces, places, strict=True)]
            for name in names
        }
        if long and last - first == 1:
            return {name: Pieces.of(values, counts=name != "score") for name, values in parts.items()}
        sizes = np.array([size for _, size in places], dtype=np.int64).reshape(len(pieces), last - first)
        offsets = np.append(0, np.cumsum(sizes.sum(axis=0)))
        order = None
        if len(pieces) > 1:
            order = np.argsort(
                np.repeat(np.tile(np.arange(last - first), len(pieces)), sizes.ravel()), kind="stable"
            )
        return {name: Segments(_in_order(values, order), offsets) for name, values in parts.items()}


@dataclass(frozen=True, slots=True)
class SlicedPoints(ExactPoints):
    """The scores of a slice set: exact points for values, and counts on a grid for replicates.

    What nothing reads is None: `joined` points, those of each score, and counts.
    """

    slices: int
    joined: SetPoints | None
    distinct: SetPoints | None
    counted: SlicedScores | None
    weighted: bool = False

    def point_state(self) -> Any:
        """Distinct scores per slice with the weight of each class."""
        assert self.distinct is not None
        return self.distinct.whole()

    def parts(self, *, scores: bool) -> list[Callable[[], State]]:
        """The points of a few slices at a time; those between positives joined, unless scores are to be read."""
        points = self.distinct if scores else self.joined
        assert points is not None
        return points.parts()

    def replicate_points(self, weights: Array, *, scores: bool = False) -> Iterator[dict[str, Segments]]:
        """See `rows`."""
        raise NotImplementedError

    def block_counts(self, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """Weight per class on coarse bins by block."""
        assert self.counted is not None
        return self.counted.block_counts(blocks)

    def coarse_scores(self) -> Array:
        """Counts have no scores."""
        raise NotImplementedError

    def coarse_ties(self) -> NDArray[np.bool_]:
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


def class_masses(negative: Ascending, positive: Ascending) -> tuple[NDArray[Any], NDArray[Any], None]:
    """What weighs of each class at the positives' scores and between them.

    >>> parts = Ascending(np.array([0.1, 0.2, 0.4])), Ascending(np.array([0.4, 0.4, 0.9]))
    >>> class_masses(*parts)[:2]
    (array([0, 2, 1]), array([2, 1, 0]))
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
    return members[occupied], negatives[occupied], None


def distinct(negative: Ascending, positive: Ascending) -> tuple[NDArray[Any], NDArray[Any], Array]:
    """What weighs of each class at each score, and the scores.

    >>> parts = Ascending(np.array([0.1, 0.2, 0.4])), Ascending(np.array([0.4, 0.4, 0.9]))
    >>> distinct(*parts)[:2]
    (array([0, 0, 2, 1]), array([1, 1, 1, 0]))
    """
    score = np.concatenate([negative.score, positive.score])
    score.sort()
    score = score[np.append(True, score[1:] != score[:-1])[: len(score)]]
    positives, negatives = (
        part.masses(np.append(0, np.searchsorted(part.score, score, side="right")))
        for part in (positive, negative)
    )
    return positives, negatives, score


def _windows(negative: Array, positive: Array) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Boundaries of ranges of scores in both classes; equal scores are in one range."""
    ends = np.union1d(negative[PIECE::PIECE], positive[PIECE::PIECE])
    edges = [
        [0, *np.searchsorted(values, ends, side="right").tolist(), len(values)]
        for values in (negative, positive)
    ]
    for low, high in pairwise(zip(*edges, strict=True)):
        if low != high:
            yield low, high


def _piece(first: int, positive: NDArray[Any], negative: NDArray[Any], score: Array | None) -> Piece:
    return Piece(first, np.array([0, len(positive)]), _smallest(positive), _smallest(negative), score)


def points_of(
    first: int, rows: Ascending, member: NDArray[np.bool_], bounds: Codes, *, scores: bool
) -> Piece:
    """The points of rows that lie slice after slice, ascending by score within each."""
    score, weight = rows.score, rows.weight
    begins = bounds[:-1][np.diff(bounds) > 0]
    change = np.append(True, score[1:] != score[:-1])[: len(score)]
    change[begins] = True
    starts = np.flatnonzero(change)
    positive = _class_weights(member, weight, starts)
    if not scores and len(starts):
        bare = positive == 0
        retained = np.append(True, ~(bare[1:] & bare[:-1]))
        retained[np.searchsorted(starts, begins)] = True
        kept_at = np.flatnonzero(retained)
        starts, positive = starts[kept_at], np.add.reduceat(positive, kept_at)
    rows_each = np.diff(starts, append=len(score))
    negative = rows_each - positive if weight is None else _class_weights(~member, weight, starts)
    group_scores = score[starts] if scores else None
    return Piece(
        first, np.searchsorted(starts, bounds), _smallest(positive), _smallest(negative), group_scores
    )


def _class_weights(member: NDArray[np.bool_], weight: Array | None, starts: Codes) -> NDArray[Any]:
    """What the rows of a class weigh from each start up to the next."""
    dtype = np.int64 if weight is None else np.float64
    if len(starts) == 0:
        return np.zeros(0, dtype=dtype)
    return np.add.reduceat(member if weight is None else np.where(member, weight, 0.0), starts, dtype=dtype)


def _together(sizes: Codes, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive slices that have up to so many rows together; a slice of more is alone."""
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


def _smallest(numbers: NDArray[Any]) -> NDArray[Any] | NonZero:
    """Whole numbers in as few bytes as hold them; sums of weights without those that are 0: most points have one."""
    if numbers.dtype == np.float64:
        return NonZero.of(numbers)
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
