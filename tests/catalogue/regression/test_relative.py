import math

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import plmetrics as plm
from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create
from plmetrics.states.sums import Rows, View


def mape(keep=lambda y: True, floor=0.0):
    def reference(y, p, w):
        kept = np.broadcast_to(keep(y), y.shape)
        if not kept.any():
            return np.nan
        relative = np.abs(p - y)[kept] / np.maximum(np.abs(y[kept]), floor)
        return 100 * np.average(relative, weights=w[kept])

    return reference


def smape(y, p, w):
    total = 0.0
    for label, prediction, weight in zip(y, p, w, strict=True):
        if label or prediction:
            total += weight * abs(prediction - label) / ((abs(label) + abs(prediction)) / 2)
    return 100 * total / w.sum()


def msle(y, p, w):
    if min(y.min(), p.min()) <= -1:
        return np.nan
    return np.average([(math.log1p(b) - math.log1p(a)) ** 2 for a, b in zip(y, p, strict=True)], weights=w)


CASES = [
    (
        "mape",
        {},
        lambda y, p, w: 100 * sk.mean_absolute_percentage_error(y, p, sample_weight=w) if y.all() else np.nan,
    ),
    ("mape", {"zeros": "drop"}, mape(lambda y: y != 0)),
    ("mape", {"zeros": "epsilon", "epsilon": 0.5}, mape(floor=0.5)),
    ("smape", {}, smape),
    ("wmape", {}, lambda y, p, w: 100 * (w @ np.abs(p - y)) / (w @ np.abs(y)) if y.any() else np.nan),
    ("msle", {}, msle),
    ("rmsle", {}, lambda y, p, w: np.sqrt(msle(y, p, w))),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_expression_equals_the_independent_formula(name, parameters, reference, weight, check_expr):
    check_expr(create("regression", name, parameters), weight, reference)


@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_undefined_without_rows(name, parameters, reference, status):
    metric = create("regression", name, parameters)
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [1.0, 2.0], [1.0, 1.0], [0.0, 0.0]) == "no_rows"
    assert status(metric, [1.0, 2.0], [1.0, 1.0]) == "ok"


def test_logarithmic_errors_equal_scikit_learn():
    rng = np.random.default_rng(0)
    y, p, w = rng.gamma(0.5, 100.0, (3, 50))
    rows = pl.DataFrame({"y": y, "p": p, "w": w})
    found = rows.select(create("regression", name, {}).expr("y", "p", "w") for name in ("msle", "rmsle"))
    expected = [
        score(y, p, sample_weight=w) for score in (sk.mean_squared_log_error, sk.root_mean_squared_log_error)
    ]
    assert found.row(0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("label", "prediction", "expected"),
    [
        (1e9, 1e9 + 2, 2 / (1e9 + 2)),
        (-1 + 1e-12, 1e15, math.log(1e15) - math.log(1e-12)),
        (0.0, 1e-20, 1e-20),
    ],
)
def test_logarithmic_errors_keep_their_digits(label, prediction, expected):
    for one, other in ((label, prediction), (prediction, label)):
        rows = pl.DataFrame({"y": [one], "p": [other]})
        found = rows.select(create("regression", "rmsle", {}).expr("y", "p")).item()
        # The label next to -1 has itself only four digits of its distance.
        assert found == pytest.approx(expected, rel=1e-4 if label < 0 else 1e-12)


@pytest.mark.parametrize("name", ["msle", "rmsle"])
def test_rows_without_logarithm_leave_it_undefined_and_are_counted(name):
    rows = pl.DataFrame(
        {
            "y": [1.0, -1.0, 3.0, -5.0, 0.0],
            "p": [2.0, 1.0, -1.5, -7.0, 1.0],
            "w": [1.0, 2.0, 0.5, 0.0, 1.0],
            "g": ["a", "b", "b", "b", "a"],
        }
    )
    given = {"task": "regression", "label": "y", "models": "p", "metrics": [name], "slices": ["g"]}
    found = plm.evaluate(rows, weight="w", **given).metrics
    words = "rows with a label or prediction of -1 or less: 2"
    listed = found.select("slice", "status", "note").rows()
    assert listed == [
        ("all", "nonpositive_values", words),
        ("g=a", "ok", None),
        ("g=b", "nonpositive_values", words),
    ]
    assert found["value"].is_null().to_list() == [True, False, True]
    unweighted = plm.evaluate(rows, **given).metrics
    assert unweighted["note"].to_list() == [words.replace("2", "3"), None, words.replace("2", "3")]


@pytest.mark.parametrize(
    ("label", "prediction", "expected"),
    [(0.0, 0.0, 0.0), (0.0, 1e-300, 200.0), (-3.0, 2.0, 200.0), (2.0, 3.0, 40.0)],
)
def test_symmetric_percentages_of_single_rows(label, prediction, expected):
    rows = pl.DataFrame({"y": [label], "p": [prediction]})
    assert rows.select(create("regression", "smape", {}).expr("y", "p")).item() == pytest.approx(expected)


def test_no_volume_no_share_of_it(status):
    metric = create("regression", "wmape", {})
    assert status(metric, [0.0, -0.0], [1.0, 0.0]) == "zero_denominator"
    assert status(metric, [0.0, -2.0], [1.0, 0.0]) == "ok"


def test_zero_labels_are_counted_not_weighed():
    metric = create("regression", "mape", {})
    rows = pl.DataFrame({"y": [0.0, 0.0, 0.0, 2.0], "p": [1.0] * 4, "w": [2.5, 0.5, 0.0, 1.0]})
    roles = Rows(pl.col("y"), pl.col("p"), pl.lit(value=False))
    zero_labels = metric.atoms()["zero_labels"]
    assert rows.select(zero_labels.aggregate(roles, pl.col("w"))).item() == 2
    assert rows.select(zero_labels.aggregate(roles, None)).item() == 3
    words, count = metric.note(View({"zero_labels": 2}))
    assert (words, count) == ("labels of 0", 2)


@pytest.mark.parametrize(
    ("parameters", "label", "expected"),
    [
        ({}, [0.0, 1.0], "zero_label"),
        ({"zeros": "drop"}, [0.0, 1.0], "ok"),
        ({"zeros": "drop"}, [0.0, 0.0], "zero_denominator"),
        ({"zeros": "epsilon", "epsilon": 0.1}, [0.0, 0.0], "ok"),
    ],
)
def test_what_a_zero_label_does_is_a_choice(parameters, label, expected, status):
    metric = create("regression", "mape", parameters)
    assert status(metric, label, [1.0, 1.0]) == expected
    assert (metric.note(View({"zero_labels": 1})) is None) == bool(parameters)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"zeros": "skip"}, "zeros must be error, drop or epsilon"),
        ({"zeros": "epsilon"}, "zeros=epsilon and epsilon go together"),
        ({"epsilon": 0.1}, "zeros=epsilon and epsilon go together"),
        ({"zeros": "epsilon", "epsilon": 0}, "epsilon must be a number above 0"),
        ({"zeros": "epsilon", "epsilon": "small"}, "epsilon must be a number above 0"),
    ],
)
def test_parameters_are_checked(parameters, words):
    with pytest.raises(ParameterError, match=words):
        create("regression", "mape", parameters)


def test_texts():
    metric = create("regression", "mape", {"zeros": "epsilon", "epsilon": 1})
    assert metric.text == "mape(zeros=epsilon, epsilon=1)"
