import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plmetrics.inference.comparisons.paired_bootstrap import Difference, paired_difference
from plmetrics.inference.estimate import Estimate, stack

DRAWN = np.array([0.01, 0.03, 0.02, 0.05, 0.04])


def one(value: float, replicates: Any, *, blocks: int = 100, status: str = "ok") -> Estimate:
    drawn = None if replicates is None else np.array(replicates, dtype=np.float64)[:, None]
    value_array, blocks_array = np.array([value]), np.array([blocks])
    return Estimate(value_array, np.array([status], dtype=object), blocks_array, drawn, (np.array([50.0]),))


def compared(model: Estimate, baseline: Estimate, *, equal: bool = False, **keywords: Any) -> Difference:
    return paired_difference(
        model, baseline, equal=np.array([equal]), level=keywords.pop("level", 0.95), **keywords
    )


def without_interval(made: Difference) -> bool:
    nothing = np.isnan([made.lower[0], made.upper[0], made.p_value[0]])
    assert nothing.all() == nothing.any() == (made.method[0] is None) == (made.interval_status[0] != "ok")
    return bool(nothing.all())


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("blocks", "least"), [((100, 40), 40), ((2, 90), 2)])
def test_students_t_on_the_difference(level: float, blocks: tuple[int, int], least: int) -> None:
    model, baseline = one(0.83, 0.8 + DRAWN, blocks=blocks[0]), one(0.8, [0.8] * 5, blocks=blocks[1])
    made = compared(model, baseline, level=level)
    error = np.std(DRAWN, ddof=1)
    corrected = error * np.sqrt(least / (least - 1))
    assert made.difference[0] == pytest.approx(0.03)
    assert made.std_error[0] == pytest.approx(error)
    assert (made.lower[0], made.upper[0]) == pytest.approx(
        stats.t.interval(level, least - 1, 0.03, corrected)
    )
    assert made.p_value[0] == pytest.approx(2 * stats.t.sf(0.03 / corrected, least - 1), rel=1e-9)
    assert made.blocks.tolist() == [least]
    assert (made.method[0], made.interval_status[0], made.status[0]) == ("t", "ok", "ok")


def test_the_pairing_counts() -> None:
    shared = np.linspace(-0.2, 0.2, 5)
    made = compared(one(0.8, 0.8 + shared + DRAWN / 100), one(0.7, 0.7 + shared))
    assert made.std_error[0] == pytest.approx(np.std(DRAWN, ddof=1) / 100)


def test_swapping_the_models_mirrors_everything() -> None:
    a, b = one(0.83, 0.8 + DRAWN), one(0.8, 0.8 - DRAWN**2)
    forth, back = compared(a, b), compared(b, a)
    assert (back.difference[0], back.lower[0], back.upper[0]) == (
        -forth.difference[0],
        -forth.upper[0],
        -forth.lower[0],
    )
    assert (back.p_value[0], back.std_error[0]) == (forth.p_value[0], forth.std_error[0])


finite = st.floats(-1e3, 1e3)


@settings(max_examples=100, deadline=None)
@given(finite, st.lists(finite, min_size=3, max_size=20), st.integers(2, 2000), st.floats(0.01, 0.999))
def test_p_is_below_the_level_exactly_when_the_interval_excludes_0(
    value: float, drawn: list[float], blocks: int, level: float
) -> None:
    made = compared(
        one(value, drawn, blocks=blocks), one(0.0, np.zeros(len(drawn)), blocks=blocks), level=level
    )
    if not without_interval(made):
        excluded = made.lower[0] > 0 or made.upper[0] < 0
        assert excluded == (made.p_value[0] < 1 - level)
        assert made.lower[0] <= made.difference[0] <= made.upper[0]
        assert 0 <= made.p_value[0] <= 1


