import numpy as np
import pytest
from conftest import THOROUGH
from scipy import stats

import plmetrics as plm
from plmetrics.inference.comparisons.tests.paired_t import t_tests

BOOSTED, FOREST = [0.861, 0.837, 0.859, 0.842, 0.851], [0.853, 0.831, 0.862, 0.839, 0.855]


@pytest.mark.parametrize("size", [2, 3, 40])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_paired_t_is_that_of_scipy(size: int, level: float) -> None:
    random = np.random.default_rng(size)
    one, other = random.normal(size=size), random.normal(size=size) + 0.3
    expected = stats.ttest_rel(one, other)
    found = plm.tests.paired_t(one, other, level=level)
    assert (found.statistic, found.p_value, found.df) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.df)
    )
    assert (found.lower, found.upper) == pytest.approx(tuple(expected.confidence_interval(level)))
    assert (found.n, found.status) == (size, "ok")


def test_the_worked_example_of_the_handbook() -> None:
    found = plm.tests.paired_t(BOOSTED, FOREST)
    assert found.statistic == pytest.approx(0.8377, abs=5e-5)
    assert found.p_value == pytest.approx(0.449, abs=5e-4)
    corrected = plm.tests.corrected_resampled_t(BOOSTED, FOREST, ratio=0.25)
    assert corrected.statistic == pytest.approx(0.5585, abs=5e-5)


def test_the_corrected_t_widens_the_variance_of_the_mean() -> None:
    differences = np.array(BOOSTED) - np.array(FOREST)
    error = np.sqrt((1 / 5 + 0.25) * differences.var(ddof=1))
    t = differences.mean() / error
    found = plm.tests.corrected_resampled_t(BOOSTED, FOREST, ratio=0.25, level=0.9)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), 4))
    half = stats.t.ppf(0.95, 4) * error
    assert (found.lower, found.upper) == pytest.approx((differences.mean() - half, differences.mean() + half))


@pytest.mark.parametrize(
    ("one", "other", "status", "p"),
    [
        ([], [], "no_rows", None),
        ([0.5], [0.4], "too_few_units", None),
        ([0.5, 0.6], [0.5, 0.6], "ok", 1.0),
        ([0.5, 0.6, 0.7], [0.4, 0.5, 0.6], "zero_variance", None),
        ([1e9 + 1, 1e9 + 2], [1e9, 1e9 + 1], "zero_variance", None),
    ],
)
@pytest.mark.parametrize("test", ["paired_t", "corrected_resampled_t"])
def test_folds_that_do_not_vary_have_a_status(
    one: list, other: list, status: str, p: float | None, test: str
) -> None:
    more = {"ratio": 0.25} if test == "corrected_resampled_t" else {}
    found = getattr(plm.tests, test)(one, other, **more)
    assert (found.status, found.p_value) == (status, p)
    assert (found.lower is None) == (p is None)


def test_five_by_two_is_the_ratio_of_alpaydin() -> None:
    random = np.random.default_rng(5)
    one, other = random.random((5, 2)), random.random((5, 2))
    squares, within = 0.0, 0.0
    for repeat in range(5):
        first, second = one[repeat] - other[repeat]
        mean = (first + second) / 2
        squares += first**2 + second**2
        within += (first - mean) ** 2 + (second - mean) ** 2
    found = plm.tests.five_by_two_cv_f(one, other)
    assert found.statistic == pytest.approx(squares / (2 * within))
    assert found.p_value == pytest.approx(stats.f.sf(squares / (2 * within), 10, 5))
    assert (found.df, found.n, found.lower) == ((10, 5), 10, None)
    assert plm.tests.five_by_two_cv_f(one.ravel().tolist(), other.ravel().tolist()) == found


def test_five_by_two_without_spread() -> None:
    flat = [0.5] * 10
    assert plm.tests.five_by_two_cv_f(flat, flat).p_value == 1.0
    moved = plm.tests.five_by_two_cv_f([0.75] * 10, flat)
    assert (moved.p_value, moved.statistic, moved.status) == (None, None, "zero_variance")
    with pytest.raises(plm.ConfigError, match="5 repeats of 2 folds"):
        plm.tests.five_by_two_cv_f(flat[:8], flat[:8])


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("inf")])
def test_the_ratio_must_be_above_zero(ratio: float) -> None:
    with pytest.raises(plm.ConfigError, match="ratio must be a finite number above 0"):
        plm.tests.corrected_resampled_t(BOOSTED, FOREST, ratio=ratio)


@pytest.mark.slow
def test_no_difference_is_found_as_often_as_the_level_says() -> None:
    tables = 40_000 if THOROUGH else 4_000
    differences = np.random.default_rng(1).normal(size=(tables, 12))
    found = t_tests(np.full(tables, 12), differences.mean(axis=1), differences.std(axis=1, ddof=1))
    share = float((found.p_value < 0.05).mean())
    assert abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / tables)
