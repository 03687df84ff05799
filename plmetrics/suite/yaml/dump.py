"""Checked suite as plain values, read back as an equal suite: for records that outlive a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.suite.yaml.variables import TextTemplate

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite

_EVERY_ROW = "TRUE"
_BINDING = ("columns", "models", "positive", "classes")
"""Keys of what results are made of: variables are replaced by their values there."""


def suite_content(suite: Suite) -> dict[str, Any]:
    """Suite in the form of its YAML file: JSON-able, without defaults.

    >>> from plmetrics.suite.reader import suite_from_mapping
    >>> raw = {"columns": {"label": "y"}, "models": {"m": {"score": "p"}}, "metrics": ["roc_auc"]}
    >>> suite_content(suite_from_mapping(raw, name="risk"))
    {'name': 'risk', 'columns': {'label': 'y'}, 'models': {'m': {'score': 'p'}}, 'metrics': ['roc_auc']}
    """
    hidden = [template for template in suite.templates if template.path[0] not in _BINDING]
    named = suite.with_templates(hidden)
    return readable(named.model_dump(mode="json", exclude_defaults=True, exclude={"notify"}))


def suite_from_content(content: Mapping[str, Any], name: str | None = None) -> Suite:
    """Suite of a record; a condition with unknown variables holds for the rows of the record.

    Raises:
        ConfigError: it names what this version does not know.
    """
    from plmetrics.suite.reader import suite_from_mapping

    texts = []
    content = {key: item for key, item in content.items() if key != "notify"}
    for key, section in content.items():
        where = section.get("where") if isinstance(section, dict) else None
        if isinstance(where, str) and "${" in where:
            content[key] = {**section, "where": _EVERY_ROW}
            texts.append(TextTemplate((key, "where"), where, _EVERY_ROW))
    suite: Suite = suite_from_mapping(content, name=name)
    return suite.with_templates(texts) if texts else suite


def readable(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a suite, as its record has them, in the words of a YAML file."""
    content = dict(content)
    narrowed = content.pop("metric_slices", {})
    content["metrics"] = [
        _with_slices(entry, list(narrowed[_name_of(entry)])) if _name_of(entry) in narrowed else entry
        for entry in content["metrics"]
    ]
    if "gates" in content:
        content["gates"] = [_gate(entry) for entry in content["gates"]]
    tests = (content.get("compare") or {}).get("tests")
    if tests:
        content["compare"] = {**content["compare"], "tests": [_test(entry) for entry in tests]}
    return content


def _gate(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A gate by the name of its metric; the four-fifths rule says metric and limit itself."""
    left_out = ("metric", "at_least") if entry.get("four_fifths") is not None else ()
    named = {**entry, "metric": _name_of(entry["metric"])}
    return {key: value for key, value in named.items() if key not in left_out}


def _test(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["test"]: {key: value for key, value in entry.items() if key != "test"}}


def _name_of(entry: Any) -> str:
    """Text of a metric, the name for one defined by the suite."""
    return str(entry.get("name", entry.get("metric")) if isinstance(entry, dict) else entry)


def _with_slices(entry: Any, slices: list[str]) -> dict[str, Any]:
    """Metric with its slice sets."""
    return {**(entry if isinstance(entry, dict) else {"metric": entry}), "slices": slices}
