"""Finding a metric by task and name, and making it from text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, get_args

from plmetrics.catalogue.index import MODULES
from plmetrics.catalogue.metric import Direction, Metric
from plmetrics.catalogue.needs import Family, Reads
from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.parameters import parameters as parameters_of
from plmetrics.core.errors import EnvironmentFault, Problem
from plmetrics.core.text import HintError

ENTRY_POINTS = "plmetrics.metrics"
"""The group of entry points by which a package announces metric classes, or modules that register some."""

DIRECTIONS = get_args(Direction)
_FACTS = ("name", "task", "family", "range", "direction")
_PACKAGE = "plmetrics.catalogue"
_HOMES = {
    (task, name): f"{_PACKAGE}.{module}"
    for module, tasks_of in MODULES.items()
    for task, names_of in tasks_of.items()
    for name in names_of.split()
}
"""By task and name of a metric of ours, or its alias or preset, the module that defines it."""
_metrics: dict[tuple[str, str], type[Metric]] = {}
_aliases: dict[tuple[str, str], str] = {}
_DEFAULTS = {
    "binary": "prevalence roc_auc average_precision ks accuracy precision recall f1 mcc",
    "multiclass": "accuracy balanced_accuracy precision recall f1 mcc roc_auc",
    "multilabel": "subset_accuracy hamming_loss precision recall f1 jaccard roc_auc",
    "quantile": "wis crps mae mean_error crossing_rate",
    "ranking": "ndcg map mrr r_precision",
    "regression": "mae rmse mean_error r2",
    "uplift": "ate qini auuc",
    "experiment": "mean",
}


class UnknownMetricError(HintError):
    """Error of a name without a metric of the task."""


def register(metric: type[Metric]) -> type[Metric]:
    """Class decorator: make a metric known under its task, name and aliases. A name can be taken once.

    Raises:
        ValueError: the name or an alias is taken, or the class does not say what it must.
    """
    check(metric)
    for name in (metric.name, *metric.aliases, *metric.presets):
        home = _HOMES.get((metric.task, name), metric.__module__)
        if (metric.task, name) in {**_metrics, **_aliases} or home != metric.__module__:
            msg = f"the name {name!r} is taken for task {metric.task!r}"
            raise ValueError(msg)
    _metrics[metric.task, metric.name] = metric
    for alias in (*metric.aliases, *metric.presets):
        _aliases[metric.task, alias] = metric.name
    return metric


def register_for(tasks: Iterable[str], metric: type[Metric], **facts: Any) -> None:
    """Register a metric class for each of several tasks, with further class facts."""
    for task in tasks:
        attributes = {
            "task": task,
            "__doc__": metric.__doc__,
            "__module__": metric.__module__,
            "__reduce__": _pickle_content,
        }
        register(type(metric.__name__, (metric,), attributes | facts))


def _pickle_content(metric: Metric) -> tuple[Any, ...]:
    """Content for pickle: the classes of several tasks share one name in their module."""
    return _blank, (metric.task, metric.name), metric.__getstate__()


def _blank(task: str, name: str) -> Metric:
    return object.__new__(find(task, name))


def check(metric: type[Metric]) -> None:
    """Check that a metric class states the required facts.

    Raises:
        ValueError: a fact is missing, or its family, direction or what it reads is none.
    """
    missing = [fact for fact in _FACTS if not hasattr(metric, fact)]
    if missing:
        msg = f"the metric class {metric.__name__} does not say its {', '.join(missing)}"
        raise ValueError(msg)
    for fact, allowed in (
        ("family", get_args(Family)),
        ("direction", DIRECTIONS),
        ("reads", get_args(Reads)),
    ):
        value = getattr(metric, fact)
        if not isinstance(value, property) and value not in allowed:
            msg = f"{fact} of the metric class {metric.__name__} must be one of {', '.join(allowed)}"
            raise ValueError(msg)


def tasks() -> tuple[str, ...]:
    """Tasks with metrics."""
    _load_entry_points()
    return tuple(
        dict.fromkeys([*(task for task, _ in _HOMES), *(metric.task for metric in _metrics.values())])
    )


def has_metrics(task: object) -> bool:
    """Whether a task has metrics: those of other packages are loaded only where we have none."""
    return any(task == other_task for other_task, _ in _HOMES) or task in tasks()


def names(task: str) -> tuple[str, ...]:
    """Names of a task's metrics, without aliases."""
    return tuple(metric.name for metric in classes(task))


def reserved_names(task: str) -> tuple[str, ...]:
    """Names of a task's metrics, and their aliases and presets."""
    _load_entry_points()
    task_names = (name for other_task, name in (*_HOMES, *_metrics, *_aliases) if other_task == task)
    return tuple(dict.fromkeys(task_names))


