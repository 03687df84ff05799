"""A checked suite as plain values that make the same suite again: what is kept beside results that outlive a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite


def suite_content(suite: Suite) -> dict[str, Any]:
    """The suite as its YAML file would say it: JSON-able, and what stands at its default left out.

    >>> from plmetrics.suite.reader import suite_from_mapping
    >>> raw = {"columns": {"label": "y"}, "models": {"m": {"score": "p"}}, "metrics": ["roc_auc"]}
    >>> suite_content(suite_from_mapping(raw, name="risk"))
    {'name': 'risk', 'columns': {'label': 'y'}, 'models': {'m': {'score': 'p'}}, 'metrics': ['roc_auc']}
    """
    content = suite.model_dump(mode="json", exclude_defaults=True)
    narrowed = content.pop("metric_slices", {})
    content["metrics"] = [
        _with_slices(entry, list(narrowed[metric.text])) if metric.text in narrowed else entry
        for entry, metric in zip(content["metrics"], suite.metrics, strict=True)
    ]
    for entry, gate in zip(content.get("gates", ()), suite.gates, strict=True):
        entry["metric"] = gate.metric.text
        if gate.four_fifths is not None:
            for key in ("metric", "at_least"):
                entry.pop(key, None)
    tests = content.get("compare", {}).get("tests")
    if tests:
        content["compare"]["tests"] = [
            {test["test"]: {key: item for key, item in test.items() if key != "test"}} for test in tests
        ]
    return content


def _with_slices(entry: Any, slices: list[str]) -> dict[str, Any]:
    """A metric with the slice sets that it is asked for in."""
    return {**(entry if isinstance(entry, dict) else {"metric": entry}), "slices": slices}
