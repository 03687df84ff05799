"""Which metrics of a request need no labels, so that rows without one count for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from plmetrics.catalogue.labels import needs_label
from plmetrics.engine.prepared import rows_of
from plmetrics.table.roles import prediction_table

if TYPE_CHECKING:
    from plmetrics.engine.request import Request


def label_free(request: Request) -> frozenset[str]:
    """The texts of the metrics of state families that need no labels; those that read rows without one say so."""
    table = prediction_table(request.raw, request.schema, request.roles)
    rules = (metric.chosen_threshold for metric in request.leaves)
    known = {rule.text: 0.0 for rule in rules if rule is not None}
    rows = [replace(rows_of(model, table), thresholds=known) for model in table.models]
    label = request.roles.label
    return frozenset(
        metric.text
        for metric in request.leaves
        if not metric.every_row
        and label not in metric.columns()
        and not any(needs_label(metric, each) for each in rows)
    )
