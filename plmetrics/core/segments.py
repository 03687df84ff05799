"""Values of many slices laid end to end: the ragged form of an array with points as the last axis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[Any]
"""An array of any type of number."""

Operand: TypeAlias = Any
"""An operand of formulas: a number, an array, values along points, or an expression."""

_WORTH_KEEPING = 1 << 22


class Along(np.lib.mixins.NDArrayOperatorsMixin, ABC):
    """Values along the points of one slice or of many, in a form hidden from a metric's formula."""

    __slots__ = ()

    @abstractmethod
    def total(self) -> Values:
        """Sum of each slice."""

    @abstractmethod
    def largest(self) -> Values:
        """Largest value of each slice."""

    @abstractmethod
    def cumulative(self, *, descending: bool = False) -> Operand:
        """Running total within each slice."""

    @abstractmethod
    def running_largest(self, *, descending: bool = False) -> Operand:
        """Largest value so far within each slice."""

    @abstractmethod
    def above(self, top: float) -> Operand:
        """The value at the next point of the slice, `top` at its last."""

    @abstractmethod
    def spread(self, totals: Operand) -> Operand:
        """One value per slice, for each of its points."""

    @abstractmethod
    def where(self, then: Operand, otherwise: Operand) -> Operand:
        """`then` where the values are true, else `otherwise`."""


