"""Metrics of a suite that need no labels, so that rows without one count for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from plmetrics.catalogue.labels import needs_label
from plmetrics.catalogue.thresholds import threshold_keys
from plmetrics.engine.run_plan import rows_of

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView


def label_free(view: TableView) -> frozenset[str]:
    """The texts of the metrics of state families that need no labels; those that read rows without one say so."""
    table, metrics = view.table(), view.suite.needed("overall", *view.suite.slices)
    known = {key: 0.0 for metric in metrics for key in threshold_keys(metric)}
    rows = [replace(rows_of(model, table), thresholds=known) for model in table.models]
    label = view.roles.label
    return frozenset(
        metric.text
        for metric in metrics
        if not metric.every_row
        and label not in metric.columns()
        and not any(needs_label(metric, each) for each in rows)
    )
