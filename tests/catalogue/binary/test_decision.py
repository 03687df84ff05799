import numpy as np
import pytest

from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create


def table(y, p, w):
    called = p >= 0.5
    return [
        w[(y == label) & (called == call)].sum()
        for label, call in ((1, True), (0, True), (1, False), (0, False))
    ]


def positive_likelihood_ratio(y, p, w):
    tp, fp, fn, tn = table(y, p, w)
    return np.divide(tp, tp + fn) / np.divide(fp, fp + tn)


def negative_likelihood_ratio(y, p, w):
    tp, fp, fn, tn = table(y, p, w)
    return np.divide(fn, tp + fn) / np.divide(tn, fp + tn)


def diagnostic_odds_ratio(y, p, w):
    tp, fp, fn, tn = table(y, p, w)
    return np.divide(tp * tn, fp * fn)


def cost(y, p, w):
    return np.average(
        np.where((p >= 0.5) & (y == 0), 1.5, 0.0) + np.where((p < 0.5) & (y == 1), 4.0, 0.0), weights=w
    )


def error_rates(y, p, w):
    tp, fp, fn, tn = table(y, p, w)
    return np.divide(fp, fp + tn), np.divide(fn, tp + fn)


def cost_at_prevalence(y, p, w):
    fpr, fnr = error_rates(y, p, w)
    return 1.5 * 0.8 * fpr + 4.0 * 0.2 * fnr


def ppv(y, p, w):
    fpr, fnr = error_rates(y, p, w)
    return np.divide(0.05 * (1 - fnr), 0.05 * (1 - fnr) + 0.95 * fpr)


CASES = [
    ("positive_likelihood_ratio", {}, positive_likelihood_ratio),
    ("negative_likelihood_ratio", {}, negative_likelihood_ratio),
    ("diagnostic_odds_ratio", {}, diagnostic_odds_ratio),
    ("expected_cost", {"cost_fp": 1.5, "cost_fn": 4}, cost),
    ("expected_cost", {"cost_fp": 1.5, "cost_fn": 4, "prevalence": 0.2}, cost_at_prevalence),
    ("ppv_at_prevalence", {"prevalence": 0.05}, ppv),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_expression_equals_the_plain_formula(name, parameters, reference, weight, check_expr):
    check_expr(create("binary", name, parameters), weight, reference)


@pytest.mark.parametrize(
    ("name", "parameters", "without_positives", "without_negatives", "without_calls"),
    [
        ("positive_likelihood_ratio", {}, "zero_denominator", "zero_denominator", "zero_denominator"),
        ("negative_likelihood_ratio", {}, "zero_denominator", "zero_denominator", "ok"),
        ("diagnostic_odds_ratio", {}, "zero_denominator", "zero_denominator", "zero_denominator"),
        ("expected_cost", {"cost_fp": 1, "cost_fn": 5}, "ok", "ok", "ok"),
        (
            "expected_cost",
            {"cost_fp": 1, "cost_fn": 5, "prevalence": 0.1},
            "no_positives",
            "no_negatives",
            "ok",
        ),
        ("ppv_at_prevalence", {"prevalence": 0.1}, "no_positives", "no_negatives", "zero_denominator"),
    ],
)
def test_undefined(name, parameters, without_positives, without_negatives, without_calls, status):
    metric = create("binary", name, parameters)
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [0, 0], [0.9, 0.1]) == without_positives
    assert status(metric, [1, 1], [0.9, 0.1]) == without_negatives
    assert status(metric, [1, 0], [0.2, 0.1]) == without_calls


def test_observed_prevalence_is_the_stated_one_it_equals(counted):
    state = counted(150.0, 30.0, 50.0, 770.0)
    costs = {"cost_fp": 1, "cost_fn": 5}
    observed = create("binary", "expected_cost", costs).finalise(state)
    assert create("binary", "expected_cost", {**costs, "prevalence": 0.2}).finalise(state) == pytest.approx(
        observed
    )
    assert create("binary", "ppv_at_prevalence", {"prevalence": 0.2}).finalise(state) == pytest.approx(
        150 / 180
    )


@pytest.mark.parametrize("prevalence", [0, 1, 1.5, -0.1, "known", True, None])
def test_prevalence_is_observed_or_a_share(prevalence):
    with pytest.raises(ParameterError, match="prevalence must be 'observed' or a number between 0 and 1"):
        create("binary", "expected_cost", {"cost_fp": 1, "cost_fn": 5, "prevalence": prevalence})


@pytest.mark.parametrize("cost", [-1, float("inf"), "high"])
def test_costs_are_finite_and_not_negative(cost):
    with pytest.raises(ParameterError, match="cost_fn must be a number of at least 0"):
        create("binary", "expected_cost", {"cost_fp": 1, "cost_fn": cost})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"cost_fn": 5, "cost_fp": 1.0}, "expected_cost(cost_fp=1, cost_fn=5)"),
        (
            {"threshold": 0.2, "prevalence": 0.1, "cost_fp": 1, "cost_fn": 5},
            "expected_cost(cost_fp=1, cost_fn=5, prevalence=0.1, threshold=0.2)",
        ),
        ({"cost_fp": 1, "cost_fn": 5, "prevalence": "observed"}, "expected_cost(cost_fp=1, cost_fn=5)"),
    ],
)
def test_text_has_catalogue_order(given, text):
    assert create("binary", "expected_cost", given).text == text