def classes(task: str | None = None) -> tuple[type[Metric], ...]:
    """The registered metric classes, of one task or of all: ours in catalogue order, then the users'."""
    _load_entry_points()
    for module in MODULES:
        import_module(f"{_PACKAGE}.{module}")
    places = {f"{_PACKAGE}.{module}": place for place, module in enumerate(MODULES)}
    metrics = [metric for metric in _metrics.values() if task in (None, metric.task)]
    return tuple(sorted(metrics, key=lambda metric: places.get(metric.__module__, len(places))))


def find(task: str, name: str) -> type[Metric]:
    """The class of a metric.

    Raises:
        UnknownMetricError: with the nearest name, or the tasks that do have it.
    """
    if (task, name) in _HOMES:
        import_module(_HOMES[task, name])
    else:
        _load_entry_points()
    metric = _metrics.get((task, _aliases.get((task, name), name)))
    if metric is not None:
        return metric
    from plmetrics.catalogue.synonyms import table

    msg = f"unknown metric '{name}' for task '{task}'"
    raise UnknownMetricError(msg, table.hint(task, name, {other: reserved_names(other) for other in tasks()}))


def meaning(task: str, name: str) -> tuple[str, dict[str, Any]]:
    """Our name for a name, with parameters: itself, or the equivalent of another library's.

    >>> meaning("ranking", "ndcg_cut_10"), meaning("binary", "recall")
    (('ndcg', {'k': 10}), ('recall', {}))

    Raises:
        UnknownMetricError: as `find`.
    """
    if (task, name) not in _HOMES and name not in reserved_names(task):
        from plmetrics.catalogue.synonyms.table import equivalent

        call = equivalent(task, name, reserved_names(task))
        if call is not None:
            return call.name, dict(call.parameters)
    find(task, name)
    return name, {}


def create(
    task: str, name: str, parameters: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> Metric:
    """Metric with its parameters checked; `defaults` are values of those it has but nobody gave.

    Raises:
        UnknownMetricError: no such name.
        ParameterError: a parameter is unknown, missing or outside its domain.
    """
    own_name, implied = meaning(task, name)
    metric = find(task, own_name)
    if own_name != name:
        from plmetrics.catalogue.synonyms.table import native_parameters

        parameters = {**implied, **native_parameters(parameters, parameters_of(metric))}
    parameters = _with_preset(metric, own_name, parameters)
    fields = parameters_of(metric)
    parameters = {key: value for key, value in (defaults or {}).items() if key in fields} | dict(parameters)
    for key_given in parameters:
        if key_given not in fields:
            from plmetrics.catalogue.synonyms.table import parameter_hint

            hint = parameter_hint(metric.name, parameters, key_given, fields, reserved_names(task))
            msg = f"{metric.name}: unknown parameter '{key_given}' ({hint})"
            raise ParameterError(msg, key_given)
    for key, field in fields.items():
        if field.default is dataclasses.MISSING and key not in parameters:
            msg = f"{metric.name}: parameter '{key}' is missing ({field.metadata['doc']})"
            raise ParameterError(msg)
    return metric(**{fields[key].name: value for key, value in parameters.items()})


def _with_preset(metric: type[Metric], name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with the presets of a metric's name."""
    preset = metric.presets.get(name, {})
    for key, value in preset.items():
        if parameters.get(key, value) != value:
            words = f"{metric.name} with {key}={value}"
            msg = f"{name}: stands for {words}; leave {key} out, or write {metric.name}"
            raise ParameterError(msg)
    return {**parameters, **preset}


def default_metrics(task: str, defaults: Mapping[str, Any] | None = None) -> tuple[Metric, ...]:
    """Metrics of a suite without any; empty for a task without metrics. `defaults` are as in `create`.

    None of them needs scores between 0 and 1: a table of margins or ranks must not fail over a metric nobody
    chose.

    >>> [metric.text for metric in default_metrics("regression")]
    ['mae', 'rmse', 'mean_error', 'r2']
    """
    return tuple(create(task, name, {}, defaults) for name in _DEFAULTS.get(task, "").split())


@cache
def _load_entry_points() -> None:
    """Import the metrics of other packages' entry points."""
    for entry in entry_points(group=ENTRY_POINTS):
        package = entry.dist.name if entry.dist is not None else entry.value
        try:
            loaded = entry.load()
            if isinstance(loaded, type) and issubclass(loaded, Metric) and loaded not in _metrics.values():
                register(loaded)
        except Exception as error:
            msg = (
                f"the metrics of package '{package}' ({entry.name} = {entry.value}) cannot be loaded: {error}"
            )
            raise EnvironmentFault(Problem(msg, hint="repair, upgrade or uninstall the package")) from error
