from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from plmetrics.inference.intervals.normal import normal, share_error


@pytest.mark.parametrize(("counted", "n", "level"), [(150, 200, 0.95), (3, 7, 0.5), (1, 9, 0.99)])
def test_a_share_against_statsmodels(counted: int, n: int, level: float) -> None:
    share = np.array([counted / n])
    lower, upper = normal(share, share_error(share, np.array([float(n)])), level)
    expected = proportion_confint(counted, n, 1 - level, "normal")
    assert (max(lower[0], 0), min(upper[0], 1)) == pytest.approx(expected)


def test_as_many_standard_errors_as_the_level_says() -> None:
    lower, upper = normal(np.array([2.0, 3.0]), np.array([0.1, 0.0]), 0.9)
    assert (upper - lower) / 2 == pytest.approx([0.1 * norm.ppf(0.95), 0.0])
    assert np.isnan(share_error(np.array([0.5]), np.array([0.0])))[0]
