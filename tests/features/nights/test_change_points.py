"""Change points: the cheapest of all partitions, rarely one where there is none, and none for a single night."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from hypothesis import given, settings
from hypothesis import strategies as st

from plmetrics.core.durations import Duration
from plmetrics.features.nights.calendar import Calendar
from plmetrics.features.nights.change_points.history_levels import changes_of, with_levels
from plmetrics.features.nights.change_points.levels import levels, segments
from plmetrics.features.nights.interval_history import HISTORY_SCHEMA

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SERIES = 20_000 if THOROUGH else 2000
UNKNOWN = np.nan


def cheapest(values: Array, weights: Array, penalty: float, least: int) -> float:
    """The cost of the cheapest of all partitions."""

    def cost(ends: tuple[int, ...]) -> float:
        total = penalty * (len(ends) - 2)
        for first, last in itertools.pairwise(ends):
            part, weight = values[first:last], weights[first:last]
            total += (weight * (part - (weight * part).sum() / weight.sum()) ** 2).sum()
        return float(total)

    length = len(values)
    every = (
        (0, *inner, length)
        for count in range(length // least)
        for inner in itertools.combinations(range(least, length - least + 1), count)
    )
    return min(cost(ends) for ends in every if min(np.diff(ends)) >= least)


def cost_of(number: NDArray[np.int64], values: Array, weights: Array, penalty: float) -> float:
    means = [
        np.average(values[number == part], weights=weights[number == part]) for part in range(number[-1] + 1)
    ]
    return float((weights * (values - np.array(means)[number]) ** 2).sum() + penalty * number[-1])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    length=st.integers(4, 12),
    least=st.integers(1, 4),
    penalty=st.sampled_from([0.5, 2.0, 8.0]),
)
def test_a_partition_is_the_cheapest_of_all(seed: int, length: int, least: int, penalty: float) -> None:
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(3, length)) + 2 * draw.integers(0, 3, (3, length)).cumsum(axis=1)
    weights = draw.uniform(0.2, 3, (3, length))
    numbers = segments(values, weights, penalty, least)
    for number, series, weight in zip(numbers, values, weights, strict=True):
        assert np.bincount(number).min() >= least
        assert cost_of(number, series, weight, penalty) == pytest.approx(
            cheapest(series, weight, penalty, least), abs=1e-9
        )


def test_a_partition_without_short_segments_is_the_cheapest_of_longer_ones_too() -> None:
    """So that only series with segments too short for a level are cut again."""
    draw = np.random.default_rng(4)
    values = draw.normal(size=(400, 30)).round(1) + 4 * draw.integers(0, 2, (400, 30)).cumsum(axis=1) // 12
    weights = np.ones_like(values)
    free, longer = (segments(values, weights, 8.0, least) for least in (1, 4))
    plain = np.array([np.bincount(number).min() >= 4 for number in free])
    assert 100 < plain.sum() < 400
    np.testing.assert_array_equal(free[plain], longer[plain])


def share_with_a_change(values: Array, errors: float = UNKNOWN, **season: object) -> float:
    found = levels(values, np.full(values.shape, errors), **season)  # type: ignore[arg-type]
    return float((found != found[:, :1]).any(axis=1).mean())


def not_more_than(share: float) -> float:
    """What an observed share exceeds in 1 of 10,000 samples, if the true one is as given."""
    return share + 3.7 * (share * (1 - share) / SERIES) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("length", [8, 20, 30, 60, 120])
def test_of_series_without_a_change_one_in_a_hundred_has_one(length: int) -> None:
    values = np.random.default_rng(length).normal(5, 0.3, (SERIES, length))
    assert share_with_a_change(values) <= not_more_than(0.01)
    assert share_with_a_change(values, 0.3) <= not_more_than(0.01)
    if length >= 28:
        week = np.arange(length) % 7
        seasonal = values + np.array([0, 0, 0, 0, 0, 2.0, 1.0])[week]
        assert share_with_a_change(seasonal, season=week, period=7) <= not_more_than(0.01)
        outlier = values.copy()
        outlier[np.arange(SERIES), np.arange(SERIES) % length] += 5
        assert share_with_a_change(outlier) <= not_more_than(0.01)


@pytest.mark.slow
def test_correlated_nights_seldom_seem_to_change() -> None:
    draw = np.random.default_rng(3)
    values = draw.normal(size=(SERIES, 60))
    for place in range(1, 60):
        values[:, place] = 0.3 * values[:, place - 1] + 0.91**0.5 * values[:, place]
    assert share_with_a_change(values) <= not_more_than(0.08)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "share"), [(20, 0.9), (50, 0.02), (100, 0.99)])
def test_nights_in_which_every_row_is_right_are_not_certain(rows: int, share: float) -> None:
    """A share of 1 or 0 has a standard error of 0: of 60 nights up to half of the series had a change."""
    values = np.random.default_rng(rows).binomial(rows, share, (SERIES, 60)) / rows
    found = levels(values, np.sqrt(values * (1 - values) / rows))
    assert (found != found[:, :1]).any(axis=1).mean() <= not_more_than(0.01)


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("nights", [60, 120])
@pytest.mark.parametrize("spread", [1.0, 1.5, 2.0])
def test_nights_of_skew_rows_seldom_seem_to_change(spread: float, nights: int) -> None:
    """Errors of their own go with the values: 9 in 100 series had a change, of 120 nights of the most skew rows."""
    rows = np.random.default_rng(nights).lognormal(0, spread, (1000, nights, 100))
    found = levels(rows.mean(axis=2), rows.std(axis=2, ddof=1) / 10)
    assert (found != found[:, :1]).any(axis=1).mean() <= 0.01 + 3.7 * (0.01 / 1000) ** 0.5


def test_the_level_of_a_rare_event_is_its_rate() -> None:
    """Weights by each night's own error made 0.8 % of 1 %."""
    rates = np.random.default_rng(5).binomial(500, [0.01] * 30 + [0.03] * 30, (400, 60)) / 500
    found = levels(rates, np.sqrt(rates * (1 - rates) / 500))
    assert found[:, [0, -1]].mean(axis=0) == pytest.approx([0.01, 0.03], rel=0.03)
    assert (np.diff(found)[:, 26:33] != 0).any(axis=1).mean() > 0.97


