"""Comparability of two runs: whether values mean the same, and whether they are independent samples or pairs.

Meanings are told from what the suites said. Values of two runs stand side by side when model, slice and metric have the
same names; the parameters of a metric are part of its name. What else decides a value is looked up here: which rows
count, which column is the label, what is positive, how a slice or a metric of that name is made. A model of the same
name that reads another column is a new version of it: that is what runs are compared for, so it is noted, no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.core.names import is_word_in
from plmetrics.core.slice_texts import rename_slices
from plmetrics.inference.across_runs.retained_replicates import Sharing, sharing
from plmetrics.inference.across_runs.sides import Side
from plmetrics.runs.history.data import data_of
from plmetrics.runs.record import suite_of_run
from plmetrics.table.prediction_columns import quantile_part

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.catalogue.metric import Metric
    from plmetrics.runs.outcome import Outcome

_NOT_INDEPENDENT = (
    "their values are not independent, and smaller differences than the intervals say may be real"
)
_ABSENT = object()
_LONGEST = 60
_DECIDES = ("task", "data", "columns", "positive", "classes")
_BY_NAME = ("slices", "metrics")
_OF_ROWS = ("label", "weight")
"""Keys of a model that are not its prediction."""
_NOT_VALUES = frozenset(
    {
        *("data.path", "data.version", "data.database", "data.query", "data.trec.qrels", "data.trec.run"),
        *("data.spark", "columns.unit", "columns.fold"),
    }
)
"""Where rows lie, and what decides intervals alone: other units are looked at where runs are paired."""


def run_name(result: Outcome) -> str:
    """Id of a run, or the name of an unwritten evaluation."""
    return str(result.record.get("run_id", result.suite.name))


def side_of(result: Outcome, now: pl.DataFrame | None = None) -> Side:
    """A run as a side of a comparison; with slices called as in the table `metrics` of the later run, if given."""
    blocks = result.record.get("constants", {}).get("blocks") or {}
    units = blocks.get("units") or 0
    metrics, replicates = result.metrics, result.replicates
    if now is not None:
        metrics = rename_slices(metrics, now)
        replicates = None if replicates is None else replicates.rename(now)
    uncertainty = result.suite.uncertainty
    groups, masses = blocks.get("modulus") or units, result.record.get("masses", ())
    return Side(run_name(result), metrics, uncertainty, units, groups, replicates, masses)


def differences(before: Outcome, after: Outcome) -> list[str]:
    """Differences of two runs in the meaning of values, or in the independence of samples: in words."""
    intervals = None not in (before.suite.uncertainty, after.suite.uncertainty)
    return [*other_meanings(before, after), *dependence(before, after, intervals=intervals)]


def other_meanings(before: Outcome, after: Outcome) -> list[str]:
    """Differences of two runs in the meaning of values, as at most one sentence."""
    meanings = misleading(suite_of_run(before), suite_of_run(after), after.suite.metrics)
    return [f"{'; '.join(meanings)}: values of one name mean different things"] if meanings else []


def dependence(
    before: Outcome, after: Outcome, shared: Sharing | None = None, *, intervals: bool
) -> list[str]:
    """Reasons against runs as independent samples, as at most one sentence.

    `shared` is what they share of their units, if that was looked up already; `intervals` whether intervals of
    differences are judged at all.
    """
    replicates = before.replicates, after.replicates
    shared = sharing(replicates[1], replicates[0]) if shared is None else shared
    files = data_of(before.record).shared_files(data_of(after.record))
    if shared.paired or not intervals or not (files or shared.words):
        return []
    what = shared.words or f"both runs read {files}"
    hint = "; with uncertainty.keep: true in both they are paired" if None in replicates else ""
    return [f"{what}: {_NOT_INDEPENDENT}{hint}"]


def misleading(before: Mapping[str, Any], after: Mapping[str, Any], metrics: Sequence[Metric]) -> list[str]:
    """Reasons for different meanings of values of one name, one a text.

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
    differences += _other_levels(before, after, metrics)
    labels = [
        {key: value for key, value in model.items() if key in _OF_ROWS}
        for suite in (before, after)
        for model in _mapping(suite.get("models")).values()
        if isinstance(model, Mapping)
    ]
    decisive_parts = [suite.get(key) for suite in (before, after) for key in (*decisive, *_BY_NAME)]
    return [*differences, *_other_derivations(before, after, [*decisive_parts, *labels])]


