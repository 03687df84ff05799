"""Rows for a few quantiles: the weight of rows away from any quantile is summed, without a sort.

A sample tells between which two numbers a quantile lies. One pass counts what is below and above, and keeps what is
between: that alone is sorted. Where the counts say that the sample was wrong, the numbers are moved further apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.ops import Array, Codes
from plmetrics.core.threads import parallel_map, steps
from plmetrics.states.scores.exact.sorted_rows import SlicedRows, SortedRows, group_order

if TYPE_CHECKING:
    import polars as pl

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
    """Numbers of rows in any order, in pieces, with their weights if there are some, and the levels of quantiles."""

    pieces: Sequence[Rows]
    levels: tuple[float, ...]

    @classmethod
    def of(
        cls, rows: pl.DataFrame, value: str, weight: str | None, levels: tuple[float, ...]
    ) -> QuantileRows:
        """Rows of a frame without a copy: each piece lies within one chunk of its columns."""
        ends = np.cumsum([0, *rows[value].chunk_lengths()]).tolist()
        parts = [
            rows.slice(first, last - first)
            for of_part in pairwise(ends)
            for first, last in steps(*of_part, _PIECE)
        ]
        numbers = [part[value].to_numpy() for part in parts]
        masses = [None if weight is None else part[weight].to_numpy() for part in parts]
        return cls(list(zip(numbers, masses, strict=True)), levels)

    def regroup(self, codes: Codes | None, slices: int) -> SlicedRows:
        """Numbers of a slice set, for their quantiles; `codes` is None where all rows are one slice, -1 for none."""
        number = sum(len(value) for value, _ in self.pieces)
        sliced = [self.pieces] if codes is None else self._slice_pieces(codes, slices)
        parts = parallel_map(self._ascending, sliced)
        masses = [np.ones(len(each)) if mass is None else mass for each, mass in parts]
        value, weight = np.concatenate([each for each, _ in parts]), np.concatenate(masses)
        ends = np.concatenate(([0], np.cumsum([len(mass) for mass in masses])))
        everywhere = np.ones(len(value), dtype=np.bool_)
        return SlicedRows(SortedRows(value, everywhere, weight, None), ends, number)

    def _slice_pieces(self, codes: Codes, slices: int) -> list[list[Rows]]:
        """The rows of each slice, in pieces."""
        order, offsets = group_order(codes, slices)
        value, weight = _concatenation(self.pieces)
        value, weight = value[order], None if weight is None else weight[order]

        def piece(first: int, last: int) -> Rows:
            return value[first:last], None if weight is None else weight[first:last]

        return [
            [piece(*step) for step in steps(first, last, _PIECE)]
            for first, last in pairwise(offsets.tolist())
        ]

    def _ascending(self, pieces: Sequence[Rows]) -> Rows:
        if sum(len(value) for value, _ in pieces) >= _WORTH_A_SAMPLE * len(self.levels):
            value, weight = _near(pieces, self.levels)
        else:
            value, weight = _concatenation(pieces)
        if weight is None:
            return np.sort(value), None
        order = np.argsort(value)
        return value[order], weight[order]


def _concatenation(pieces: Sequence[Rows]) -> Rows:
    """The rows of some pieces together."""
    values = [np.zeros(0), *(value for value, _ in pieces)]
    weights = [weight for _, weight in pieces if weight is not None]
    return np.concatenate(values), np.concatenate(weights) if weights else None


def _near(pieces: Sequence[Rows], levels: Sequence[float]) -> Rows:
    """Candidate rows of quantiles, in any order, and the weight of the others at the ends of these."""
    step = sum(len(value) for value, _ in pieces) // _SAMPLE
    sample, weight = _concatenation(
        [(value[::step], mass if mass is None else mass[::step]) for value, mass in pieces]
    )
    order = np.argsort(sample)
    sample, weight = sample[order], None if weight is None else weight[order]
    margin = _MARGIN
    while True:
        spans = _spans(sample, weight, levels, margin)
        counted = [_count(pieces, span) for span in spans]
        if all(any(map(partial(_holds, level), spans, counted)) for level in levels):
            break
        margin *= 8
    lows, highs = np.transpose(spans)
    below, upto, total = np.transpose([sums for _, _, sums in counted])
    outside = np.append(below - np.append(0.0, upto[:-1]), total[-1] - upto[-1])
    present = np.append(lows > -inf, highs[-1] < inf)
    values = [*(rows for rows, _, _ in counted), np.append(lows, highs[-1])[present]]
    masses = [*(mass for _, mass, _ in counted), outside[present]]
    return np.concatenate(values), np.concatenate(masses)


def _spans(sample: Array, weight: Array | None, levels: Sequence[float], margin: float) -> list[Span]:
    """Brackets of quantiles in an ascending sample, ascending; overlapping ones are merged."""
    running = np.arange(1.0, len(sample) + 1) if weight is None else np.cumsum(weight)
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


def _count(pieces: Sequence[Rows], span: Span) -> Counted:
    """Rows of a span with their weights, and the weight below it, up to its end, and in all."""

    def of_piece(piece: Rows) -> Counted:
        numbers, mass = piece
        below, upto = numbers < span[0], numbers <= span[1]
        inside = below ^ upto
        rows = numbers[inside]
        if mass is None:
            counts = [np.count_nonzero(below), np.count_nonzero(upto), len(numbers)]
            return rows, np.ones(len(rows)), np.array(counts, dtype=np.float64)
        return rows, mass[inside], np.array([(mass * below).sum(), (mass * upto).sum(), mass.sum()])

    rows, masses, sums = zip(*parallel_map(of_piece, pieces), strict=True)
    return np.concatenate(rows), np.concatenate(masses), np.sum(sums, axis=0)


def _holds(level: float, span: Span, counted: Counted) -> bool:
    """Whether the quantile of a level is within a span, so says the weight below it and up to its end."""
    low, high = span
    below, upto, total = counted[2]
    reached = low == -inf or below < level * total * (1 - _TIE)
    return bool(reached and (high == inf or upto > level * total * (1 + _TIE)))
