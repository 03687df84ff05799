"""Section `calibrate` of a suite, the built-in baseline, and the names of the models added by both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from plmetrics.core.names import SuitePath
from plmetrics.suite.problems import Findings, absent, check_predicate, message_text
from plmetrics.suite.sections.basics import BASELINE, BY_FOLD, Calibrate, ModelColumns

_METHODS = {
    "binary": ("platt", "isotonic", "temperature", "beta"),
    "multiclass": ("temperature", "vector", "dirichlet", "isotonic"),
}
"""The calibrators of each task."""

_FORM = "write calibrate: {method: platt, fit_on: \"split = 'valid'\"}"


def read_calibrations(value: Any, findings: Findings) -> tuple[Calibrate, ...]:
    """The calibrators of a suite: one mapping, or a list of them."""
    out: list[Calibrate] = []
    for path, calibration in findings.models(Calibrate, value, "calibrate", _FORM):
        if calibration.fit_on != BY_FOLD:
            check_predicate(calibration.fit_on, (*path, "fit_on"), findings)
        out.append(calibration)
    return tuple(out)


def read_baseline(value: Any, findings: Findings) -> bool:
    """Whether the built-in baseline is asked for."""
    if value is None or isinstance(value, bool):
        return bool(value)
    hint = f"compare: {{baseline: {value}}} compares with a model" if isinstance(value, str) else None
    findings.add(f"baseline must be true or false, not {message_text(value)}", ("baseline",), hint)
    return False


def added_names(raw: Mapping[str, Any], models: Sequence[str]) -> tuple[str, ...]:
    """Models mentioned in plain values beside those in `models`."""
    specs = raw.get("calibrate")
    names: list[str] = []
    for spec in [specs] if isinstance(specs, Mapping) else specs if isinstance(specs, (list, tuple)) else []:
        if isinstance(spec, Mapping):
            calibrated = spec.get("models") or models
            several = calibrated if isinstance(calibrated, (list, tuple)) else [calibrated]
            names += [f"{name}_{spec.get('method')}" for name in several]
    return (*names, BASELINE) if raw.get("baseline") is True else tuple(names)


def check_additions(fields: Mapping[str, Any], add: Callable[..., None]) -> None:
    """Note inconsistencies of added models."""
    models: Mapping[str, ModelColumns] = fields.get("models") or {}
    calibrations: Sequence[Calibrate] = fields.get("calibrate") or ()
    origins = dict.fromkeys(models, "in models")
    if fields.get("baseline"):
        if BASELINE in origins:
            add(
                "baseline: true adds a model 'baseline', and there is one in models",
                ("baseline",),
                "rename it",
            )
        origins[BASELINE] = "the built-in baseline"
    for index, spec in enumerate(calibrations):
        path: SuitePath = ("calibrate", index) if len(calibrations) > 1 else ("calibrate",)
        for message, step, hint in _problems(spec, models, fields):
            add(message, (*path, *step), hint)
        for source in spec.sources(models):
            name = spec.model_name(source)
            if name in origins:
                msg = f"the calibrated model would be named '{name}', and that is {origins[name]} already"
                add(msg, path, "rename that one, or leave one of them out")
            origins[name] = "another calibrator's"
    calibrated = {name for spec in calibrations for name in spec.sources(models)}
    for name, model in models.items():
        if model.margin is not None and name not in calibrated:
            hint = "calibrate it: calibrate: {method: platt, fit_on: ...}, or write score for what is no probability"
            add(f"model '{name}' gives margins, and nothing makes scores of them", ("models", name), hint)


def _problems(
    spec: Calibrate, models: Mapping[str, ModelColumns], fields: Mapping[str, Any]
) -> Iterator[tuple[str, SuitePath, str | None]]:
    task, columns = fields["task"], fields.get("columns")
    if task and task not in _METHODS:
        yield f"calibrate belongs to task 'binary' or 'multiclass', not to '{task}'", (), None
        return
    if task and spec.method not in _METHODS[task]:
        methods = ", ".join(_METHODS[task])
        yield f"method '{spec.method}' is none of task '{task}'", ("method",), f"known: {methods}"
    if spec.fit_on == BY_FOLD and columns is not None and columns.fold is None:
        yield "fit_on: fold needs columns.fold", ("fit_on",), "name its column: columns: {fold: ...}"
    if spec.smoothing and spec.method != "platt":
        yield f"smoothing belongs to method 'platt', not to '{spec.method}'", ("smoothing",), None
    for name in spec.models or ():
        if models and name not in models:
            yield absent(name, "models", ("models",), models)
        elif models and not any((models[name].score, models[name].margin, models[name].proba)):
            yield f"model '{name}' chooses classes: only scores can be calibrated", ("models",), None
    for name in spec.sources(models) if spec.method == "beta" else ():
        if name in models and models[name].margin is not None:
            message = f"beta calibrates probabilities, and model '{name}' gives margins"
            yield message, ("method",), "use platt, temperature or isotonic"
    if models and not spec.sources(models):
        yield "no model gives scores that could be calibrated", (), "write models: {name: {score: column}}"
