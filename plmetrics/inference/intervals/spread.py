"""What replicates say of a slice: how many are undefined, how far they spread, whether they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UNDEFINED_SHARE = 0.05
"""With more undefined replicates than this there is no interval: the rest no longer stand for all."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The replicates' number that are undefined, standard deviation, and whether all are equal, by slice."""

    undefined: NDArray[np.int64]
    std_error: Array
    constant: NDArray[np.bool_]
    too_many_undefined: NDArray[np.bool_]


def spread(replicates: Array, magnitude: Array) -> Spread:
    """Describe replicates `[replicate, slice]`; NaN and infinity count as undefined.

    Replicates that differ by rounding alone, as measured by `magnitude` `[slice]`, the size of what they were
    computed from, are equal, and their standard deviation is then exactly 0.

    >>> found = spread(np.array([[1.0, 0.2], [3.0, 0.2], [np.nan, 0.2]]), np.ones(2))
    >>> found.undefined, found.std_error.round(4), found.constant
    (array([1, 0]), array([1.4142, 0.    ]), array([False,  True]))
    """
    defined = np.isfinite(replicates)
    number = defined.sum(axis=0)
    undefined = len(replicates) - number
    widest = np.max(replicates, axis=0, initial=-np.inf, where=defined)
    width = widest - np.min(replicates, axis=0, initial=np.inf, where=defined)
    deviation = standard_deviation(replicates)
    constant = (number > 0) & ((width <= _ROUNDING * magnitude) | (deviation == 0))
    std_error = np.where(constant & (number > 1), 0.0, deviation)
    too_many = (undefined > UNDEFINED_SHARE * len(replicates)) | (number < 2)
    return Spread(undefined, std_error, constant, too_many)


def standard_deviation(replicates: Array) -> Array:
    """Standard deviation (ddof 1) of the finite replicates of each slice; NaN below 2 of them."""
    finite = np.isfinite(replicates)
    number = finite.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.sum(replicates, axis=0, where=finite) / np.maximum(number, 1)
        squares = np.sum((replicates - mean) ** 2, axis=0, where=finite)
    return np.where(number > 1, np.sqrt(squares / np.maximum(number - 1, 1)), np.nan)