@pytest.mark.parametrize("precise", [0.0, 1e-18, 1e-9, 1e-8, 1e-4])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_levels_are_finite_whatever_the_errors(precise: float, scale: float) -> None:
    draw = np.random.default_rng(7)
    values = draw.normal(5, 1, (100, 40))
    errors = np.where(draw.random(values.shape) < 0.5, precise, 1.0)
    found = levels(values * scale, errors * scale) / scale
    assert np.abs(found - 5).max() < 4


def test_changes_are_found_where_they_are() -> None:
    draw = np.random.default_rng(1)
    values = draw.normal(0, 0.01, (200, 60)) + 0.8
    values[:, 20:] -= 0.06
    values[:, 45:] += 0.06
    found = levels(values, np.full(values.shape, UNKNOWN))
    exact = (np.diff(found)[:, [19, 44]] != 0).all(axis=1)
    assert exact.mean() > 0.9
    steps = (np.diff(found) != 0).sum(axis=1)
    assert (steps == 2).mean() > 0.95
    assert found[exact & (steps == 2)][:, [0, 30, 50]] == pytest.approx(
        np.broadcast_to([0.8, 0.74, 0.8], (int((exact & (steps == 2)).sum()), 3)), abs=0.012
    )


def test_one_to_three_nights_are_no_level_and_four_are() -> None:
    draw = np.random.default_rng(2)
    quiet = 0.9 + draw.normal(0, 0.01, 30)
    for nights, changes in ((1, 0), (2, 0), (3, 0), (4, 1)):
        values = quiet.copy()
        values[30 - nights :] -= 0.2
        found = levels(values[None], np.full((1, 30), UNKNOWN))
        assert np.unique(found).size == changes + 1
    middle = quiet.copy()
    middle[14] -= 0.5
    assert levels(middle[None], np.full((1, 30), UNKNOWN)) == pytest.approx(
        np.delete(middle, 14).mean(), abs=1e-3
    )


