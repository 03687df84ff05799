"""The section `leakage`: its short forms, and what is refused, with the line."""

from typing import Any

import pytest

from plmetrics.suite.model import canonical
from plmetrics.suite.schema import json_schema

TRAIN = "leakage: {train: t.parquet, "


def test_one_column_needs_no_list(load: Any) -> None:
    spec = load(
        TRAIN + "keys: id, time: at, duplicates: [a, b], attributes: c, limit: {keys: 3, time: 0.01}}\n"
    ).suite.sections["leakage"]
    assert (spec.keys, spec.time, spec.duplicates, spec.attributes) == (("id",), "at", ("a", "b"), ("c",))
    assert (spec.limit.keys, spec.limit.time, spec.limit.folds) == (3, 0.01, 0)
    assert (spec.level, spec.perfect) == ("fail", 0.99)


def test_none_by_default(load: Any) -> None:
    assert load("").suite.sections == {}
    assert load("leakage: null\n").suite.sections == {}


def test_where_training_lies_is_no_part_of_the_meaning(load: Any) -> None:
    texts = [TRAIN + "keys: id}\n", "leakage: {train: [u.csv, v.csv], keys: [id]}\n"]
    first, second = (canonical(load(text).suite) for text in texts)
    assert first == second


def test_environment_variables_are_replaced(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAY", "monday")
    assert (
        load("leakage: {train: '${DAY}.parquet', keys: id}\n").suite.sections["leakage"].train
        == "monday.parquet"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("leakage: t.parquet\n", "leakage must be a mapping, not 't.parquet'"),
        ("leakage: {}\n", "leakage checks nothing"),
        ("leakage: {keys: id}\n", "there is nothing to look for the keys in"),
        ("leakage: {time: at}\n", "time needs train"),
        (TRAIN + "duplicates: [a]}\n", "train is compared by keys or time"),
        ("leakage: {duplicates: true}\n", "duplicates: true needs keys"),
        (TRAIN + "keys: id, train_time: at}\n", "train_time needs time"),
        (TRAIN + "time: at, train_keys: at}\n", "train_keys needs keys"),
        (TRAIN + "keys: id, train_keys: [a, b]}\n", "train_keys must name a column for each of keys"),
        (TRAIN + "keys: []}\n", "keys must be a list that is not empty"),
        (TRAIN + "key: id}\n", "unknown key 'key'"),
        (TRAIN + "keys: id, limit: 3}\n", "limit must be a mapping, not 3"),
        (TRAIN + "keys: id, limit: {keys: -1}}\n", "keys must be"),
        (TRAIN + "keys: id, limit: {keys: 1.5}}\n", "keys must be"),
        (TRAIN + "keys: id, limit: {time: 3}}\n", "limit names 'time', which is not checked"),
        (TRAIN + "keys: id, limit: {key: 3}}\n", "unknown key 'key'"),
        (TRAIN + "keys: id, level: warning}\n", "level must be fail or warn"),
        ("leakage: {attributes: true, perfect: 1.5}\n", "perfect must be at most 1"),
        ("leakage: {attributes: 3}\n", "attributes must be"),
    ],
)
def test_what_is_wrong(refuse: Any, text: str, words: str) -> None:
    problems = refuse(text)
    assert any(words in problem.message for problem in problems)
    assert {problem.where.line for problem in problems} == {4}


def test_editors_know_the_short_forms() -> None:
    schema = json_schema()
    assert {"$ref": "#/$defs/Leakage"} in schema["properties"]["leakage"]["anyOf"]
    for key in ("keys", "train_keys", "duplicates", "attributes"):
        kinds = {option["type"] for option in schema["$defs"]["Leakage"]["properties"][key]["anyOf"]}
        assert {"string", "array"} < kinds
