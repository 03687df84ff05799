"""Lookup of metrics by their names in other libraries: loaded only for an unknown name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from plmetrics.catalogue.synonyms.other_libraries import (
    FAIRLEARN,
    IR_MEASURES,
    TFMA,
    TORCHMETRICS,
    TREC_EVAL,
    YARDSTICK,
)
from plmetrics.catalogue.synonyms.scikit_learn import SCIKIT_LEARN
from plmetrics.catalogue.synonyms.short_names import SHORT_NAMES
from plmetrics.core.names import did_you_mean, nearest
from plmetrics.core.text import Call, parse_call

if TYPE_CHECKING:
    from plmetrics.catalogue.synonyms.names import Names

LIBRARIES = (SCIKIT_LEARN, TREC_EVAL, IR_MEASURES, YARDSTICK, TORCHMETRICS, TFMA, FAIRLEARN, SHORT_NAMES)

_PARAMETERS = {
    "tau": "alpha quantile q",
    "weighting": "weights",
    "bins": "n_bins num_bins nbins",
    "k": "top_k topk cutoff cut at",
    "relevant_at": "rel relevance_level",
    "persistence": "p",
    "by": "sensitive_features group groups",
    "scheme": "multi_class",
    "undefined": "zero_division",
    "threshold": "cutpoint",
    "clip": "eps",
}
PARAMETERS = {name: native for native, names in _PARAMETERS.items() for name in names.split()}
"""Names of parameters in other libraries, each with ours."""

_RANK = re.compile(r"(.+_)(\d+)")


class Synonym(NamedTuple):
    """Meaning of a name: the text of a metric (empty: there is none), and the difference, if any."""

    library: str
    name: str
    metric: str
    is_equal: bool
    difference: str = ""

    @property
    def hint(self) -> str:
        """Hint on the text to write instead."""
        if not self.metric:
            return self.difference
        if self.difference.startswith("or "):
            return f"did you mean '{self.metric}', {self.difference}?"
        return f"did you mean '{self.metric}'? {self.difference}".rstrip()


def synonyms(task: str) -> Iterator[Synonym]:
    """Names of a task's metrics in other libraries, in the order of the tables."""
    for names in LIBRARIES:
        yield from _synonyms_of(names, task)


def synonym(task: str, name: str) -> Synonym | None:
    """Meaning of a name in a task; one in capitals may stand for small letters.

    >>> synonym("ranking", "ndcg_cut_10").metric, synonym("binary", "AUROC").metric
    ('ndcg(k=10)', 'roc_auc')
    """
    entries = _by_name(task)
    for spelling in _spellings(name):
        if spelling in entries:
            return entries[spelling]
        rank = _RANK.fullmatch(spelling)
        if rank is not None and (pattern := entries.get(f"{rank[1]}K")) is not None:
            metric = pattern.metric.replace("k=K", f"k={int(rank[2])}")
            return pattern._replace(name=name, metric=metric)
    return None


def equivalent(task: str, name: str, reserved: Collection[str]) -> Call | None:
    """Native metric of exactly the same meaning as a name in a task; `reserved` are the native names."""
    entry = synonym(task, name)
    if entry is not None:
        return parse_call(entry.metric, unnamed=True) if entry.is_equal else None
    return Call(name.lower()) if name.isupper() and name.lower() in reserved else None


def native_parameters(arguments: Mapping[str, object], fields: Collection[str]) -> dict[str, object]:
    """Parameters by our names, for those the metric has under another name."""
    return {_native_parameter(name, fields): value for name, value in arguments.items()}


def hint(task: str, name: str, reserved: Mapping[str, Collection[str]]) -> str | None:
    """Meaning of a name without a metric in a task; `reserved` are our own names by task."""
    entry = synonym(task, name)
    if entry is not None:
        return entry.hint
    native = name.lower() if name.isupper() else name
    tasks = [other for other, names in reserved.items() if native in names]
    if tasks:
        return f"'{native}' belongs to task {_task_names(tasks)}"
    elsewhere = [(other, entry) for other in reserved if (entry := synonym(other, name)) is not None]
    if elsewhere:
        return _elsewhere(name, elsewhere)
    return _by_spelling(task, name, reserved.get(task, ()))


def parameter_hint(
    metric: str, arguments: Mapping[str, Any], name: str, fields: Collection[str], reserved: Collection[str]
) -> str:
    """Meaning of an unknown parameter of a metric, of those given; `reserved` are the names of its task."""
    native = _native_parameter(name, fields)
    if native != name:
        return f"did you mean '{native}'?"
    if name == "k" and f"{metric}_at_k" in reserved:
        return f"did you mean '{Call(f'{metric}_at_k', dict(arguments))}'?"
    return did_you_mean(name, fields) or f"'{metric}' has no parameters"


def _elsewhere(name: str, meanings: Iterable[tuple[str, Synonym]]) -> str:
    """Note on a name of other tasks, and its meaning there."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for task, entry in meanings:
        metrics.setdefault((entry.metric, "" if entry.metric else entry.difference), []).append(task)
    parts = [
        f"'{metric}' of task {_task_names(tasks)}" if metric else difference
        for (metric, difference), tasks in metrics.items()
    ]
    return f"'{name}' is " + ", or ".join(parts)


def _by_spelling(task: str, name: str, native: Collection[str]) -> str | None:
    """Nearest name, of ours and of others: with the meaning of one of theirs."""
    entries = _by_name(task)
    match = nearest(name, {*native, *entries})
    if match is None or match in native:
        return did_you_mean(name, native)
    return entries[match].hint


def _native_parameter(name: str, fields: Collection[str]) -> str:
    native = PARAMETERS.get(name, name)
    return native if name not in fields and native in fields else name


def _spellings(name: str) -> tuple[str, ...]:
    return (name, name.lower()) if name.isupper() else (name,)


def _task_names(tasks: Iterable[str]) -> str:
    return ", ".join(repr(task) for task in tasks)


def _synonyms_of(names: Names, task: str) -> Iterator[Synonym]:
    for tasks, equivalents in names.equivalents.items():
        if task in tasks.split():
            for same, metric in equivalents.items():
                for name in same.split():
                    yield Synonym(names.library, name, metric, is_equal=True)
    for tasks, neighbours in names.neighbours.items():
        if task in tasks.split():
            for near, (metric, difference) in neighbours.items():
                for name in near.split():
                    yield Synonym(names.library, name, metric, is_equal=False, difference=difference)


@cache
def _by_name(task: str) -> dict[str, Synonym]:
    """First meaning by name, that of all libraries if it has one."""
    meanings: dict[str, Synonym] = {}
    for entry in synonyms(task):
        meanings.setdefault(entry.name, entry)
    return meanings
