"""Values of one long slice in pieces: the form of an array for a few points at a time.

Nothing is computed before a total is asked for. Then a piece goes through all of a formula while it is in the
processor's cache, and no intermediate result is ever as long as the slice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from plmetrics.core.segments import Along, Operand, Values
from plmetrics.core.threads import parallel_map

Memo = dict[int, Values]
Make = Callable[[int, Memo], Values]

T = TypeVar("T")

_ALONE = 4
"""Up to so many pieces, threads cost more than they bring."""


class Pieces(Along):
    """Values along the points of one slice, as a function of the piece.

    Arithmetic between values of the same cut is element by element, and waits; `total` and `largest` are arrays with
    one entry. Values from one piece to the next (running totals) take up what the pieces before come to, which is
    found once. `one` is the value that all points share, None where each has its own.

    >>> x = Pieces.of([np.array([1.0, 2.0]), np.array([3.0])])
    >>> (x * x.cumulative()).total()
    array([25.])
    """

    __slots__ = ("_counts", "_make", "_peak", "_piece_sums", "_totals", "count", "one")

    def __init__(
        self,
        count: int,
        make: Make,
        *,
        one: Values | None = None,
        peak: int | None = None,
        counts: bool = False,
    ) -> None:
        self.count = count
        self.one = one
        self._make = make
        self._peak = peak
        self._counts = counts
        self._totals: dict[bool, Pieces] = {}
        self._piece_sums: Values | None = None

    @classmethod
    def of(cls, parts: Sequence[Values], *, counts: bool = False) -> Pieces:
        """Existing values, of any type; `counts` are nowhere negative."""
        nonempty = [part for part in parts if len(part)]
        return cls(
            len(nonempty),
            lambda number, memo: nonempty[number].astype(np.float64),  # noqa: ARG005
            counts=counts,
        )

    def piece(self, number: int, memo: Memo) -> Values:
        """Values of a piece; earlier results of it, for this or another part of a formula, are in `memo`."""
        if id(self) not in memo:
            memo[id(self)] = self._make(number, memo)
        return memo[id(self)]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **keywords: Operand) -> Operand:
        """An element-wise operator, when its result is asked for."""
        if method != "__call__" or keywords:
            return NotImplemented
        return self.map_values(ufunc, *inputs)

    def map_values(self, function: Callable[..., Values], *inputs: Operand) -> Pieces:
        """Element-wise function of values of this cut, and of values common to all points."""
        operands = [
            part.one if isinstance(part, Pieces) and part.one is not None else part for part in inputs
        ]
        if not any(isinstance(part, Pieces) for part in operands):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return self.spread(function(*operands))

        def make(number: int, memo: Memo) -> Values:
            return function(
                *(part.piece(number, memo) if isinstance(part, Pieces) else part for part in operands)
            )

        return Pieces(self.count, make)

    def total(self) -> Values:
        """Sum of all points."""
        total: Values = self.sums().sum(keepdims=True)
        return total

    def sums(self) -> Values:
        """The sum of each piece."""
        if self._piece_sums is None:
            self._piece_sums = self._summary(np.sum)
        return self._piece_sums

    def largest(self) -> Values:
        """Largest value, -inf without points."""
        if self._peak is not None and self.count:
            largest: Values = self.piece(self._peak, {}).max(keepdims=True)
        else:
            largest = self._summary(np.max).max(keepdims=True, initial=-np.inf)
        return largest

    def cumulative(self, *, descending: bool = False) -> Pieces:
        """Running total."""
        if descending not in self._totals:
            peak = (0 if descending else self.count - 1) if self._counts else None
            running = self._running(np.add, self.sums(), 0.0, peak, descending=descending)
            self._totals[descending] = running
        return self._totals[descending]

    def running_largest(self, *, descending: bool = False) -> Pieces:
        """Largest value so far."""
        return self._running(np.maximum, self._summary(np.max), -np.inf, None, descending=descending)

    def above(self, top: float) -> Pieces:
        """The value at the next point, `top` at the last."""
        following = np.append(self._summary(lambda values: values[0])[1:], top)

        def make(number: int, memo: Memo) -> Values:
            return np.append(self.piece(number, memo)[1:], following[number])

        return Pieces(self.count, make)

    def spread(self, totals: Operand) -> Pieces:
        """One value common to all points."""
        flat = np.asarray(totals).reshape(-1)

        def make(number: int, memo: Memo) -> Values:
            return np.broadcast_to(flat, self.piece(number, memo).shape)

        return Pieces(self.count, make, one=flat)

    def where(self, then: Operand, otherwise: Operand) -> Pieces:
        """`then` where the values are true, else `otherwise`."""
        return self.map_values(np.where, self, then, otherwise)

    def whole(self) -> Values:
        """All values at once."""
        return np.concatenate([np.zeros(0), *self._map(lambda values: values)])

    def cut_alike(self, values: Values) -> Pieces:
        """An array of all points in the same pieces."""
        ends = np.cumsum(self._summary(len)).astype(np.int64)
        return Pieces.of(np.split(values, ends[:-1]))

    def _running(
        self, ufunc: np.ufunc, summary: Values, start: float, peak: int | None, *, descending: bool
    ) -> Pieces:
        """A result of a piece's values and of all before it; `peak` is the piece with the largest value."""
        ordered = summary[::-1] if descending else summary
        before = np.append(start, ufunc.accumulate(ordered))[:-1]
        before = before[::-1] if descending else before

        def make(number: int, memo: Memo) -> Values:
            values = self.piece(number, memo)
            running = ufunc.accumulate(values[::-1] if descending else values)
            ufunc(running, before[number], out=running)
            return running[::-1] if descending else running

        return Pieces(self.count, make, peak=peak)

    def _summary(self, function: Callable[[Values], Operand]) -> Values:
        """A number for each piece."""
        return np.array(self._map(function), dtype=np.float64)

    def _map(self, function: Callable[[Values], T]) -> list[T]:
        """Results of a function in each piece."""

        def result(number: int) -> T:
            return function(self.piece(number, {}))

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.count <= _ALONE:
                return [result(number) for number in range(self.count)]
            return parallel_map(result, range(self.count))
