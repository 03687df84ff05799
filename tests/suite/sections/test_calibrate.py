"""The section `calibrate` and the key `baseline`: what they say, and what is refused."""

from typing import Any

import pytest

from plmetrics.suite.schema import json_schema

HEAD = "data: {path: x.parquet}\ncolumns: {label: y}\nmodels: {a: p, b: q, h: {prediction: z}}\n"
PLATT = "calibrate: {method: platt, fit_on: \"split = 'valid'\"}\n"


def test_all_models_with_scores_are_calibrated(load: Any) -> None:
    suite = load(PLATT, head=HEAD).suite
    assert tuple(suite.further_models) == ("a_platt", "b_platt")
    assert tuple(load(PLATT + "baseline: true\n", head=HEAD).suite.further_models) == (
        "a_platt",
        "b_platt",
        "baseline",
    )
    assert tuple(load("", head=HEAD).suite.further_models) == ()


def test_several_calibrators_for_some_models(load: Any) -> None:
    text = "calibrate:\n  - {method: beta, fit_on: x > 1, models: b}\n  - {method: isotonic, fit_on: x > 1}\n"
    assert tuple(load(text).suite.further_models) == ("b_beta", "a_isotonic", "b_isotonic")


@pytest.mark.parametrize(
    "text",
    [
        "compare: a_platt\n",
        "gates: [{metric: roc_auc, model: b_platt, against: a, at_least: 0}]\nmetrics: [roc_auc]\n",
        "baseline: true\ncompare: {baseline: baseline}\n",
    ],
)
def test_added_models_may_be_named(load: Any, text: str) -> None:
    assert load(PLATT + text).suite.further_models


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("calibrate: platt\n", "calibrate must be a mapping or a list of them, not 'platt'"),
        ("calibrate: [platt]\n", "each of calibrate must be a mapping, not 'platt'"),
        (
            "calibrate: {method: plat, fit_on: x > 1}\n",
            "method must be platt, isotonic, temperature, beta, vector or dirichlet",
        ),
        ("calibrate: {method: platt}\n", "'fit_on' is missing"),
        ("calibrate: {method: platt, fit_on: x >}\n", "'x >'"),
        ("calibrate: {method: platt, fit_on: x + 1}\n", "is not a condition"),
        ("calibrate: {method: platt, fit_on: x > 1, models: [c]}\n", "'c' is not one of the models"),
        (
            "calibrate: {method: platt, fit_on: x > 1, models: []}\n",
            "models must be a list that is not empty",
        ),
        ("calibrate: {method: platt, fit_on: fold}\n", "fit_on: fold needs columns.fold"),
        (
            "calibrate: {method: beta, smoothing: true, fit_on: x > 1}\n",
            "smoothing belongs to method 'platt'",
        ),
        ("calibrate: {method: platt, fit_on: x > 1, smoth: 1}\n", "unknown key 'smoth'"),
        (
            "calibrate: [{method: platt, fit_on: x > 1}, {method: platt, fit_on: x > 2, models: [a]}]\n",
            "would be named 'a_platt', and that is another calibrator's already",
        ),
        ("baseline: a\n", "baseline must be true or false, not 'a'"),
        ("compare: a_beta\n", "baseline 'a_beta' is not one of the models"),
        ("compare: baseline\n", "baseline 'baseline' is not one of the models"),
    ],
)
def test_what_is_wrong(refuse: Any, text: str, words: str) -> None:
    (problem,) = refuse(text)
    assert words in problem.message
    assert problem.where.line == 4


@pytest.mark.parametrize(
    ("models", "text", "words"),
    [
        ("{a: p, a_platt: q}", PLATT, "named 'a_platt', and that is in models already"),
        ("{a: p, baseline: q}", "baseline: true\n", "adds a model 'baseline', and there is one in models"),
        ("{h: {prediction: z}}", PLATT, "no model gives scores that could be calibrated"),
        (
            "{a: p, h: {prediction: z}}",
            "calibrate: {method: platt, fit_on: x > 1, models: [h]}\n",
            "model 'h' chooses classes",
        ),
    ],
)
def test_models_that_do_not_fit(refuse: Any, models: str, text: str, words: str) -> None:
    head = f"data: {{path: x.parquet}}\ncolumns: {{label: y}}\nmodels: {models}\n"
    assert any(words in problem.message for problem in refuse(text, head=head))


def test_calibrators_are_for_binary_tasks(refuse: Any) -> None:
    (problem,) = refuse("task: regression\n" + PLATT)
    assert problem.message == "calibrate belongs to task 'binary' or 'multiclass', not to 'regression'"


def test_the_schema_knows_the_short_forms() -> None:
    schema = json_schema()
    assert {"$ref": "#/$defs/Calibrate"} in schema["properties"]["calibrate"]["anyOf"]
    assert schema["properties"]["baseline"]["type"] == "boolean"
