"""The pairs of rows that two orders agree on, counted bit by bit of the places in one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.states.scores.coarse import Array, Codes

    Places = NDArray[Any]

_PAIRWISE = 32
"""So many rows are compared each with each: a power of two."""


def ordered_pairs(place: Codes, weight: Array | None) -> float:
    """The weight of the pairs of which the later one has the higher place; places are 0, 1, 2, ... in any order.

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


def _halves(values: NDArray[Any], high: NDArray[np.bool_], chosen: Codes, width: int) -> NDArray[Any]:
    """Values in runs of half the width: of each run first those without the bit, then those with it."""
    halves = np.empty((len(values) // width, 2, width // 2), dtype=values.dtype)
    halves[:, 0] = values[~high].reshape(-1, width // 2)
    halves[:, 1] = values[chosen].reshape(-1, width // 2)
    return halves.reshape(-1)
