from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from sklearn import metrics as sk

from plmetrics.catalogue.registry import create


def called(p):
    return (p >= 0.5).astype(int)


def both(y):
    return 0 < y.sum() < len(y)


def rates(y, p, w):
    hit = called(p) == y
    return np.average(hit[y == 1], weights=w[y == 1]), np.average(hit[y == 0], weights=w[y == 0])


def over_rates(combine):
    return lambda y, p, w: combine(*rates(y, p, w)) if both(y) else np.nan


def mcc(y, p, w):
    if not both(y) or not both(called(p)):
        return np.nan
    return sk.matthews_corrcoef(y, called(p), sample_weight=w)


def kappa(y, p, w):
    if not both(np.concatenate([y, called(p)])):
        return np.nan
    return sk.cohen_kappa_score(y, called(p), sample_weight=w, labels=[0, 1])


def markedness(y, p, w):
    return rates(called(p), y, w)[0] + rates(called(p), y, w)[1] - 1 if both(called(p)) else np.nan


REFERENCES = {
    "balanced_accuracy": over_rates(lambda tpr, tnr: (tpr + tnr) / 2),
    "balanced_error_rate": over_rates(lambda tpr, tnr: 1 - (tpr + tnr) / 2),
    "youden_j": over_rates(lambda tpr, tnr: tpr + tnr - 1),
    "g_mean": over_rates(lambda tpr, tnr: np.sqrt(tpr * tnr)),
    "markedness": markedness,
    "mcc": mcc,
    "cohen_kappa": kappa,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", REFERENCES)
def test_expression_equals_the_independent_formula(name, weight, check_expr):
    check_expr(create("binary", name, {}), weight, REFERENCES[name])


@pytest.mark.parametrize(
    ("name", "without_positives", "without_negatives", "without_calls"),
    [
        ("balanced_accuracy", "no_positives", "no_negatives", "ok"),
        ("balanced_error_rate", "no_positives", "no_negatives", "ok"),
        ("youden_j", "no_positives", "no_negatives", "ok"),
        ("g_mean", "no_positives", "no_negatives", "ok"),
        ("markedness", "ok", "ok", "zero_denominator"),
        ("mcc", "zero_denominator", "zero_denominator", "zero_denominator"),
        ("cohen_kappa", "ok", "ok", "ok"),
    ],
)
def test_undefined(name, without_positives, without_negatives, without_calls, status):
    metric = create("binary", name, {})
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [0, 0], [0.9, 0.1]) == without_positives
    assert status(metric, [1, 1], [0.9, 0.1]) == without_negatives
    assert status(metric, [1, 0], [0.2, 0.1]) == without_calls


def test_kappa_is_undefined_where_chance_agrees_fully(status):
    assert status(create("binary", "cohen_kappa", {}), [1, 1], [0.9, 0.8]) == "zero_denominator"
    assert status(create("binary", "cohen_kappa", {}), [0, 0], [0.1, 0.2]) == "zero_denominator"


def exact_mcc(tp, fp, fn, tn):
    square = Fraction((tp * tn - fp * fn) ** 2, (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    root = isqrt(square.numerator * 10**60 // square.denominator) / 10**30
    return root if tp * tn >= fp * fn else -root


@pytest.mark.parametrize(
    "table",
    [
        (15 * 10**9, 3 * 10**9, 5 * 10**9, 77 * 10**9),
        (10**12, 10**3, 7, 10**14),
        (1, 10**10, 10**10, 1),
        (2**40 + 1, 2**40, 2**40, 2**40 + 1),
    ],
)
def test_mcc_of_huge_counts_equals_exact_integer_arithmetic(table, counted):
    assert create("binary", "mcc", {}).finalise(counted(*table)) == pytest.approx(
        exact_mcc(*table), rel=1e-9, abs=1e-15
    )


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e75])
def test_mcc_does_not_depend_on_the_unit_of_weight(scale, counted):
    table = np.array([150.0, 30.0, 50.0, 770.0]) * scale
    assert create("binary", "mcc", {}).finalise(counted(*table)) == pytest.approx(
        114000 / 36000**0.5 / 656000**0.5, rel=1e-12
    )


@pytest.mark.parametrize("name", ["mcc", "youden_j", "markedness", "cohen_kappa"])
def test_ends_and_zero_are_exact(name, counted):
    metric = create("binary", name, {})
    assert metric.finalise(counted(0.3, 0.0, 0.0, 0.7)) == 1.0
    assert metric.finalise(counted(21.0, 14.0, 6.0, 4.0)) == 0.0
    if name != "cohen_kappa":
        assert metric.finalise(counted(0.0, 0.3, 0.7, 0.0)) == -1.0


def test_agreement_needs_both_classes_behind_it(counted):
    state = counted(4.0, 2.0, 1.0, 90.0)
    for name in ("balanced_accuracy", "youden_j", "g_mean", "mcc", "cohen_kappa"):
        assert create("binary", name, {}).denominators(state) == (5.0, 92.0)
    assert create("binary", "markedness", {}).denominators(state) == (6.0, 91.0)
