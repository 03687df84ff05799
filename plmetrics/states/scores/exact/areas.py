"""Sorted rows of weight 1 for areas under the ROC curve alone, and two numbers a slice.

The class is the lowest bit of a row's integer, so that of equal scores the negatives come first. A positive then wins
against all negatives before it, and half of those are taken off again that have its own score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.core.threads import parallel_map, processors
from plmetrics.states.scores.exact.sorting import by_slice, sort_slices
from plmetrics.states.scores.sliced_scores import CLASSES, ScoresWithoutRows

if TYPE_CHECKING:
    import polars as pl

    Keys = NDArray[np.uint64]

_CLASS = np.uint64(1)
_PIECE = 1 << 16
"""So many rows are looked at together: what is found out about them stays in the processor's cache."""

_PACKED = 1 << 18
"""So many rows are packed at a time."""

_ALONE = 4
"""Fewer pieces are looked at sooner than a thread has begun."""


class AreaRows:
    """One model's rows in any order. Nonnegative scores sort by their bits.

    With `once` they are asked for all of them as one slice and for nothing else, and are sorted where they lie.
    """

    def __init__(self, score: pl.Series, positive: pl.Series, *, once: bool = False) -> None:
        self.keys: Keys = np.empty(len(score), dtype=np.uint64)
        self._once = once
        parallel_map(lambda piece: _pack(piece, positive, self.keys), list(_pieces(score)))

    @staticmethod
    def fits(score: pl.Series) -> bool:
        """Whether the scores sort by their bits."""
        lowest = score.min()
        return lowest is None or bool(lowest >= 0)  # type: ignore[operator]

    def regroup(self, codes: Codes | None, slices: int) -> SlicedAreas:
        """The areas of a slice set; `codes` is None where all rows are one slice, -1 for rows of none."""
        assert codes is None or not self._once
        if codes is None:
            keys, offsets = self.keys if self._once else self.keys.copy(), np.array([0, len(self.keys)])
        else:
            keys, offsets = by_slice(self.keys, codes, slices)
        sort_slices(keys, offsets)
        return SlicedAreas.of(keys, offsets)


@dataclass(frozen=True, slots=True)
class SlicedAreas(ScoresWithoutRows):
    """Pairs won by positives and rows of each class `[slice]`: sufficient for an area."""

    won: Array
    positives: Codes
    negatives: Codes
    has_weights: ClassVar[bool] = False

    @classmethod
    def of(cls, keys: Keys, offsets: Codes) -> SlicedAreas:
        """Areas of rows grouped by slice, ascending within each."""
        parts = parallel_map(lambda share: _part(keys, offsets, *share), _shares(len(keys)))
        positives, places = np.sum([part[:2] for part in parts], axis=0)
        before = places - positives * offsets[:-1]
        above = before - positives * (positives - 1) // 2
        last = np.concatenate([part[2] for part in parts])
        won = above - _tied_pairs(keys, offsets, last) / 2.0
        return cls(won, positives, np.diff(offsets) - positives)

    @property
    def slices(self) -> int:
        """Number of slices."""
        return len(self.positives)

    def point_state(self) -> dict[str, Array]:
        """Three points of the same area: negatives below every positive, positives, and the others."""
        state = {name: np.zeros((self.slices, 3)) for name in CLASSES}
        np.divide(self.won, self.positives, out=state["negative"][:, 0], where=self.positives > 0)
        state["negative"][:, 2] = self.negatives - state["negative"][:, 0]
        state["positive"][:, 1] = self.positives
        return state


def _pieces(score: pl.Series) -> Iterator[tuple[int, Array]]:
    """The scores as they lie, and where each piece begins: one long array would be made only to be read once."""
    at = 0
    for chunk in score.get_chunks():
        scores = chunk.to_numpy()
        for first in range(0, len(scores), _PACKED):
            yield at + first, scores[first : first + _PACKED]
        at += len(scores)


def _pack(piece: tuple[int, Array], positive: pl.Series, out: Keys) -> None:
    first, score = piece
    target = out[first : first + len(score)]
    np.left_shift(score.view(np.uint64), _CLASS, out=target)
    target |= positive.slice(first, len(score)).to_numpy()


def _shares(rows: int) -> list[tuple[int, int]]:
    """Stretches of rows, as many as there is work for, each of whole pieces."""
    pieces = -(-rows // _PIECE)
    ends = np.linspace(0, pieces, max(1, min(processors(), pieces // _ALONE)) + 1).astype(np.int64) * _PIECE
    return list(pairwise(np.minimum(ends, rows).tolist()))


def _part(keys: Keys, offsets: Codes, first: int, last: int) -> tuple[Codes, Codes, Codes]:
    """Of a stretch of rows: positives by slice, the sum of their places, and where a score has both classes.

    There the place is that of the last negative.
    """
    count, total = np.zeros((2, len(offsets) - 1), dtype=np.int64)
    ties = [np.zeros(0, dtype=np.int64)]
    for begin in range(first, last, _PIECE):
        part = keys[begin : min(begin + _PIECE, last) + 1]
        piece = part[:_PIECE]
        classes = piece.astype(np.uint8) & np.uint8(1)
        places = np.flatnonzero(classes.view(np.bool_)) + begin
        low = np.searchsorted(offsets, begin, side="right") - 1
        high = np.searchsorted(offsets, begin + len(piece))
        count[low:high] += np.diff(np.searchsorted(places, offsets[low : high + 1]))
        total[low:high] += _by_slice(places, places, offsets[low : high + 1])
        ties.append(np.flatnonzero((part[1:] ^ part[:-1]) == _CLASS) + begin)
    return count, total, np.concatenate(ties)


def _tied_pairs(keys: Keys, offsets: Codes, last: Codes) -> Codes:
    """Pairs of a negative and a positive with the same score, by slice, from the last negatives of such scores."""
    last = last[~np.isin(last + 1, offsets)]
    if len(last) == 0:
        return np.zeros(len(offsets) - 1, dtype=np.int64)
    starts = _starts(keys, offsets)
    run = np.searchsorted(starts, last, side="right")
    return _by_slice(last, (last + 1 - starts[run - 1]) * (starts[run + 1] - last - 1), offsets)


def _starts(keys: Keys, offsets: Codes) -> Codes:
    """The first row of each run of equal keys of a slice, and the number of rows."""
    change = np.ones(len(keys) + 1, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=change[1:-1])
    change[offsets] = True
    return np.flatnonzero(change)


def _by_slice(places: Codes, values: Codes, offsets: Codes) -> Codes:
    """Sums by slice of values at ascending places."""
    edges = np.searchsorted(places, offsets)
    occupied = np.flatnonzero(np.diff(edges))
    out = np.zeros(len(offsets) - 1, dtype=np.int64)
    if len(occupied):
        out[occupied] = np.add.reduceat(values[: edges[-1]], edges[occupied])
    return out
