"""Complements of a slice set by points: its rows in one order, with every complement a part of it.

A complement has nearly all rows, so the points of all complements would take far more room than those of the slices.
What is kept of a row is its slice, its class, and whether its score is a new one: the points of a complement are made
from these when they are asked for, and dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.segments import run_starts
from plmetrics.states.scores.exact.class_rows import Ascending, ByCell
from plmetrics.states.scores.exact.ranges import PIECE, SetPoints, in_order, points_of

if TYPE_CHECKING:
    from plmetrics.states.scores.exact.point_pieces import Piece


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some rows, ascending by score; no other stretch holds any of their scores.

    `code` is the slice of each, -1 for none, `new` marks the first row of each score; `score` is None where it is not
    to be read, `weight` where rows count once each, `outcome` of two classes.
    """

    code: NDArray[Any]
    member: Flags
    new: Flags
    score: Array | None
    weight: Array | None
    outcome: Array | None = None

    def complement(self, number: int, *, scores: bool) -> Piece:
        """Points of the complement of a slice."""
        outside = np.flatnonzero(self.code != number)
        key: NDArray[Any] = np.cumsum(self.new)
        if scores:
            assert self.score is not None
            key = self.score
        rows = Ascending(key, self.weight, self.outcome).take(outside)
        return points_of(0, rows, self.member[outside], np.array([0, len(outside)]), scores=scores)


class SetOrder:
    """The rows of a slice set in order, as ranges of scores bring them, from low to high."""

    def __init__(self, slices: int, *, scores: bool, arms: bool = False) -> None:
        self._arms = arms
        self._code = np.min_scalar_type(-max(1, slices))
        self._scores = scores
        self._stretches: list[Stretch] = []

    def jobs(
        self, classes: tuple[ByCell, ByCell], code: Codes
    ) -> list[tuple[int, Callable[[], list[Stretch]]]]:
        """Jobs for the stretches of one range of scores, and its number of rows; see `SetPoints.jobs`."""
        rows = sum(len(part.score) for part in classes)
        return [(rows, partial(self._cut, classes, code))] if rows else []

    def add(self, stretches: Sequence[Stretch]) -> None:
        """Append the stretches of a range of scores above all earlier ones."""
        self._stretches += stretches

    def clear(self) -> None:
        """Drop all rows."""
        self._stretches = []

    def complement(self, number: int, *, scores: bool) -> SetPoints:
        """The points of all rows but those of a slice, as those of a set of one slice."""
        points = SetPoints(1, scores=scores, arms=self._arms)
        points.add([stretch.complement(number, scores=scores) for stretch in self._stretches])
        return points

    def _cut(self, classes: tuple[ByCell, ByCell], code: Codes) -> list[Stretch]:
        owner = np.concatenate(
            [np.repeat(code.astype(self._code), np.diff(part.offsets)) for part in classes]
        )
        rows, order = in_order([(part.score, part.weight, part.outcome) for part in classes])
        owner, member = owner[order], order >= len(classes[0].score)
        score = rows.score
        new = run_starts(score)
        edges = np.searchsorted(score, score[PIECE::PIECE])
        ends = [0, *np.unique(edges[edges > 0]).tolist(), len(score)]
        return [
            Stretch(
                owner[low:high].copy(),
                member[low:high].copy(),
                new[low:high].copy(),
                score[low:high].copy() if self._scores else None,
                *(None if part is None else part[low:high].copy() for part in (rows.weight, rows.outcome)),
            )
            for low, high in pairwise(ends)
        ]
