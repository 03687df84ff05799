"""The section `cross_validation`: its short forms, and what is refused."""

from typing import Any

import pytest

from plmetrics.features.cross_validation.cross_validation_section import (
    CrossValidation,
    Diagnosis,
    HighBias,
    HighVariance,
    StillImproving,
    deciding,
    folds_of,
)
from plmetrics.suite.schema import json_schema

HEAD = """\
data: {path: scores.parquet}
columns: {label: y, fold: fold}
models: {a: p, b: q}
metrics: [selection_rate, log_loss, roc_auc]
slices: {region: region}
"""


def test_short_forms(load: Any) -> None:
    text = "cross_validation: {repeat: r, split: s, slices: region, diagnosis: {high_bias: {level: 0.8}}}\n"
    spec = load(text, head=HEAD).suite.sections["cross_validation"]
    assert spec.slices == ("region",)
    assert spec.axes("fold") == {"split": "s", "repeat": "r", "fold": "fold"}
    rules = spec.diagnosis
    assert (rules.high_bias.level, rules.high_bias.gap) == (0.8, 0.05)
    assert (rules.high_variance.gap, rules.still_improving.delta) == (0.15, 0.02)


def test_a_column_of_folds_asks_for_the_defaults(load: Any) -> None:
    suite = load("", head=HEAD).suite
    assert suite.sections == {}
    assert folds_of(suite) == CrossValidation()
    ranking = HEAD.replace("fold: fold", "fold: fold, query: q") + "task: ranking\n"
    suite = load("", head=ranking.replace("[selection_rate, log_loss, roc_auc]", "[ndcg]")).suite
    assert folds_of(suite) is None


def test_the_first_metric_with_a_direction_decides(load: Any) -> None:
    suite = load("", head=HEAD).suite
    assert deciding(suite.metrics, CrossValidation()).text == "log_loss"  # type: ignore[union-attr]
    suite = load("cross_validation: {metric: roc_auc()}\n", head=HEAD).suite
    assert deciding(suite.metrics, folds_of(suite)).text == "roc_auc"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cross_validation: fold\n", "cross_validation must be a mapping, not 'fold'"),
        ("cross_validation: {fold: fold}\n", "the column of the fold stands in columns"),
        ("cross_validation: {repat: r}\n", "unknown key 'repat'"),
        ("cross_validation: {train_size: a, parameter: b}\n", "train_size and parameter exclude each other"),
        ("cross_validation: {split: s, repeat: s}\n", "column 's' cannot be split and repeat as well"),
        ("cross_validation: {split: fold}\n", "column 'fold' is the fold already"),
        ("cross_validation: {inner: fold}\n", "column 'fold' cannot be fold and inner as well"),
        ("cross_validation: {slices: regoin}\n", "'regoin' is not one of the slice sets"),
        ("cross_validation: {metric: f1}\n", "the metric 'f1' is not in metrics"),
        ("cross_validation: {metric: selection_rate}\n", "neither better higher nor lower"),
        ("cross_validation: {truth: t}\n", "truth needs repeated"),
        ("cross_validation: {repeated: {m: [p]}}\n", "repeated 'm' needs two or more different columns"),
        ("cross_validation: {repeated: {m: [p, p]}}\n", "repeated 'm' needs two or more different columns"),
        ("cross_validation: {diagnosis: {high_bias: {gap: 0.1}}}\n", "'level' is missing"),
        ("cross_validation: {diagnosis: {high_variance: {gap: -1}}}\n", "gap must be at least 0"),
    ],
)
def test_what_is_refused(refuse: Any, text: str, words: str) -> None:
    problems = refuse(text, head=HEAD)
    assert any(words in problem.message for problem in problems), problems
    assert all(problem.where is not None for problem in problems)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cross_validation: {repeat: r}\n", "repeat needs columns.fold"),
        ("cross_validation: {inner: i}\n", "inner needs columns.fold"),
        ("cross_validation: {configuration: c}\n", "and there are none"),
        ("cross_validation: {}\n", "says nothing of the rows"),
    ],
)
def test_what_needs_folds(refuse: Any, text: str, words: str) -> None:
    problems = refuse(text, head=HEAD.replace(", fold: fold", ""))
    assert any(words in problem.message for problem in problems), problems


def test_a_choice_needs_a_direction(refuse: Any) -> None:
    head = HEAD.replace("[selection_rate, log_loss, roc_auc]", "[selection_rate]")
    assert "cannot choose" in refuse("cross_validation: {inner: i}\n", head=head)[0].message


@pytest.mark.exhaustive
@pytest.mark.parametrize("section", [CrossValidation, Diagnosis, HighBias, HighVariance, StillImproving])
def test_an_editor_sees_every_key(section: Any) -> None:
    part = json_schema()["$defs"][section.__name__]
    assert set(part["properties"]) == set(section.model_fields)
    assert part["additionalProperties"] is False
    assert all(written.get("description") for written in part["properties"].values())


def test_an_editor_takes_one_slice_set_for_a_list() -> None:
    written = json_schema()["$defs"]["CrossValidation"]["properties"]["slices"]["anyOf"]
    assert [option["type"] for option in written] == ["string", "array"]
