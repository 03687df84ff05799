"""Labels and predictions as ranks: concordant and discordant pairs of rows.

Pairs are labels and predictions row by row, which curves of a regression come from as well. Exact sums come from two
sorts, replicates from the joint distribution on a few bins of ranks, by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.threads import parallel_map
from plmetrics.states.scores.coarse import RANK_BINS
from plmetrics.states.scores.exact.sorted_rows import group_order
from plmetrics.states.scores.exact.sorting import argsort, ascending_order
from plmetrics.states.sums import View, sum_by_place

Places = NDArray[Any]

_MOMENTS = (
    "weight",
    "prediction_untied",
    "label_untied",
    "rank_product",
    "prediction_square",
    "label_square",
)
_PAIRWISE = 32
"""So many rows are compared each with each: a power of two."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """One model's rows in any order. `weight` is None where every row counts once."""

    label: Array
    score: Array
    weight: Array | None
    block: NDArray[np.int32] | None = None

    def regroup(self, codes: Codes | None, slices: int) -> SlicedPairs:
        """The rows of each slice of a set; rows of code -1 are in none, `codes` is None for one slice of all."""
        if codes is None:
            return SlicedPairs((self,))
        order, offsets = group_order(codes, slices)
        parts = (order[first:last] for first, last in pairwise(offsets.tolist()))
        return SlicedPairs(tuple(self._take(part) for part in parts))

    def _take(self, index: Codes) -> Pairs:
        weight = None if self.weight is None else self.weight[index]
        block = None if self.block is None else self.block[index]
        return Pairs(self.label[index], self.score[index], weight, block)