@pytest.mark.parametrize("length", [9, 12, 20])
def test_the_last_nights_of_a_short_history_are_a_level_from_the_fourth_on(length: int) -> None:
    draw = np.random.default_rng(length)
    for nights in (1, 2, 3, 4):
        values = draw.normal(0.9, 0.01, (200, length))
        values[:, length - nights :] -= 0.3
        steps = np.diff(levels(values, np.full(values.shape, UNKNOWN))) != 0
        moved = steps.any(axis=1).mean()
        assert moved > 0.95 if nights == 4 else moved < 0.1
        if nights == 4:
            assert steps[:, length - 5].mean() > 0.95


def test_imprecise_nights_weigh_less() -> None:
    draw = np.random.default_rng(4)
    values, errors = 0.9 + draw.normal(0, 0.004, (1, 20)), np.full((1, 20), 0.004)
    values[0, 12:] -= 0.03
    assert np.unique(levels(values, errors)).size == 2
    assert np.unique(levels(values, np.where(np.arange(20) >= 12, 0.1, errors))).size == 1


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1 + 0.2])
def test_values_that_are_always_the_same_have_one_level(value: float) -> None:
    jitter = np.array([0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1]) * 1e-16
    assert np.unique(levels(np.full((1, 12), value), np.zeros((1, 12)))) == pytest.approx([value])
    assert np.unique(levels((value + jitter)[None], np.zeros((1, 12)))).size == 1
    step = np.repeat([value, value - 0.25], 6)[None]
    assert levels(step, np.full(step.shape, UNKNOWN)) == pytest.approx(step)


def test_gaps_and_short_series() -> None:
    values = np.array(
        [[0.9, 0.91, UNKNOWN, 0.9, 0.91, UNKNOWN, 0.5, 0.51, 0.5, 0.52], [0.5] * 7 + [UNKNOWN] * 3]
    )
    found = levels(values, np.full(values.shape, UNKNOWN))
    assert (np.isnan(found[0]) == np.isnan(values[0])).all()
    assert found[0, [0, 4, 6, 9]] == pytest.approx([0.905, 0.905, 0.5075, 0.5075], abs=2e-3)
    assert np.isnan(found[1]).all()


def frame(every: str, values: Array) -> pl.DataFrame:
    calendar = Calendar(Duration.of(every))
    first = calendar.interval("2026-03-02")
    intervals = [first]
    for _ in values[1:]:
        intervals.append(calendar.next(intervals[-1]))
    rows = pl.DataFrame(
        {
            "interval": [each.key for each in intervals],
            "start": [each.start for each in intervals],
            "value": values,
            "run_id": [f"r{place}" for place in range(len(values))],
        }
    ).with_columns(status=pl.lit("current"), model=pl.lit("m"), slice=pl.lit("all"), metric=pl.lit("brier"))
    return with_levels(
        pl.concat(
            [HISTORY_SCHEMA.to_frame(), rows.with_columns(slice_set=pl.lit("overall"))],
            how="diagonal_relaxed",
        ),
        calendar,
    )


@pytest.mark.parametrize(("every", "period"), [("1d", 7), ("6h", 4), ("1h", 24)])
def test_the_pattern_of_the_week_or_of_the_day_is_no_change(every: str, period: int) -> None:
    draw = np.random.default_rng(6)
    place = np.arange(max(6 * period, 48))
    change = place.size * 2 // 3
    values = 1.0 + draw.normal(0, 0.01, place.size) + 0.2 * (place % period >= period - period // 4 - 1)
    assert changes_of(frame(every, values)).is_empty()
    values[change:] += 0.1
    changes = changes_of(frame(every, values))
    assert changes["run_id"].to_list() == [f"r{change}"]
    assert (changes["level"] - changes["level_before"]).item() == pytest.approx(0.1, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8, 12])
def test_day_and_night_are_no_change_in_the_first_days(count: int) -> None:
    place = np.arange(96 // count)
    values = 1.0 + np.random.default_rng(count).normal(0, 0.01, place.size) + 0.2 * (place * count % 24 >= 12)
    for length in range(2, place.size + 1):
        assert changes_of(frame(f"{count}h", values[:length])).is_empty()
