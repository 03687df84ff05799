"""Counts of rows collected for ordered metrics, without a second plan of the same scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.engine.aggregate.row_plan import POSITIVE
from plmetrics.engine.aggregate.totals import summed_in, totals
from plmetrics.table.checks import VALID

if TYPE_CHECKING:
    from plmetrics.engine.run_plan import RunPlan

_FROM_ROWS = {
    "n": pl.len(),
    "positives": pl.col(POSITIVE).sum(),
    "bad": (~pl.col(VALID)).sum(),
}
"""The totals that the columns of rows tell."""


def tells_counts(plan: RunPlan) -> bool:
    """Whether rows for ordered metrics contain all counts of a run: rows without weight, in one cell."""
    request = plan.request
    if request.weighted or plan.view.roles.treatment is not None or not request.orders_scores:
        return False
    if plan.blocks is not None or any(cube.columns for cube in plan.cubes) or len(plan.cubes) > 1:
        return False
    sums = totals(plan, summed_in(plan, plan.cubes[0]))
    return all(total.name in _FROM_ROWS for total in sums)


def counted_columns(plan: RunPlan) -> list[str]:
    """Columns for counts beside those of rows for ordered metrics."""
    return [VALID] if plan.request.suite.data.missing == "error" else []


def counted_rows(plan: RunPlan, rows: pl.DataFrame) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """The sums of the one cube, and the rows for ordered metrics."""
    names = [total.name for total in totals(plan, summed_in(plan, plan.cubes[0]))]
    counts = rows.select(_FROM_ROWS[name].cast(pl.Int64).alias(name) for name in names)
    return [counts], rows.drop(counted_columns(plan))
