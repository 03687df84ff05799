"""How much is counted at once, and when replicates are made from rows."""

from __future__ import annotations

EXACT_REPLICATES = 20_000_000
"""Up to so many rows x replicates, replicates of ordered metrics are made from the rows themselves."""


DENSE_LIMIT = 1 << 24

RANK_BINS = 32
"""Bins of ranks on each side, for replicates of rank correlations."""
