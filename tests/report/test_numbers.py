import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.report.numbers import comparison_estimate, count, estimate, number, p_value, row_estimate

FINITE = st.floats(-1e12, 1e12).filter(lambda x: x == 0 or abs(x) > 1e-12)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.92713, 0.92111, 0.93342), "0.927 [0.921, 0.933]"),
        ((0.5, 0.1, 0.9), "0.50 [0.10, 0.90]"),
        ((1.0, 0.9912, 1.0), "1.0000 [0.9912, 1.0000]"),
        ((0.0, 0.0, 0.0), "0 [0, 0]"),
        ((1204.4, 1189.0, 1219.7), "1204 [1189, 1220]"),
        ((23204.4, 23189.0, 23219.7), "23,204 [23,189, 23,220]"),
        ((-9999.96, -10012.5, -9987.5), "-10,000 [-10,012, -9988]"),
        ((1.23456e9, 1.2e9, 1.3e9), "1.23e+09 [1.20e+09, 1.30e+09]"),
        ((1.2e-6, 1.1e-6, 1.3e-6), "1.20e-06 [1.10e-06, 1.30e-06]"),
        ((-0.00004, -0.001, 0.001), "0.0000 [-0.0010, 0.0010]"),
        ((3.2, 1.1, math.inf), "3.2 [1.1, inf]"),
    ],
)
def test_estimate(numbers: tuple[float, float, float], text: str) -> None:
    assert str(estimate(*numbers)) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"value": None, "status": "no_positives"}, "- (no_positives)"),
        ({"value": float("nan"), "status": "zero_denominator"}, "- (zero_denominator)"),
        ({"value": 0.92713}, "0.9271"),
        ({"value": 0.92713, "interval_status": "too_few_units"}, "0.9271 [-]"),
        ({"value": 0.0037, "lower": -0.001, "upper": 0.008, "signed": True}, "+0.0037 [-0.0010, +0.0080]"),
        ({"value": 0.0, "lower": 0.0, "upper": 0.0, "signed": True}, "0 [0, 0]"),
    ],
)
def test_estimate_without_value_or_interval(arguments: dict[str, object], text: str) -> None:
    assert str(estimate(**arguments)) == text  # type: ignore[arg-type]


@given(FINITE, st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_numbers_of_an_interval_read_back(value: float, below: float, above: float) -> None:
    lower, upper = value - below, value + above
    shown = estimate(value, lower, upper, signed=True)
    texts = [shown.value, *shown.interval.strip("[]").split(", ")]
    for text, true in zip(texts, (value, lower, upper), strict=True):
        mantissa, _, exponent = text.partition("e")
        unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        assert abs(float(text) - true) <= unit * 0.5000001 + abs(true) * 1e-12
        assert not re.fullmatch(r"-0[.0]*", text)


@pytest.mark.parametrize("value", [5e-324, -1e-322, 1e-320, 2.3e-308])
def test_the_smallest_numbers_have_a_text(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=0.01, abs=1e-323)


@given(FINITE)
def test_number_keeps_four_digits_and_whole_numbers(value: float) -> None:
    back = float(number(value).replace(",", ""))
    assert back == value or math.isclose(back, value, rel_tol=5.1e-4)
    assert float(number(round(value)).replace(",", "")) == round(value)


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "<0.001"),
        (0.00099, "<0.001"),
        (0.0497, "0.0497"),
        (0.049996, "0.049996"),
        (0.05, "0.0500"),
        (0.1003, "0.1003"),
        (0.5, "0.50"),
        (1.0, "1.00"),
        (None, "-"),
    ],
)
def test_p_value(p: float | None, text: str) -> None:
    assert p_value(p) == text


def test_count() -> None:
    assert count(1234567) == "1,234,567"


@given(FINITE, st.floats(-1e-4, 1e-4), st.floats(0, 0.1), st.booleans())
def test_no_number_is_shown_at_a_limit_that_it_is_not_at(
    limit: float, offset: float, width: float, signed: bool
) -> None:
    """A check that failed by little must not read `0.7000` beside `>= 0.7`."""
    value = limit + offset
    ends = (value - width, value + width)
    alone = estimate(value, signed=signed, limits=[limit])
    beside = estimate(value, *ends, signed=signed, limits=[limit])
    low, high = beside.interval.strip("[]").split(", ")
    shown = [alone.value, beside.value, low, high]
    for text, exact in zip([text.replace(",", "") for text in shown], (value, value, *ends), strict=True):
        if exact != limit or limit == round(limit, 2):
            assert (float(text) > limit, float(text) < limit) == (exact > limit, exact < limit)


@pytest.mark.parametrize(
    ("lower", "text"),
    [
        (0.001, "+0.100 [+0.001, +0.200]"),
        (-0.001, "+0.100 [-0.001, +0.200]"),
        (0.0, "+0.10 [0.00, +0.20]"),
        (1e-17, "+0.10 [0.00, +0.20]"),
    ],
)
def test_an_interval_shows_whether_it_holds_0(lower: float, text: str) -> None:
    row = {"difference": 0.1, "lower": lower, "upper": 0.2, "status": "ok", "interval_status": "ok"}
    assert str(row_estimate(row, "difference", signed=True)) == text
    assert str(estimate(0.1, lower, 0.2, signed=True)) == text


@pytest.mark.parametrize(
    ("upper", "text"),
    [(0.9996, "0.9100 [0.8000, 0.9996]"), (1.0004, "0.9100 [0.8000, 1.0004]"), (1.0, "0.91 [0.80, 1.00]")],
)
def test_an_interval_of_a_ratio_shows_whether_it_holds_1(upper: float, text: str) -> None:
    row = {"scale": "ratio", "difference": 0.91, "lower": 0.8, "upper": upper, "status": "ok"}
    assert str(comparison_estimate(row)) == text
