from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2 as distribution

from plmetrics.inference.intervals.chi2 import chi2


@pytest.mark.parametrize("n", [1, 10, 5000])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_against_scipy(n: int, level: float) -> None:
    lower, upper = chi2(np.array([3.0]), np.array([float(n)]), level)
    tail = (1 - level) / 2
    assert lower[0] == pytest.approx(3 * (n / distribution.ppf(1 - tail, n)) ** 0.5)
    assert upper[0] == pytest.approx(3 * (n / distribution.ppf(tail, n)) ** 0.5)


def test_it_covers_under_normal_errors() -> None:
    errors = np.random.default_rng(2).normal(0, 2.0, (3000, 25))
    lower, upper = chi2(np.sqrt((errors**2).mean(axis=1)), np.full(3000, 25.0), 0.9)
    assert np.mean((lower <= 2) & (upper >= 2)) == pytest.approx(0.9, abs=0.025)
