from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from plmetrics.inference.comparisons.paired_bootstrap import (
    Difference,
    log_estimate,
    paired_difference,
    paired_ratio,
)
from plmetrics.inference.estimate import Estimate, stack

DRAWN = np.array([0.01, 0.03, 0.02, 0.05, 0.04])


def of(value: float, drawn: Any, blocks: int = 30, status: str = "ok") -> Estimate:
    replicates = None if drawn is None else np.array(drawn, dtype=np.float64)[:, None]
    return Estimate(np.array([value]), np.array([status], dtype=object), np.array([blocks]), replicates, ())


def ratio(model: Estimate, baseline: Estimate, *, equal: bool = False, **keywords: Any) -> Difference:
    given = {"equal": np.array([equal]), "level": 0.95} | keywords
    return paired_ratio(model, baseline, (log_estimate(model), log_estimate(baseline)), **given)


def test_t_on_the_logarithms() -> None:
    drawn, other = 0.8 + DRAWN, 0.4 + DRAWN[::-1]
    made = ratio(of(0.83, drawn), of(0.42, other))
    error = np.std(np.log(drawn / other), ddof=1) * np.sqrt(30 / 29)
    half = stats.t.ppf(0.975, 29) * error
    centre = np.log(0.83 / 0.42)
    assert (made.lower[0], made.upper[0]) == pytest.approx((np.exp(centre - half), np.exp(centre + half)))
    assert made.p_value[0] == pytest.approx(2 * stats.t.sf(centre / error, 29))
    assert made.std_error[0] == pytest.approx(np.std(drawn / other, ddof=1))


def test_the_inverse_ratio_has_the_inverse_interval() -> None:
    high, low = of(0.83, 0.8 + DRAWN), of(0.42, 0.4 + DRAWN[::-1])
    made, inverse = ratio(high, low), ratio(low, high)
    assert made.p_value[0] < 0.001
    assert inverse.p_value[0] == pytest.approx(made.p_value[0])
    assert (inverse.lower[0], inverse.upper[0]) == pytest.approx((1 / made.upper[0], 1 / made.lower[0]))


@pytest.mark.parametrize("size", [1.0, 0.7, 1e6])
def test_replicates_that_differ_by_rounding_alone_are_no_spread(size: float) -> None:
    last_digits = np.array([1, 1 + 2e-16, 1 - 2e-16, 1 + 4e-16, 1])
    made = ratio(of(size * (1 + 4e-16), size * last_digits), of(size, np.full(5, size)), relative=True)
    assert (made.interval_status[0], made.std_error[0]) == ("degenerate", 0)
    assert np.isnan(made.p_value[0])
    assert made.difference[0] == pytest.approx(0, abs=1e-12)


def test_one_block_has_no_standard_error() -> None:
    assert np.isnan(ratio(of(0.5, 0.5 + DRAWN, blocks=1), of(0.4, 0.4 + DRAWN[::-1])).std_error[0])


@pytest.mark.parametrize(
    ("model", "baseline", "status", "interval_status"),
    [
        (of(0.5, DRAWN), of(0.0, DRAWN), "zero_denominator", "undefined_value"),
        (of(0.5, DRAWN), of(-0.5, DRAWN), "nonpositive_values", "undefined_value"),
        (of(0.0, DRAWN), of(0.5, DRAWN), "ok", "degenerate"),
        (of(-0.2, DRAWN), of(0.5, DRAWN), "ok", "degenerate"),
        (of(np.nan, DRAWN, status="no_rows"), of(0.5, DRAWN), "no_rows", "undefined_value"),
        (of(0.5, DRAWN, blocks=1), of(0.6, DRAWN), "ok", "too_few_units"),
        (of(0.5, DRAWN - 0.02), of(0.6, DRAWN), "ok", "undefined_replicates"),
        (of(0.5, [0.5] * 5), of(0.25, [0.25] * 5), "ok", "degenerate"),
        (of(0.5, None), of(0.25, None), "ok", "not_requested"),
    ],
)
def test_says_why_there_is_none(
    model: Estimate, baseline: Estimate, status: str, interval_status: str
) -> None:
    made = ratio(model, baseline)
    assert (made.status[0], made.interval_status[0]) == (status, interval_status)
    assert np.isnan([made.lower[0], made.upper[0], made.p_value[0]]).all()
    assert made.method[0] is None


@pytest.mark.parametrize(("relative", "at"), [(False, 1.0), (True, 0.0)])
def test_models_that_are_equal(relative: bool, at: float) -> None:
    same = of(0.4, DRAWN, blocks=1)
    made = ratio(same, same, equal=True, relative=relative)
    assert (made.difference[0], made.lower[0], made.upper[0], made.p_value[0]) == (at, at, at, 1.0)


@given(st.floats(0.05, 5), st.floats(0.05, 5), st.floats(0.0001, 0.5), st.integers(2, 200))
def test_p_is_small_exactly_where_the_interval_excludes_one(
    a: float, b: float, spread: float, blocks: int
) -> None:
    made = ratio(of(a, a * np.exp(spread * DRAWN), blocks), of(b, b * np.exp(-spread * DRAWN), blocks))
    if made.interval_status[0] == "ok":
        assert (made.p_value[0] < 0.05) == (not made.lower[0] <= 1 <= made.upper[0])


def test_stacked_estimates_are_compared_as_they_are_one_by_one() -> None:
    parts = [
        (of(0.5, 0.5 + DRAWN), of(0.4, 0.4 - DRAWN)),
        (of(0.2, 0.2 + DRAWN, 7), of(0.3, 0.3 + DRAWN[::-1])),
    ]
    models, baselines = stack([one for one, _ in parts]), stack([other for _, other in parts])
    together = paired_difference(models, baselines, equal=np.zeros(2, dtype=bool), level=0.9)
    for place, (one, other) in enumerate(parts):
        alone = paired_difference(one, other, equal=np.zeros(1, dtype=bool), level=0.9)
        for name in ("difference", "lower", "upper", "std_error", "p_value"):
            assert getattr(together, name)[place] == pytest.approx(getattr(alone, name)[0], rel=1e-12)


def test_a_ratio_without_an_upper_end_has_no_interval() -> None:
    endless = ratio(of(1.0, [1e-200, 1.0], 3), of(1.0, [1.0, 1e200], 3))
    assert endless.difference.tolist() == [1.0]
    assert endless.interval_status.tolist() == ["degenerate"]
    assert np.isnan([*endless.lower, *endless.upper]).all()
