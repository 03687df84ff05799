import json
import re
from typing import Any

import pytest
import yaml

from plmetrics.catalogue import registry
from plmetrics.features.drift.drift_section import Drift, DriftGate
from plmetrics.features.leakage.leakage_section import Leakage
from plmetrics.suite.model import Suite
from plmetrics.suite.schema import json_schema
from plmetrics.suite.sections.basics import Columns, Compare, Curve, Data, ModelColumns
from plmetrics.suite.sections.gates import Gate
from plmetrics.suite.sections.output import MlflowOutput, Output
from plmetrics.suite.sections.uncertainty import Uncertainty

SCHEMA = json_schema()
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "array": list,
    "object": dict,
}  # fmt: skip
UNDERSTOOD = {
    "$defs", "$ref", "$schema", "additionalProperties", "anyOf", "const", "default", "description", "enum", "examples",
    "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maxProperties", "maximum", "minItems",
    "minLength", "minProperties", "minimum", "pattern", "properties", "required", "title", "type",
}  # fmt: skip


def is_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def valid(value: Any, schema: Any) -> bool:
    """A small validator of the part of JSON Schema that is used, written from its specification."""
    if isinstance(schema, bool):
        return schema
    assert set(schema) <= UNDERSTOOD, set(schema) - UNDERSTOOD
    if "$ref" in schema:
        target: Any = SCHEMA
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        if not valid(value, target):
            return False
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    tests = [
        not kinds or any(is_type(value, kind) for kind in kinds),
        "anyOf" not in schema or any(valid(value, option) for option in schema["anyOf"]),
        "const" not in schema or value == schema["const"],
        "enum" not in schema or value in schema["enum"],
    ]
    if isinstance(value, str):
        tests += [
            len(value) >= schema.get("minLength", 0),
            re.search(schema.get("pattern", ""), value) is not None,
        ]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        tests += [
            value >= schema.get("minimum", value),
            value <= schema.get("maximum", value),
            value > schema.get("exclusiveMinimum", value - 1),
            value < schema.get("exclusiveMaximum", value + 1),
        ]
    if isinstance(value, list):
        tests += [schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))]
        tests += [valid(item, schema.get("items", True)) for item in value]
    if isinstance(value, dict):
        known = schema.get("properties", {})
        tests += [schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value))]
        tests += [name in value for name in schema.get("required", [])]
        tests += [
            valid(item, known.get(key, schema.get("additionalProperties", True)))
            for key, item in value.items()
        ]
    return all(tests)


def suite(text: str) -> dict[str, Any]:
    content = {"columns": {"label": "y"}, "models": {"a": "p", "b": "q"}, **yaml.safe_load(text)}
    assert isinstance(content, dict)
    return content


def test_it_is_json_of_the_current_dialect() -> None:
    assert json.loads(json.dumps(SCHEMA, allow_nan=False)) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert valid({"columns": {"label": "y"}, "models": "p"}, SCHEMA)
    assert valid({"defaults": "common.yaml"}, SCHEMA)
    assert not valid({"models": "p"}, SCHEMA)


