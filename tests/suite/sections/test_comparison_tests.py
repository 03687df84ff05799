"""The tests of `compare.tests`: their short forms, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from plmetrics.core.errors import ConfigError
from plmetrics.suite.schema import json_schema
from plmetrics.suite.sections.section import TEST_PARAMETERS, ComparisonTest

if TYPE_CHECKING:
    from collections.abc import Callable

EVERYTHING = (
    "metrics: [roc_auc, accuracy, log_loss]\nslices: {region: region}\ncompare: {baseline: a, tests: "
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("delong", ["delong"]),
        ("[mcnemar, delong]", ["mcnemar", "delong"]),
        ("[{mcnemar: {method: exact}}]", ["mcnemar"]),
        (
            "[{mcnemar: {alternative: greater, method: mid_p}}]",
            ["mcnemar(method=mid_p, alternative=greater)"],
        ),
        ("{diebold_mariano: {time: day}}", ["diebold_mariano(time=day)"]),
        ("['diebold_mariano(time=day, horizon=3)']", ["diebold_mariano(time=day, horizon=3)"]),
        ("[{always_valid: {mixture: 1}}, {paired_t: null}]", ["always_valid(mixture=1)", "paired_t"]),
        ("[{friedman: {over: region}}, wilcoxon]", ["friedman(over=region)", "wilcoxon"]),
        ("[]", []),
    ],
)
def test_tests_are_named_as_results_name_them(
    load: Callable[[str], Any], text: str, found: list[str]
) -> None:
    compare = load(EVERYTHING + text + "}\n").suite.compare
    assert [test.text for test in compare.tests] == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3", "tests must be a list, not 3"),
        ("[3]", "a test is a name, or a name with its parameters, not 3"),
        ("[{delong: {}, mcnemar: {}}]", "a test is a name"),
        ("[delon]", "did you mean 'delong'"),
        ("['mcnemar(method=']", "is not closed"),
        ("[{mcnemar: {methd: exact}}]", "did you mean 'method'"),
        ("[{delong: {level: 0.9}}]", "delong has no parameter 'level'"),
        ("[{mcnemar: {method: exakt}}]", "method must be exact, chi2 or mid_p"),
        ("[{diebold_mariano: {time: day, horizon: 0}}]", "horizon must be at least 1"),
        ("[diebold_mariano]", "diebold_mariano needs time"),
        ("[always_valid]", "always_valid needs mixture"),
        ("[{always_valid: {mixture: -1}}]", "mixture must be greater than 0"),
        ("[{always_valid: {mixture: true}}]", "mixture must be a number"),
        ("[corrected_resampled_t]", "corrected_resampled_t is of folds, and columns.fold is not given"),
        ("[five_by_two_cv_f]", "is of folds"),
        ("[friedman]", "friedman ranks models in folds, and columns.fold is not given"),
        ("[{nemenyi: {over: regoin}}]", "did you mean 'region'"),
    ],
)
def test_what_is_wrong_is_said(load: Callable[[str], Any], text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")) as caught:
        load(EVERYTHING + text + "}\n")
    assert all(problem.path[:2] == ("compare", "tests") for problem in caught.value.problems)
    assert all(problem.where is not None for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("metrics: [f1]\ncompare: {baseline: a, tests: [mcnemar]}\n", "add accuracy to metrics"),
        ("metrics: [f1]\ncompare: {baseline: a, tests: [delong]}\n", "add roc_auc to metrics"),
        ("metrics: [f1]\ncompare: {baseline: a, tests: [paired_t]}\n", "add one such as log_loss"),
        ("metrics: [f1]\ncompare: {baseline: a, tests: [wilcoxon]}\n", "add one such as log_loss"),
        (
            "metrics: [brier]\nexact: false\ncompare: {baseline: a, tests: [wilcoxon]}\n",
            "exact: false rules out",
        ),
        (
            "metrics: [roc_auc]\nslices: {r: r}\ncompare: {slices: {r: rest}, tests: [delong]}\n",
            "tests compare models, and compare names none",
        ),
        (
            "task: multiclass\nmetrics: [accuracy]\ncompare: {baseline: a, tests: [delong]}\n",
            "it is for task: binary",
        ),
    ],
)
def test_what_a_test_is_of_must_be_there(load: Callable[[str], Any], text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load(text)


def test_folds_need_no_means(load: Callable[..., Any]) -> None:
    head = "data: {path: x}\ncolumns: {label: y, fold: fold}\nmodels: {a: p, b: q}\n"
    tests = "[paired_t, wilcoxon, corrected_resampled_t, five_by_two_cv_f, friedman, nemenyi]"
    suite = load(f"metrics: [f1]\ncompare: {{baseline: a, tests: {tests}}}\n", head=head).suite
    assert len(suite.compare.tests) == 6


def test_the_schema_describes_every_test() -> None:
    schema = json_schema()["$defs"]["Compare"]["properties"]["tests"]
    assert schema["description"]
    name, text, by_name = schema["anyOf"][1]["items"]["anyOf"]
    assert name["enum"] == list(TEST_PARAMETERS) == list(by_name["properties"])
    assert text["type"] == "string"
    for test, keys in TEST_PARAMETERS.items():
        properties = by_name["properties"][test]["properties"]
        assert list(properties) == list(keys)
        assert all(part["description"] for part in properties.values())
    assert {key for keys in TEST_PARAMETERS.values() for key in keys} == set(ComparisonTest.model_fields) - {
        "test"
    }
