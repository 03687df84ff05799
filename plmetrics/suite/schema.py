"""The JSON Schema of a suite as users write it, shorthands included, for editors."""

from __future__ import annotations

from typing import Any

from plmetrics.catalogue import registry
from plmetrics.suite.model import Suite

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def json_schema() -> Schema:
    """The schema of a YAML suite.

    >>> json_schema()["required"]
    ['columns', 'models']
    """
    schema = Suite.model_json_schema()
    properties: Schema = schema["properties"]
    definitions: Schema = schema["$defs"]
    properties["task"]["enum"] = list(registry.tasks())
    properties["metrics"] = _metrics()
    properties["models"] = _models(_reference("ModelColumns"))
    properties["slices"] = _slices(definitions)
    properties["uncertainty"] = _one_of(_reference("Uncertainty"), {"type": ["boolean", "null"]})
    properties["compare"] = _one_of(
        _reference("Compare"), _text("Name of the baseline model."), {"type": "null"}
    )
    curve = definitions["Curve"]["properties"]
    properties["curves"] = {"type": "array", "items": _one_of(_reference("Curve"), curve["curve"])}
    properties["memory"] = _one_of(
        {"type": "integer", "minimum": 1}, {"type": "string", "pattern": r"^[0-9.]+ *[kKmMgGtT]?i?[bB]?$"}
    )
    definitions["Gate"]["properties"]["metric"] = _text("Text of a metric of the suite.")
    return {
        "$schema": DIALECT,
        "title": "plmetrics suite",
        **{key: value for key, value in schema.items() if key not in {"title", "required"}},
        "required": ["columns", "models"],
    }


def _metrics() -> Schema:
    names = [name for task in registry.tasks() for name in registry.names(task)]
    text = {"type": "string", "pattern": r"^\s*[A-Za-z_]\w*\s*(\(.*\))?\s*$", "examples": names}
    mapping = {"type": "object", "minProperties": 1, "maxProperties": 1}
    return {
        "type": "array",
        "minItems": 1,
        "description": "Metrics, such as precision(threshold=0.3); the task's list if not given.",
        "items": _one_of(text, mapping),
    }


def _models(columns: Schema) -> Schema:
    column = _text("The score column.")
    return {
        "description": "Score columns by model name.",
        **_one_of(
            {"type": "object", "minProperties": 1, "additionalProperties": _one_of(column, columns)},
            {"type": "array", "minItems": 1, "items": column},
            column,
        ),
    }


def _slices(definitions: Schema) -> Schema:
    spec = definitions["SliceSet"]
    spec["properties"]["column"] = _text("One column.")
    column = _text("A column, or columns that are crossed.")
    several = {"type": "array", "minItems": 1, "items": column}
    return {
        "description": "Slice sets by name.",
        **_one_of(
            {"type": "object", "additionalProperties": _one_of(column, several, _reference("SliceSet"))},
            {"type": "array", "items": _one_of(column, several)},
        ),
    }


def _one_of(*options: Schema) -> Schema:
    return {"anyOf": list(options)}


def _text(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "description": description}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
