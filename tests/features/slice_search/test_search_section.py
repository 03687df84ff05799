"""The section `find_slices`: its short forms, and what is refused, with the line."""

from collections.abc import Callable
from typing import Any

import pytest

from plmetrics.core.errors import ConfigError
from plmetrics.features.slice_search.search_section import FindSlices
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.suite.schema import json_schema

SOME = "find_slices: {columns: [region, age], metric: log_loss, "


def test_one_column_and_one_model_need_no_list(load: Callable[[str], Any]) -> None:
    spec = load("find_slices: {columns: region, metric: accuracy, model: a}\n").suite.sections["find_slices"]
    assert (spec.columns, spec.metric.text, spec.model) == (("region",), "accuracy", ("a",))
    assert (spec.depth, spec.bins, spec.top, spec.min_rows, spec.largest) == (2, 4, 20, 500, 20)
    assert (spec.level, spec.share, spec.seed, spec.correction) == (0.05, 0.5, 0, "benjamini_hochberg")


def test_none_by_default(load: Callable[[str], Any]) -> None:
    assert load("").suite.sections == {}
    assert load("find_slices: null\n").suite.sections == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("find_slices: [region]\n", "find_slices must be a mapping"),
        ("find_slices: {metric: log_loss}\n", "'columns' is missing"),
        ("find_slices: {columns: [region]}\n", "'metric' is missing"),
        ("find_slices: {columns: [], metric: log_loss}\n", "columns must be a list that is not empty"),
        ("find_slices: {columns: [a, b, a], metric: log_loss}\n", "column 'a' is named twice"),
        ("find_slices: {columns: a, metric: log_los}\n", "did you mean 'log_loss'"),
        ("find_slices: {columns: a, metric: roc_auc}\n", "it is not made of sums over rows"),
        ("find_slices: {columns: a, metric: prevalence}\n", "it is neither better higher nor lower"),
        (SOME + "depth: 0}\n", "depth must be at least 1"),
        (SOME + "share: 1}\n", "share must be"),
        (SOME + "level: 5}\n", "level must be"),
        (SOME + "correction: fdr}\n", "correction must be"),
        (SOME + "min_row: 3}\n", "did you mean 'min_rows'"),
        (SOME + "model: [a, c]}\n", "model 'c' is not one of the models"),
    ],
)
def test_what_is_wrong_is_said(load: Callable[[str], Any], text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert words in str(caught.value)


def test_all_that_is_wrong_is_said_at_once(load: Callable[[str], Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        load("find_slices: {columns: a, metric: roc_auc, depht: 3}\n")
    assert {problem.path for problem in caught.value.problems} == {
        ("find_slices", "metric"),
        ("find_slices", "depht"),
    }


@pytest.mark.parametrize(
    ("task", "models", "metric", "words"),
    [
        ("regression", "p", "max_error", "it is not made of sums over rows"),
        ("multiclass", {"m": {"prediction": "p"}}, "recall(average=none)", "it has a value for each class"),
        ("multiclass", {"m": {"prediction": "p"}}, "log_loss", "needs"),
        ("binary", {"m": {"prediction": "p"}}, "log_loss", "needs a score"),
    ],
)
def test_what_a_task_cannot_search_by(task: str, models: Any, metric: str, words: str) -> None:
    spec = {"columns": ["a"], "metric": metric}
    with pytest.raises(ConfigError) as caught:
        suite_from_arguments(task=task, label="y", models=models, find_slices=spec)
    assert words in str(caught.value)
    assert caught.value.problems[0].path == ("find_slices", "metric")


def test_a_ranking_has_no_rows_to_search() -> None:
    spec = {"columns": ["a"], "metric": "ndcg"}
    with pytest.raises(ConfigError, match="a ranking has queries"):
        suite_from_arguments(task="ranking", label="y", models="p", query="q", find_slices=spec)


def test_a_calibrated_model_can_be_named() -> None:
    spec = {"columns": ["a"], "metric": "log_loss", "model": "p_platt"}
    calibrate = {"method": "platt", "fit_on": "t = 1"}
    suite = suite_from_arguments(label="y", models="p", calibrate=calibrate, find_slices=spec)
    assert suite.sections["find_slices"].model == ("p_platt",)


def test_schema_describes_every_key() -> None:
    properties = json_schema()["$defs"]["FindSlices"]["properties"]
    assert set(properties) == set(FindSlices.model_fields)
    assert all(own.get("description") for own in properties.values())
