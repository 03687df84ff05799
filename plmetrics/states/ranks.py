"""Labels and predictions as ranks: the pairs of rows that they put in the same order, and in opposite ones.

Exact sums come from two sorts. Replicates come from the joint distribution on a few bins of ranks, by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.threads import parallel_map
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.states.pairs import Pairs, SlicedPairs

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_MANY = 10_000
"""So many rows of a slice are ranked sooner by themselves than with those of others."""

BINS = 32
"""Bins of ranks on each side, for replicates."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of the rows, slice by slice: its tie groups in order, the middle rank of each row, and ties' weight."""

    group: Codes
    middle: Array
    tied: Array


def rank_view(pairs: SlicedPairs, *, pairwise: bool = True) -> View:
    """What rank correlations read, exactly: `[slice]` arrays.

    `weight`; `prediction_untied` and `label_untied`, the weight of the pairs whose predictions, or labels, differ;
    `rank_product`, `prediction_square` and `label_square`, the second moments of the middle ranks; with `pairwise`
    also `concordance`, the weight of concordant less that of discordant pairs.
    """
    if not pairwise and all(part.weight is None and len(part.label) >= _MANY for part in pairs):
        return _view_of_ranks(pairs)
    code, weight = pairs.code(), pairs.weights()
    slices = len(pairs.parts)
    sizes = np.array([len(part.label) for part in pairs], dtype=np.int64)
    total = _sums(weight, sizes)
    sides = [
        np.concatenate([getattr(part, name) for part in pairs]) if slices else np.zeros(0)
        for name in ("score", "label")
    ]
    predicted, actual = parallel_map(partial(_side, code, weight, slices), sides)
    middle = (total / 2.0)[code]
    x, y = predicted.middle - middle, actual.middle - middle

    def moment(values: Array) -> Array:
        return _sums(weight * values, sizes)

    view = {
        "weight": total,
        "n": total,
        "prediction_untied": (total**2 - predicted.tied) / 2.0,
        "label_untied": (total**2 - actual.tied) / 2.0,
        "rank_product": moment(x * y),
        "prediction_square": moment(x * x),
        "label_square": moment(y * y),
    }
    if pairwise:
        view["concordance"] = _concordance(code, weight, total, predicted, actual)
    return View(view)


def _view_of_ranks(pairs: SlicedPairs) -> View:
    """The same of large slices whose rows count once and are not compared in pairs: one slice after another.

    The square of a side is 0 exactly where all of its values tie, and stands for its untied pairs as well.
    """
    total = np.array([float(len(part.label)) for part in pairs])
    product, predicted, actual = np.array([_moments(part) for part in pairs]).reshape(-1, 3).T
    view = {"weight": total, "n": total, "rank_product": product}
    view |= {"prediction_square": predicted, "prediction_untied": predicted}
    return View(view | {"label_square": actual, "label_untied": actual})


def _moments(part: Pairs) -> tuple[float, float, float]:
    """Sums of products of the middle ranks about their mean: of both sides, of predictions, of labels."""
    mean = (len(part.label) + 1) / 2.0
    x, y = (
        pl.Series(side + 0.0).rank("average").to_numpy() - mean  # adding 0 makes the two zeros one
        for side in (part.score, part.label)
    )
    return float((x * y).sum()), float((x * x).sum()), float((y * y).sum())


def _concordance(code: Codes, weight: Array, total: Array, predicted: _Side, actual: _Side) -> Array:
    """By slice the weight of concordant less that of discordant pairs."""
    slices = len(total)
    number = _combination_codes(code, predicted.group, actual.group)
    both = _totals(number, weight, 0)
    members = np.zeros(len(both), dtype=np.int64)
    members[number] = code
    tied = _totals(members, both**2, slices) if len(code) else np.zeros(slices)
    untied = (total**2 - predicted.tied - actual.tied + tied) / 2.0
    return 2.0 * _concordant(code, predicted.group, actual.group, weight, slices) - untied


def joint_view(joint: Array) -> View:
    """The same from joint weights on bins `[..., prediction, label]`, of which each counts as a tie."""
    predicted, actual = joint.sum(axis=-1), joint.sum(axis=-2)
    total = predicted.sum(axis=-1)
    below = np.cumsum(np.cumsum(joint, axis=-1), axis=-2)
    concordant = (joint[..., 1:, 1:] * below[..., :-1, :-1]).sum(axis=(-1, -2))
    tied_x, tied_y, tied = (
        (part**2).sum(axis=-1) for part in (predicted, actual, joint.reshape(*total.shape, -1))
    )
    untied = (total**2 - tied_x - tied_y + tied) / 2.0
    x, y = (np.cumsum(part, axis=-1) - part / 2.0 - total[..., None] / 2.0 for part in (predicted, actual))
    return View(
        {
            "weight": total,
            "n": total,
            "concordance": 2.0 * concordant - untied,
            "prediction_untied": (total**2 - tied_x) / 2.0,
            "label_untied": (total**2 - tied_y) / 2.0,
            "rank_product": np.einsum("...ij,...i,...j->...", joint, x, y, optimize=True),
            "prediction_square": (predicted * x**2).sum(axis=-1),
            "label_square": (actual * y**2).sum(axis=-1),
        }
    )


