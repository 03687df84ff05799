"""Effect of the value shares of single columns on a change between two tables, by reweighting.

In a coalition of columns the values of these have, jointly, the shares that they have in the second table: the weight
of each slice of the first is multiplied by the ratio of both. What a column adds is averaged over all orders of the
columns, with the rows of slices as in the first table and as in the second one: Owen values of columns that change as
one, before all else or after it. They add up to what the shares of the slices do by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.across_runs.mixtures import weighted_worths
from plmetrics.inference.across_runs.owen import Coalitions, Parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.across_runs.mixtures import SlicedPair

Array = NDArray[np.float64]

MOST_COLUMNS = 6
"""Of so many columns every coalition is looked at; of more none."""


def column_codes(values: Sequence[Sequence[dict[str, str | None]]]) -> tuple[list[str], NDArray[np.int64]]:
    """The columns of slices, and by column a number for the value of each; a slice of all other rows is one of its own.

    >>> pairs = [[{"column": "a", "value": "x"}], [{"column": "a", "value": "y"}], []]
    >>> column_codes(pairs)[0], column_codes(pairs)[1].tolist()
    (['a'], [[0, 1, 2]])
    """
    names = [str(pair["column"]) for pair in max(values, key=len, default=[])]
    codes = []
    for place in range(len(names)):
        texts = [("value", pairs[place]["value"]) if pairs else ("rest", None) for pairs in values]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        codes.append([numbers[text] for text in texts])
    return names, np.array(codes, dtype=np.int64).reshape(len(names), len(values))


def column_parts(pair: SlicedPair, codes: NDArray[np.int64], metrics: Sequence[Metric]) -> list[Parts]:
    """By metric the effect of the shares of each column, and its error from bins; NaN where undefined.

    Args:
        pair: both tables by slice.
        codes: the value of each slice, `[column, slice]`.
        metrics: metrics of the order of scores, which the size of a table does not change.
    """
    coalitions = Coalitions.every(len(codes))
    shares = np.stack([_shares(pair, codes[members]) for members in coalitions.members])
    joined = pair.joined_for(2 * len(shares))
    alike = _of_unit_weight(joined.before, joined.after), _of_unit_weight(joined.after, joined.before)
    weights = np.concatenate([np.hstack([shares, 0 * shares]), np.hstack([0 * shares, shares])])
    sides = np.concatenate(alike).reshape(2 * pair.slices, -1)
    out = []
    for worth in weighted_worths(sides, weights, metrics):
        value, bound = (numbers.reshape(2, -1) for numbers in (worth.value, worth.bound))
        after, before = coalitions.after, coalitions.before
        part = sum(coalitions.mean([side[after], -side[before]]) for side in value) / 2
        doubt = sum(coalitions.mean([side[after], side[before]]) for side in bound) / 2
        out.append(Parts(np.asarray(part), np.asarray(doubt), None))
    return out


def _of_unit_weight(side: Array, other: Array) -> Array:
    """The rows of each slice with a weight of 1 in all; a slice that is in one table alone is like itself there."""
    mass, other_mass = (part.sum(axis=(-2, -1), keepdims=True) for part in (side, other))
    rows, total = np.where(mass > 0, side, other), np.where(mass > 0, mass, other_mass)
    scaled: Array = np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)
    return scaled


def _shares(pair: SlicedPair, codes: NDArray[np.int64]) -> Array:
    """The weight of each slice where the values of some columns have the shares of the second table."""
    before, after = (side.sum(axis=(-2, -1)) for side in (pair.before, pair.after))
    if not len(codes):
        return np.asarray(before)
    _, group = np.unique(codes, axis=1, return_inverse=True)
    totals = [np.bincount(group.reshape(-1), side) for side in (before, after)]
    ratio = np.divide(totals[1], totals[0], out=np.zeros_like(totals[0]), where=totals[0] > 0)
    return np.asarray(before * ratio[group.reshape(-1)])
