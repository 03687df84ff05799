"""Finding the bin of a score by one look-up, in place of a search among the edges.

A key is a whole number that never falls as the score rises: the upper bits of the score, or its place on an even
scale. Edges of bins lie where the key changes, so that a table of keys says the bin exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.segments import run_starts

KEYS = 1 << 20
"""So many keys, about, tell scores apart: a table of them stays in the processor's cache."""

_FEW_KEYS = 1 << 12
"""So many tell fixed bins apart in all but a few rows."""

_AMBIGUOUS = np.iinfo(np.uint16).max
_LARGEST = np.finfo(np.float64).max
_APART = 2.0**-50
"""How far a number computed in a few steps may be from the true one."""

_LOWEST = 0.0005
"""The share of the lowest scores that may share a key, so that a few zeros do not cost the others their bits."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A number from 0 to `size` - 1 for every score, never falling as the score rises.

    With `scale` it is the place of a score between the lowest and the highest, else its bits above `shift`.
    """

    low: float
    scale: float
    shift: int
    size: int

    @classmethod
    def of(cls, scores: Array, *, even_first: bool = False) -> Keys:
        """Keys for finite scores, of the kind with more distinct values.

        Of two that tell as many apart, even ones are taken only if asked for.
        """
        if len(scores) == 0:
            return cls(0.0, 1.0, 0, 1)
        even = _even(scores)
        if scores.min() < 0:
            return even
        by_bits = _by_bits(scores)
        kinds = (even, by_bits) if even_first else (by_bits, even)
        return max(kinds, key=lambda keys: np.count_nonzero(np.bincount(keys(scores))))

    @classmethod
    def between(cls, low: float, high: float) -> Keys:
        """A few keys for scores between the ends of a span."""
        return cls(low, (_FEW_KEYS - 1) / (high - low), 0, _FEW_KEYS)

    def __call__(self, score: Array) -> Codes:
        """The key of each score."""
        if self.scale:
            with np.errstate(over="ignore"):
                place = (score - self.low) * self.scale
            return np.clip(place, 0, self.size - 1, out=place).astype(np.int64)
        key: Codes = (score.view(np.int64) >> self.shift) - int(self.low)
        return np.clip(key, 0, self.size - 1, out=key)

    def ends(self, scores: Array) -> Array:
        """Highest score of each key in use, but of the last: ascending."""
        return self.ends_of(self(scores))

    def ends_of(self, key: Codes) -> Array:
        """Highest score of each of some keys with a successor: ascending."""
        return self.highest(np.unique(key[(key >= 0) & (key < self.size - 1)]))

    def highest(self, key: Codes) -> Array:
        """Highest score of each key, by bisection over the candidate floating-point numbers."""
        low, high = self._around(key)
        while np.any(low < high):
            middle = (low >> 1) + (high >> 1) + (low & high & 1) + ((low ^ high) & 1)
            holds = self(_of_rank(middle)) <= key
            low, high = np.where(holds, middle, low), np.where(holds, high, middle - 1)
        return _of_rank(low)

    def _around(self, key: Codes) -> tuple[Codes, Codes]:
        """Brackets of the highest scores of keys, as places of numbers: of all numbers, where no guess holds."""
        ends = (_rank(np.full(key.shape, end)) for end in (-_LARGEST, _LARGEST))
        if self.scale:
            with np.errstate(over="ignore", invalid="ignore"):
                guess = self.low + (key + 1.0) / self.scale
                apart = _APART * (np.abs(guess) + abs(self.low))
                near = guess - apart, guess + apart
        else:
            guess = ((key + int(self.low) + 1) << self.shift).view(np.float64)
            near = np.nextafter(guess, 0.0), guess
        bracketing = np.isfinite(near[0]) & np.isfinite(near[1])
        sides = [np.where(bracketing, side, 0.0) for side in near]
        bracketing &= (self(sides[0]) <= key) & (self(sides[1]) > key)
        low, high = (np.where(bracketing, _rank(side), end) for side, end in zip(sides, ends, strict=True))
        return low, high