def _other_levels(
    before: Mapping[str, Any], after: Mapping[str, Any], metrics: Sequence[Metric]
) -> Iterator[str]:
    """Models of both runs whose quantiles are at other levels than before, where a metric is a mean over all of them.

    Of columns that are named by their beginning alone nothing is known.
    """
    if after.get("task") != "quantile":
        return
    from plmetrics.catalogue.forecast.rows import levels_metric

    old, new = (_mapping(suite.get("models")) for suite in (before, after))
    for name in (name for name in new if name in old):
        was, now = _quantile_parts(old[name]), _quantile_parts(new[name])
        if was is None or now is None:
            continue
        means = filter(None, (levels_metric(metric, was, now) for metric in metrics))
        if (found := next(means, None)) is not None:
            yield f"the quantiles of model '{name}', of which {found} is a mean, are at other levels"


def _quantile_parts(model: Any) -> tuple[str, ...] | None:
    """Quantiles of a model as parts of its prediction; None where they are not listed."""
    quantiles = _mapping(model).get("quantiles", {})
    return tuple(map(quantile_part, quantiles)) if isinstance(quantiles, Mapping) else None


def read_elsewhere(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """Models of both runs with other columns than before, or columns that are derived otherwise, in words.

    >>> read_elsewhere({"models": {"m": {"score": "v1"}}}, {"models": {"m": {"score": "v2"}}})
    {'m': "score was 'v1' and is 'v2'"}
    """
    old, new = (suite.get("models", {}) for suite in (before, after))
    differences = {
        name: [*_differences(old[name], new[name], ""), *_other_derivations(before, after, [new[name]])]
        for name in new
        if name in old
    }
    return {name: ", ".join(words) for name, words in differences.items() if words}


def _other_derivations(
    before: Mapping[str, Any], after: Mapping[str, Any], parts: Sequence[Any]
) -> Iterator[str]:
    """Derived columns of both suites that are made otherwise, and that some parts of these name, in words."""
    old, new = (_mapping(suite.get("derive")) for suite in (before, after))
    for name in _mentions(new, parts):
        if name in old:
            yield from _differences(old[name], new[name], f"derive.{name}")


def _mapping(value: Any) -> Mapping[str, Any]:
    """A section of a recorded suite, which may be anything; empty where it is no mapping."""
    return value if isinstance(value, Mapping) else {}


def _mentions(derived: Mapping[str, Any], parts: Sequence[Any]) -> list[str]:
    """Derived columns that stand in parts of a suite, or in the expressions of those that do.

    >>> _mentions({"rate": "paid / due", "late": "rate < 0.5", "odd": "paid > 9"}, [{"label": "late"}])
    ['rate', 'late']
    """
    mentioned: set[str] = set()
    texts = [json.dumps(part, ensure_ascii=False) for part in parts]
    while texts:
        text = texts.pop()
        names = {name for name in derived if is_word_in(name, text)}
        texts += [str(derived[name]) for name in names - mentioned]
        mentioned |= names
    return [name for name in derived if name in mentioned]


def _by_name(entries: Any) -> dict[str, Any]:
    """Entries by name; of a list those beyond a name."""
    if isinstance(entries, dict):
        return entries
    return {
        entry["name"]: entry
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }


def _differences(old: Any, new: Any, place: str) -> Iterator[str]:
    """Leaves with a difference between two values."""
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
