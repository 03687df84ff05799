import numpy as np
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.inference.comparisons.tests.diebold_mariano import diebold_mariano_tests


def naive(d: np.ndarray, h: int) -> tuple[float, float]:
    size, mean = len(d), sum(d) / len(d)
    variance = 0.0
    for lag in range(h):
        covariance = sum((d[t] - mean) * (d[t - lag] - mean) for t in range(lag, size)) / size
        variance += covariance * (1 if lag == 0 else 2)
    statistic = mean / np.sqrt(variance / size)
    statistic *= np.sqrt((size + 1 - 2 * h + h * (h - 1) / size) / size)
    return statistic, 2 * stats.t.sf(abs(statistic), size - 1)


@pytest.mark.parametrize("horizon", [1, 2, 4])
@pytest.mark.parametrize("size", [12, 90])
def test_it_is_the_corrected_statistic_of_the_paper(horizon: int, size: int) -> None:
    random = np.random.default_rng(size)
    noise = np.convolve(random.normal(size=size + 3), [1, 0.8, 0.5, 0.3], mode="valid")
    one, other = 1 + noise**2, 1.2 + random.normal(size=size) ** 2
    statistic, p = naive(one - other, horizon)
    found = plm.tests.diebold_mariano(one, other, horizon=horizon)
    assert (found.statistic, found.p_value) == pytest.approx((statistic, p))
    assert (found.p_value < 0.05) == (not found.lower <= 0 <= found.upper)


def test_one_step_ahead_is_nearly_the_paired_t() -> None:
    random = np.random.default_rng(6)
    one, other = random.random(25), random.random(25)
    found, paired = plm.tests.diebold_mariano(one, other), plm.tests.paired_t(one, other)
    assert found.statistic == pytest.approx(paired.statistic)
    assert found.p_value == pytest.approx(paired.p_value)


@pytest.mark.parametrize(
    ("one", "other", "horizon", "status", "p"),
    [
        ([], [], 1, "no_rows", None),
        ([1.0], [2.0], 1, "too_few_units", None),
        ([1.0, 2.0, 3.0], [1.5, 2.0, 1.0], 3, "too_few_units", None),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 2, "ok", 1.0),
        ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], 1, "zero_variance", None),
        ([1.0, 0.0] * 4, [0.0, 1.0] * 4, 2, "negative_variance", None),
    ],
)
def test_what_cannot_be_tested_has_a_status(
    one: list, other: list, horizon: int, status: str, p: float | None
) -> None:
    found = plm.tests.diebold_mariano(one, other, horizon=horizon)
    assert (found.status, found.p_value) == (status, p)


def test_slices_are_tested_as_if_each_were_alone() -> None:
    random = np.random.default_rng(7)
    differences, code = random.normal(size=120), np.repeat([0, 1, 3], [50, 68, 2])
    found = diebold_mariano_tests(differences, code, 4, horizon=3)
    for index in range(4):
        own = differences[code == index]
        alone = plm.tests.diebold_mariano(own, np.zeros(len(own)), horizon=3)
        assert alone.status == found.status[index]
        if alone.p_value is not None:
            assert found.p_value[index] == pytest.approx(alone.p_value)


def test_the_horizon_must_be_at_least_one() -> None:
    with pytest.raises(plm.ConfigError, match="horizon must be at least 1"):
        plm.tests.diebold_mariano([1.0, 2.0], [2.0, 1.0], horizon=0)
