"""Labels and predictions as ranks: the pairs of rows that they put in the same order, and in opposite ones.

Exact sums come from two sorts. Replicates come from the joint distribution on a few bins of ranks, by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.states.sums import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.states.pairs import SlicedPairs

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

BINS = 32
"""Bins of ranks on each side, for replicates."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of the rows, slice by slice: its tie groups in order, the middle rank of each row, and ties' weight."""

    group: Codes
    middle: Array
    tied: Array


def rank_view(pairs: SlicedPairs) -> View:
    """What rank correlations read, exactly: `[slice]` arrays.

    `weight`; `concordance` is the weight of concordant less that of discordant pairs; `prediction_untied` and
    `label_untied` that of the pairs whose predictions, or labels, differ; `rank_product`, `prediction_square` and
    `label_square` are the second moments of the middle ranks.
    """
    code, weight = pairs.code(), pairs.weights()
    slices = len(pairs.parts)
    total = np.bincount(code, weights=weight, minlength=slices)
    score = np.concatenate([part.score for part in pairs]) if slices else np.zeros(0)
    label = np.concatenate([part.label for part in pairs]) if slices else np.zeros(0)
    predicted, actual = (_side(code, values, weight, slices) for values in (score, label))
    both = np.bincount(_numbered(code, predicted.group, actual.group), weights=weight)
    members = np.zeros(len(both), dtype=np.int64)
    members[_numbered(code, predicted.group, actual.group)] = code
    tied = np.bincount(members, weights=both**2, minlength=slices) if len(code) else np.zeros(slices)
    pairs_untied = (total**2 - predicted.tied - actual.tied + tied) / 2.0
    concordant = _concordant(code, predicted.group, actual.group, weight, slices)
    middle = (total / 2.0)[code]
    x, y = predicted.middle - middle, actual.middle - middle

    def moment(values: Array) -> Array:
        return _totals(code, weight * values, slices)

    return View(
        {
            "weight": total,
            "n": total,
            "concordance": 2.0 * concordant - pairs_untied,
            "prediction_untied": (total**2 - predicted.tied) / 2.0,
            "label_untied": (total**2 - actual.tied) / 2.0,
            "rank_product": moment(x * y),
            "prediction_square": moment(x * x),
            "label_square": moment(y * y),
        }
    )


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
        places = [_bin(_side(code, values, weight, 1), weight) for values in (part.score, part.label)]
        assert part.block is not None
        present, block = np.unique(part.block, return_inverse=True)
        key = (block * BINS + places[0]) * BINS + places[1]
        counts = _totals(key, weight, len(present) * BINS * BINS)
        yield counts.reshape(len(present), BINS, BINS), present.astype(np.int64)


def _bin(side: _Side, weight: Array) -> Codes:
    """The bin of each row: bins of about equal weight, rows that tie in one."""
    total = max(float(weight.sum()), np.finfo(np.float64).tiny)
    return np.minimum((side.middle / total * BINS).astype(np.int64), BINS - 1)


def _side(code: Codes, values: Array, weight: Array, slices: int) -> _Side:
    """Rows in order of one side, within slices."""
    order = np.lexsort((values, code))
    sorted_code, sorted_values, sorted_weight = code[order], values[order], weight[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (sorted_values[1:] != sorted_values[:-1]) | (sorted_code[1:] != sorted_code[:-1])
    number = np.cumsum(new) - 1
    mass = _totals(number, sorted_weight, int(new.sum()))
    of_slice = sorted_code[new]
    before = np.cumsum(mass) - mass
    first = np.searchsorted(of_slice, np.arange(slices))
    starts = np.concatenate((before, [mass.sum()]))[first]
    middle, group = np.empty(len(order)), np.empty(len(order), dtype=np.int64)
    middle[order] = (before - starts[of_slice] + mass / 2.0)[number]
    group[order] = number - first[sorted_code]
    return _Side(group, middle, _totals(of_slice, mass**2, slices))


def _totals(code: Codes, values: Array, groups: int) -> Array:
    return np.bincount(code, weights=values, minlength=groups).astype(np.float64, copy=False)


def _numbered(code: Codes, one: Codes, other: Codes) -> Codes:
    """A number for each combination that occurs."""
    if len(code) == 0:
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort((other, one, code))
    new = np.zeros(len(order), dtype=np.bool_)
    for part in (code, one, other):
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
    found = np.zeros(slices)
    bits = int(y.max(initial=0)).bit_length()
    for bit in reversed(range(bits)):
        own_code, own_x, own_y, own_weight = code[order], x[order], y[order], weight[order]
        group = _changes(own_code, own_y >> (bit + 1))
        high = (own_y >> bit) & 1 == 1
        low_weight = np.where(high, 0.0, own_weight)
        before = np.cumsum(low_weight) - low_weight
        run = group | _changes(own_x)
        ahead = before[_first(run)] - before[_first(group)]
        found += np.bincount(own_code, weights=np.where(high, own_weight * ahead, 0.0), minlength=slices)
        order = order[_partition(group, high)]
    return found


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
