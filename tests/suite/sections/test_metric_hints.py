"""What a text with values that lack names, or with decimal commas, should be."""

from typing import Any

import pytest

import plmetrics as plm


@pytest.mark.parametrize(
    ("task", "text", "hint"),
    [
        ("binary", "fbeta(2)", "write fbeta(beta=2)"),
        ("binary", "fbeta(0.5, 0.3)", "write fbeta(beta=0.5, threshold=0.3)"),
        ("binary", "fbeta(threshold=0.3, 2)", "write fbeta(threshold=0.3, beta=2)"),
        ("binary", "recall(0.3)", "write recall(threshold=0.3)"),
        ("binary", "recall(max(f1))", "write recall(threshold=max(f1))"),
        ("binary", "recall_score(0.3)", "write recall_score(threshold=0.3)"),
        ("binary", "roc_auc(0.1)", "write roc_auc(max_fpr=0.1)"),
        ("binary", "expected_cost(1, 5)", "write expected_cost(cost_fp=1, cost_fn=5)"),
        ("binary", "ece(quantile)", "write ece(strategy=quantile)"),
        ("ranking", "ndcg(10)", "write ndcg(k=10)"),
        ("binary", "n(3)", "'n' has no parameters"),
        ("binary", "recall(0.3, 0.4)", "write name=value; the parameters of 'recall': threshold"),
        ("binary", "recall(threshold=0,3)", "write recall(threshold=0.3), with a decimal point"),
        ("binary", "recall(0,3)", "write recall(threshold=0.3), with a decimal point"),
        (
            "binary",
            "expected_cost(cost_fp=1,5, cost_fn=2)",
            "write expected_cost(cost_fp=1.5, cost_fn=2), with a",
        ),
        ("binary", "recal(0.3)", "did you mean 'recall'?"),
    ],
)
def test_a_value_without_a_name_is_told_its_name(task: str, text: str, hint: str) -> None:
    with pytest.raises(plm.ConfigError) as caught:
        plm.metric(text, task)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("recall(threshold=0,3)", "write recall(threshold=0.3), with a decimal point"),
        ("'recall(threshold=0,3)'", "write recall(threshold=0.3), with a decimal point"),
        ("fbeta(beta=2, threshold=0.3)", 'write "fbeta(beta=2, threshold=0.3)", with the quotes'),
    ],
)
def test_in_yaml_a_decimal_comma_is_told_from_a_comma(refuse: Any, entry: str, words: str) -> None:
    problems = refuse(f"metrics: [{entry}]\n")
    assert [words in str(problem) for problem in problems] == [True]


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        (("recall", 0.3), "write recall(threshold=0.3)"),
        (["fbeta", 2, {"threshold": 0.3}], "write fbeta(threshold=0.3, beta=2)"),
        (("recall", "max(f1)"), "write recall(threshold=max(f1))"),
        ({"recall": 0.3}, "write recall(threshold=0.3)"),
    ],
)
def test_a_name_with_values_behind_it_is_written_as_a_text(entry: Any, hint: str) -> None:
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate({"y": [0, 1], "p": [0.2, 0.9]}, label="y", models="p", metrics=[entry])
    (problem,) = caught.value.problems
    assert problem.hint == hint
    plm.metric(hint.removeprefix("write "), "binary")


@pytest.mark.parametrize(
    "entry", [("nonsense", 0.3), ("recall", [0.3, 0.5]), (), (0.3, "recall"), ("roc_auc",)]
)
def test_what_is_no_metric_has_no_suggestion(entry: Any) -> None:
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate({"y": [0, 1], "p": [0.2, 0.9]}, label="y", models="p", metrics=[entry])
    assert [problem.hint for problem in caught.value.problems] == [None]
