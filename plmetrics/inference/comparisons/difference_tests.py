"""Tests of two models by the single differences of rows, units or folds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.inference.comparisons.tests.paired_permutation import paired_permutation_tests
from plmetrics.inference.comparisons.tests.wilcoxon import wilcoxon_tests

if TYPE_CHECKING:
    from plmetrics.core.ops import Array, Codes
    from plmetrics.inference.comparisons.tests.outcome import TestOutcomes
    from plmetrics.suite.sections.section import ComparisonTest


def difference_tests(
    test: ComparisonTest, difference: Array, code: Codes, slices: int, units: Codes | None = None
) -> TestOutcomes:
    """Tests in S slices, `code` being the slice of each difference; in a permutation units change signs as a whole.

    The estimate is the mean over all differences.
    """
    n = np.bincount(code, minlength=slices)
    mean = np.bincount(code, weights=difference, minlength=slices) / np.maximum(n, 1)
    if test.test == "wilcoxon":
        tested = wilcoxon_tests(difference, code, slices, zeros=test.zeros, continuity=test.continuity)
        return replace(tested, n=n, estimate=mean)
    if units is not None:
        place = code * (int(units.max(initial=0)) + 1) + units
        _, first, number = np.unique(place, return_index=True, return_inverse=True)
        code, difference = code[first], np.bincount(number, weights=difference).astype(np.float64)
    tested = paired_permutation_tests(
        difference, code, slices, permutations=test.permutations, seed=test.seed
    )
    return replace(tested, n=n, statistic=np.where(n > 0, mean, np.nan), estimate=mean)
