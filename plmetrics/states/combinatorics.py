"""Chances and means over the random orders of a tie group."""

from __future__ import annotations

from typing import Any

import numpy as np

from plmetrics.core.ops import Array, Codes
from plmetrics.core.special import gammaln


def subset_products(values: Array) -> Array:
    """Mean product over all subsets of 0, 1, 2, ... values of a row: normalised elementary symmetric polynomials.

    >>> subset_products(np.array([[0.5, 1.0]])).tolist()
    [[1.0, 0.75, 0.5]]
    """
    count = values.shape[1]
    means = np.zeros((len(values), count + 1))
    means[:, 0] = 1.0
    taken = np.arange(1, count + 1)
    for number in range(count):
        share = taken / (number + 1)
        means[:, 1:] = means[:, 1:] * np.maximum(1 - share, 0) + share * values[:, [number]] * means[:, :-1]
    return means


def log_choose(total: Any, part: Any) -> Any:
    """Logarithm of the number of ways to choose a part of a total."""
    return gammaln(total + 1.0) - gammaln(part + 1.0) - gammaln(total - part + 1.0)


def no_relevant_probability(size: Codes, relevant: Codes, draws: Codes) -> Array:
    """Probability of no relevant row among `drawn` rows of a group."""
    possible = size - relevant >= draws
    irrelevant = np.where(possible, size - relevant, draws)
    chance = np.exp(log_choose(irrelevant, draws) - log_choose(size, draws))
    chance = np.where(relevant == 1, (size - draws) / size, chance)
    return np.where(possible, chance, 0.0)


def hypergeometric(size: Codes, relevant: Codes, room: Codes, count: Codes) -> Array:
    """Probability of a number of relevant rows among `room` rows of a group: hypergeometric."""
    others = size - relevant
    possible = (count <= relevant) & (room - count <= others)
    rest = np.where(possible, room - count, 0)
    hits = np.where(possible, count, 0)
    chance = np.exp(log_choose(relevant, hits) + log_choose(others, rest) - log_choose(size, room))
    return np.where(possible, chance, 0.0)


def products_before(values: Array, place: Codes, most: int) -> Array:
    """Product of the earlier values of its segment at each value, up to so many of them; `place` is that in it, from 0.

    What stands in other segments does not show in the last bit.

    >>> products_before(np.array([0.5, 0.25, 3.0, 2.0]), np.array([0, 1, 2, 0]), 10).tolist()
    [1.0, 0.5, 0.125, 1.0]
    """
    out = np.where(place > 0, np.concatenate([[1.0], values])[:-1], 1.0)
    step = 1
    while step <= min(int(place.max(initial=0)), most):
        out[step:] *= np.where(place[step:] >= step, out[:-step], 1.0)
        step *= 2
    return out
