from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import ConfigError
from plmetrics.suite.schema import json_schema
from plmetrics.suite.sections.basics import Compare
from plmetrics.suite.sections.section import TEST_PARAMETERS, ComparisonTest

FRAME = pl.DataFrame(
    {
        "y": [0, 1, 0, 1, 1, 0],
        "a": [0.1, 0.7, 0.4, 0.6, 0.3, 0.2],
        "b": [0.2, 0.9, 0.3, 0.5, 0.4, 0.6],
        "region": ["n", "n", "s", "s", "n", "s"],
        "tags": [["x", "y"], ["x"], ["y"], ["x"], ["y"], ["x"]],
    }
)


def refused(compare: Any, **keywords: Any) -> plm.PlmetricsError:
    given: dict[str, Any] = {
        "label": "y",
        "models": {"a": "a", "b": "b"},
        "metrics": ["log_loss", "roc_auc"],
        "slices": {
            "region": "region",
            "tag": "tags",
            "any": {"where": {"low": "a < 1", "high": "a >= 0"}},
            "level": {"rollup": ["region", "b"]},
        },
    }
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(FRAME, **(given | keywords), compare=compare)
    return caught.value


@pytest.mark.parametrize(
    ("compare", "place", "words"),
    [
        (3, "", "name of a model or a mapping"),
        ({}, "", "does not say what is compared"),
        ({"baseline": "c"}, ".baseline", "'c' is not one of the models"),
        ({"baseline": "a", "pairs": "all"}, ".pairs", "both say what models"),
        ({"pairs": "some"}, ".pairs", "pairs must be all"),
        ({"run": "runs", "reference": "last"}, ".reference", "accepted"),
        ({"baseline": "a", "reference": "any"}, ".reference", "run names none"),
        ({"baseline": "a", "scales": ["odds"]}, ".scales.0", "difference, ratio or relative_change"),
        ({"baseline": "a", "scales": []}, ".scales", "a list that is not empty"),
        ({"slices": {"regio": "rest"}}, ".slices.regio", "did you mean 'region'?"),
        ({"slices": "rest"}, ".slices", "slices must be a mapping"),
        ({"slices": {"region": 3}}, ".slices.region", "must be a list"),
        ({"slices": {"region": "region=w"}}, ".slices.region", "'region=w' is not a slice of 'region'"),
        ({"slices": {"region": ["pairs", "region=n"]}}, ".slices.region", "pairs compares every slice"),
        ({"baseline": "a", "decompose": ["x"]}, ".decompose.x", "not one of the slice sets"),
        ({"slices": {"region": "rest"}, "decompose": ["region"]}, ".decompose", "two models or two runs"),
        ({"baseline": "a", "decompose": ["any"]}, ".decompose.any", "may overlap"),
        ({"baseline": "a", "decompose": ["level"]}, ".decompose.level", "may overlap"),
        ({"baseline": "a", "decompose": ["tag"]}, ".decompose.tag", "are tags, which overlap"),
        ({"baseline": "a", "tests": "friedman(over=any)"}, ".tests.0", "may overlap"),
        ({"baseline": "a", "tests": "nemenyi(over=level)"}, ".tests.0", "may overlap"),
        ({"baseline": "a", "tests": "friedman(over=tag)"}, ".tests.0", "are tags, which overlap"),
        (
            {"baseline": "a", "decompose": {"region": ["roc_auc"]}},
            ".decompose.region",
            "'roc_auc' is not a mean",
        ),
        ({"baseline": "a", "decompose": {"region": "mae"}}, ".decompose.region.0", "'mae' is not in metrics"),
        ({"baseline": "a", "colour": 1}, ".colour", "unknown key 'colour'"),
    ],
)
def test_says_what_is_wrong_and_where(compare: Any, place: str, words: str) -> None:
    problems = refused(compare).problems
    assert any(
        ".".join(map(str, problem.path)).startswith(f"compare{place}")
        and words in f"{problem.message} {problem.hint}"
        for problem in problems
    ), problems


def test_pairs_need_two_models() -> None:
    error = refused({"pairs": "all"}, models={"a": "a"})
    assert [problem.path for problem in error.problems] == [("compare", "pairs")]


def test_no_mean_to_decompose() -> None:
    error = refused({"baseline": "a", "decompose": ["region"]}, metrics=["roc_auc"])
    assert "none of 'roc_auc' is a mean" in str(error)


def test_too_many_pairs_of_slices() -> None:
    frame = FRAME.with_columns(region=pl.Series([f"r{n}" for n in range(6)]))
    with pytest.raises(plm.ConfigError, match="15 pairs of slices, more than max_slices = 14"):
        plm.evaluate(
            frame,
            label="y",
            models="a",
            slices=["region"],
            max_slices=14,
            compare={"slices": {"region": "pairs"}},
        )


@pytest.mark.parametrize(
    ("models", "compare", "expected"),
    [
        ("abc", Compare(baseline="b"), [("a", "b"), ("c", "b")]),
        ("abc", Compare(pairs="all"), [("b", "a"), ("c", "a"), ("c", "b")]),
        ("a", Compare(baseline="a"), []),
        ("ab", Compare(slices={"region": ("rest",)}), []),
    ],
)
def test_pairs_of_models(models: str, compare: Compare, expected: list[tuple[str, str]]) -> None:
    assert list(compare.pairs_of(models)) == expected


def test_short_forms() -> None:
    result = plm.evaluate(
        FRAME,
        label="y",
        models={"a": "a", "b": "b"},
        metrics=["brier"],
        slices=["region"],
        compare={
            "baseline": "a",
            "scales": "ratio",
            "slices": {"region": ["overall", "all"]},
            "decompose": "region",
        },
    )
    compare = result.suite.compare
    assert compare is not None
    assert compare.scales == ("ratio",)
    assert compare.slices == {"region": ("all",)}
    assert compare.decompose == {"region": ()}


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
