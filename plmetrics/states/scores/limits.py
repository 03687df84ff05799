"""Limits of what is counted at once, and of replicates that are made from rows."""

from __future__ import annotations

EXACT_REPLICATES = 20_000_000
"""Up to so many rows x replicates, replicates of ordered metrics are made from the rows themselves."""

_OF_A_SLICE = 160_000
"""So many rows x replicates take as long as the coarse bins of a slice, which are as many however few its rows are."""

DENSE_LIMIT = 1 << 24

RANK_BINS = 32
"""Bins of ranks on each side, for replicates of rank correlations."""


def replicates_rows(rows: int, replicates: int, slices: int) -> bool:
    """Whether replicates of a slice set are made from its rows, not from coarse bins: these would take longer.

    >>> [replicates_rows(120_000, 1000, slices) for slices in (1, 100, 1000)]
    [False, False, True]
    """
    return rows * replicates <= max(EXACT_REPLICATES, slices * _OF_A_SLICE)
