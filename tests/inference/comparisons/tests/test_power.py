from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower

import plmetrics as plm


@pytest.mark.parametrize(("p1", "p2"), [(0.1, 0.12), (0.5, 0.3), (0.01, 0.02)])
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_units_for_two_shares(p1: float, p2: float, power: float) -> None:
    mean = (p1 + p2) / 2
    root = stats.norm.ppf(0.975) * np.sqrt(2 * mean * (1 - mean))
    root += stats.norm.ppf(power) * np.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    n = plm.tests.required_n_proportions(p1, p2, power=power)
    assert n == int(np.ceil(root**2 / (p1 - p2) ** 2))
    assert plm.tests.power_proportions(p1, p2, n) >= power > plm.tests.power_proportions(p1, p2, n - 1)


@pytest.mark.parametrize("effect", [0.05, 0.5, 1.5])
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_units_for_two_means_are_those_of_statsmodels(effect: float, power: float) -> None:
    expected = TTestIndPower().solve_power(effect, alpha=0.05, power=power)
    assert plm.tests.required_n_means(effect * 3, 3.0, power=power) == int(np.ceil(expected))


@pytest.mark.parametrize("n", [2, 10, 200])
def test_power_of_two_means_is_that_of_statsmodels(n: int) -> None:
    expected = TTestIndPower().power(0.4, n, alpha=0.1)
    assert plm.tests.power_means(-0.8, 2.0, n, level=0.9) == pytest.approx(expected)


def test_an_effect_that_cannot_be_missed() -> None:
    assert plm.tests.power_means(1.0, 1e-3, 1000) == 1.0
    assert plm.tests.required_n_means(1.0, 1e-6) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plm.tests.required_n_proportions(0.1, 0.1), "must differ"),
        (lambda: plm.tests.required_n_proportions(0.0, 0.1), "p1 must be above 0 and below 1"),
        (lambda: plm.tests.power_proportions(0.2, 0.1, 0), "n must be at least 1"),
        (lambda: plm.tests.required_n_means(0.0, 1.0), "must not be 0"),
        (lambda: plm.tests.required_n_means(1.0, 1.0, power=1.0), "power must be above 0"),
        (lambda: plm.tests.power_means(1.0, 0.0, 5), "sd must be"),
        (lambda: plm.tests.power_means(1.0, 1.0, 1), "n must be at least 2"),
    ],
)
def test_wrong_arguments_are_said(call: object, words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        call()  # type: ignore[operator]
