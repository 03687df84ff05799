"""Metrics of a suite: texts and mappings as metric objects, and their slice sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plmetrics.catalogue import registry
from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.catalogue.metric import Metric, composition
from plmetrics.catalogue.parameters import ParameterError, ThresholdRule, parameters, unnamed_parameter
from plmetrics.catalogue.thresholds import read_rule
from plmetrics.core.names import SuitePath, did_you_mean, nearest
from plmetrics.core.text import Call, HintError, TextError, at_ranks, join_torn, parse_call, refuse_nameless
from plmetrics.suite.problems import Findings, check_predicate, message_text
from plmetrics.suite.sections.custom_metrics import DEFINITION_KEYS, CustomMetrics, kind_of
from plmetrics.suite.sections.section import is_name_list
from plmetrics.suite.tasks import CLASS_TASKS

METRIC_DEFAULTS = {"undefined": ("multiclass", "multilabel"), "ties": ("ranking",)}
"""Parameters that a suite may set for all its metrics, with the tasks whose metrics have them."""
_VALUES = {"undefined": ("exclude", "zero"), "ties": ("average", "worst", "document")}

_FORMS = {"metric": ("metric", "slices", "select_on"), "name": DEFINITION_KEYS}
"""The keys of entries that are told by one of them."""


@dataclass(slots=True)
class Metrics:
    """Metrics of a suite, each once; `slices` are the sets of those with a restriction.

    `metrics` is None where one of them is wrong.
    """

    metrics: tuple[Metric, ...] | None
    slices: dict[str, tuple[str, ...]] = field(default_factory=dict)


class MetricReader:
    """Reads the metrics of one suite: its own definitions are known by name."""

    def __init__(self, task: str, findings: Findings, defaults: Mapping[str, Any] | None = None) -> None:
        self.task = task
        self._findings = findings
        self._defaults = {key: value for key, value in (defaults or {}).items() if value in _VALUES[key]}
        self._definitions = CustomMetrics(task, findings, self.read)
        self._of_texts: dict[str, Metric] = {}

    def read_list(self, value: Any, *, parts: Sequence[tuple[str, ...]] = ()) -> Metrics:
        """The metrics asked for; the task's default list for None. None, if one of them is wrong.

        `parts` are those of each model's prediction: defaults that a model cannot have are left out.
        """
        if value is None:
            chosen = registry.default_metrics(self.task, self._defaults) if self.task else ()
            fit = [metric for metric in chosen if not any(metric.lacks(part) for part in parts)]
            return Metrics(tuple(fit) or None)
        if isinstance(value, (str, Metric)):
            value = [value]
        if not isinstance(value, (list, tuple)) or not value:
            msg = f"metrics must be a list with at least one metric, not {message_text(value)}"
            self._findings.add(msg, ("metrics",), "write metrics: [accuracy, {f_beta: {beta: 2}}]")
            return Metrics(None)
        self._definitions.gather(value)
        before = len(self._findings.problems)
        out: dict[str, Metric] = {}
        slices: dict[str, list[tuple[str, ...] | None]] = {}
        for index, entry in self._whole(value):
            path: SuitePath = ("metrics", index)
            metric = self._entry(entry, path)
            if metric is not None:
                out.setdefault(metric.text, metric)
                slices.setdefault(metric.text, []).append(self._slices(entry, path))
        sound = len(self._findings.problems) == before
        return Metrics(tuple(out.values()) if sound else None, _restrictions(out, slices))

    def _whole(self, value: Any) -> Any:
        """Entries with their numbers, without those split by YAML: these are noted to lack quotes."""
        index = 0
        while index < len(value):
            torn = join_torn(value[index:]) if isinstance(value[index], str) else None
            if torn is None:
                yield from ((index, entry) for entry in _split_ranks(value[index]))
                index += 1
            else:
                say_torn(torn[0], ("metrics", index), self._findings)
                index += torn[1]

    def _entry(self, entry: Any, path: SuitePath) -> Metric | None:
        if kind_of(entry) is not None:
            return self._definitions.of(entry)
        if not isinstance(entry, Mapping):
            return self.read(entry, path)
        definition = {key: item for key, item in entry.items() if key not in {"slices", "select_on"}}
        metric = self.read(definition["metric"] if set(definition) == {"metric"} else definition, path)
        if metric is None or "select_on" not in entry:
            return metric
        return self._with_selection(metric, entry["select_on"], (*path, "select_on"))

    def _slices(self, entry: Any, path: SuitePath) -> tuple[str, ...] | None:
        """The slice sets of an entry, None for all."""
        value = entry.get("slices", "all") if isinstance(entry, Mapping) else "all"
        names = [value] if isinstance(value, str) else value
        if not is_name_list(names):
            msg = f"slices must be a slice set or a list of them, not {message_text(value)}"
            self._findings.add(msg, (*path, "slices"))
            return None
        return None if "all" in names else tuple(name for name in names if name != "overall")

    def _with_selection(self, metric: Metric, condition: Any, path: SuitePath) -> Metric | None:
        """The metric with its threshold chosen on other rows."""
        rule = metric.chosen_threshold
        if rule is None or rule.constant is not None:
            hint = "such as max(f1), min(expected_cost(cost_fp=1, cost_fn=5)) or at(recall=0.9)"
            self._findings.add("select_on needs a threshold that is chosen from rows", path, hint)
            return None
        if not self._is_selection(condition, path):
            return None
        return dataclasses.replace(metric, threshold=dataclasses.replace(rule, select_on=condition))  # type: ignore[call-arg]

    def _is_selection(self, condition: Any, path: SuitePath) -> bool:
        """Whether rows can be selected by a condition; its problems are noted."""
        if isinstance(condition, str) and condition:
            check_predicate(condition, path, self._findings)
            return True
        self._findings.add(f"select_on must be an SQL condition, not {message_text(condition)}", path)
        return False

    def read(self, value: Any, path: SuitePath) -> Metric | None:
        """One metric; None, with the problem noted, if there is no such metric."""
        if isinstance(value, Metric):
            task = self.task or value.task
            stranger = next((part for part in composition(value) if part.task != task), None)
            if stranger is not None:
                msg = f"'{stranger.text}' is a metric of task '{stranger.task}', not of '{task}'"
                self._findings.add(msg, path)
            elif (words := self._conflict_with_suite(value)) is not None:
                self._findings.add(words, path, "hand over its text, which says what it leaves to the suite")
            elif type(value) not in registry.classes(value.task):
                _check_class(value, path, self._findings)
            return value
        try:
            if isinstance(value, str):
                if value.strip() in self._definitions:
                    return self._definitions.get(value.strip())
                return self._of_text(value, path)
            if isinstance(value, Mapping):
                return self._from_mapping(value, path)
            self._say_no_metric(value, path)
        except HintError as error:
            self._findings.add(str(error), path, error.hint)
        except ParameterError as error:
            self._findings.add(str(error), (*path, *_parameter_place(value, error.parameter)))
        return None

    def _conflict_with_suite(self, metric: Metric) -> str | None:
        """Default of the suite that a metric object may have left open or not: it has all its parameters."""
        for part in composition(metric):
            for key, parameter in parameters(part).items():
                value = self._defaults.get(key)
                if value is not None and value != parameter.default == getattr(part, parameter.name):
                    return f"'{part.text}' is an object: its {key} may be meant or not, and the suite's is {value}"
        return None

    def result_text(self, text: str) -> str:
        """Text of a metric as results have it; of what is none the text itself."""
        if text in self._definitions:
            return text
        try:
            metric = self._of_text(text, ())
        except (HintError, ParameterError):
            return text
        return text if metric is None else metric.text

    def _of_text(self, text: str, path: SuitePath) -> Metric | None:
        """The metric of a text: of thousands of gates most name the same."""
        if text not in self._of_texts:
            call = parse_call(_single(text), unnamed=True)
            metric = self._metric_of(call.name, self._parameters_of(call, text), path)
            if metric is None:
                return None
            self._of_texts[text] = metric
        return self._of_texts[text]

    def _from_mapping(self, value: Mapping[str, Any], path: SuitePath) -> Metric | None:
        if len(value) != 1 or "name" in value:
            self._say_unreadable(value, path)
            return None
        ((name, parameters),) = value.items()
        if parameters is not None and not isinstance(parameters, Mapping):
            msg = f"the parameters of '{name}' must be a mapping, not {message_text(parameters)}"
            self._findings.add(msg, (*path, name), self._text_hint(name, [parameters]))
            return None
        remaining = dict(parameters or {})
        condition = remaining.pop("select_on", None)
        threshold = remaining.get("threshold")
        if isinstance(threshold, str):
            remaining["threshold"] = parse_call(f"{name}(threshold={threshold})").parameters["threshold"]
        metric = self._metric_of(str(name), remaining, path)
        if metric is None or condition is None:
            return metric
        return self._with_selection(metric, condition, (*path, name, "select_on"))

    def _say_unreadable(self, value: Mapping[str, Any], path: SuitePath) -> None:
        """Note a mapping of several keys: a definition or a `metric` with an unknown one, or several metrics."""
        known = next((keys for key, keys in _FORMS.items() if key in value), None)
        if known is None:
            hint = "write {recall_at_precision: {precision: 0.9}} or recall_at_precision(precision=0.9)"
            self._findings.add("a metric as a mapping has one key, its name", path, hint)
            return
        if not self._findings.unknown_keys(value, known, path):
            name = message_text(value.get("name", value.get("metric")))
            hint = f"define it under metrics, and write {name} here"
            if path[:1] == ("metrics",):
                hint = f'write what it is: {{name: {value.get("name")}, mean: "score < 0.2"}}'
            self._findings.add("a metric is named here, and not defined", path, hint)

    def _say_no_metric(self, value: Any, path: SuitePath) -> None:
        """Note an entry other than a metric; a name with parameters behind it is written as a text."""
        listed = isinstance(value, (list, tuple)) and len(value) > 0
        hint = self._text_hint(value[0], value[1:]) if listed else None
        msg = f"a metric is a text such as precision(threshold=0.3), not {message_text(value)}"
        self._findings.add(msg, path, hint)

    def _text_hint(self, name: Any, values: Sequence[Any]) -> str | None:
        from plmetrics.suite.sections.metric_hints import parts_hint

        return parts_hint(self.task, name, values)

    def _metric_of(self, name: str, parameters: dict[str, Any], path: SuitePath) -> Metric | None:
        """A metric; where the task itself is wrong, the name is looked up in all tasks."""
        inner = self._inner_parameter(name)
        if inner is not None and inner in parameters:
            metric = self.read(parameters[inner], path)
            if metric is None:
                return None
            parameters[inner] = metric
        for key, value in parameters.items():
            if isinstance(value, Call):
                if key != "threshold":
                    self._findings.add(f"{name}: {key} cannot be {value}", path, "give a number or a word")
                    return None
                parameters[key] = self._rule(value, path)
        return _create(self.task, name, parameters, tuple(self._definitions), self._defaults)

    def _inner_parameter(self, name: str) -> str | None:
        """Parameter of a metric for another metric, without a name in texts."""
        try:
            return unnamed_parameter(registry.find(self.task, name))
        except registry.UnknownMetricError:
            return None

    def _parameters_of(self, call: Call, text: str) -> dict[str, Any]:
        """Parameters of a text, an unnamed one under its own name; a nested metric as text."""
        parameters: dict[str, Any] = dict(call.parameters)
        inner = self._inner_parameter(call.name)
        if call.arguments and (inner is None or inner in parameters or len(call.arguments) > 1):
            from plmetrics.suite.sections.metric_hints import unnamed_hint

            refuse_nameless(call.name, call.arguments[-1], text, unnamed_hint(self.task, text))
        if inner is not None and call.arguments:
            parameters[inner] = call.arguments[0]
        if inner is not None and isinstance(parameters.get(inner), Call):
            parameters[inner] = str(parameters[inner])
        return parameters

    def _rule(self, call: Call, path: SuitePath) -> ThresholdRule:
        def metric_of(named: Call) -> Metric:
            if self.task in CLASS_TASKS:  # of each class by itself
                return _create("binary", named.name, dict(named.parameters), (), {})
            return _create(self.task, named.name, dict(named.parameters), (), self._defaults)

        rule = read_rule(call, metric_of)
        if rule.select_on is not None:
            self._is_selection(rule.select_on, path)
        return rule


def _check_class(metric: Metric, path: SuitePath, findings: Findings) -> None:
    if metric.path is not None:
        return
    try:
        registry.check(type(metric))
    except ValueError as error:
        findings.add(str(error), path)


def _parameter_place(value: Any, parameter: str | None) -> SuitePath:
    if not isinstance(value, Mapping) or len(value) != 1:
        return ()
    ((name, parameters),) = value.items()
    within = isinstance(parameters, Mapping) and parameter in parameters
    return (str(name), parameter) if within and parameter is not None else (str(name),)


def _restrictions(
    metrics: Mapping[str, Metric], slices: Mapping[str, list[tuple[str, ...] | None]]
) -> dict[str, tuple[str, ...]]:
    """Slice sets of each restricted metric; those of a metric named twice add up.

    An entry without any asks for all sets, but of a metric over slices for none: there they are levels.
    """
    out: dict[str, tuple[str, ...]] = {}
    for text, parts in slices.items():
        named = [part for part in parts if part is not None]
        if len(named) == len(parts) or (named and is_across_slices(metrics[text])):
            out[text] = tuple(dict.fromkeys(name for part in named for name in part))
    return out


def _split_ranks(entry: Any) -> list[Any]:
    """Entries of one with several ranks: of `ndcg@[5, 10]`, two."""
    if isinstance(entry, str):
        return list(at_ranks(entry))
    if isinstance(entry, Mapping) and isinstance(entry.get("metric"), str):
        return [{**entry, "metric": text} for text in at_ranks(entry["metric"])]
    return [entry]


def _single(text: str) -> str:
    """A text of one metric without its @.

    Raises:
        TextError: it names several.
    """
    texts = at_ranks(text)
    if len(texts) > 1:
        msg = f"{text!r} stands for {len(texts)} metrics, and one is needed"
        raise TextError(msg, f"write {texts[0]}")
    return texts[0]


def is_torn(value: Any) -> bool:
    """Whether a text is the first piece of a metric split by YAML at a comma."""
    return isinstance(value, str) and value.count("(") > value.count(")")


def say_torn(text: str, path: SuitePath, findings: Findings) -> None:
    """Note a metric's text without quotes."""
    from plmetrics.suite.sections.metric_hints import decimal_text

    decimal = decimal_text(text.replace(", ", ","))
    if decimal is not None:
        findings.add(f"YAML splits {text} at its comma", path, f"write {decimal}, with a decimal point")
        return
    hint = f'write "{text}", with the quotes'
    findings.add(f"YAML splits {text} at its comma: it needs quotes inside [ ] and {{ }}", path, hint)


def _create(
    task: str, name: str, parameters: dict[str, Any], customs: tuple[str, ...], defaults: Mapping[str, Any]
) -> Metric:
    if task:
        try:
            return registry.create(task, name, parameters, defaults)
        except registry.UnknownMetricError as error:
            if error.hint is None:
                close = nearest(name, customs)
                hint = (
                    f"did you mean '{close}'?"
                    if close
                    else f"plmetrics metrics --task {task} lists those there are"
                )
                raise registry.UnknownMetricError(str(error), hint) from None
            raise
    for other_task in registry.tasks():
        try:
            registry.meaning(other_task, name)
        except registry.UnknownMetricError:
            continue
        return registry.create(other_task, name, parameters)
    names = [name for other_task in registry.tasks() for name in registry.names(other_task)]
    msg = f"unknown metric '{name}'"
    raise registry.UnknownMetricError(msg, did_you_mean(name, names))
