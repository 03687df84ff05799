"""Treatment effects: what their metrics ask of outcomes, besides what they say of their own columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.table.checks import Requirement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.model import Suite


def outcome_requirements(suite: Suite, metrics: Sequence[Metric]) -> tuple[Requirement, ...]:
    """Outcomes of 0 and 1, where a metric is defined for no others."""
    asking = [metric.text for metric in metrics if getattr(metric, "binary_outcome", False)]
    if not asking:
        return ()
    problem = f"neither 0 nor 1, and {asking[0]} is defined for no other outcomes"
    return (Requirement(suite.columns.label, problem, _no_event, "label", ("columns", "label")),)


def _no_event(value: pl.Expr) -> pl.Expr:
    number = value.cast(pl.Float64)
    return (number != 0) & (number != 1)
