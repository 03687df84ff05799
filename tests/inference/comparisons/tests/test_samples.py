from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import plmetrics as plm


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (4, 4), (7, 12), (60, 45)])
def test_exact_ks_is_that_of_scipy(n_a: int, n_b: int) -> None:
    random = np.random.default_rng(n_a)
    one, other = random.normal(size=n_a), random.normal(size=n_b) + 0.4
    expected = stats.ks_2samp(one, other, method="exact")
    found = plm.tests.ks_2samp(one, other)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_large_samples_have_the_distribution_of_kolmogorov() -> None:
    random = np.random.default_rng(1)
    one, other = random.normal(size=3000), random.normal(size=2000) + 0.05
    found = plm.tests.ks_2samp(one, other, method="asymptotic")
    expected = stats.ks_2samp(one, other, method="asymp")
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue, rel=2e-3)
    assert plm.tests.ks_2samp(one, other).p_value == found.p_value


def test_ties_count_in_both_distribution_functions() -> None:
    one, other = [1, 1, 2, 3, 3], [1, 2, 2, 2, 4]
    points = sorted({*one, *other})
    distance = max(abs(sum(x <= t for x in one) / 5 - sum(x <= t for x in other) / 5) for t in points)
    assert plm.tests.ks_2samp(one, other).statistic == pytest.approx(distance)
    same = plm.tests.ks_2samp(one, one)
    assert (same.statistic, same.p_value) == (0.0, 1.0)
    assert plm.tests.ks_2samp([], one).status == "no_rows"


def test_chi_squared_is_that_of_scipy() -> None:
    one, other = [30, 50, 20, 0], [45, 40, 15, 0]
    expected = stats.chi2_contingency(np.array([one, other])[:, :3], correction=False)
    found = plm.tests.chi2_2samp(one, other)
    assert (found.statistic, found.p_value, found.df) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.dof)
    )
    assert found.note is None
    assert "below 5" in plm.tests.chi2_2samp([2, 3], [1, 5]).note


def test_categories_that_cannot_differ() -> None:
    assert plm.tests.chi2_2samp([4, 0], [9, 0]).p_value == 1.0
    assert plm.tests.chi2_2samp([0, 0], [9, 1]).status == "no_rows"
    with pytest.raises(plm.ConfigError, match="whole numbers"):
        plm.tests.chi2_2samp([1.5, 2], [1, 2])
    with pytest.raises(plm.ConfigError, match="a 1, b 2"):
        plm.tests.chi2_2samp([1], [1, 2])
