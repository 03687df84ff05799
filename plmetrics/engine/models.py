"""From the models of a suite to the columns of their predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.errors import Collected, ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.table.predicted import Predicted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from plmetrics.suite.model import ModelColumns, Suite


def predicted_models(suite: Suite, schema: pl.Schema) -> dict[str, Predicted]:
    """The columns of each model's prediction, its classes in the order of the suite's.

    Raises:
        ConfigError: models have probabilities for different classes.
        DataError: no column begins as the probabilities' columns should.
    """
    collected = Collected()
    out: dict[str, Predicted] = {}
    for name, model in suite.models.items():
        with collected.step():
            columns = model.columns() or _with_prefix(name, model, suite, schema)
            out[name] = Predicted(columns, normalise=model.normalise)
    collected.settle()
    classes = classes_of(suite, out)
    for name, predicted in out.items():
        with collected.step():
            if predicted.of_kind("proba"):
                out[name] = _in_order(name, predicted, classes)
    collected.settle()
    return out


def classes_of(suite: Suite, models: Mapping[str, Predicted]) -> tuple[str, ...]:
    """The classes of the label in order: the suite's, else those of the first probabilities; empty if not known."""
    if suite.task != "multiclass":
        return ()
    found = [tuple(of_class) for model in models.values() if (of_class := model.of_kind("proba"))]
    return suite.classes or (found[0] if found else ())


def _with_prefix(name: str, model: ModelColumns, suite: Suite, schema: pl.Schema) -> dict[str, str]:
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


def _in_order(name: str, predicted: Predicted, classes: Iterable[str]) -> Predicted:
    own = predicted.of_kind("proba")
    path = ("models", name, "proba")
    problems = [
        Problem(f"model '{name}' has no probability of class '{missing}'", path, did_you_mean(missing, own))
        for missing in classes
        if missing not in own
    ]
    problems += [
        Problem(f"model '{name}': '{other}' is not one of the classes", path, did_you_mean(other, classes))
        for other in own
        if other not in set(classes)
    ]
    if problems:
        raise ConfigError(problems)
    columns = {own[one]: predicted.columns[own[one]] for one in classes}
    return Predicted(columns, normalise=predicted.normalise)