@pytest.mark.parametrize(
    "model",
    [
        *(Suite, Data, Columns, ModelColumns, Uncertainty, Compare, Gate, Curve, Output, MlflowOutput),
        *(Leakage, Drift, DriftGate),
    ],
)
def test_every_key_is_described_with_its_default(model: Any) -> None:
    part = SCHEMA if model is Suite else SCHEMA["$defs"][model.__name__]
    written_keys = {
        name: field
        for name, field in model.model_fields.items()
        if name not in {"metric_slices", "sections", "label_columns"}
    }
    assert set(written_keys) <= set(part["properties"])
    assert part["additionalProperties"] is False
    for name, field in written_keys.items():
        written = part["properties"][name]
        assert written.get("description"), (model.__name__, name)
        if isinstance(field.default, (bool, int, float, str)):
            assert written.get("default") == field.default, (model.__name__, name)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "models: p",
        "models: [p, q]",
        "models: {a: {score: p}, b: {prediction: q}}",
        "metrics: [roc_auc, precision(threshold=0.3), {fbeta: {beta: 2}}, {f1: null}]",
        "metrics: [precision_at_k@5, 'recall_at_k@[5, 10]', roc_auc_score]",
        "metrics: [{metric: roc_auc, slices: [region]}, {metric: roc_auc, slices: []}]",
        "metrics: [{metric: 'recall(threshold=max(f1))', select_on: a > 1}, precision(threshold=at(recall=0.9))]",
        "metrics: [{name: m, mean: score < 0.2, where: a > 1, direction: lower}, {name: c, formula: fp + m}]",
        "metrics: [{name: r, ratio: {numerator: a, denominator: b}}, {name: q, quantile: a, q: 0.5}]",
        "metrics: [{name: o, over: {slice_set: r, metric: f1, agg: worst}}, {name: s, sum: 1}]",
        "slices: region",
        "slices: [sex, race]",
        "slices: {r: region, x: [a, b], y: {columns: [a, b]}, b: {column: age, bins: [1, 2.5]}, w: {where: a > 1}}",
        "slices: {d: {column: day, bins: ['2024-01-31']}}",
        "uncertainty: true",
        "uncertainty: null",
        "uncertainty: {replicates: 200, seed: 7, level: 0.9, interval: t}",
        "compare: a",
        "compare: {baseline: a, correction: none}",
        "gates: [{metric: roc_auc, model: a, at_least: 0.75, slices: [r], using: interval, level: warn}]",
        "curves: [roc, {curve: pr, slices: [region]}]",
        "memory: 4GB",
        "memory: 1000000",
        "data: {path: [a, b], where: a > 1, missing: drop}",
        "{positive: 1, min_rows: 5, exact: true, output: {directory: x}, name: x}",
    ],
)
def test_what_the_loader_accepts_is_valid(load: Any, text: str) -> None:
    content = suite(text)
    assert valid(content, SCHEMA)
    metrics = ["f1"] if "prediction" in str(content) else ["roc_auc"]
    head = {
        "data": {"path": "x"},
        "slices": {"r": "r", "region": "r"},
        "uncertainty": True,
        "metrics": metrics,
    }
    assert load(yaml.safe_dump({**head, **content}).encode()).suite.models


@pytest.mark.parametrize(
    "text",
    [
        "metircs: [f1]",
        "models: {}",
        "models: 3",
        "models: {a: {scor: p}}",
        "metrics: f1",
        "metrics: []",
        "metrics: [3]",
        "metrics: [{f1: {}, recall: {}}]",
        "metrics: [{name: m, mean: a, agg: mean}]",
        "metrics: [{name: o, over: {slice_set: r}}]",
        "metrics: ['precision(threshold=']",
        "slices: 3",
        "slices: {x: {colum: a}}",
        "uncertainty: {replicates: 1}",
        "uncertainty: {level: 1}",
        "uncertainty: {interval: tt}",
        "uncertainty: 3",
        "compare: {correction: holm}",
        "gates: [{at_least: 1}]",
        "gates: [{metric: f1, level: wran}]",
        "gates: {metric: f1}",
        "curves: [rok]",
        "memory: lots",
        "memory: 0",
        "min_rows: -1",
        "exact: maybe",
        "task: binray",
        "columns: {lable: y}",
        "data: {path: x, missing: dorp}",
    ],
)
def test_what_an_editor_can_see_is_wrong_is_invalid(text: str) -> None:
    assert not valid(suite(text), SCHEMA)


def test_metric_names_are_offered_by_editors() -> None:
    text = json.dumps(SCHEMA["properties"]["metrics"])
    for task in registry.tasks():
        assert all(f'"{name}"' in text for name in registry.names(task))