@dataclass(frozen=True, slots=True)
class Locator:
    """Bins of scores: bin i holds `edges[i - 1] < score <= edges[i]`."""

    keys: Keys
    edges: Array
    table: NDArray[np.uint16]

    @classmethod
    def around(cls, edges: Array, span: tuple[float, float]) -> Locator:
        """Bins for the fixed ones between the ends of a span: a key with an edge in it has a bin of its own."""
        keys = Keys.between(*span)
        crossed = keys(edges)
        return locator_at(keys.ends_of(np.concatenate([crossed - 1, crossed])), keys)

    def of_keys(self, key: Codes, out: NDArray[np.uint16] | None = None) -> NDArray[np.uint16]:
        """Bin of each score, by its key; written to `out` if given."""
        return self.table.take(key, out=out, mode="clip")

    def locate(self, score: Array, key: Codes, out: NDArray[np.uint16]) -> None:
        """Write the bin of each score, from its key."""
        del score
        self.of_keys(key, out)


@dataclass(frozen=True, slots=True)
class ExactLocator(Locator):
    """Bins with arbitrary edges: a key gives the likely bin of a score, a comparison with its ends corrects it."""

    lowest: Array
    highest: Array

    def locate(self, score: Array, key: Codes, out: NDArray[np.uint16]) -> None:
        """Write the bin of each score, from its key."""
        self.of_keys(key, out)
        astray = score > self.highest.take(out)
        astray |= score <= self.lowest.take(out)
        rows = np.flatnonzero(astray)
        out[rows] = np.searchsorted(self.edges, score[rows])


def locator_at(edges: Array, keys: Keys) -> Locator:
    """Locator of bins with given edges, ascending.

    Where an edge lies inside a key, scores with that key are taken for the number that has a bin of its own there.
    """
    crossed = keys(edges)
    table = _edges_below(crossed, keys.size)
    if (keys(np.nextafter(edges, np.inf)) > crossed).all():
        return Locator(keys, edges, table)
    single = np.flatnonzero(bins_of_one(edges))
    table[crossed[single]] = single
    return ExactLocator(keys, edges, table, np.append(-np.inf, edges), np.append(edges, np.inf))


def bins_of_one(edges: Array) -> Flags:
    """Mask of the bins of at most one distinct number, by their upper edges."""
    single = np.zeros(len(edges) + 1, dtype=np.bool_)
    single[1:-1] = np.nextafter(edges[1:], -np.inf) == edges[:-1]
    return single


def around_single(edges: Array, single: Array) -> Array:
    """Edges, and those of bins of one number: they end with it, and begin right after the number below it."""
    return np.unique(np.concatenate([edges, single, np.nextafter(single, -np.inf)]))


_AT_ENDS = 1000


