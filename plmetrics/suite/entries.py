"""A suite's metrics: texts, mappings and objects, as metrics of the task."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue import registry
from plmetrics.catalogue.metric import Metric, ParameterError
from plmetrics.core.names import did_you_mean
from plmetrics.core.text import Call, TextError, parse_call
from plmetrics.suite.findings import described

if TYPE_CHECKING:
    from plmetrics.suite.findings import Findings

CUSTOM = ("mean", "sum", "ratio", "quantile", "std", "null_share", "formula", "over", "expr")
_NEAREST = re.compile(r"did you mean '([^']+)'")


@dataclass(slots=True)
class NamedMetrics:
    """The metrics of a suite by canonical text, in order, with the place where each was named first.

    `meant` are the names of metrics that were named wrongly: what refers to them is not wrong as well.
    """

    metrics: dict[str, Metric] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    meant: set[str] = field(default_factory=set)


class MetricReader:
    """Makes metrics of one task; of any task where the task is not known."""

    def __init__(self, task: str | None, findings: Findings, *, task_pending: bool = False) -> None:
        self.task = task
        self.findings = findings
        self.meant: set[str] = set()
        self._task_pending = task_pending

    def read(self, raw: Any, *path: str | int) -> Metric | None:
        """The metric, or None and what is wrong with it."""
        if isinstance(raw, Metric):
            return self._of_task(raw, *path)
        if isinstance(raw, str):
            return self._from_text(raw, *path)
        if isinstance(raw, dict):
            return self._from_mapping(raw, *path)
        hint = "write its text, such as precision(threshold=0.3)"
        self.findings.add(f"a metric cannot be {described(raw)}", *path, hint=hint)
        return None

    def _of_task(self, metric: Metric, *path: str | int) -> Metric | None:
        if self.task in {None, metric.task}:
            return metric
        message = f"the metric '{metric}' belongs to task '{metric.task}', not to '{self.task}'"
        self.findings.add(message, *path)
        return None

    def _from_text(self, text: str, *path: str | int) -> Metric | None:
        try:
            call = parse_call(text)
        except TextError as error:
            self.findings.add(str(error), *path, hint=error.hint)
            self.meant.update(re.findall(r"^\s*\w+", text))
            return None
        return self._created(call.name, dict(call.parameters), *path)

    def _from_mapping(self, raw: dict[Any, Any], *path: str | int) -> Metric | None:
        custom = [key for key in raw if key in CUSTOM and (len(raw) > 1 or not isinstance(raw[key], dict))]
        if custom:
            message = f"metrics of your own ('{custom[0]}') are not available yet"
            self.findings.add(message, *path, custom[0], at_key=True)
            return None
        example = "write {fbeta: {beta: 2}}, or the text fbeta(beta=2)"
        if len(raw) != 1:
            self.findings.add("a metric's mapping has one key, its name", *path, hint=example)
            return None
        name, parameters = next(iter(raw.items()))
        parameters = {} if parameters is None else parameters
        if not isinstance(name, str) or not isinstance(parameters, dict):
            message = f"the parameters of {described(name)} cannot be {described(parameters)}"
            self.findings.add(message, *path, hint=example)
            return None
        return self._created(name, parameters, *path)

    def _created(self, name: str, parameters: dict[Any, Any], *path: str | int) -> Metric | None:
        self.meant.add(name)
        if self.task is None:
            self._check_anywhere(name, *path)
            return None
        if not all(isinstance(key, str) for key in parameters):
            self.findings.add(f"{name}: the names of parameters are words", *path)
            return None
        try:
            metric_class = registry.find(self.task, name)
        except registry.UnknownMetricError as error:
            self.findings.add(str(error), *path, hint=error.hint)
            self.meant.update(_NEAREST.findall(error.hint or ""))
            return None
        self.meant.add(metric_class.name)
        if any(isinstance(value, Call) for value in parameters.values()):
            message = f"{name}: values that are found in the data, such as max(f1), are not available yet"
            self.findings.add(message, *path, hint="write a number")
            return None
        try:
            return registry.create(self.task, name, parameters)
        except ParameterError as error:
            self.findings.add(str(error), *path)
            return None

    def _check_anywhere(self, name: str, *path: str | int) -> None:
        """Whether any task has the metric. A task without metrics yet may be going to."""
        if self._task_pending:
            return
        known = {name for cls in registry.classes() for name in (cls.name, *cls.aliases, *cls.presets)}
        if name not in known:
            hint = did_you_mean(name, known, limit=0)
            self.findings.add(f"unknown metric '{name}'", *path, hint=hint)


def read_metrics(raw: Any, reader: MetricReader) -> NamedMetrics:
    """The metrics of the list, each once. A single metric in place of the list is refused."""
    named = NamedMetrics(meant=reader.meant)
    if not isinstance(raw, list):
        hint = "write metrics: [roc_auc, precision(threshold=0.3)]"
        reader.findings.add(f"metrics must be a list, not {described(raw)}", "metrics", hint=hint)
        return named
    if not raw:
        reader.findings.add("the list of metrics is empty", "metrics", hint="leave it out for the defaults")
    for index, entry in enumerate(raw):
        if entry is TORN:
            continue
        metric = reader.read(entry, "metrics", index)
        if metric is not None and metric.text not in named.metrics:
            named.metrics[metric.text] = metric
            named.places[metric.text] = index
    return named


class _Torn:
    """Stands in a list where a piece of a text was that YAML split at its commas."""


TORN = _Torn()
