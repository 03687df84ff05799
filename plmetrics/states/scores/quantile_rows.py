"""Rows of which only some quantiles are asked: those that no quantile can be at are added together, unsorted.

A sample tells between which two numbers a quantile lies. One pass counts what is below and above, and keeps what is
between: that alone is sorted. Where the counts say that the sample was wrong, the numbers are moved further apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.threads import parallel_map
from plmetrics.states.scores.sorted_rows import OrderedRows, SlicedRows, group_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.states.scores.coarse import Array, Codes

    Rows = tuple[Array, Array | None]
    Span = tuple[float, float]
    Counted = tuple[Array, Array, Array]

_SAMPLE = 1 << 15
"""So many rows tell where a quantile is about."""

_WORTH_A_SAMPLE = 4 * _SAMPLE
"""Fewer rows are sorted sooner."""

_PIECE = 1 << 16
"""So many rows are looked at together: they stay in the processor's cache."""

_MARGIN = 4.0
"""Standard errors of a sample's quantile on either side."""

_TIE = 1e-9
"""Limits are compared with this relative tolerance; it is wider than that of quantiles."""


@dataclass(frozen=True, slots=True)
class QuantileRows:
    """Numbers of rows in any order, with their weights if they have some, and the levels of the quantiles."""

    value: Array
    weight: Array | None
    levels: tuple[float, ...]

    def regroup(self, codes: Codes | None, slices: int) -> SlicedRows:
        """Numbers of a slice set, for their quantiles; `codes` is None where all rows are one slice, -1 for none."""
        value, weight, offsets = self.value, self.weight, np.array([0, len(self.value)])
        if codes is not None:
            order, offsets = group_order(codes, slices)
            value, weight = value[order], None if weight is None else weight[order]

        def of_slice(ends: tuple[int, int]) -> Rows:
            part = slice(*ends)
            return self._ascending(value[part], None if weight is None else weight[part])

        parts = parallel_map(of_slice, list(pairwise(offsets.tolist())))
        masses = [np.ones(len(each)) if mass is None else mass for each, mass in parts]
        value, weight = np.concatenate([each for each, _ in parts]), np.concatenate(masses)
        ends = np.concatenate(([0], np.cumsum([len(mass) for mass in masses])))
        everywhere = np.ones(len(value), dtype=np.bool_)
        return SlicedRows(OrderedRows(value, everywhere, weight, None), ends, len(self.value))

    def _ascending(self, value: Array, weight: Array | None) -> Rows:
        if len(value) >= _WORTH_A_SAMPLE * len(self.levels):
            value, weight = _near(value, weight, self.levels)
        if weight is None:
            return np.sort(value), None
        order = np.argsort(value)
        return value[order], weight[order]


def _near(value: Array, weight: Array | None, levels: Sequence[float]) -> Rows:
    """The rows that quantiles can be at, in any order, and the weight of the others at the ends of these."""
    margin = _MARGIN
    while True:
        spans = _spans(value, weight, levels, margin)
        counted = [_count(value, weight, span) for span in spans]
        if all(any(map(partial(_holds, level), spans, counted)) for level in levels):
            break
        margin *= 8
    lows, highs = np.transpose(spans)
    below, upto, total = np.transpose([sums for _, _, sums in counted])
    outside = np.append(below - np.append(0.0, upto[:-1]), total[-1] - upto[-1])
    beside = np.append(lows > -inf, highs[-1] < inf)
    values = [*(rows for rows, _, _ in counted), np.append(lows, highs[-1])[beside]]
    masses = [*(mass for _, mass, _ in counted), outside[beside]]
    return np.concatenate(values), np.concatenate(masses)


def _spans(value: Array, weight: Array | None, levels: Sequence[float], margin: float) -> list[Span]:
    """Between which numbers the quantiles are about, ascending; those that overlap are one."""
    every = slice(None, None, len(value) // _SAMPLE)
    order = np.argsort(value[every])
    sample = value[every][order]
    running = np.arange(1.0, len(sample) + 1) if weight is None else np.cumsum(weight[every][order])
    reach = margin * sqrt(len(sample)) / 2.0
    spans: list[Span] = []
    for place in np.searchsorted(running, np.sort(levels) * running[-1]):
        first, last = int(place - reach), int(place + reach)
        low = -inf if first < 0 else float(sample[first])
        high = inf if last >= len(sample) else float(sample[last])
        if spans and low <= spans[-1][1]:
            low = spans.pop()[0]
        spans.append((low, high))
    return spans


def _count(value: Array, weight: Array | None, span: Span) -> Counted:
    """The rows of a span with their weights, and how much weight is below it, up to its end, and in all."""

    def of_piece(first: int) -> Counted:
        numbers = value[first : first + _PIECE]
        below, upto = numbers < span[0], numbers <= span[1]
        inside = below ^ upto
        rows = numbers[inside]
        if weight is None:
            counts = [np.count_nonzero(below), np.count_nonzero(upto), len(numbers)]
            return rows, np.ones(len(rows)), np.array(counts, dtype=np.float64)
        mass = weight[first : first + _PIECE]
        return rows, mass[inside], np.array([(mass * below).sum(), (mass * upto).sum(), mass.sum()])

    pieces = parallel_map(of_piece, range(0, len(value), _PIECE))
    rows, masses, sums = zip(*pieces, strict=True)
    return np.concatenate(rows), np.concatenate(masses), np.sum(sums, axis=0)


def _holds(level: float, span: Span, counted: Counted) -> bool:
    """Whether the quantile of a level is within a span, so says the weight below it and up to its end."""
    low, high = span
    below, upto, total = counted[2]
    reached = low == -inf or below < level * total * (1 - _TIE)
    return bool(reached and (high == inf or upto > level * total * (1 + _TIE)))
