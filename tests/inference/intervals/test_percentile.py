import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from plmetrics.inference.intervals.percentile import (
    acceleration,
    basic,
    bca,
    centred_interval,
    percentile,
    quantiles,
)

numbers = st.floats(-1e6, 1e6) | st.just(float("nan"))
replicates = arrays.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=numbers)


@settings(deadline=None)
@given(replicates, st.floats(0.01, 0.999))
def test_type_6_quantiles_of_the_defined_replicates(drawn: np.ndarray, level: float) -> None:
    lower, upper = percentile(drawn, level)
    for column, low, high in zip(drawn.T, lower, upper, strict=True):
        defined = column[~np.isnan(column)]
        if len(defined) == 0:
            assert np.isnan([low, high]).all()
        else:
            expected = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2], method="weibull")
            assert [low, high] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_infinite_replicates_are_undefined() -> None:
    drawn = np.array([[1.0], [np.inf], [-np.inf], [3.0]])
    assert quantiles(drawn, (0.0, 0.5, 1.0)).tolist() == [[1.0], [2.0], [3.0]]


def test_replicates_are_left_as_they_were() -> None:
    drawn = np.array([[2.0], [np.inf], [1.0]])
    percentile(drawn, 0.9)
    assert drawn.tolist() == [[2.0], [np.inf], [1.0]]


@pytest.mark.parametrize(
    "probabilities", [(0.025, 0.975), (0.975,), (0.0, 0.5, 1.0), (0.4, 0.4, 0.401), (1.0,)]
)
@pytest.mark.parametrize("ties", [False, True])
def test_what_is_found_by_partition_is_what_sorting_finds(monkeypatch, probabilities, ties) -> None:
    drawn = np.random.default_rng(2).normal(size=(3, 501)).T
    drawn = drawn.round(1) if ties else drawn
    found = quantiles(drawn, probabilities)
    monkeypatch.setattr("plmetrics.inference.intervals.percentile._WORTH_A_PARTITION", 1 << 60)
    assert (found == quantiles(drawn, probabilities)).all()
    assert found == pytest.approx(np.quantile(drawn, probabilities, axis=0, method="weibull"), rel=1e-12)


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a skewed distribution, and means of their resamples."""
    random = np.random.default_rng(seed)
    rows = random.exponential(2.0, 40)
    return rows, random.choice(rows, (999, 40)).mean(axis=1)


def left_out(rows: np.ndarray) -> np.ndarray:
    return np.array([np.delete(rows, place).mean() for place in range(len(rows))])[:, None]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_against_a_loop_over_the_definition(seed: int, level: float) -> None:
    rows, replicates = drawn(seed)
    value, without = rows.mean(), left_out(rows)[:, 0]
    u = without.mean() - without
    growth = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
    bias = stats.norm.ppf(np.mean(replicates < value) + np.mean(replicates == value) / 2)
    expected = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        moved = bias + stats.norm.ppf(tail)
        expected.append(
            np.quantile(replicates, stats.norm.cdf(bias + moved / (1 - growth * moved)), method="weibull")
        )
    found = acceleration(left_out(rows), np.array([value]))
    assert found[0] == pytest.approx(growth)
    lower, upper = bca(np.array([value]), replicates[:, None], found, level)
    assert [lower[0], upper[0]] == pytest.approx(expected)


def test_about_scipys_interval() -> None:
    rows, replicates = drawn(7)
    theirs = stats.bootstrap((rows,), np.mean, method="BCa", n_resamples=9999, random_state=1)
    accelerated = acceleration(left_out(rows), np.array([rows.mean()]))
    lower, upper = bca(np.array([rows.mean()]), replicates[:, None], accelerated, 0.95)
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert abs(lower[0] - theirs.confidence_interval.low) < 0.1 * width
    assert abs(upper[0] - theirs.confidence_interval.high) < 0.1 * width


def test_without_bias_and_acceleration_it_is_the_percentile_interval() -> None:
    replicates = np.arange(1.0, 1000.0)[:, None]
    lower, upper = bca(np.array([500.0]), replicates, np.zeros(1), 0.9)
    assert [lower[0], upper[0]] == pytest.approx(np.quantile(replicates, [0.05, 0.95], method="weibull"))


@pytest.mark.parametrize("value", [-1.0, 2.0, np.nan])
@pytest.mark.parametrize("growth", [0.0, np.nan, 5.0])
def test_no_correction_no_interval(value: float, growth: float) -> None:
    replicates = np.random.default_rng(1).random((50, 1))
    lower, upper = bca(np.array([value]), replicates, np.array([growth]), 0.95)
    assert np.isnan([lower[0], upper[0]]).all()


def test_blocks_that_do_not_count_leave_the_acceleration_as_it_is() -> None:
    """Those that count and leave the value as it is are as far from the mean of all as any other."""
    without, value = drawn(3)[0], 1.5
    without[:5] = value
    u = without.mean() - without
    padded = np.concatenate([without, np.full(13, value)])[:, None]
    found = acceleration(padded, np.array([value]), np.array([len(without)]))
    assert found[0] == pytest.approx((u**3).sum() / (6 * (u**2).sum() ** 1.5))


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.0, np.nan, 2.0]])
def test_no_acceleration_without_spread(values: list[float]) -> None:
    assert np.isnan(acceleration(np.array(values)[:, None], np.array([1.0])))[0]


def test_basic_reflects_the_quantiles() -> None:
    rows, replicates = drawn(2)
    lower, upper = basic(np.array([rows.mean()]), replicates[:, None], 0.9)
    low, high = np.quantile(replicates, [0.05, 0.95], method="weibull")
    assert [lower[0], upper[0]] == pytest.approx([2 * rows.mean() - high, 2 * rows.mean() - low])


def test_lower_end_from_deviations_and_upper_end_from_replicates() -> None:
    deviations, replicates = np.linspace(0.001, 0.099, 99)[:, None], np.linspace(0.202, 0.398, 99)[:, None]
    lower, upper = centred_interval(np.array([0.3]), replicates, deviations, 0.0, 0.9)
    assert lower[0] == pytest.approx(0.3 - 0.095)
    assert upper[0] == pytest.approx(0.39)


def test_the_lower_end_stops_at_the_least_value() -> None:
    lower, _ = centred_interval(np.array([0.01]), np.full((5, 1), 0.02), np.full((5, 1), 0.5), 0.0, 0.95)
    assert lower.tolist() == [0.0]


def test_without_deviations_the_distance_to_the_value_counts() -> None:
    replicates = np.array([[-0.4], [0.1], [0.6]])
    lower, upper = centred_interval(np.array([0.1]), replicates, None, -1.0, 0.98)
    assert lower[0] == pytest.approx(0.1 - 0.5)
    assert upper[0] == pytest.approx(0.6)


def test_undefined_replicates_are_left_out_of_both() -> None:
    replicates, deviations = np.array([[0.2], [np.nan], [0.4]]), np.array([[0.1], [9.0], [0.1]])
    lower, upper = centred_interval(np.array([0.3]), replicates, deviations, 0.0, 0.9)
    assert lower[0] == pytest.approx(0.2)
    assert upper[0] == pytest.approx(0.4)
