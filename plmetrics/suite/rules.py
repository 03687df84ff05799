"""Gates and curves of a suite: each refers to models, slice sets and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from plmetrics.core.names import did_you_mean, number_text
from plmetrics.suite.findings import described
from plmetrics.suite.model import Curve, CurveName, Gate, GateRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.entries import MetricReader, NamedMetrics
    from plmetrics.suite.findings import Findings
    from plmetrics.suite.model import SliceSet

_LATER = ("between", "ratio_at_least", "consecutive", "min_n")


@dataclass(frozen=True, slots=True)
class Context:
    """What a gate may refer to. `models` is None where the section could not be read."""

    findings: Findings
    reader: MetricReader
    metrics: NamedMetrics
    models: Mapping[str, Any] | None
    slices: Mapping[str, SliceSet]
    resampled: bool


def read_gates(raw: Any, context: Context) -> tuple[Gate, ...]:
    """The gates that are right; what is wrong with the others is noted."""
    if raw is None:
        return ()
    if not isinstance(raw, (list, tuple)):
        hint = "write gates: [{metric: roc_auc, at_least: 0.75}]"
        context.findings.add(f"gates must be a list, not {described(raw)}", "gates", hint=hint)
        return ()
    gates = [_gate(entry, context, "gates", index) for index, entry in enumerate(raw)]
    return tuple(gate for gate in gates if gate is not None)


def _gate(raw: Any, context: Context, *path: str | int) -> Gate | None:
    findings = context.findings
    if not isinstance(raw, dict):
        hint = "write {metric: roc_auc, at_least: 0.75}"
        findings.add(f"a gate must be a mapping, not {described(raw)}", *path, hint=hint)
        return None
    given = {key: value for key, value in raw.items() if value is not None}
    later = [key for key in _LATER if key in given]
    for key in later:
        findings.add(f"'{key}' is not available yet", *path, key, at_key=True)
        del given[key]
    metric = _gate_metric(given.pop("metric", None), context, *path)
    if "slices" in given:
        given["slices"] = _set_names(given["slices"], context, *path, "slices")
    rule = findings.validated(GateRule, given, *path)
    _check_models(given, context, *path)
    if not later:
        _check_rule(given, findings, *path)
    if rule is None:
        return None
    if rule.using == "interval" and not context.resampled:
        hint = "add uncertainty: {replicates: 1000}"
        findings.add(
            "using: interval needs intervals, and the suite asks for none", *path, "using", hint=hint
        )
    if metric is None:
        return None
    _check_limits(rule, metric, findings, *path)
    return Gate(**rule.model_dump(), metric=metric)


def _gate_metric(raw: Any, context: Context, *path: str | int) -> Metric | None:
    if raw is None:
        context.findings.add("'metric' is missing", *path)
        return None
    meant = set(context.metrics.meant)
    metric = context.reader.read(raw, *path, "metric")
    if metric is None or metric.text in context.metrics.metrics or metric.name in meant - _names(context):
        return metric
    hint = did_you_mean(metric.text, context.metrics.metrics)
    context.findings.add(f"'{metric}' is not one of the suite's metrics", *path, "metric", hint=hint)
    return metric


def _names(context: Context) -> set[str]:
    return {metric.name for metric in context.metrics.metrics.values()}


def _set_names(raw: Any, context: Context, *path: str | int) -> Any:
    """One name or several, each of which must be a slice set's, `overall`, or `all` alone."""
    if isinstance(raw, str):
        _check_set(raw, context, *path, also=("overall", "all"))
        return raw
    if not isinstance(raw, (list, tuple)):
        context.findings.add(f"slices must be a slice set or a list of them, not {described(raw)}", *path)
        return "overall"
    for index, name in enumerate(raw):
        _check_set(name, context, *path, index, also=("overall",))
    if not raw:
        context.findings.add("the list of slice sets is empty", *path)
    return tuple(dict.fromkeys(str(name) for name in raw))


def _check_set(name: Any, context: Context, *path: str | int, also: tuple[str, ...]) -> None:
    if name not in also and name not in context.slices:
        hint = did_you_mean(str(name), [*context.slices, *also])
        context.findings.add(f"there is no slice set {described(name)}", *path, hint=hint)


