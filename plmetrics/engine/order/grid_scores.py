"""Scores of models on grids: counted after the sums, or in the same passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from plmetrics.engine.aggregate.aggregation import Aggregates, needs_rows
from plmetrics.engine.aggregate.cell_sums import BadRowsError, sums_with_counts
from plmetrics.engine.order.on_grid import GridCounts

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.scores.grid.sliced_grid import SlicedGrid


def models_on_grids(
    plan: RunPlan, aggregated: Aggregates
) -> Iterator[tuple[str, str | None, Callable[[int], SlicedGrid]]]:
    """Orderings of each model's rows on its grid, as a function of the slice set; see `models_in_order`."""
    if needs_rows(plan):
        yield from GridCounts(plan, aggregated.block_keys).models(aggregated)


def passes_with_sums(plan: RunPlan, *, digested: bool) -> tuple[GridCounts, list[pl.DataFrame]] | None:
    """Grid counts of a run with sums from the same first pass; None if sums are better added before.

    With `digested` digests of units are asked for.
    """
    sums = sums_with_counts(plan, digested=digested)
    if sums is None:
        return None
    try:
        passes = GridCounts(plan, sums.block_keys, sums)
    except BadRowsError:
        return None
    frames = sums.frames()
    return None if frames is None else (passes, frames)
