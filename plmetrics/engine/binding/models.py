"""Columns of predictions, resolved from the models of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from plmetrics.core.errors import Collected, ConfigError, DataError, Problem
from plmetrics.core.names import SuitePath, did_you_mean
from plmetrics.states.sums import DEFAULT_THRESHOLD
from plmetrics.suite.problems import lacks_column
from plmetrics.suite.tasks import CLASS_TASKS
from plmetrics.table.prediction_columns import SAME_LEVEL, PredictionColumns, levels_of, quantile_part

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.basics import ModelColumns


def predicted_models(suite: Suite, schema: pl.Schema) -> dict[str, PredictionColumns]:
    """The columns of each model's prediction, its classes in the order of the suite's."""
    collected = Collected()
    out: dict[str, PredictionColumns] = {}
    for name, model in suite.models.items():
        with collected.step():
            columns = model.columns() or _with_prefix(name, model, suite, schema)
            lists = suite.task == "multilabel" and model.prediction is not None
            if lists and model.prediction is not None:
                from plmetrics.engine.binding.labels import prediction_by_class

                columns = prediction_by_class(model.prediction, suite)
            out[name] = PredictionColumns(
                columns, normalise=model.normalise, label=model.label, weight=model.weight, lists=lists
            )
    collected.settle()
    _check_parts(suite.metrics, out)
    classes = classes_of(suite, out)
    for name, predicted in out.items():
        with collected.step():
            if predicted.of_kind("proba"):
                thresholds = suite.models[name].threshold
                ordered = _in_order(name, predicted, classes)
                out[name] = (
                    _with_thresholds(name, ordered, thresholds) if isinstance(thresholds, dict) else ordered
                )
    collected.settle()
    return out


def _with_thresholds(
    name: str, predicted: PredictionColumns, defaults: Mapping[str, float]
) -> PredictionColumns:
    """Columns of a model with thresholds by class, with defaults."""
    parts = predicted.of_kind("proba")
    unknown = [
        _unknown_class(name, other, ("models", name, "threshold", other), parts)
        for other in defaults
        if other not in parts
    ]
    if unknown:
        raise ConfigError(unknown)
    thresholds = {part: defaults.get(of, DEFAULT_THRESHOLD) for of, part in parts.items()}
    return replace(predicted, thresholds=thresholds)


def _unknown_class(model: str, name: str, path: SuitePath, classes: Iterable[str]) -> Problem:
    return Problem(f"model '{model}': '{name}' is not one of the classes", path, did_you_mean(name, classes))


def with_levels(suite: Suite, models: Mapping[str, PredictionColumns]) -> Suite:
    """Suite with the quantile levels of all points of curves, also of models with levels in their columns' names."""
    if len(suite.row_curves) == len(suite.curves):
        return suite
    described = {
        name: model.model_copy(update={"quantiles": _by_level(models[name])})
        for name, model in suite.models.items()
        if isinstance(model.quantiles, str) and name in models
    }
    return suite.model_copy(update={"models": {**suite.models, **described}})


def _by_level(predicted: PredictionColumns) -> dict[float, str]:
    """The column of each quantile."""
    return {level: predicted.columns[quantile_part(level)] for level in levels_of(predicted.parts)}


def calibrated_probabilities(suite: Suite) -> frozenset[str]:
    """Models with calibrators of probabilities."""
    if not suite.calibrate:
        return frozenset()
    from plmetrics.catalogue.calibrators import CALIBRATORS

    several = suite.task in CLASS_TASKS
    fits = (spec for spec in suite.calibrate if several or CALIBRATORS[spec.method].reads_probability)
    return frozenset(source for spec in fits for source in spec.sources(suite.models))


def classes_of(suite: Suite, models: Mapping[str, PredictionColumns]) -> tuple[str, ...]:
    """The classes of the label in order: the suite's, else those of the first probabilities; empty if not known."""
    if suite.task not in CLASS_TASKS:
        return ()
    class_lists = [tuple(of_class) for model in models.values() if (of_class := model.of_kind("proba"))]
    return suite.classes or (class_lists[0] if class_lists else tuple(suite.columns.label_columns))


def _with_prefix(name: str, model: ModelColumns, suite: Suite, schema: pl.Schema) -> dict[str, str]:
    if isinstance(model.quantiles, str):
        return _quantiles_with_prefix(name, model.quantiles.removesuffix("*"), schema)
    assert isinstance(model.proba, str)
    prefix = model.proba.removesuffix("*")
    if suite.classes is not None:
        return {f"proba|{name}": f"{prefix}{name}" for name in suite.classes}
    columns = [column for column in schema if column.startswith(prefix) and column != prefix]
    if len(columns) < 2:
        msg = f"no two columns begin with '{prefix}' (probabilities of model '{name}')"
        path = ("models", name, "proba")
        raise DataError(Problem(msg, path, did_you_mean(prefix, schema)))
    return {f"proba|{column.removeprefix(prefix)}": column for column in columns}


def _check_parts(metrics: Sequence[Metric], models: Mapping[str, PredictionColumns]) -> None:
    """Check of every model's parts for the metrics' needs, late for columns named by a prefix."""
    problems = [
        Problem(words, ("metrics", index), "give the model such columns, or leave the metric out")
        for index, metric in enumerate(metrics)
        for name, model in models.items()
        if (words := lacks_column(metric, name, model.parts)) is not None
    ]
    if problems:
        raise ConfigError(problems)


def _quantiles_with_prefix(name: str, prefix: str, schema: pl.Schema) -> dict[str, str]:
    names = [column for column in schema if column.startswith(prefix)]
    levels = sorted(
        (level, column) for column in names if (level := _level(column.removeprefix(prefix))) is not None
    )
    path = ("models", name, "quantiles")
    if not levels:
        msg = f"no column is '{prefix}' and a level between 0 and 1 (quantiles of model '{name}')"
        raise DataError(
            Problem(msg, path, "name a column of each level: quantiles: {0.1: COLUMN, 0.9: COLUMN}")
        )
    for (level, column), (next_level, other) in pairwise(levels):
        if next_level - level <= SAME_LEVEL:
            msg = f"columns '{column}' and '{other}' have one level (quantiles of model '{name}')"
            raise DataError(Problem(msg, path, "name the columns of the levels in quantiles"))
    return {quantile_part(level): column for level, column in levels}


def _level(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < 1 else None


def _in_order(name: str, predicted: PredictionColumns, classes: Iterable[str]) -> PredictionColumns:
    columns_by_class = predicted.of_kind("proba")
    path = ("models", name, "proba")
    problems = [
        Problem(
            f"model '{name}' has no probability of class '{missing}'",
            path,
            did_you_mean(missing, columns_by_class),
        )
        for missing in classes
        if missing not in columns_by_class
    ]
    problems += [
        _unknown_class(name, other, path, classes) for other in columns_by_class if other not in set(classes)
    ]
    if problems:
        raise ConfigError(problems)
    columns = {
        columns_by_class[class_name]: predicted.columns[columns_by_class[class_name]]
        for class_name in classes
    }
    return replace(predicted, columns=columns)
