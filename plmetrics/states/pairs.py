"""Labels and predictions row by row: what rank correlations and the curves of a regression come from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.states.scores.sorted_rows import group_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array, Codes


@dataclass(frozen=True, slots=True)
class Pairs:
    """One model's rows in any order. `weight` is None where every row counts once."""

    label: Array
    score: Array
    weight: Array | None
    block: NDArray[np.int32] | None = None

    @property
    def error(self) -> Array:
        """Prediction minus label."""
        return self.score - self.label

    def regroup(self, codes: Codes | None, slices: int) -> SlicedPairs:
        """The rows of each slice of a set; rows of code -1 are in none, `codes` is None for one slice of all."""
        if codes is None:
            return SlicedPairs((self,))
        order, offsets = group_order(codes, slices)
        parts = (order[first:last] for first, last in pairwise(offsets.tolist()))
        return SlicedPairs(tuple(self._take(part) for part in parts))

    def _take(self, index: NDArray[np.int64]) -> Pairs:
        weight = None if self.weight is None else self.weight[index]
        block = None if self.block is None else self.block[index]
        return Pairs(self.label[index], self.score[index], weight, block)


@dataclass(frozen=True, slots=True)
class SlicedPairs:
    """The rows of a slice set, slice by slice."""

    parts: tuple[Pairs, ...]

    def __iter__(self) -> Iterator[Pairs]:
        return iter(self.parts)

    def code(self) -> Codes:
        """The slice of each row, slice after slice."""
        return np.repeat(np.arange(len(self.parts)), [len(part.label) for part in self.parts])

    def weights(self) -> Array:
        """The weight of each row, slice after slice."""
        each = [np.ones(len(part.label)) if part.weight is None else part.weight for part in self.parts]
        return np.concatenate(each) if each else np.zeros(0)
