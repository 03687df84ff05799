"""The JSON Schema of a suite as users write it, shorthands included, for editors."""

from __future__ import annotations

from typing import Any

from plmetrics.catalogue import registry
from plmetrics.catalogue.composite_metrics import OVER
from plmetrics.features.registry import features
from plmetrics.suite.model import Suite
from plmetrics.suite.sections.compare import tests_schema
from plmetrics.suite.sections.custom_metrics import KINDS
from plmetrics.suite.sections.gates import MARGINS

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_SIZE = r"^[0-9.]+ *[kKmMgGtT]?i?[bB]?$"
_PERCENT = r"^ *[0-9]+(\.[0-9]+)? *%$"


def json_schema() -> Schema:
    """The schema of a YAML suite.

    >>> json_schema()["anyOf"]
    [{'required': ['columns', 'models']}, {'required': ['defaults']}]
    """
    schema = Suite.model_json_schema()
    properties: Schema = schema["properties"]
    definitions: Schema = schema["$defs"]
    for name in ("metric_slices", "sections"):
        del properties[name]
    del definitions["Section"]
    properties["task"]["enum"] = list(registry.tasks())
    curve = definitions["Curve"]["properties"]["curve"]
    single, message = _reference("Calibrate"), _reference("Notify")
    shapes = {
        "columns": _reference("Columns"),
        "data": _reference("Data"),
        "output": _reference("Output"),
        "metrics": _metrics(),
        "classes": _one_of(
            {"type": "array", "minItems": 2, "items": {"type": ["string", "integer", "boolean"]}},
            {"type": "null"},
        ),
        "models": _models(_reference("ModelColumns")),
        "calibrate": _one_of(single, {"type": "array", "items": single}, {"type": "null"}),
        "notify": _one_of(message, {"type": "array", "items": message}, {"type": "null"}),
        "slices": _slices(definitions),
        "uncertainty": _one_of(_reference("Uncertainty"), {"type": ["boolean", "null"]}),
        "compare": _compare(definitions),
        "curves": {"type": "array", "items": _one_of(_reference("Curve"), curve)},
        "memory": _one_of({"type": "integer", "minimum": 1}, {"type": "string", "pattern": _SIZE}),
    }
    single = _text("A YAML file whose keys hold where this file lacks them, relative to this file.")
    properties["defaults"] = _one_of(single, {"type": "array", "items": single}, {"type": "null"})
    for name, shape in shapes.items():
        properties[name] = {"description": Suite.model_fields[name].description, **shape}
    for feature in features():
        shape = feature.section.model_json_schema()
        definitions |= shape.pop("$defs", {}) | {shape["title"]: shape}
        other = {"type": ["boolean", "null"]} if feature.section.switch else {"type": "null"}
        reference = _one_of(_reference(shape["title"]), other)
        properties[feature.key] = {"description": feature.description, **reference}
    _label(definitions["Columns"]["properties"])
    _weight(definitions["Columns"])
    for role in ("label", "weight"):
        definitions["ModelColumns"]["properties"][role]["anyOf"].append(_expression())
    definitions["Gate"]["properties"]["metric"] = _text("Text of a metric of the suite.")
    definitions["Gate"]["anyOf"] = [{"required": [key]} for key in ("metric", "four_fifths")]
    del definitions["Gate"]["required"]
    for key in MARGINS:
        definitions["Gate"]["properties"][key]["anyOf"].append({"type": "string", "pattern": _PERCENT})
    return {
        "$schema": DIALECT,
        "title": "plmetrics suite",
        **{key: value for key, value in schema.items() if key not in {"title", "required"}},
        "anyOf": [{"required": ["columns", "models"]}, {"required": ["defaults"]}],
    }


def _label(columns: Schema) -> None:
    """Schema of a label of several columns, at the place of a single one."""
    del columns["label_columns"]
    several = {
        "type": "object",
        "minProperties": 2,
        "additionalProperties": {"type": "string", "minLength": 1},
    }
    listed = {"type": "array", "minItems": 2, "items": {"type": "string", "minLength": 1}}
    description = columns["label"].pop("description")
    columns["label"] = {
        "description": description,
        **_one_of({"type": "string", "minLength": 1}, listed, _expression(), several),
    }


def _expression() -> Schema:
    """An expression in place of a column."""
    return {
        "type": "object",
        "required": ["expression"],
        "maxProperties": 1,
        "additionalProperties": {"type": "string", "minLength": 1},
    }


