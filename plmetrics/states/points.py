"""Points of rows that count once each, made from scores that come class by class, a range of scores at a time.

What a slice keeps of its sorted rows are small whole numbers: the rows of each class at its points, in pieces that the
processor's cache holds. Neighbouring scores without positives are one point, for no operating point lies between them,
unless the scores themselves are to be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.pieces import Pieces
from plmetrics.core.segments import Segments
from plmetrics.core.threads import each
from plmetrics.states.scores import ExactPoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.core.segments import Along
    from plmetrics.states.coarse import Array, Codes
    from plmetrics.states.scores import Binning, SlicedScores

    State = Mapping[str, Along]

SHORT = 1 << 15
"""Slices with fewer rows, or points, are taken together up to so many."""

PIECE = 1 << 17
"""A slice is cut into pieces of about so many rows of a class."""

_FEW = 1000


@dataclass(frozen=True, slots=True)
class ByCell:
    """The scores of one class, those of a cell together, and the cells' boundaries."""

    score: Array
    offsets: Codes

    def of_cells(self, cells: Codes) -> Array:
        """A new array of the scores of some cells."""
        if len(cells) == 0:
            return np.zeros(0)
        low, high = self.offsets[cells], self.offsets[cells + 1]
        starts = np.flatnonzero(np.append(True, low[1:] != high[:-1]))
        low, high = low[starts], high[np.append(starts[1:], len(cells)) - 1]
        if len(low) <= _FEW:
            parts = [self.score[first:last] for first, last in zip(low.tolist(), high.tolist(), strict=True)]
            return np.concatenate([np.zeros(0), *parts])
        sizes = high - low
        before = np.cumsum(sizes) - sizes
        found: Array = self.score[np.arange(sizes.sum()) + np.repeat(low - before, sizes)]
        return found


