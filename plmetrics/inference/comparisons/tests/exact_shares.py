"""Fisher's exact test of two shares, where few hits or misses are expected of an arm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.ops import Flags
from plmetrics.states.combinatorics import log_choose

if TYPE_CHECKING:
    from plmetrics.inference.comparisons.tests.arms import Moments
    from plmetrics.inference.comparisons.tests.outcome import TestOutcomes

_FEW_EXPECTED = 5.0
"""Hits or misses of an arm below which z is too skew, most where arms are of different sizes (Cochran, 1954)."""
_ROUNDING = 1e-7


def rare_counts(a: Moments, b: Moments) -> Flags:
    """Whether fewer than 5 hits or misses are expected of an arm, if both have the same share."""
    pooled = (a.mean * a.n + b.mean * b.n) / np.maximum(a.n + b.n, 1)
    smallest = np.minimum(a.n, b.n) * np.minimum(pooled, 1 - pooled)
    return (np.minimum(a.n, b.n) > 0) & (smallest < _FEW_EXPECTED)


def with_exact_p(test: TestOutcomes, a: Moments, b: Moments, rare: Flags) -> TestOutcomes:
    """The test of shares with Fisher's two-sided p value in the places where few hits or misses are expected."""
    p_value = np.array(test.p_value)
    for place in np.flatnonzero(rare):
        sizes = int(a.n[place]), int(b.n[place])
        p_value[place] = fisher_p(
            round(a.mean[place] * sizes[0]), sizes[0], round(b.mean[place] * sizes[1]), sizes[1]
        )
    return replace(test, p_value=p_value)


def fisher_p(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float:
    """Chance of a table that is no likelier than this one, given its margins.

    >>> round(fisher_p(3, 4, 1, 4), 6)
    0.485714
    """
    hits = hits_a + hits_b
    counts = np.arange(max(0, hits - n_b), min(hits, n_a) + 1, dtype=np.float64)
    chances = log_choose(n_a, counts) + log_choose(n_b, hits - counts) - log_choose(n_a + n_b, hits)
    chances = np.exp(chances - chances.max())
    observed = chances[hits_a - int(counts[0])]
    return float(chances[chances <= observed * (1 + _ROUNDING)].sum() / chances.sum())
