"""How many rows of each stratum go to each part of a split: whole numbers that add up and stay near their shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Counts = NDArray[np.int64]

_ROUNDING = 1e-9


def deal(strata: Counts, shares: Sequence[float]) -> Counts:
    """Rows of each stratum (first axis) that go to each part (second axis).

    Each part gets the whole rows of its share in every stratum. What is left of the strata is dealt from one stratum
    on to the next, in an order that keeps each part near its share all along, so that with equal shares parts differ
    by one row at most, in every stratum and overall.

    >>> deal(np.array([7, 4]), [1 / 3] * 3)
    array([[3, 2, 2],
           [1, 2, 1]])
    >>> deal(np.array([10]), [0.25, 0.75])
    array([[3, 7]])
    """
    share = np.asarray(shares, dtype=np.float64)
    whole = np.floor(np.outer(strata, share) + _ROUNDING).astype(np.int64)
    left = strata - whole.sum(axis=1)
    parts = _order(int(left.sum()), _targets(int(strata.sum()), share) - whole.sum(axis=0), share)
    stratum = np.repeat(np.arange(len(strata)), left)
    extra = np.bincount(stratum * len(share) + parts, minlength=whole.size)
    return whole + extra.reshape(whole.shape)


def _targets(rows: int, share: NDArray[np.float64]) -> Counts:
    """Rows of each part overall: largest remainders, the first part first where they are equal."""
    exact = rows * share
    whole = np.floor(exact + _ROUNDING).astype(np.int64)
    order = np.argsort(-np.round(exact - whole, 9), kind="stable")
    whole[order[: rows - int(whole.sum())]] += 1
    return whole


def _order(total: int, wanted: Counts, share: NDArray[np.float64]) -> Counts:
    """The part that each of the rows left goes to, in the order of strata."""
    part = np.repeat(np.arange(len(share)), wanted)
    turn = np.arange(total) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    due = (turn + 0.5) / share[part]
    return part[np.argsort(due, kind="stable")]