def score_locator(score: Array, positive: Flags, bins: int) -> Locator:
    """Bins of scores of about equal weight, half of them by rows and half by positives, as near as keys allow.

    A score that very many rows have is a bin of its own; of a few scores, which rows share, each is.
    """
    keys, ascending = Keys.of(score), np.sort(score)
    distinct = ascending[run_starts(ascending)]
    if len(distinct) <= min(bins, len(ascending)) // 2:
        return locator_at(around_single(distinct[:0], distinct), keys)
    most = max(1, 4 * len(ascending) // bins)
    single = np.unique(ascending[most:][ascending[most:] == ascending[:-most]])
    edges = balanced_edges(ascending, score[positive], bins // 2 if len(single) else bins)
    return locator_at(around_single(keys.ends(edges), single), keys)


def value_locator(values: Array, bins: int) -> Locator:
    """Bins of numbers of one class, of about equal weight: finer at both ends, for quantiles far out.

    A number that several have is a bin of its own; of few rows each number is.
    """
    ascending, half = np.sort(values), max(bins // 2, 1)
    rows = len(ascending)
    at_ends = np.arange(min(half // 4, _AT_ENDS, rows))
    evenly = np.arange(1, half - 2 * len(at_ends)) * rows // max(half - 2 * len(at_ends), 1)
    places = np.unique(np.concatenate([at_ends, evenly, rows - 1 - at_ends]))
    cuts = np.unique(ascending[places[places < rows]])
    keys = Keys.of(values, even_first=True)
    again = np.searchsorted(ascending, cuts, "right") - np.searchsorted(ascending, cuts) > int(rows > half)
    return locator_at(around_single(keys.ends(cuts[~again]), cuts[again]), keys)


@dataclass(frozen=True, slots=True)
class FixedBins:
    """Bins with given edges: the bin of a score is the number of edges below it."""

    edges: Array
    table: NDArray[np.uint16]

    @classmethod
    def at(cls, edges: Array, keys: Keys) -> FixedBins:
        """Lookup by key, with edge comparisons only of scores with the key of an edge."""
        crossed = keys(edges)
        table = _edges_below(crossed, keys.size)
        table[crossed] = _AMBIGUOUS
        return cls(edges, table)

    @classmethod
    def of_places(cls, edges: Array, fine: Array) -> FixedBins:
        """Lookup by twice the fine bin of a score, plus one or not: scores in bins with an edge inside are compared."""
        lowest = np.searchsorted(edges, np.append(-np.inf, fine), side="right")
        highest = np.searchsorted(edges, np.append(fine, np.inf))
        return cls(edges, np.repeat(np.where(lowest < highest, _AMBIGUOUS, highest).astype(np.uint16), 2))

    def bins(self, score: Array, key: NDArray[Any]) -> NDArray[np.uint16]:
        """The bin of each score, by its key or place."""
        places = self.table.take(key, mode="clip")
        open_ = np.flatnonzero(places == _AMBIGUOUS)
        places[open_] = np.searchsorted(self.edges, score[open_])
        return places


def _edges_below(crossed: Codes, size: int) -> NDArray[np.uint16]:
    """The number of edges in lower keys than each, from the keys of edges: a table of a million is soon summed."""
    below = np.zeros(size, dtype=np.uint16)
    np.cumsum(np.bincount(crossed, minlength=size)[:-1], dtype=np.uint16, out=below[1:])
    return below


def _even(scores: Array) -> Keys:
    low, high = float(scores.min()), float(scores.max())
    width = high - low
    scale = (KEYS - 1) / width if 0 < width < np.inf else 1.0
    return Keys(low, scale if np.isfinite(scale) else 1.0, 0, KEYS)


def _by_bits(scores: Array) -> Keys:
    lowest = np.partition(scores, place := int(_LOWEST * len(scores)))[place]
    first, last = (int(end) for end in np.array([lowest, scores.max()]).view(np.int64))
    shift = 0
    while (last >> shift) - (first >> shift) >= KEYS:
        shift += 1
    return Keys(first >> shift, 0.0, shift, (last >> shift) - (first >> shift) + 1)


def _rank(score: Array) -> Codes:
    """The place of floating-point numbers among all of them, 0 at 0."""
    bits = score.view(np.int64)
    return np.where(bits < 0, np.int64(np.iinfo(np.int64).min) - bits, bits)


def _of_rank(rank: Codes) -> Array:
    bits = np.where(rank < 0, np.int64(np.iinfo(np.int64).min) - rank, rank)
    return bits.view(np.float64)


def balanced_edges(score: Array, positives: Array, bins: int) -> Array:
    """Edges of up to so many bins: half of them at quantiles of all scores, half at those of the positives'."""
    half = np.arange(1, bins // 2) / (bins // 2)
    parts = [
        np.sort(values)[np.minimum((half * len(values)).astype(np.int64), len(values) - 1)]
        for values in (score, positives)
        if len(values)
    ]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0)