class Segments(Along):
    """Array with its last axis cut into consecutive segments, one per slice.

    Arithmetic between segments of the same cut is element by element; `total`, `cumulative` and `largest`
    work within each segment. `offsets` has one entry more than there are segments; a segment may be empty.
    Leading axes (replicates) are kept: the total of values `[replicates, points]` is `[replicates,
    segments]`. `whole` says that all values are whole numbers, whose running totals are exact however they are made.

    >>> x = Segments(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 2, 3]))
    >>> x.total()
    array([3., 0., 3.])
    """

    __slots__ = ("_running", "offsets", "values", "whole")

    def __init__(self, values: Values, offsets: Values, *, whole: bool = False) -> None:
        self.values = values
        self.offsets = offsets
        self.whole = whole
        self._running: dict[bool, Segments] = {}

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **keywords: Operand) -> Operand:
        """Apply an element-wise operator to the flat values."""
        if method != "__call__":
            return NotImplemented
        flat = [part.values if isinstance(part, Segments) else part for part in inputs]
        return Segments(ufunc(*flat, **keywords), self.offsets)

    @property
    def sizes(self) -> Values:
        """Number of points in each segment."""
        return np.diff(self.offsets)

    def total(self) -> Values:
        """Sum of each segment, 0 for an empty one."""
        if not self.whole or not self.values.size or False not in self._running:
            return self._reduce(np.add, 0.0)
        last = np.maximum(self.offsets[1:], 1) - 1
        return np.where(self.sizes > 0, self._running[False].values[..., last], 0.0)

    def largest(self) -> Values:
        """Largest value of each segment, -inf for an empty one."""
        return self._reduce(np.maximum, -np.inf)

    def cumulative(self, *, descending: bool = False) -> Segments:
        """Running total within each segment; of few points it is kept, for most metrics read it.

        Each segment is summed on its own: differences of one long running total would carry the rounding of
        all earlier segments into a small one.
        """
        if descending in self._running:
            return self._running[descending]
        running = np.empty(self.values.shape, dtype=np.float64)
        if descending:
            _accumulate(self.values[..., ::-1], self._mirror, running[..., ::-1], integral=self.whole)
        else:
            _accumulate(self.values, self.offsets, running, integral=self.whole)
        total = Segments(running, self.offsets, whole=self.whole)
        if running.size <= _WORTH_KEEPING:
            self._running[descending] = total
        return total

    @property
    def _mirror(self) -> Values:
        """The segments' boundaries counted from the end."""
        mirrored: Values = self.offsets[-1] - self.offsets[::-1]
        return mirrored

    def running_largest(self, *, descending: bool = False) -> Segments:
        """Largest value so far within each segment."""
        if descending:
            mirrored = Segments(self.values[..., ::-1], self._mirror)
            return Segments(mirrored.running_largest().values[..., ::-1], self.offsets)
        running = np.empty(self.values.shape, dtype=np.float64)
        for first, last in pairwise(self.offsets.tolist()):
            np.maximum.accumulate(self.values[..., first:last], axis=-1, out=running[..., first:last])
        return Segments(running, self.offsets)

    def above(self, top: float) -> Segments:
        """The value at the next point of the segment, `top` at its last."""
        above = np.empty(self.values.shape, dtype=np.float64)
        above[..., :-1] = self.values[..., 1:]
        above[..., self.offsets[1:][self.sizes > 0] - 1] = top
        return Segments(above, self.offsets)

    def spread(self, totals: Operand) -> Segments:
        """One value per segment, repeated for each of its points; of one segment the same place in memory is read."""
        if len(self.offsets) == 2:
            totals = np.asarray(totals)
            return Segments(np.broadcast_to(totals, (*totals.shape[:-1], int(self.offsets[1]))), self.offsets)
        return Segments(np.repeat(totals, self.sizes, axis=-1), self.offsets)

    def places(self, edges: Values) -> NDArray[np.int64]:
        """Insertion places of each edge in each segment of ascending values, before equal ones.

        Edges are alike for all segments, or `[segment, edge]`.

        >>> Segments(np.array([1.0, 2.0, 2.0, 0.0, 3.0]), np.array([0, 3, 5])).places(np.array([1.5, 2.0, 9.0]))
        array([[1, 1, 3],
               [4, 4, 5]])
        """
        low = np.repeat(self.offsets[:-1, None], edges.shape[-1], axis=1)
        high = np.repeat(self.offsets[1:, None], edges.shape[-1], axis=1)
        for _ in range(int(self.sizes.max(initial=0)).bit_length()):
            middle = (low + high) // 2
            passed = (low < high) & (self.values[np.minimum(middle, len(self.values) - 1)] < edges)
            low, high = np.where(passed, middle + 1, low), np.where(passed, high, middle)
        return low

    def between(self, places: NDArray[np.int64]) -> Values:
        """The total of each segment's values before its first place, between each two, and from its last on.

        >>> x = Segments(np.array([1.0, 2.0, 4.0]), np.array([0, 3]))
        >>> x.between(np.array([[1, 1, 3]]))
        array([[1., 0., 6., 0.]])
        """
        if self.whole and 0 < self.values.size <= _WORTH_KEEPING:
            ends = np.column_stack([places, self.offsets[1:]])
            begun = ends > self.offsets[:-1, None]
            running = np.where(begun, self.cumulative().values[np.maximum(ends, 1) - 1], 0.0)
            return np.diff(running, axis=1, prepend=0.0)
        first = np.column_stack([self.offsets[:-1], places])
        last = np.column_stack([places, self.offsets[1:]])
        begins = first.ravel()[: np.searchsorted(first.ravel(), len(self.values))]
        totals = np.zeros(first.shape)
        if len(begins):
            totals.ravel()[: len(begins)] = np.add.reduceat(self.values, begins)
        return np.where(first < last, totals, 0.0)

    def where(self, then: Operand, otherwise: Operand) -> Segments:
        """`then` where the values are true, else `otherwise`."""
        flat = [part.values if isinstance(part, Segments) else part for part in (then, otherwise)]
        return Segments(np.where(self.values, *flat), self.offsets)

    def _reduce(self, ufunc: np.ufunc, empty: float) -> Values:
        result = np.full((*self.values.shape[:-1], len(self.sizes)), empty)
        occupied = self.sizes > 0
        if occupied.any():
            result[..., occupied] = ufunc.reduceat(self.values, self.offsets[:-1][occupied], axis=-1)
        return result


def run_starts(values: Values) -> NDArray[np.bool_]:
    """Mask of the first of each run of equal values.

    >>> run_starts(np.array([1, 1, 2, 1])).tolist()
    [True, False, True, True]
    """
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def _accumulate(values: Values, offsets: Values, out: Values, *, integral: bool) -> None:
    """Running totals within segments; of whole numbers in one go, less those at the start of each.

    These are added as integers, which is several times as fast.
    """
    if not integral:
        for first, last in pairwise(offsets.tolist()):
            np.add.accumulate(values[..., first:last], axis=-1, out=out[..., first:last])
        return
    starts = offsets[:-1][np.diff(offsets) > 0]
    numbers = out.view(np.int64)
    numbers[...] = values
    if len(starts) > 1:
        numbers[..., starts[1:]] -= np.add.reduceat(numbers, starts, axis=-1)[..., :-1]
    out[...] = np.add.accumulate(numbers, axis=-1, out=numbers)
