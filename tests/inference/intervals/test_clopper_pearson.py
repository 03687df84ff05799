from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from plmetrics.inference.intervals.clopper_pearson import clopper_pearson


@given(st.integers(1, 3000), st.data(), st.floats(0.5, 0.999))
def test_against_scipy_and_statsmodels(n: int, data: st.DataObject, level: float) -> None:
    counted = data.draw(st.integers(0, n))
    lower, upper = clopper_pearson(np.array([counted / n]), np.array([float(n)]), level)
    exact = binomtest(counted, n).proportion_ci(level, method="exact")
    assert (lower[0], upper[0]) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert (lower[0], upper[0]) == pytest.approx(
        proportion_confint(counted, n, 1 - level, "beta"), abs=1e-9, nan_ok=True
    )


def test_no_rows_no_interval() -> None:
    lower, upper = clopper_pearson(np.array([0.5, np.nan]), np.array([0.0, 10.0]), 0.95)
    assert np.isnan(lower).all()
    assert np.isnan(upper).all()


def test_it_is_not_the_interval_that_a_library_prints_as_wilson() -> None:
    lower, upper = clopper_pearson(np.array([8542 / 9769]), np.array([9769.0]), 0.9)
    assert (round(lower[0], 5), round(upper[0], 6)) == (0.86875, 0.879882)
