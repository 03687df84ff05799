"""Metrics by name and parameters."""

import pytest

import plmetrics as plm


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [
        ("recall", {"threshold": 0.3}, "recall(threshold=0.3)"),
        ("recall", {"threshold": 0.5}, "recall"),
        ("sensitivity", {"threshold": 0.3}, "recall(threshold=0.3)"),
        ("fbeta", {"beta": 2, "threshold": 0.4}, "fbeta(beta=2, threshold=0.4)"),
        ("ece", {"bins": 5}, "ece(bins=5)"),
    ],
)
def test_parameters_as_keywords(name, parameters, text):
    assert plm.metric(name, **parameters).text == text
    assert plm.metric(text).text == text


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("recall", {"treshold": 0.3}, "treshold"),
        ("recall", {"threshold": "high"}, "threshold"),
        ("recal", {"threshold": 0.3}, "did you mean 'recall'"),
        ("recall(threshold=0.2)", {"threshold": 0.3}, "recall"),
    ],
)
def test_parameters_that_are_wrong(name, parameters, words):
    with pytest.raises(plm.ConfigError, match=words):
        plm.metric(name, **parameters)


def test_a_metric_of_another_task():
    assert plm.metric("recall", "multiclass", average="micro").text == "recall(average=micro)"


def test_an_unknown_task_has_no_table():
    assert set(plm.metrics("ranking")["task"]) == {"ranking"}
    with pytest.raises(plm.ConfigError, match="did you mean 'binary'"):
        plm.metrics("binry")
