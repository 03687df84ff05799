"""What is no error but probably not meant: words for the record and for whoever started the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.table.files import listed

if TYPE_CHECKING:
    from plmetrics.engine.passes import Aggregated
    from plmetrics.engine.prepare import Prepared

_SHOWN = 5


def doubts(prepared: Prepared, aggregated: Aggregated) -> list[str]:
    """Warnings of a run: a positive class that no row has."""
    suite = prepared.request.suite
    state = aggregated.sums[0].columns
    counted = [
        state[f"{prefix}positives"]
        for prefix in prepared.populations().values()
        if suite.positive is not None
    ]
    if not counted or any(values.any() for values in counted):
        return []
    column = suite.columns.label
    plan = prepared.request.raw.select(pl.col(column).drop_nulls().unique().sort())
    labels = plan.head(_SHOWN + 1).collect()[column]
    known = listed([repr(label) for label in labels.to_list()], _SHOWN)
    return [f"no row is positive: column '{column}' holds {known}, but positive is {suite.positive!r}"]
