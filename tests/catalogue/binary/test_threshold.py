import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import plmetrics as plm
from plmetrics.catalogue.registry import create

THRESHOLD = 0.4


def called(p):
    return (p >= THRESHOLD).astype(int)


def flipped(score):
    """The same score with the other class as the positive one."""
    return lambda y, p, w: score(1 - y, 1 - called(p), sample_weight=w, zero_division=np.nan)


def straight(score):
    return lambda y, p, w: score(y, called(p), sample_weight=w, zero_division=np.nan)


def complement(reference):
    return lambda y, p, w: 1 - reference(y, p, w)


REFERENCES = {
    "accuracy": lambda y, p, w: sk.accuracy_score(y, called(p), sample_weight=w),
    "precision": straight(sk.precision_score),
    "recall": straight(sk.recall_score),
    "specificity": flipped(sk.recall_score),
    "npv": flipped(sk.precision_score),
}
COMPLEMENTS = {
    "accuracy": "error_rate",
    "precision": "false_discovery_rate",
    "recall": "fnr",
    "specificity": "fpr",
    "npv": "false_omission_rate",
}
REFERENCES |= {COMPLEMENTS[name]: complement(REFERENCES[name]) for name in COMPLEMENTS}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", REFERENCES)
def test_expression_equals_scikit_learn(name, weight, check_expr):
    check_expr(create("binary", name, {"threshold": THRESHOLD}), weight, REFERENCES[name])


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("ppv", "precision"),
        ("tpr", "recall"),
        ("sensitivity", "recall"),
        ("miss_rate", "fnr"),
        ("tnr", "specificity"),
    ],
)
def test_an_alias_is_the_metric(alias, name):
    assert create("binary", alias, {"threshold": 0.3}) == create("binary", name, {"threshold": 0.3})
    assert create("binary", alias, {}).text == name


@pytest.mark.parametrize(
    ("name", "without_positives", "without_negatives", "without_calls", "all_called"),
    [
        ("accuracy", "ok", "ok", "ok", "ok"),
        ("error_rate", "ok", "ok", "ok", "ok"),
        ("precision", "ok", "ok", "zero_denominator", "ok"),
        ("false_discovery_rate", "ok", "ok", "zero_denominator", "ok"),
        ("recall", "no_positives", "ok", "ok", "ok"),
        ("fnr", "no_positives", "ok", "ok", "ok"),
        ("specificity", "ok", "no_negatives", "ok", "ok"),
        ("fpr", "ok", "no_negatives", "ok", "ok"),
        ("npv", "ok", "ok", "ok", "zero_denominator"),
        ("false_omission_rate", "ok", "ok", "ok", "zero_denominator"),
    ],
)
def test_undefined(name, without_positives, without_negatives, without_calls, all_called, status):
    metric = create("binary", name, {})
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [0, 0], [0.9, 0.1]) == without_positives
    assert status(metric, [1, 1], [0.9, 0.1]) == without_negatives
    assert status(metric, [1, 0], [0.2, 0.1]) == without_calls
    assert status(metric, [1, 0], [0.9, 0.8]) == all_called


@pytest.mark.parametrize("name", COMPLEMENTS)
def test_a_rate_and_its_complement_are_exact_at_the_ends(name, counted):
    rate, other = create("binary", name, {}), create("binary", COMPLEMENTS[name], {})
    right = counted(0.1 + 0.2, 0.0, 0.0, 0.7)
    wrong = counted(0.0, 0.7, 0.1 + 0.2, 0.0)
    assert (rate.finalise(right), other.finalise(right)) == (1.0, 0.0)
    assert (rate.finalise(wrong), other.finalise(wrong)) == (0.0, 1.0)


def test_a_small_complement_keeps_its_digits(counted):
    state = counted(1e16, 3.0, 0.0, 1.0)
    assert create("binary", "false_discovery_rate", {}).finalise(state) == pytest.approx(3e-16, rel=1e-12)


@pytest.mark.parametrize("name", REFERENCES)
def test_the_denominator_is_what_the_rate_divides_by(name, counted):
    metric = create("binary", name, {})
    state = counted(150.0, 30.0, 50.0, 770.0)
    (denominator,) = metric.denominators(state)
    part = metric.finalise(state) * denominator
    assert part == pytest.approx(round(part), abs=1e-9)
    assert metric.kind == "proportion"


def test_a_threshold_is_of_64_bits_whatever_those_of_scores() -> None:
    """What docs/thresholds.md says of scores of 32 bits."""
    exact = pl.Series("s", [0.1, 0.7, 0.7, 0.9])
    table = pl.DataFrame({"y": [1, 1, 1, 1], "exact": exact, "single": exact.cast(pl.Float32)})
    metrics = ["recall(threshold=0.1)", "recall(threshold=0.7)"]
    models = {"exact": "exact", "single": "single", "rounded": "rounded"}
    derive = {"rounded": "ROUND(CAST(single AS DOUBLE), 6)"}
    result = plm.evaluate(table, label="y", models=models, metrics=metrics, derive=derive)
    values = {model: result.metrics.filter(model=model).sort("metric")["value"].to_list() for model in models}
    expected = [float(np.mean(np.float64(table["single"].to_numpy()) >= limit)) for limit in (0.1, 0.7)]
    assert values == {"exact": [1.0, 0.75], "single": expected, "rounded": [1.0, 0.75]}
    assert expected == [1.0, 0.25]