@dataclass(frozen=True, slots=True)
class SlicedPairs:
    """The rows of a slice set, slice by slice."""

    parts: tuple[Pairs, ...]

    def __iter__(self) -> Iterator[Pairs]:
        return iter(self.parts)


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of rows: their order, where ties start in it, middle ranks, and the weight by tie group.

    What is about that weight's own total is exactly 0 where all rows tie.
    """

    order: Codes
    starts: Flags
    middle: Array
    mass: Array

    @property
    def deviation(self) -> Array:
        """Middle ranks from their mean."""
        centred: Array = self.middle - self.mass.sum() / 2.0
        return centred

    @property
    def tie_free_weight(self) -> float:
        """Weight of the pairs without ties."""
        return float((self.mass * (self.mass.sum() - self.mass)).sum()) / 2.0

    @property
    def group(self) -> Codes:
        """The number of the tie group of each row."""
        group = np.empty_like(self.order)
        group[self.order] = np.cumsum(self.starts) - 1
        return group


def rank_view(pairs: SlicedPairs, *, pairwise: bool = True) -> View:
    """View of rank correlations, exactly: `[slice]` arrays.

    `weight`; `prediction_untied` and `label_untied`, the weight of the pairs whose predictions, or labels, differ;
    `rank_product`, `prediction_square` and `label_square`, the second moments of the middle ranks; with `pairwise`
    also `concordance`, the weight of concordant less that of discordant pairs.
    """
    names = _MOMENTS + (("concordance",) if pairwise else ())
    sums = parallel_map(partial(_sums, pairwise=pairwise), pairs.parts)
    columns = np.array(sums, dtype=np.float64).reshape(len(pairs.parts), len(names)).T
    view = dict(zip(names, columns, strict=True))
    return View(view | {"n": view["weight"]})


@np.errstate(over="ignore", invalid="ignore")
def _sums(part: Pairs, *, pairwise: bool) -> list[float]:
    """Sums of one slice, in the order of the names of `rank_view`."""
    weight = part.weight
    total = np.float64(len(part.label) if weight is None else weight.sum())
    predicted, actual = _side(part.score, weight), _side(part.label, weight)
    x, y = predicted.deviation, actual.deviation
    moments, products = [], np.empty_like(x)
    for left, right in ((x, y), (x, x), (y, y)):
        np.multiply(left, right, out=products)
        if weight is not None:
            products *= weight
        moments.append(float(products.sum()))
    untied = [side.tie_free_weight for side in (predicted, actual)]
    out = [total, *untied, *moments]
    return [*out, _concordance(predicted, actual, weight, sum(untied) - total**2 / 2.0)] if pairwise else out


def _concordance(predicted: _Side, actual: _Side, weight: Array | None, untied: float) -> float:
    """Weight of concordant less that of discordant pairs; `untied` is that of all pairs but once-tied ones.

    Rows stand in the order of predictions, ties in the falling order of labels, which are numbered so that equal ones
    fall, too: then a later row has a higher number only if both of its sides are higher.
    """
    group = actual.group
    rows = len(group)
    if not rows:
        return 0.0
    levels = np.count_nonzero(actual.starts)
    key = predicted.group * levels
    key += levels - 1 - group
    order = argsort(key)
    key = key[order]
    place = np.empty(rows, dtype=np.int64)
    place[argsort(group[order] * rows + np.arange(rows - 1, -1, -1))] = np.arange(rows)
    ordered = None if weight is None else weight[order]
    mass = _masses(_starts(key), ordered)
    return 2.0 * ordered_pairs(place, ordered) - (untied + float((mass**2).sum()) / 2.0)


@np.errstate(over="ignore", invalid="ignore")
def joint_view(joint: Array) -> View:
    """View of joint weights on bins `[..., prediction, label]`, with ties within each."""
    predicted, actual = joint.sum(axis=-1), joint.sum(axis=-2)
    totals = [part.sum(axis=-1, keepdims=True) for part in (predicted, actual)]
    total = totals[0][..., 0]
    sides = list(zip((predicted, actual), totals, strict=True))
    x, y = (np.cumsum(part, axis=-1) - part / 2.0 - whole / 2.0 for part, whole in sides)
    untied_x, untied_y = ((part * (whole - part)).sum(axis=-1) / 2.0 for part, whole in sides)
    return View(
        {
            "weight": total,
            "n": total,
            "concordance": agreement(joint),
            "prediction_untied": untied_x,
            "label_untied": untied_y,
            "rank_product": np.einsum("...ij,...i,...j->...", joint, x, y, optimize=True),
            "prediction_square": (predicted * x**2).sum(axis=-1),
            "label_square": (actual * y**2).sum(axis=-1),
        }
    )


def agreement(joint: Array) -> Array:
    """Concordant less discordant pairs of joint weights on bins `[..., prediction, label]`."""
    below = np.cumsum(np.cumsum(joint, axis=-1), axis=-2)
    concordant = (joint[..., 1:, 1:] * below[..., :-1, :-1]).sum(axis=(-1, -2))
    total = below[..., -1, -1]
    tied_x, tied_y = ((joint.sum(axis=axis) ** 2).sum(axis=-1) for axis in (-1, -2))
    out: Array = 2.0 * concordant - (total**2 - tied_x - tied_y + (joint**2).sum(axis=(-1, -2))) / 2.0
    return out


def joint_blocks(pairs: SlicedPairs) -> Iterator[tuple[Array, Codes]]:
    """Weights on joint rank bins by block of each slice, `[present blocks, prediction, label]`, and the blocks."""
    for part in pairs:
        weight = np.ones(len(part.label)) if part.weight is None else part.weight
        places = [_bin(_side(values, part.weight), weight) for values in (part.score, part.label)]
        assert part.block is not None
        present, block = np.unique(part.block, return_inverse=True)
        key = (block * RANK_BINS + places[0]) * RANK_BINS + places[1]
        counts = sum_by_place(key, weight, len(present) * RANK_BINS * RANK_BINS)
        yield counts.reshape(len(present), RANK_BINS, RANK_BINS), present.astype(np.int64)


def _bin(side: _Side, weight: Array) -> Codes:
    """Bin of each row: bins of about equal weight, with tied rows in one."""
    total = max(float(weight.sum()), np.finfo(np.float64).tiny)
    return np.minimum((side.middle / total * RANK_BINS).astype(np.int64), RANK_BINS - 1)


def _side(values: Array, weight: Array | None) -> _Side:
    """Rows in the order of one side."""
    order = ascending_order(values)
    new = _starts(values[order])
    mass = _masses(new, None if weight is None else weight[order])
    ranks, middle = np.cumsum(mass), np.empty(len(order))
    ranks -= mass / 2.0
    middle[order] = ranks if len(ranks) == len(order) else ranks[np.cumsum(new) - 1]
    return _Side(order, new, middle, mass)


def _starts(ascending: NDArray[np.generic]) -> Flags:
    """Starts of runs of equal values."""
    new = np.ones(len(ascending), dtype=np.bool_)
    new[1:] = ascending[1:] != ascending[:-1]
    return new


def _masses(new: Flags, weight: Array | None) -> Array:
    """Weight of the rows of each run, by where runs start."""
    starts = np.flatnonzero(new)
    if weight is None or not len(starts):
        return np.diff(starts, append=len(new)).astype(np.float64)
    return np.add.reduceat(weight, starts)


def ordered_pairs(place: Codes, weight: Array | None) -> float:
    """Weight of the pairs with the higher place later; places are 0, 1, 2, ... in any order.

    Two rows differ first in one bit of their places. Among rows that agree in all higher bits, each with that bit set
    meets those before it without: so rows are cut in halves by a bit, from the highest to the lowest. Rows that fill
    these up to a power of two come first, in falling order, and are in no such pair.

    >>> ordered_pairs(np.array([2, 0, 1, 3]), None)
    4.0
    """
    size = 1 << (max(len(place), 1) - 1).bit_length()
    kind = np.int32 if size <= 1 << 31 else np.int64
    places = np.concatenate([np.arange(size - 1, len(place) - 1, -1, dtype=kind), place.astype(kind)])
    if weight is not None:
        return _weight_of_pairs(places, np.concatenate([np.zeros(size - len(place)), weight]))
    pairs, width = 0, size
    while width > _PAIRWISE:
        high = (places & (width >> 1)) != 0
        chosen = np.flatnonzero(high)
        # of k members with the bit set at places p of their run, p - (how many of them come before) have it not
        halves = (size // width) * (width // 2) * (width // 2 - 1) // 2
        pairs += int((chosen & (width - 1)).sum()) - halves
        places = _halves(places, high, chosen, width)
        width >>= 1
    runs = places.reshape(-1, width)
    return float(pairs + sum(np.count_nonzero(runs[:, lag:] > runs[:, :-lag]) for lag in range(1, width)))


def _weight_of_pairs(places: Places, weight: Array) -> float:
    total, width = 0.0, len(places)
    while width > 1:
        high = (places & (width >> 1)) != 0
        chosen = np.flatnonzero(high)
        running = np.cumsum(np.where(high, 0.0, weight).reshape(-1, width), axis=1).reshape(-1)
        total += float((weight[chosen] * running[chosen]).sum())
        weight = _halves(weight, high, chosen, width)
        places = _halves(places, high, chosen, width)
        width >>= 1
    return total


def _halves(values: NDArray[Any], high: Flags, chosen: Codes, width: int) -> NDArray[Any]:
    """Values in runs of half the width: of each run first those without the bit, then those with it."""
    halves = np.empty((len(values) // width, 2, width // 2), dtype=values.dtype)
    halves[:, 0] = values.compress(~high).reshape(-1, width // 2)
    halves[:, 1] = values[chosen].reshape(-1, width // 2)
    return halves.reshape(-1)
