"""The metrics of a suite: texts and mappings as metric objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue import registry
from plmetrics.catalogue.metric import Metric, ParameterError
from plmetrics.core.names import did_you_mean
from plmetrics.core.text import Call, TextError, join_torn, parse_call
from plmetrics.suite.findings import shown

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.suite.findings import Findings

_CUSTOM = ("mean", "sum", "ratio", "quantile", "std", "null_share", "formula", "over")


def read_metrics(value: Any, task: str, found: Findings, *, scored: bool = True) -> tuple[Metric, ...] | None:
    """The metrics asked for, each once; the task's default list for None. Nothing, if one of them is wrong.

    `scored` says whether every model has scores: if not, defaults that need them are left out.
    """
    if value is None:
        chosen = registry.default_metrics(task) if task else ()
        return tuple(metric for metric in chosen if scored or not metric.needs_score) or None
    if isinstance(value, (str, Metric)):
        value = [value]
    if not isinstance(value, (list, tuple)) or not value:
        found.add(f"metrics must be a list with at least one metric, not {shown(value)}", ("metrics",))
        return None
    out: dict[str, Metric] = {}
    before = len(found.problems)
    index = 0
    while index < len(value):
        path: SuitePath = ("metrics", index)
        torn = join_torn(value[index:]) if isinstance(value[index], str) else None
        if torn is not None:
            whole, pieces = torn
            say_torn(whole, path, found)
            index += pieces
            continue
        metric = read_metric(value[index], task, path, found)
        if metric is not None:
            out.setdefault(metric.text, metric)
        index += 1
    return tuple(out.values()) if len(found.problems) == before else None


def is_torn(value: Any) -> bool:
    """Whether a text is the first piece of a metric that YAML split at a comma."""
    return isinstance(value, str) and value.count("(") > value.count(")")


def say_torn(whole: str, path: SuitePath, found: Findings) -> None:
    """Note a metric's text that lacks quotes."""
    hint = f'write "{whole}", with the quotes'
    found.add(f"YAML splits {whole} at its comma: it needs quotes inside [ ] and {{ }}", path, hint)


def read_metric(value: Any, task: str, path: SuitePath, found: Findings) -> Metric | None:
    """One metric; None, with the problem noted, if there is no such metric."""
    if isinstance(value, Metric):
        if task and value.task != task:
            found.add(f"'{value.text}' is a metric of task '{value.task}', not of '{task}'", path)
        return value
    try:
        if isinstance(value, str):
            call = parse_call(value)
            for parameter, given in call.parameters.items():
                if isinstance(given, Call):
                    found.add(f"{call.name}: {parameter}={given} is not available yet; give a number", path)
                    return None
            return _known(task, call.name, dict(call.parameters))
        if isinstance(value, Mapping):
            return _from_mapping(value, task, path, found)
        found.add(f"a metric is a text such as precision(threshold=0.3), not {shown(value)}", path)
    except TextError as error:
        found.add(str(error), path, error.hint)
    except registry.UnknownMetricError as error:
        found.add(str(error), path, error.hint)
    except ParameterError as error:
        found.add(str(error), path)
    return None


def _from_mapping(value: Mapping[str, Any], task: str, path: SuitePath, found: Findings) -> Metric | None:
    custom = [key for key in _CUSTOM if key in value]
    if custom:
        found.add(f"custom metrics ({custom[0]}:) are not available yet", path)
    elif len(value) != 1:
        hint = "write {recall_at_precision: {precision: 0.9}} or recall_at_precision(precision=0.9)"
        found.add("a metric as a mapping has one key, its name", path, hint)
    else:
        ((name, parameters),) = value.items()
        if parameters is not None and not isinstance(parameters, Mapping):
            found.add(f"the parameters of '{name}' must be a mapping, not {shown(parameters)}", (*path, name))
            return None
        return _known(task, str(name), dict(parameters or {}))
    return None


def _known(task: str, name: str, parameters: dict[str, Any]) -> Metric | None:
    """A metric; where the task itself is wrong, the name is looked up in all tasks."""
    if task:
        return registry.create(task, name, parameters)
    for known in registry.tasks():
        try:
            registry.find(known, name)
        except registry.UnknownMetricError:
            continue
        return registry.create(known, name, parameters)
    names = [name for known in registry.tasks() for name in registry.names(known)]
    msg = f"unknown metric '{name}'"
    raise registry.UnknownMetricError(msg, did_you_mean(name, names))
