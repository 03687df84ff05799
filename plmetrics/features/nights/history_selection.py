"""Selection of metrics, models and slices of a history, with errors that name what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

OVERALL = "overall"


def select(
    frame: pl.DataFrame,
    metrics: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    slices: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The rows of a history that are of the metrics, models and slices asked for, and those without values.

    A metric is named by its text, or by its name without parameters. A slice is named by its text, as `region=north`,
    by its set and value in the same form, or by its set alone: then all slices of it.

    Raises:
        ConfigError: there is no such metric, model or slice; the nearest name is given.
    """
    conditions: list[pl.Expr] = []
    problems: list[Problem] = []
    asked = (
        ("metric", metrics, _metric_condition, ("metric",)),
        ("model", models, _model_condition, ("model",)),
        ("slice", slices, _slice_condition, ("slice_set", "slice")),
    )
    for kind, names, condition, columns in asked:
        if names is None:
            continue
        for name in names:
            if frame.filter(condition(name)).is_empty():
                known = [
                    text
                    for column in columns
                    for text in frame[column].drop_nulls().unique(maintain_order=True)
                ]
                problems.append(
                    Problem(f"the history has no {kind} '{name}'", hint=did_you_mean(name, known))
                )
        conditions.append(pl.any_horizontal(*(condition(name) for name in names)))
    if problems:
        raise ConfigError(problems)
    if not conditions:
        return frame
    return frame.filter(pl.col("model").is_null() | pl.all_horizontal(*conditions))


def _metric_condition(name: str) -> pl.Expr:
    return (pl.col("metric") == name) | (pl.col("metric").str.split("(").list.first() == name)


def _model_condition(name: str) -> pl.Expr:
    return pl.col("model") == name


def _slice_condition(name: str) -> pl.Expr:
    slice_set, equals, value = name.partition("=")
    whole = (pl.col("slice_set") == name) | (pl.col("slice") == name)
    if not equals:
        return whole
    last = pl.col("slice").str.splitn("=", 2).struct.field("field_1")
    return whole | ((pl.col("slice_set") == slice_set) & (last == value))
