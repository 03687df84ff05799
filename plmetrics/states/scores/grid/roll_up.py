"""Counts of slices from those of cells.

Where floats are added and the order of rows must not show, counts lie in parts of totals that add to the same in any
order (`core.exact_sums.SplitSums`). Parts are added, slice by slice and state by state, and put together after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.exact_sums import SplitSums
from plmetrics.core.ops import Codes

NO_ENDS = (np.inf, -np.inf)
"""The ends of no rows."""


def rolled_up(counts: NDArray[Any], code: Codes, slices: int) -> NDArray[Any]:
    """The counts of slices from those of cells `[cell, ...]`; `code` is the slice of each cell, -1 for none."""
    if len(code) == slices and (code == np.arange(slices)).all():
        return counts
    from scipy.sparse import csr_array

    cells = np.flatnonzero(code >= 0)
    ones = np.ones(len(cells), dtype=counts.dtype)
    member_of = csr_array((ones, (code[cells], cells)), shape=(slices, len(code)))
    out: NDArray[Any] = member_of @ counts.reshape(len(counts), -1)
    return out.reshape(slices, *counts.shape[1:])


def rolled_ends(ends: NDArray[Any], code: Codes, slices: int) -> NDArray[Any]:
    """The ends of slices from those of cells `[cell, 1, 1, end]`; `code` is the slice of each cell, -1 for none."""
    out = np.empty((slices, *ends.shape[1:]))
    out[:] = NO_ENDS
    cells = np.flatnonzero(code >= 0)
    np.minimum.at(out[:, 0, 0, 0], code[cells], ends[cells, 0, 0, 0])
    np.maximum.at(out[:, 0, 0, 1], code[cells], ends[cells, 0, 0, 1])
    return out


def combine_digits(digits: Sequence[NDArray[Any]], exponent: int | None) -> NDArray[Any]:
    """Counts from the unchanged parts of their totals; without an exponent there is one part."""
    if exponent is None:
        return digits[0]
    first, *smaller = (part.copy() for part in digits)
    return SplitSums(first, exponent, smaller).join()
