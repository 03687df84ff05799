from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from plmetrics.inference.comparisons.independent import Sample, independent_difference, satterthwaite


def sample(value: float, error: float, blocks: int, **facts: Any) -> Sample:
    status = np.array([facts.get("status", "ok")], dtype=object)
    interval = np.array([facts.get("interval_status", "ok")], dtype=object)
    return Sample(
        np.array([value]),
        status,
        np.array([error]),
        np.array([blocks]),
        interval,
        facts.get("resampled", False),
    )


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(
    ("one", "other"), [((5.0, 1.2, 12), (4.1, 0.7, 9)), ((-1.0, 0.2, 2), (0.4, 0.3, 300))]
)
def test_is_the_test_of_welch(level: float, one: Any, other: Any) -> None:
    (a, sd_a, n_a), (b, sd_b, n_b) = one, other
    made = independent_difference(
        sample(a, sd_a / n_a**0.5, n_a), sample(b, sd_b / n_b**0.5, n_b), level=level
    )
    expected = stats.ttest_ind_from_stats(a, sd_a, n_a, b, sd_b, n_b, equal_var=False)
    assert made.p_value[0] == pytest.approx(expected.pvalue)
    error = np.hypot(sd_a / n_a**0.5, sd_b / n_b**0.5)
    first, second = sd_a**2 / n_a, sd_b**2 / n_b
    freedom = (first + second) ** 2 / (first**2 / (n_a - 1) + second**2 / (n_b - 1))
    half = stats.t.ppf((1 + level) / 2, freedom) * error
    assert (made.lower[0], made.upper[0]) == pytest.approx((a - b - half, a - b + half))
    assert made.std_error[0] == pytest.approx(error)


def test_resampled_errors_are_widened() -> None:
    plain = independent_difference(sample(1.0, 0.1, 5), sample(0.5, 1e-9, 5), level=0.9)
    wide = independent_difference(
        sample(1.0, 0.1, 5, resampled=True), sample(0.5, 1e-9, 5, resampled=True), level=0.9
    )
    assert wide.upper[0] - 0.5 == pytest.approx((plain.upper[0] - 0.5) * (5 / 4) ** 0.5)
    assert wide.std_error[0] == plain.std_error[0]


@pytest.mark.parametrize("scale", ["difference", "ratio"])
def test_a_value_without_a_spread_of_its_own_is_not_held_against_others(scale: Any) -> None:
    """An F1 of 1 that no replicate moves is no proof against 0.8."""
    for sides in ((sample(1.0, 0.0, 9), sample(0.8, 0.1, 9)), (sample(0.8, 0.1, 9), sample(1.0, 0.0, 9))):
        made = independent_difference(*sides, level=0.95, scale=scale)
        assert made.interval_status.tolist() == ["degenerate"]
        assert np.isnan(made.p_value[0])
        assert np.isfinite(made.difference[0])


@given(
    st.tuples(st.floats(0.01, 5), st.floats(0.001, 1), st.integers(2, 500)),
    st.tuples(st.floats(0.01, 5), st.floats(0.001, 1), st.integers(2, 500)),
    st.sampled_from(["difference", "ratio", "relative_change"]),
)
def test_p_is_small_exactly_where_the_interval_excludes_no_change(one: Any, other: Any, scale: Any) -> None:
    made = independent_difference(sample(*one), sample(*other), level=0.95, scale=scale)
    nothing = 1.0 if scale == "ratio" else 0.0
    if np.isnan(made.upper[0]):
        assert (made.interval_status[0], scale != "difference") == ("degenerate", True)
        return
    assert (made.p_value[0] < 0.05) == (not made.lower[0] <= nothing <= made.upper[0])
    assert made.lower[0] <= made.difference[0] <= made.upper[0]


PLAIN, LARGER, ABSENT = sample(1, 0.1, 9), sample(2, 0.1, 9), sample(np.nan, 0.1, 9, status="not_in_run")
WITHOUT_INTERVAL = sample(2, np.nan, 9, interval_status="not_requested")


@pytest.mark.parametrize(
    ("one", "other", "scale", "status", "interval_status"),
    [
        (PLAIN, WITHOUT_INTERVAL, "difference", "ok", "not_requested"),
        (sample(1, 0.1, 1), LARGER, "difference", "ok", "too_few_units"),
        (sample(1, 0.0, 9), sample(2, 0.0, 9), "difference", "ok", "degenerate"),
        (sample(1, np.nan, 9), LARGER, "difference", "ok", "not_estimable"),
        (ABSENT, LARGER, "ratio", "not_in_run", "undefined_value"),
        (ABSENT, LARGER, "difference", "not_in_run", "undefined_value"),
        (PLAIN, ABSENT, "difference", "not_in_run", "undefined_value"),
        (PLAIN, sample(0, 0.1, 9), "ratio", "zero_denominator", "undefined_value"),
        (PLAIN, sample(-1, 0.1, 9), "relative_change", "nonpositive_values", "undefined_value"),
        (sample(0, 0.1, 9), PLAIN, "ratio", "ok", "degenerate"),
        (PLAIN, sample(1e-6, 1.0, 3), "ratio", "ok", "degenerate"),
        (PLAIN, sample(1e-6, 1.0, 3), "relative_change", "ok", "degenerate"),
    ],
)
def test_says_why_there_is_none(
    one: Sample, other: Sample, scale: Any, status: str, interval_status: str
) -> None:
    made = independent_difference(one, other, level=0.95, scale=scale)
    assert (made.status[0], made.interval_status[0]) == (status, interval_status)
    assert np.isnan([made.lower[0], made.upper[0], made.p_value[0]]).all()
    assert made.method[0] is None
    assert np.isfinite(made.difference[0]) == (status == "ok")


@pytest.mark.parametrize("scale", ["ratio", "relative_change"])
def test_ratios_have_the_interval_of_their_logarithm_and_the_error_of_the_delta_method(scale: Any) -> None:
    (a, e_a, n_a), (b, e_b, n_b) = (0.6, 0.03, 30), (0.8, 0.02, 50)
    made = independent_difference(sample(a, e_a, n_a), sample(b, e_b, n_b), level=0.95, scale=scale)
    of_logs = np.array([e_a / a, e_b / b]) ** 2
    freedom = of_logs.sum() ** 2 / (of_logs**2 / [n_a - 1, n_b - 1]).sum()
    half, start = stats.t.ppf(0.975, freedom) * of_logs.sum() ** 0.5, 1.0 * (scale == "relative_change")
    ends = a / b * np.exp([-half, half]) - start
    assert made.difference[0] == pytest.approx(a / b - start)
    assert (made.lower[0], made.upper[0]) == pytest.approx(tuple(ends))
    assert made.std_error[0] == pytest.approx(a / b * of_logs.sum() ** 0.5)
    assert made.blocks.tolist() == [int(freedom) + 1]


@pytest.mark.parametrize("scale", [1e-100, 1e-80, 1.0, 1e80, 1e100])
def test_degrees_of_freedom_have_no_unit(scale: float) -> None:
    """The squares of variances of tiny values are 0, those of huge ones too large."""
    draw = np.random.default_rng(2)
    one, two = draw.normal(5, 1, 6), draw.normal(5.8, 3, 9)
    errors = np.array([[part.std(ddof=1) / len(part) ** 0.5 * scale] for part in (one, two)])
    freedom = stats.ttest_ind(two, one, equal_var=False).df
    assert satterthwaite(errors, np.array([[5.0], [8.0]]))[1][0] == pytest.approx(freedom)