def joint_blocks(pairs: SlicedPairs) -> Iterator[tuple[Array, Codes]]:
    """Per slice the weights on its bins by block, `[blocks that occur, prediction, label]`, and which these are."""
    for part in pairs:
        weight = np.ones(len(part.label)) if part.weight is None else part.weight
        code = np.zeros(len(weight), dtype=np.int64)
        places = [_bin(_side(code, weight, 1, values), weight) for values in (part.score, part.label)]
        assert part.block is not None
        present, block = np.unique(part.block, return_inverse=True)
        key = (block * BINS + places[0]) * BINS + places[1]
        counts = _totals(key, weight, len(present) * BINS * BINS)
        yield counts.reshape(len(present), BINS, BINS), present.astype(np.int64)


def _bin(side: _Side, weight: Array) -> Codes:
    """The bin of each row: bins of about equal weight, rows that tie in one."""
    total = max(float(weight.sum()), np.finfo(np.float64).tiny)
    return np.minimum((side.middle / total * BINS).astype(np.int64), BINS - 1)


def _side(code: Codes, weight: Array, slices: int, values: Array) -> _Side:
    """Rows in order of one side, within slices."""
    order = _sort_order(code, values, slices)
    sorted_code, sorted_values = code[order], values[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (sorted_values[1:] != sorted_values[:-1]) | (sorted_code[1:] != sorted_code[:-1])
    starts = np.flatnonzero(new)
    sizes = np.diff(starts, append=len(order))
    mass = np.add.reduceat(weight[order], starts) if len(starts) else np.zeros(0)
    of_slice = sorted_code[starts]
    before = np.cumsum(mass) - mass
    first = np.searchsorted(of_slice, np.arange(slices))
    slice_start = np.append(before, mass.sum())[first]
    middle, group = np.empty(len(order)), np.empty(len(order), dtype=np.int64)
    middle[order] = np.repeat(before - slice_start[of_slice] + mass / 2.0, sizes)
    group[order] = np.repeat(np.arange(len(starts)) - first[of_slice], sizes)
    return _Side(group, middle, _totals(of_slice, mass**2, slices))


def _sort_order(code: Codes, values: Array, slices: int) -> Codes:
    """The order of rows by slice and value: two sorts of one key are several times as fast as one of two keys."""
    order = np.argsort(values)
    if slices <= 1:
        return order
    narrow = np.uint16 if slices <= 1 << 16 else np.uint32
    return order[np.argsort(code[order].astype(narrow), kind="stable")]


def _sums(values: Array, sizes: Codes) -> Array:
    """Sums of as many values as each slice has rows, pairwise: one after another, millions would lose digits."""
    sums, some = np.zeros(len(sizes)), sizes > 0
    if some.any():
        sums[some] = np.add.reduceat(values, (np.cumsum(sizes) - sizes)[some])
    return sums


def _totals(code: Codes, values: Array, groups: int) -> Array:
    return np.bincount(code, weights=values, minlength=groups).astype(np.float64, copy=False)


def _combination_codes(code: Codes, first: Codes, other: Codes) -> Codes:
    """A number for each combination that occurs."""
    if len(code) == 0:
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort((other, first, code))
    new = np.zeros(len(order), dtype=np.bool_)
    for part in (code, first, other):
        new[1:] |= part[order][1:] != part[order][:-1]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(new)
    return numbers


def _concordant(code: Codes, x: Codes, y: Codes, weight: Array, slices: int) -> Array:
    """Weight of the pairs of a slice with both sides larger, from the highest bit of y down to the lowest.

    Two rows whose y differ have one highest bit in which they do. In the order of x, among rows that agree in all
    higher bits, each row with the bit set meets those before it without: they are the concordant pairs.
    """
    order = np.lexsort((x, code))
    totals = np.zeros(slices)
    bits = int(y.max(initial=0)).bit_length()
    for bit in reversed(range(bits)):
        own_code, own_x, own_y, own_weight = code[order], x[order], y[order], weight[order]
        group = _changes(own_code, own_y >> (bit + 1))
        high = (own_y >> bit) & 1 == 1
        low_weight = np.where(high, 0.0, own_weight)
        before = np.cumsum(low_weight) - low_weight
        run = group | _changes(own_x)
        ahead = before[_first(run)] - before[_first(group)]
        totals += np.bincount(own_code, weights=np.where(high, own_weight * ahead, 0.0), minlength=slices)
        order = order[_partition(group, high)]
    return totals


def _changes(*parts: Codes) -> NDArray[np.bool_]:
    new = np.ones(len(parts[0]), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([part[1:] != part[:-1] for part in parts])
    return new


def _first(new: NDArray[np.bool_]) -> Codes:
    """The place where the run of each row begins."""
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))


def _partition(group: NDArray[np.bool_], high: NDArray[np.bool_]) -> Codes:
    """The order that puts, within groups, rows without the bit before those with it, stably."""
    number = np.cumsum(group) - 1
    return np.argsort(number * 2 + high, kind="stable")
