from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import plmetrics as plm
from plmetrics.inference.comparisons.correction import adjust

METHODS = ("holm", "bonferroni", "benjamini_hochberg", "none")
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def by_hand(p: list[float], method: str) -> list[float]:
    """The textbook sentences, one p value at a time."""
    m = len(p)
    ranked = sorted(p)
    if method == "none":
        return p
    if method == "bonferroni":
        return [min(1.0, m * x) for x in p]
    if method == "holm":
        steps = [min(1.0, (m - j) * x) for j, x in enumerate(ranked)]
        return [max(steps[: m - ranked[::-1].index(x)]) for x in p]
    steps = [min(1.0, m / (j + 1) * x) for j, x in enumerate(ranked)]
    return [min(steps[ranked.index(x) :]) for x in p]


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(p=p_values)
def test_against_the_definitions(method: str, p: list[float]) -> None:
    assert adjust(np.array(p), method) == pytest.approx(by_hand(p, method), rel=1e-12)


@settings(deadline=None)
@given(p_values)
def test_benjamini_hochberg_against_scipy(p: list[float]) -> None:
    assert adjust(np.array(p), "benjamini_hochberg") == pytest.approx(
        stats.false_discovery_control(p), rel=1e-12
    )


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(p=p_values)
def test_adjusted_values_are_no_smaller_and_no_larger_than_bonferroni(method: str, p: list[float]) -> None:
    adjusted = adjust(np.array(p), method)
    assert np.all(adjusted >= np.array(p))
    assert np.all(adjusted <= adjust(np.array(p), "bonferroni") * (1 + 1e-12))


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("holm", [0.03, 0.06, 0.06, 0.02]),
        ("bonferroni", [0.04, 0.16, 0.12, 0.02]),
        ("benjamini_hochberg", [0.02, 0.04, 0.04, 0.02]),
        ("none", [0.01, 0.04, 0.03, 0.005]),
    ],
)
def test_undefined_values_stay_and_do_not_count(method: str, expected: list[float]) -> None:
    adjusted = adjust(np.array([0.01, np.nan, 0.04, 0.03, np.nan, 0.005]), method)
    assert adjusted == pytest.approx(
        [expected[0], np.nan, expected[1], expected[2], np.nan, expected[3]], nan_ok=True
    )


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_adjust(method: str) -> None:
    assert adjust(np.array([]), method).shape == (0,)
    assert np.isnan(adjust(np.array([np.nan]), method)).all()


def test_as_a_function_of_plain_values() -> None:
    assert plm.tests.adjusted([0.01, None, 0.04], method="bonferroni") == [0.02, None, 0.08]
    assert plm.tests.adjusted([]) == []


@pytest.mark.parametrize(
    ("values", "method", "words"),
    [
        ([0.1], "sidak", "holm, bonferroni, .* not 'sidak'"),
        ([1.2], "holm", "0 to 1"),
        (["a"], "holm", "must be numbers"),
        (0.5, "holm", "one column"),
    ],
)
def test_what_is_no_p_value_or_correction(values: Any, method: Any, words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        plm.tests.adjusted(values, method=method)
