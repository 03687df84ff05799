"""The points of a range of scores, in as few bytes as hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes

SCORE = "score"
"""The name of the scores themselves beside what is summed at each."""

_WHOLE = 1 << 32
"""Whole numbers below this are kept in four bytes or fewer."""


@dataclass(frozen=True, slots=True)
class NonZero:
    """Sparse array of nonzero values and a bit mask, read as dense slices.

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


@dataclass(frozen=True, slots=True)
class Piece:
    """The points of consecutive slices from `first` on, in one range of scores, ascending within each slice.

    `offsets` are the slices' boundaries, `channels` what is summed at each point, and the scores where they are read.
    """

    first: int
    offsets: Codes
    channels: Mapping[str, NDArray[Any] | NonZero]

    @classmethod
    def of(cls, first: int, offsets: Codes, channels: Mapping[str, NDArray[Any]]) -> Piece:
        """Pieces from the channels of points, in the smallest exact types."""
        return cls(
            first,
            offsets,
            {name: part if name == SCORE else smallest(part) for name, part in channels.items()},
        )

    @property
    def last(self) -> int:
        """The slice after the last one."""
        return self.first + len(self.offsets) - 1

    def sizes(self, first: int, last: int) -> tuple[slice, Codes]:
        """Offsets of the points of some slices, and their numbers."""
        sizes = np.zeros(last - first, dtype=np.int64)
        low, high = max(first, self.first), min(last, self.last)
        if low >= high:
            return slice(0, 0), sizes
        ends = self.offsets[low - self.first : high - self.first + 1]
        sizes[low - first : high - first] = np.diff(ends)
        return slice(int(ends[0]), int(ends[-1])), sizes


def smallest(numbers: NDArray[Any]) -> NDArray[Any] | NonZero:
    """Whole numbers in the smallest type; other sums in sparse form, as most points have one nonzero sum.

    >>> smallest(np.array([0.0, 300.0])).dtype, smallest(np.array([0.0, 0.5])).values
    (dtype('uint16'), array([0.5]))
    """
    low, high = numbers.min(initial=0), numbers.max(initial=0)
    whole = numbers.dtype != np.float64 or (
        0 <= low <= high < _WHOLE and bool((numbers == np.rint(numbers)).all())
    )
    return numbers.astype(np.min_scalar_type(int(high))) if whole else NonZero.of(numbers)