@settings(deadline=None)
@given(st.integers(2, 500), st.floats(0.5, 0.999), st.integers(-8, 8))
def test_also_where_the_interval_only_just_touches_0(blocks: int, level: float, steps: int) -> None:
    error = np.sqrt(blocks / (blocks - 1)) * np.std(DRAWN, ddof=1)
    value = stats.t.ppf((1 + level) / 2, blocks - 1) * error
    value += steps * np.spacing(value)
    made = compared(one(value, DRAWN, blocks=blocks), one(0.0, np.zeros(5), blocks=blocks), level=level)
    assert (made.lower[0] > 0) == (made.p_value[0] < 1 - level)
    assert made.lower[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("blocks", [0, 1, 100])
@pytest.mark.parametrize("undefined", [False, True])
def test_equal_models_differ_by_nothing(blocks: int, undefined: bool) -> None:
    drawn = [math.nan] * 4 if undefined else [0.1, 0.2, 0.3, 0.4]
    made = compared(one(0.3, drawn, blocks=blocks), one(0.3, drawn, blocks=blocks), equal=True)
    assert (made.difference[0], made.lower[0], made.upper[0], made.std_error[0], made.p_value[0]) == (
        0,
        0,
        0,
        0,
        1,
    )
    assert made.interval_status.tolist() == ["ok"]


def test_equal_values_of_different_models_are_not_equal_models() -> None:
    made = compared(one(0.3, [0.2, 0.3, 0.4]), one(0.3, [0.2, 0.3, 0.4]))
    assert without_interval(made)
    assert made.interval_status.tolist() == ["degenerate"]
    assert (made.difference[0], made.std_error[0], made.status[0]) == (0.0, 0.0, "ok")


def test_a_constant_difference_is_degenerate_despite_rounding() -> None:
    drawn = np.linspace(0.2, 0.3, 50)
    made = compared(one(0.35, drawn + 0.1), one(0.25, drawn))
    assert made.interval_status.tolist() == ["degenerate"]
    assert made.difference[0] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (("no_positives", "ok"), "no_positives"),
        (("ok", "zero_denominator"), "zero_denominator"),
        (("no_positives", "zero_denominator"), "no_positives"),
    ],
)
@pytest.mark.parametrize("equal", [False, True])
def test_undefined_on_either_side(statuses: tuple[str, str], expected: str, equal: bool) -> None:
    pair = [one(0.5 if s == "ok" else math.nan, 0.5 + DRAWN, status=s) for s in statuses]
    made = compared(pair[0], pair[1], equal=equal)
    assert without_interval(made)
    assert np.isnan([made.difference[0], made.std_error[0]]).all()
    assert (made.status[0], made.interval_status[0]) == (expected, "undefined_value")


@pytest.mark.parametrize(("undefined", "status"), [(5, "ok"), (6, "undefined_replicates")])
def test_a_replicate_counts_where_both_are_defined(undefined: int, status: str) -> None:
    first, second = np.linspace(0.5, 0.6, 100), np.linspace(0.4, 0.6, 100)
    first[:3] = math.nan
    second[-(undefined - 3) :] = math.nan
    made = compared(one(0.55, first), one(0.5, second))
    assert made.interval_status.tolist() == [status]
    assert without_interval(made) == (status != "ok")


def test_too_few_units() -> None:
    made = compared(one(0.5, 0.5 + DRAWN, blocks=1), one(0.4, 0.4 - DRAWN, blocks=30))
    assert without_interval(made)
    assert made.interval_status.tolist() == ["too_few_units"]
    assert np.isnan(made.std_error).all()


@pytest.mark.parametrize("equal", [False, True])
def test_without_replicates_only_the_difference(equal: bool) -> None:
    made = compared(one(0.5, None), one(0.5 if equal else 0.375, None), equal=equal)
    assert without_interval(made)
    assert made.interval_status.tolist() == ["not_requested"]
    assert made.difference.tolist() == [0.0 if equal else 0.125]


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        ([0.1] * 10 + [0.2] * 9, 2 / 20),
        ([-0.1] * 19, 2 / 20),
        ([0.1, 0.2, -0.1] + [0.3] * 16, 4 / 20),
        ([0.0, 0.2, -0.1] + [0.3] * 16, 6 / 20),
        ([0.0, -0.2, 0.1] + [-0.3] * 16, 6 / 20),
        ([0.1, -0.1] * 9 + [0.0], 1.0),
        ([0.1, 0.2, math.nan] + [0.3] * 17, 2 / 20),
    ],
)
def test_percentile_p_value_on_request(drawn: list[float], expected: float) -> None:
    model, baseline = one(0.1, drawn), one(0.0, [0.0] * len(drawn))
    by_t, by_count = compared(model, baseline), compared(model, baseline, p_value="percentile")
    if by_t.interval_status[0] == "ok":
        assert by_count.p_value[0] == pytest.approx(expected)
        assert (by_count.lower[0], by_count.upper[0]) == (by_t.lower[0], by_t.upper[0])
    else:
        assert without_interval(by_count)


def test_slices_are_compared_one_by_one() -> None:
    value = np.array([0.5, 0.5, math.nan, 0.5])
    status = np.array(["ok", "ok", "no_rows", "ok"], dtype=object)
    drawn = 0.5 + DRAWN[:, None] * np.array([1.0, 1.0, math.nan, 1.0])
    model = Estimate(value, status, np.array([50, 1, 0, 50]), drawn, (value,))
    other = Estimate(
        np.full(4, 0.4), np.full(4, "ok", dtype=object), np.full(4, 60), np.full((5, 4), 0.4), (value,)
    )
    made = paired_difference(model, other, equal=np.array([False, False, False, True]), level=0.95)
    assert made.interval_status.tolist() == ["ok", "too_few_units", "undefined_value", "ok"]
    assert made.status.tolist() == ["ok", "ok", "no_rows", "ok"]
    assert made.p_value[3] == 1


def test_estimates_stand_as_often_as_they_are_named() -> None:
    first, second = one(0.25, [0.125, 0.25]), one(0.5, [0.375, 0.625], blocks=50)
    joined = stack([second, first, second])
    assert joined.value.tolist() == [0.5, 0.25, 0.5]
    assert joined.blocks.tolist() == [50, 100, 50]
    assert joined.replicates is not None
    assert joined.replicates.tolist() == [[0.375, 0.125, 0.375], [0.625, 0.25, 0.625]]
