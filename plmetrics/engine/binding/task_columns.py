"""Columns of single tasks and tests: of rankings, treatment effects and tests in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.needs import Queries
from plmetrics.core.errors import Collected, ConfigError, DataError, Problem
from plmetrics.table.checks import Requirement
from plmetrics.table.prediction_columns import require

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.basics import Columns, Compare

LARGEST_LABEL = 1000.0
"""Two to the power of a label must be a number."""


def role_requirements(suite: Suite, metrics: Sequence[Metric]) -> tuple[Requirement, ...]:
    """Requirements on the columns of a ranking besides those of every task: its query, document and gains."""
    columns = suite.columns
    out: list[Requirement] = []
    for role in ("query", "document"):
        name = getattr(columns, role)
        if name is not None:
            out.append(Requirement(name, "null", lambda value: value.is_null(), role, ("columns", role)))
    gains = {metric.needs.gain for metric in metrics if isinstance(metric.needs, Queries)} - {None}
    if gains:
        path = ("columns", "label")
        out.append(Requirement(columns.label, "negative, and a gain must not be", _negative, "label", path))
    if "exponential" in gains:
        text = f"above {LARGEST_LABEL:g}, too large for exponential gains"
        out.append(Requirement(columns.label, text, _too_large, "label", ("columns", "label")))
    return tuple(out)


def _negative(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.Float64) < 0


def _too_large(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.Float64) > LARGEST_LABEL


def check_ranking(columns: Columns, schema: pl.Schema, metrics: Sequence[Metric]) -> None:
    """Check of the columns and metrics of a ranking."""
    query = columns.query
    if query is not None and query in schema:
        _require_query(schema[query], query)
    _refuse_row_metrics(metrics)
    _require_documents(columns, metrics)


def _refuse_row_metrics(metrics: Sequence[Metric]) -> None:
    others = [metric.text for metric in metrics if not isinstance(metric.needs, Queries)]
    if others:
        msg = f"{others[0]} is made from rows, and what a ranking adds up are queries"
        hint = "leave it out, or make it of other metrics, as {name: ..., formula: ...}"
        raise ConfigError(Problem(msg, ("metrics",), hint))


def _require_documents(columns: Columns, metrics: Sequence[Metric]) -> None:
    for metric in metrics:
        assert isinstance(metric.needs, Queries)
        by_document = any(value.ties == "document" for value in metric.needs.values)
        if by_document and columns.document is None:
            msg = f"{metric.text} orders ties by document, and there is no column of documents"
            raise ConfigError(Problem(msg, ("columns",), "name it: columns: {document: ...}"))


def names_queries(dtype: pl.DataType) -> bool:
    """Whether values of a type can tell queries apart."""
    return not (dtype.is_nested() or dtype.is_float() or dtype in {pl.Binary, pl.Object})


def _require_query(dtype: pl.DataType, name: str) -> None:
    if not names_queries(dtype):
        msg = f"column '{name}' (query) is of type {dtype}, but must hold whole numbers, text, dates or booleans"
        raise DataError(Problem(msg, ("columns", "query"), "derive CAST(... AS BIGINT) or AS VARCHAR of it"))


def outcome_requirements(columns: Columns, metrics: Sequence[Metric]) -> tuple[Requirement, ...]:
    """Outcomes of 0 and 1, where a metric is defined for no others."""
    asking = [metric.text for metric in metrics if metric.binary_outcome]
    if not asking:
        return ()
    problem = f"neither 0 nor 1, and {asking[0]} is defined for no other outcomes"
    return (Requirement(columns.label, problem, _no_event, "label", ("columns", "label")),)


def _no_event(value: pl.Expr) -> pl.Expr:
    number = value.cast(pl.Float64)
    return (number != 0) & (number != 1)


def check_times(compare: Compare, schema: pl.Schema) -> None:
    """Refuse absent columns."""
    collected = Collected()
    for place, test in enumerate(compare.tests):
        with collected.step():
            if test.time is not None:
                require(schema, test.time, "time", ("compare", "tests", place, test.test, "time"))
    collected.settle()
