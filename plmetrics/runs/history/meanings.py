"""Differences in meaning between two runs: values of one name that are not the same, and renamed columns.

Both are told from what the suites said. Values of two runs stand side by side when model, slice and metric have the
same names; the parameters of a metric are part of its name. What else decides a value is looked up here: which rows
count, which column is the label, what is positive, how a slice or a metric of that name is made. A model of the same
name that reads another column is a new version of it: that is what runs are compared for, so it is noted, no more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.composite_metrics import is_across_slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plmetrics.catalogue.metric import Metric

_ABSENT = object()
_LONGEST = 60
_DECIDES = ("task", "data", "columns", "positive", "classes")
_BY_NAME = ("slices", "metrics")
_NOT_VALUES = frozenset(
    {
        *("data.path", "data.version", "data.database", "data.query", "data.trec.qrels", "data.trec.run"),
        *("data.spark", "columns.unit", "columns.fold"),
    }
)
"""Where rows lie, and what decides intervals alone: other units are looked at where runs are paired."""


def misleading(before: Mapping[str, Any], after: Mapping[str, Any], metrics: Sequence[Metric]) -> list[str]:
    """Reasons why values of one name mean different things, one a text.

    `before` and `after` are what the suites say, their defaults left out. Of the metrics, those across slices leave out
    slices below `min_rows`.

    >>> misleading({"columns": {"label": "late"}}, {"columns": {"label": "lost"}}, ())
    ["columns.label was 'late' and is 'lost'"]
    """
    across = any(is_across_slices(metric) for metric in metrics)
    decisive = [*_DECIDES, "min_rows"] if across else [*_DECIDES]
    if before.get("calibrate") and after.get("calibrate"):
        decisive.append("calibrate")
    differences = [
        text
        for key in decisive
        for text in _differences(before.get(key, _ABSENT), after.get(key, _ABSENT), key)
    ]
    for key in _BY_NAME:
        old, new = (_by_name(suite.get(key, {})) for suite in (before, after))
        for name in (name for name in new if name in old):
            differences += _differences(old[name], new[name], f"{key}.{name}")
    return differences


def read_elsewhere(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """The models of both runs that read other columns than before, and in words which.

    >>> read_elsewhere({"models": {"m": {"score": "v1"}}}, {"models": {"m": {"score": "v2"}}})
    {'m': "score was 'v1' and is 'v2'"}
    """
    old, new = (suite.get("models", {}) for suite in (before, after))
    differences = {name: ", ".join(_differences(old[name], new[name], "")) for name in new if name in old}
    return {name: words for name, words in differences.items() if words}


def _by_name(entries: Any) -> dict[str, Any]:
    """Entries by name; of a list those that are more than a name."""
    if isinstance(entries, dict):
        return entries
    return {
        entry["name"]: entry
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }


def _differences(old: Any, new: Any, place: str) -> Iterator[str]:
    """The leaves in which two values differ."""
    if place in _NOT_VALUES or old == new:
        return
    pair = [{} if value is _ABSENT else value for value in (old, new)]
    if all(isinstance(value, dict) for value in pair):
        for key in dict.fromkeys([*pair[0], *pair[1]]):
            inner = f"{place}.{key}" if place else str(key)
            yield from _differences(pair[0].get(key, _ABSENT), pair[1].get(key, _ABSENT), inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (first, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(first, other, f"{place}.{index}")
    else:
        yield f"{place} was {_value_text(old)} and is {_value_text(new)}"


def _value_text(value: Any) -> str:
    if value is _ABSENT:
        return "not given"
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