def _weight(columns: Schema) -> None:
    """A list of weights stands where one does; a label is not needed where each model has its own."""
    weight = columns["properties"]["weight"]
    listed = {"type": "array", "minItems": 2, "items": {"type": ["string", "null"], "minLength": 1}}
    weight["anyOf"] += [listed, _expression()]
    columns.pop("required", None)


def _metrics() -> Schema:
    names = [name for task in registry.tasks() for name in registry.names(task)]
    pattern = r"^\s*[A-Za-z_]\w*\s*(\(.*\))?\s*(@(all|\d+|\[[\d,\s]+\])\s*(\(.*\))?\s*)?$"
    text = {"type": "string", "pattern": pattern, "examples": names}
    with_parameters = {"type": "object", "minProperties": 1, "maxProperties": 1}
    return {
        "type": "array",
        "minItems": 1,
        "items": _one_of(text, with_parameters, _metric_elsewhere(text), _definition()),
    }


def _metric_elsewhere(text: Schema) -> Schema:
    """A metric in some slice sets only, or with a threshold from other rows."""
    return {
        "title": "MetricInSlices",
        "description": "A metric in some slice sets only, or with a threshold from other rows.",
        "type": "object",
        "required": ["metric"],
        "additionalProperties": False,
        "properties": {
            "metric": text,
            "slices": _some_sets("Slice sets it is asked for in, besides overall."),
            "select_on": _text("SQL condition on the rows that its threshold is chosen on."),
        },
    }


def _definition() -> Schema:
    sql = _text("SQL expression of columns and of score, label, weight and prediction.")
    ratio = {
        "title": "Ratio",
        "description": "Two sums over rows.",
        "type": "object",
        "required": ["numerator", "denominator"],
        "properties": {"numerator": sql, "denominator": sql},
    }
    over = {
        "title": "OverSlices",
        "description": "A metric put together over the slices of a set.",
        "type": "object",
        "required": ["slice_set", "metric"],
        "properties": {
            "slice_set": _text("The slice set."),
            "metric": _text("The metric whose values are put together."),
            "agg": {"enum": list(OVER)},
            "weight": _text("The metric whose values weigh those of a mean."),
        },
    }
    particular = {
        "ratio": _one_of(ratio, {"type": "array", "items": sql, "minItems": 2, "maxItems": 2}),
        "formula": _text("Arithmetic over metrics, such as 50*fp + 2000*fn."),
        "over": over,
    }
    return {
        "title": "MetricDefinition",
        "description": "A metric that the suite defines.",
        "type": "object",
        "additionalProperties": False,
        "anyOf": [{"required": [kind]} for kind in KINDS],
        "properties": {
            "name": _text("Its name, a word."),
            **{kind: particular.get(kind, _one_of(sql, {"type": "number"})) for kind in KINDS},
            "where": _text("SQL condition on the rows that count."),
            "q": {"type": "number", "minimum": 0, "maximum": 1},
            "direction": {"enum": list(registry.DIRECTIONS)},
            "slices": _some_sets("Slice sets it is asked for in, besides overall."),
        },
    }


def _some_sets(description: str) -> Schema:
    single = _text(description)
    return _one_of(single, {"type": "array", "items": single})


def _models(columns: Schema) -> Schema:
    column = _text("The score column.")
    return _one_of(
        {"type": "object", "minProperties": 1, "additionalProperties": _one_of(column, columns)},
        {"type": "array", "minItems": 1, "items": column},
        column,
    )


def _compare(definitions: Schema) -> Schema:
    properties = definitions["Compare"]["properties"]
    of_test = definitions.pop("ComparisonTest")["properties"]
    properties["tests"] = {"description": properties["tests"]["description"], **tests_schema(of_test)}
    baseline = _text("Name of the baseline model.")
    return _one_of(_reference("Compare"), baseline, {"type": "null"})


def _slices(definitions: Schema) -> Schema:
    spec = definitions["SliceSet"]
    spec["properties"]["column"] = _text("One column.")
    column = _text("A column, or columns that are crossed.")
    several = {"type": "array", "minItems": 1, "items": column}
    return _one_of(
        {"type": "object", "additionalProperties": _one_of(column, several, _reference("SliceSet"))},
        {"type": "array", "items": _one_of(column, several)},
        column,
    )


def _one_of(*options: Schema) -> Schema:
    return {"anyOf": list(options)}


def _text(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "description": description}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
