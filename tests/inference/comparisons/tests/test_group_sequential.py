"""Limits of group sequential tests against published ones, and against paths that are drawn."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import plmetrics as plm
from plmetrics.inference.comparisons.tests.sequential import look_shares, sequential_limits

FIFTHS = [0.2, 0.4, 0.6, 0.8, 1.0]


@pytest.mark.parametrize(
    ("spending", "limits"),
    [
        ("obrien_fleming", [4.8769, 3.3570, 2.6803, 2.2898, 2.0310]),
        ("pocock", [2.4380, 2.4268, 2.4101, 2.3966, 2.3859]),
    ],
)
def test_limits_are_those_of_reboussin_and_others(spending: str, limits: list[float]) -> None:
    """Reboussin, DeMets, Kim and Lan (2000), Controlled Clinical Trials 21(3), as in R's ldbounds."""
    found = plm.tests.group_sequential(FIFTHS, spending=spending)
    np.testing.assert_allclose(found.limits, limits, atol=2e-4)
    assert found.spent[-1] == pytest.approx(0.05)


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_paths_leave_as_often_as_is_spent(spending: str) -> None:
    shares = np.array([0.1, 0.15, 0.7, 1.0])
    limits = sequential_limits(shares, 0.1, spending)
    rng = np.random.default_rng(4)
    steps = rng.normal(size=(400_000, 4)) * np.sqrt(np.diff(shares, prepend=0.0))
    outside = np.abs(steps.cumsum(axis=1) / np.sqrt(shares)) >= limits
    left = outside.cumsum(axis=1).astype(bool).mean(axis=0)
    spent = plm.tests.group_sequential(shares, spending=spending, level=0.9).spent
    np.testing.assert_allclose(left, spent, atol=0.0016)


def test_two_looks_by_the_bivariate_normal() -> None:
    first, last = sequential_limits(np.array([0.5, 1.0]), 0.05, "obrien_fleming")
    spent = 4 * norm.sf(norm.ppf(1 - 0.05 / 4) / np.sqrt(0.5))
    assert first == pytest.approx(norm.isf(spent / 2), abs=1e-6)
    both = multivariate_normal(cov=[[1.0, np.sqrt(0.5)], [np.sqrt(0.5), 1.0]], abseps=1e-10, releps=1e-10)
    inside = both.cdf([first, last], lower_limit=[-first, -last])
    assert 1 - inside == pytest.approx(0.05, abs=1e-6)


@pytest.mark.slow
def test_p_is_the_error_at_which_a_look_would_stop() -> None:
    for error in (0.001, 0.05, 0.4):
        limits = plm.tests.group_sequential(FIFTHS, level=1 - error).limits
        p = plm.tests.group_sequential(FIFTHS[:3], [0.0, 0.0, limits[2]]).p_value
        assert p[2] == pytest.approx(error, rel=2e-3)
    single = plm.tests.group_sequential([1.0], [1.7])
    assert single.p_value[0] == pytest.approx(2 * norm.sf(1.7), rel=2e-3)
    assert plm.tests.group_sequential(FIFTHS, [1.0, -3.4]).stopped == 2


@pytest.mark.parametrize(("share", "z"), [(0.01, 15.0), (0.02, 10.5), (0.05, 11.0), (0.2, 9.9), (0.2, 12.0)])
def test_p_of_a_large_statistic_at_a_first_look(share: float, z: float) -> None:
    spent = 4 * norm.sf(np.sqrt(share) * norm.isf(norm.sf(z) / 2))
    found = plm.tests.group_sequential([share], [z])
    assert found.p_value[0] == pytest.approx(spent, rel=3e-3, abs=0.0)
    assert (found.p_value[0] < 0.05) == (found.stopped == 1)


def test_looks_that_were_and_this_one() -> None:
    assert look_shares(8050, 20_000, (4000, 8000, 12_000)).tolist() == [0.2, 0.4, 0.4025]
    assert look_shares(25_000, 20_000, (10_000,)).tolist() == [0.5, 1.0]
    assert look_shares(20_000, 20_000, (10_000, 20_000)).tolist() == [0.5, 1.0]
    assert look_shares(10_001, 1e8, (4000, 10_000)).tolist() == [10_001 / 1e8]


def test_no_error_is_left_after_the_last_look() -> None:
    with pytest.raises(
        plm.ConfigError, match=r"22,000 units was the last of the 20,000 .* none is left for 25,000"
    ):
        look_shares(25_000, 20_000, (10_000, 22_000))


@pytest.mark.parametrize("shares", [[], [0.0, 1.0], [0.5, 0.5], [0.5, 1.2, 1.4], [float("nan")]])
def test_shares_that_do_not_ascend(shares: list[float]) -> None:
    with pytest.raises(plm.ConfigError):
        plm.tests.group_sequential(shares)
