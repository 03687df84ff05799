"""Numbers of which many are 0, in less memory: those that are not, and a bit for each place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array


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
        held = numbers != 0
        return cls(numbers[held], np.packbits(held), len(numbers))

    def __getitem__(self, place: slice) -> Array:
        """Consecutive numbers."""
        out = np.zeros(self.size)
        out[np.unpackbits(self.bits, count=self.size).astype(np.bool_)] = self.values
        return out[place]
