"""Rows in the order of a number, slice by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.inference.comparisons.tests.outcome import Array

    Codes = NDArray[np.int64]

_BITS = 33
"""Of the 53 of a number."""


def order_within(values: Array, code: Codes | None = None) -> Codes:
    """The places of rows ascending by value, within slices where `code` numbers them.

    >>> order_within(np.array([3.0, 1.0, 2.0, 0.0]), np.array([0, 0, 1, 1])).tolist()
    [1, 0, 3, 2]
    """
    order = np.argsort(values)
    if code is None or len(order) == 0:
        return order
    codes = code[order]
    # a stable sort of 16 bits counts instead of comparing
    narrow = codes.astype(np.uint16) if int(code.max()) < 1 << 16 else codes
    return order[np.argsort(narrow, kind="stable")]


def run_starts(*ordered: NDArray[np.generic]) -> Codes:
    """Where runs of equal values begin in columns that are in order together.

    >>> run_starts(np.array([1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 0, 1])).tolist()
    [0, 2, 3]
    """
    if len(ordered[0]) == 0:
        return np.zeros(0, dtype=np.int64)
    changes = ordered[0][1:] != ordered[0][:-1]
    for column in ordered[1:]:
        changes |= column[1:] != column[:-1]
    return np.concatenate(([0], np.flatnonzero(changes) + 1))


def round_digits(values: Array) -> Array:
    """The values to about ten digits: what differs in its last bits alone was the same before it was computed.

    >>> round_digits(np.array([0.3 - 0.2, 0.4 - 0.3])).tolist() == round_digits(np.array([0.1, 0.1])).tolist()
    True
    """
    mantissa, exponent = np.frexp(values)
    nearest: Array = np.ldexp(np.rint(np.ldexp(mantissa, _BITS)), exponent - _BITS)
    return nearest
