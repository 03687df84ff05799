"""Moments of a search about a centre in each cell, where slices lie too far from the centres of the run.

Where they do not, which sums themselves tell, nothing is read again.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.engine.aggregate.row_plan import BLOCK
from plmetrics.engine.inquiry import answer
from plmetrics.engine.streaming import collected_batches
from plmetrics.features.slice_search.row_sums import by_block, centred_values, code_column
from plmetrics.states.moments import CENTRE, Centres, distant, means
from plmetrics.states.sums import SumsState, sum_by_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.features.slice_search.search_plan import SearchPlan

_CELL = "@cell"
_MOST = 24
BATCH_ROWS = 1_000_000


def recentre(plan: SearchPlan, members: tuple[int, ...], state: SumsState) -> SumsState:
    """The sums of a grouping of columns, with moments that would lose digits about the mean of each cell."""
    for _ in range(_MOST if state.centres.moments else 0):
        if not any(_far(plan, members, state)):
            break
        moved = _about_means(plan, members, state)
        if moved is None:
            break
        state = moved
    return state


def _far(plan: SearchPlan, members: tuple[int, ...], state: SumsState) -> Iterator[bool]:
    """Whether some slice, or all rows but a slice, lie far from their centres: for each set of the columns."""
    moments, spec = state.centres.moments, plan.spec
    sizes = [plan.columns[number].size for number in members]
    counts = [f"{prefix}n" for prefix in set(plan.populations.values())]
    columns = _by_cell(
        state, math.prod(sizes), {*moments, *counts, *(moment.mass for moment in moments.values())}
    )
    digits = np.indices(sizes).reshape(len(sizes), -1)
    least = max(spec.min_rows * spec.share, 2.0)
    for depth in range(1, min(spec.depth, len(members)) + 1):
        for depths in combinations(range(len(members)), depth):
            size = [sizes[place] for place in depths]
            code = np.ravel_multi_index([digits[place] for place in depths], size)
            sums = {name: sum_by_place(code, column, math.prod(size)) for name, column in columns.items()}
            with np.errstate(over="ignore", invalid="ignore"):
                others = {name: total.sum() - total for name, total in sums.items()}
            for totals in (sums, others):
                tested = np.any([totals[name] >= least for name in counts], axis=0)
                yield any(bool((far & tested).any()) for far in distant(totals, moments).values())


def _by_cell(state: SumsState, cells: int, names: set[str]) -> dict[str, NDArray[np.float64]]:
    """Some sums of each cell."""
    return {name: sum_by_place(state.cell, state.columns[name], cells) for name in sorted(names)}


def _about_means(plan: SearchPlan, members: tuple[int, ...], state: SumsState) -> SumsState | None:
    """The sums with moments about the mean of each cell, from another scan; None where they are already."""
    moments = state.centres.moments
    cells, first = np.unique(state.cell, return_index=True)
    names = {*moments, *(moment.mass for moment in moments.values())}
    columns = {name: column[cells] for name, column in _by_cell(state, int(cells[-1]) + 1, names).items()}
    near = {name: column for name, (column, _) in means(columns, state.centres.take(first)).items()}
    before = state.centres.take(first).at
    if all(
        np.array_equal(column, np.broadcast_to(before[name], column.shape)) for name, column in near.items()
    ):
        return None
    centres = pl.DataFrame({_CELL: cells, **{f"{CENTRE}{name}": column for name, column in near.items()}})
    sums = _moment_sums(plan, members, centres)
    at = {name: column[np.searchsorted(cells, state.cell)] for name, column in near.items()}
    about_means = {**state.columns, **{name: sums[name].to_numpy() for name in moments}}
    return SumsState(state.cell, state.block, about_means, state.blocks, Centres(at, moments))


def _moment_sums(plan: SearchPlan, members: Sequence[int], centres: pl.DataFrame) -> pl.DataFrame:
    """The moments of a grouping about the centres of its cells, in the order of its entries."""
    prepared = plan.prepared
    cell = pl.lit(0, dtype=pl.Int64)
    for number in members:
        cell = cell * plan.columns[number].size + pl.col(code_column(number)).cast(pl.Int64)
    keyed = prepared.table.frame.with_columns(plan.keys()).with_columns(cell.alias(_CELL))
    frame = keyed.join(centres.lazy(), on=_CELL, how="left")
    values = centred_values(prepared, plan.spec.metric, plan.models)
    addition = answer(prepared.request.arithmetic.addition(frame, values))
    tally = plan.tally(tuple(members), addition.exponents)
    codes = [code_column(number) for number in members]
    rows = frame.select(BLOCK, *codes, *values.values())
    for batch in collected_batches(rows, BATCH_ROWS):
        tally.add(by_block(batch))
    return tally.occupied()[2]