@dataclass(frozen=True, slots=True)
class Piece:
    """The points of consecutive slices from `first` on, in one range of scores, ascending within each slice.

    `offsets` are the slices' boundaries, `score` is None where it is not to be read.
    """

    first: int
    offsets: Codes
    positive: NDArray[Any]
    negative: NDArray[Any]
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
        own = self.offsets[low - self.first : high - self.first + 1]
        sizes[low - first : high - first] = np.diff(own)
        return slice(int(own[0]), int(own[-1])), sizes


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
        negative, positive = (part.of_cells(cells[0]) for part in classes)
        negative.sort()
        positive.sort()
        points = distinct if self._scores else joined
        return [
            _piece(first, *points(negative[low:high], positive[low_positive:high_positive]))
            for (low, low_positive), (high, high_positive) in _windows(negative, positive)
        ]

    def _short(self, classes: tuple[ByCell, ByCell], first: int, cells: list[Codes]) -> list[Piece]:
        """Some slices of few rows, in one piece."""
        every = np.concatenate(cells)
        slices = np.repeat(np.arange(len(cells)), [len(part) for part in cells])
        parts = [part.of_cells(every) for part in classes]
        code = np.concatenate([np.repeat(slices, np.diff(part.offsets)[every]) for part in classes])
        score = np.concatenate(parts)
        order = np.argsort(score)
        order = order[np.argsort(code[order].astype(np.uint16), kind="stable")]
        bounds = np.searchsorted(code[order], np.arange(len(cells) + 1))
        return [_grouped(first, score[order], order >= len(parts[0]), bounds, scores=self._scores)]

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
        held = [piece for piece in self._pieces if piece.first < last and piece.last > first]
        places = [piece.sizes(first, last) for piece in held]
        names = ("positive", "negative", "score") if self._scores else ("positive", "negative")
        parts = {
            name: [getattr(piece, name)[place] for piece, (place, _) in zip(held, places, strict=True)]
            for name in names
        }
        if long and last - first == 1:
            return {name: Pieces.of(values, counts=name != "score") for name, values in parts.items()}
        sizes = np.array([size for _, size in places], dtype=np.int64).reshape(len(held), last - first)
        offsets = np.append(0, np.cumsum(sizes.sum(axis=0)))
        order = None
        if len(held) > 1:
            order = np.argsort(
                np.repeat(np.tile(np.arange(last - first), len(held)), sizes.ravel()), kind="stable"
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

    def point_state(self) -> Any:
        """Distinct scores per slice with the weight of each class."""
        assert self.distinct is not None
        return self.distinct.whole()

    def parts(self, *, scores: bool) -> list[Callable[[], State]]:
        """The points of a few slices at a time; those between positives joined, unless scores are to be read."""
        held = self.distinct if scores else self.joined
        assert held is not None
        return held.parts()

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

    def bin_counts(self, binning: Binning, blocks: int) -> Iterator[tuple[int, int, Array]]:
        """The channels of fixed bins by block."""
        assert self.counted is not None
        return self.counted.bin_counts(binning, blocks)


def add_range(sets: Sequence[tuple[SetPoints, tuple[ByCell, ByCell], Codes]]) -> None:
    """Sort the rows of a range of scores in several slice sets, and keep their points.

    For each set come the rows by cell and the slice of each cell.
    """
    jobs = [
        (number, *job)
        for number, (held, classes, code) in enumerate(sets)
        for job in held.jobs(classes, code)
    ]
    largest_first = sorted(range(len(jobs)), key=lambda index: -jobs[index][1])
    made = dict(zip(largest_first, each(lambda index: jobs[index][2](), largest_first), strict=True))
    for index, (number, *_) in enumerate(jobs):
        sets[number][0].add(made[index])


def joined(negative: Array, positive: Array) -> tuple[Codes, Codes, None]:
    """Rows of each class at the positives' scores and between them; both classes come ascending.

    >>> joined(np.array([0.1, 0.2, 0.4]), np.array([0.4, 0.4, 0.9]))[:2]
    (array([0, 2, 1]), array([2, 1, 0]))
    """
    starts = np.flatnonzero(np.append(True, positive[1:] != positive[:-1]))[: len(positive)]
    score = positive[starts]
    low = np.searchsorted(negative, score)
    high = low.copy()
    tied = np.flatnonzero(negative[np.minimum(low, len(negative) - 1)] == score) if len(negative) else low[:0]
    high[tied] = np.searchsorted(negative, score[tied], side="right")
    members, others = (np.zeros(2 * len(starts) + 1, dtype=np.int64) for _ in range(2))
    members[1::2] = np.diff(starts, append=len(positive))
    others[1::2] = high - low
    others[0::2] = np.append(low, len(negative)) - np.append(0, high)
    held = np.flatnonzero(members + others)
    return members[held], others[held], None


def distinct(negative: Array, positive: Array) -> tuple[Codes, Codes, Array]:
    """Rows of each class at each score, and the scores; both classes come ascending.

    >>> distinct(np.array([0.1, 0.2, 0.4]), np.array([0.4, 0.4, 0.9]))[:2]
    (array([0, 0, 2, 1]), array([1, 1, 1, 0]))
    """
    score = np.concatenate([negative, positive])
    score.sort()
    score = score[np.append(True, score[1:] != score[:-1])[: len(score)]]
    positives, negatives = (
        np.diff(np.searchsorted(values, score, side="right"), prepend=0) for values in (positive, negative)
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


def _piece(first: int, positive: Codes, negative: Codes, score: Array | None) -> Piece:
    return Piece(first, np.array([0, len(positive)]), _smallest(positive), _smallest(negative), score)


def _grouped(first: int, score: Array, member: NDArray[np.bool_], bounds: Codes, *, scores: bool) -> Piece:
    """The points of rows that lie slice after slice, ascending by score."""
    held = bounds[:-1][np.diff(bounds) > 0]
    change = np.append(True, score[1:] != score[:-1])[: len(score)]
    change[held] = True
    starts = np.flatnonzero(change)
    positive = np.add.reduceat(member, starts, dtype=np.int64) if len(starts) else np.zeros(0, dtype=np.int64)
    if not scores and len(starts):
        bare = positive == 0
        kept = np.append(True, ~(bare[1:] & bare[:-1]))
        kept[np.searchsorted(starts, held)] = True
        kept_at = np.flatnonzero(kept)
        starts, positive = starts[kept_at], np.add.reduceat(positive, kept_at)
    negative = np.diff(starts, append=len(score)) - positive
    own = score[starts] if scores else None
    return Piece(first, np.searchsorted(starts, bounds), _smallest(positive), _smallest(negative), own)


def _together(sizes: Codes, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive slices that have up to so many rows together; a slice of more is alone."""
    first, held = 0, 0
    for number, size in enumerate(sizes.tolist()):
        if number > first and held + size > limit:
            yield first, number
            first, held = number, 0
        held += size
    if first < len(sizes):
        yield first, len(sizes)


def _in_order(values: list[NDArray[Any]], order: Codes | None) -> Array:
    together = np.concatenate([np.zeros(0), *values])
    return together if order is None else together[order]


def _smallest(numbers: Codes) -> NDArray[Any]:
    """Whole numbers in as few bytes as hold them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