def _check_models(given: Mapping[str, Any], context: Context, *path: str | int) -> None:
    if context.models is None:
        return
    for key in ("model", "against"):
        name = given.get(key)
        if isinstance(name, str) and name not in context.models:
            hint = did_you_mean(name, context.models)
            context.findings.add(f"there is no model '{name}'", *path, key, hint=hint)
    against = given.get("against")
    if against is not None and against == given.get("model"):
        context.findings.add(f"'{against}' cannot be judged against itself", *path, "against")
    elif against in context.models and given.get("model") is None and len(context.models) == 1:
        context.findings.add("there is no other model to judge", *path, "against")


def _check_rule(given: Mapping[str, Any], findings: Findings, *path: str | int) -> None:
    """Exactly one limit, and `no_worse_than` only on a difference."""
    limits = [key for key in ("at_least", "at_most", "no_worse_than") if key in given]
    if not limits:
        hint = "add at_least or at_most, or against with no_worse_than"
        findings.add("the gate has no limit", *path, hint=hint)
    elif len(limits) > 1:
        hint = "write a gate for each"
        findings.add("the gate has more than one limit: " + ", ".join(limits), *path, hint=hint)
    if "no_worse_than" in limits and "against" not in given:
        findings.add("no_worse_than needs 'against', a model to compare with", *path, "no_worse_than")


def _check_limits(rule: GateRule, metric: Metric, findings: Findings, *path: str | int) -> None:
    """Refuse limits that no value of the metric can meet."""
    if rule.no_worse_than is not None and metric.direction not in {"higher", "lower"}:
        hint = "limit the difference with at_least or at_most"
        message = f"no_worse_than needs a metric of which more or less is better, and '{metric}' is none"
        findings.add(message, *path, "no_worse_than", hint=hint)
    low, high = metric.range
    if rule.against is not None:
        low, high = low - high, high - low
    beyond = {
        "at_least": rule.at_least is not None and rule.at_least > high,
        "at_most": rule.at_most is not None and rule.at_most < low,
    }
    for key, impossible in beyond.items():
        if impossible:
            what = f"the difference of '{metric}' lies" if rule.against is not None else f"'{metric}' lies"
            message = f"the gate can never pass: {what} between {number_text(low)} and {number_text(high)}"
            findings.add(message, *path, key)


def read_curves(raw: Any, context: Context, task: str | None) -> tuple[Curve, ...]:
    """The curves, each once."""
    if raw is None:
        return ()
    if not isinstance(raw, (list, tuple)):
        context.findings.add(
            f"curves must be a list, not {described(raw)}", "curves", hint="write curves: [roc]"
        )
        return ()
    curves = [_curve(entry, context, task, "curves", index) for index, entry in enumerate(raw)]
    return tuple(dict.fromkeys(curve for curve in curves if curve is not None))


def _curve(raw: Any, context: Context, task: str | None, *path: str | int) -> Curve | None:
    findings = context.findings
    named = {"curve": raw} if isinstance(raw, str) else raw
    if not isinstance(named, dict):
        hint = "write roc, or {curve: pr, slices: [region]}"
        findings.add(f"a curve cannot be {described(raw)}", *path, hint=hint)
        return None
    given = {key: value for key, value in named.items() if value is not None}
    known = get_args(CurveName)
    name = given.get("curve")
    if name is not None and name not in known:
        hint = did_you_mean(str(name), known)
        place = path if isinstance(raw, str) else (*path, "curve")
        findings.add(f"unknown curve {described(name)}", *place, hint=hint)
        given["curve"] = known[0]
    elif task not in {None, "binary"}:
        findings.add(f"the curve '{name}' belongs to task 'binary', not to '{task}'", *path)
    if "slices" in given:
        names = _set_names(given["slices"], context, *path, "slices")
        every = tuple(context.slices) if names == "all" else names
        named_sets = (every,) if isinstance(every, str) else every
        given["slices"] = tuple(name for name in named_sets if name != "overall")
    return findings.validated(Curve, given, *path)
