"""The entry points to the catalogue: one metric by its text, or all of them as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.tasks import Task


def metric(text: str, task: Task = "binary", **parameters: object) -> Metric:
    """A metric from its text, or from its name and parameters.

    Args:
        text: name and parameters, such as "precision(threshold=0.3)"; aliases are known as well, and names of other
            libraries that mean the same.
        task: the task it belongs to; some names have a metric in several.
        parameters: its parameters, where `text` is the name alone.

    Returns:
        The metric: `text` is its canonical text, `expr` makes it a Polars expression.

    >>> import plmetrics as plm
    >>> str(plm.metric("precision(threshold=0.3)"))
    'precision(threshold=0.3)'
    >>> str(plm.metric("fbeta_score", beta=2))
    'fbeta(beta=2)'

    Raises:
        ConfigError: the text names no metric of the task, or a parameter is wrong.
    """
    from plmetrics.suite.reader import metric_from_text

    return metric_from_text(task, text, parameters)


def metrics(task: Task | None = None) -> pl.DataFrame:
    """Registered metrics, a row each, with their facts.

    Raises:
        ConfigError: there is no such task.

    >>> import plmetrics as plm
    >>> "roc_auc" in plm.metrics("binary")["name"]
    True
    """
    from plmetrics.catalogue import registry

    if task is not None and task not in registry.tasks():
        hint = did_you_mean(str(task), registry.tasks())
        raise ConfigError(Problem(f"unknown task {task!r}", ("task",), hint))
    facts = ("range", "direction", "threshold_free", "handles_imbalance", "proper", "interpretable")
    words = ("use_when", "beware", "formula", "reference")
    return pl.DataFrame(
        [
            {
                "task": cls.task,
                "name": cls.name,
                "aliases": [*cls.aliases, *cls.presets],
                "family": cls.family,
            }
            | {fact: getattr(cls, fact) for fact in (*facts, *words)}
            | {"range": list(cls.range)}
            for cls in registry.classes(task)
        ],
        schema_overrides={"aliases": pl.List(pl.String), "range": pl.List(pl.Float64)},
        infer_schema_length=None,
    )
