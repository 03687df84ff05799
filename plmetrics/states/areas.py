"""Rows that count once each, of which only the area under the ROC curve is asked: sorted, and two numbers a slice.

The class is the lowest bit of a row's integer, so that of equal scores the negatives come first. A positive then wins
against all negatives before it, and half of those are taken off again that have its own score.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from plmetrics.states.scores import CLASSES, grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from plmetrics.states.coarse import Array, Codes

    Keys = NDArray[np.uint64]

_CLASS = np.uint64(1)
_PIECE = 1 << 16
"""So many rows are looked at together: what is found out about them stays in the processor's cache."""


class AreaRows:
    """One model's rows in any order. Scores that are not negative sort by their bits."""

    def __init__(self, score: pl.Series, positive: pl.Series) -> None:
        self.keys: Keys = np.empty(len(score), dtype=np.uint64)
        last = 0
        for part in score.get_chunks():  # one long array would be made only to be read once
            first, last = last, last + len(part)
            np.left_shift(part.to_numpy().view(np.uint64), _CLASS, out=self.keys[first:last])
        self.keys |= positive.to_numpy()

    @staticmethod
    def fits(score: pl.Series) -> bool:
        """Whether the scores sort by their bits."""
        lowest = score.min()
        return lowest is None or bool(lowest >= 0)  # type: ignore[operator]

    def regroup(self, codes: Codes | None, slices: int) -> SlicedAreas:
        """The areas of a slice set; `codes` is None where all rows are one slice, -1 for rows of none."""
        if codes is None:
            keys, offsets = self.keys.copy(), np.array([0, len(self.keys)])
        else:
            order, offsets = grouped(codes, slices)
            keys = self.keys[order]
        for first, last in pairwise(offsets.tolist()):
            keys[first:last].sort()
        return SlicedAreas.of(keys, offsets)


@dataclass(frozen=True, slots=True)
class SlicedAreas:
    """Pairs that positives win and rows of each class `[slice]`: all that an area is made from."""

    won: Array
    positives: Codes
    negatives: Codes
    channels: ClassVar[tuple[str, ...]] = CLASSES
    rows: ClassVar[None] = None
    binned: ClassVar[bool] = False
    weighted: ClassVar[bool] = False

    @classmethod
    def of(cls, keys: Keys, offsets: Codes) -> SlicedAreas:
        """The areas of rows that lie slice after slice, ascending within each."""
        places = _places(keys, lambda part: part & _CLASS, 0)
        positives = np.diff(np.searchsorted(places, offsets))
        before = _by_slice(places, places, offsets) - positives * offsets[:-1]
        above = before - positives * (positives - 1) // 2
        won = above - _tied_pairs(keys, offsets) / 2.0
        return cls(won, positives, np.diff(offsets) - positives)

    @property
    def slices(self) -> int:
        """Number of slices."""
        return len(self.positives)

    def point_state(self) -> dict[str, Array]:
        """Three points with the same area: negatives that every positive wins against, positives, and the others."""
        state = {name: np.zeros((self.slices, 3)) for name in CLASSES}
        np.divide(self.won, self.positives, out=state["negative"][:, 0], where=self.positives > 0)
        state["negative"][:, 2] = self.negatives - state["negative"][:, 0]
        state["positive"][:, 1] = self.positives
        return state


def _tied_pairs(keys: Keys, offsets: Codes) -> Codes:
    """Pairs of a negative and a positive with the same score, by slice."""
    last = _places(keys, lambda part: (part[1:] ^ part[:-1]) == _CLASS, 1)
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


def _places(keys: Keys, test: Callable[[Keys], NDArray[Any]], beyond: int) -> Codes:
    """Where a test holds, which looks at so many keys beyond each."""
    firsts = range(0, len(keys), _PIECE)
    found = [np.flatnonzero(test(keys[first : first + _PIECE + beyond])) + first for first in firsts]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _by_slice(places: Codes, values: Codes, offsets: Codes) -> Codes:
    """Sums by slice of values at ascending places."""
    edges = np.searchsorted(places, offsets)
    held = np.flatnonzero(np.diff(edges))
    out = np.zeros(len(offsets) - 1, dtype=np.int64)
    if len(held):
        out[held] = np.add.reduceat(values[: edges[-1]], edges[held])
    return out
