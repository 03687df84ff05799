"""Search for slices: the codes of the searched columns, and a few groupings to cover all their crossings.

Units fall into two parts, one that is searched and one that confirms, and within each into the same number of blocks.
A crossing's sums are those of an ordinary slice set whose blocks are the searched ones first and the others after.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.engine.aggregate.aggregation import refuse_bad
from plmetrics.engine.aggregate.row_plan import BLOCK
from plmetrics.engine.aggregate.totals import centres_of, moments, summed_columns
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.inquiry import Step, answer
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.engine.request import Request
from plmetrics.engine.run_plan import RunPlan
from plmetrics.engine.streaming import collected_batches
from plmetrics.features.slice_search.row_sums import GroupingSums, by_block, centred_values, code_column
from plmetrics.features.slice_search.search_columns import (
    Encoding,
    SearchedColumn,
    column_encodings,
    searched_columns,
    searched_table,
)
from plmetrics.features.slice_search.search_plan import (
    BATCH_ROWS,
    GROUPS,
    LEAST_GROUPS,
    Grouping,
    SearchPlan,
    SearchStates,
    column_groups,
    possible,
)
from plmetrics.features.slice_search.search_section import FindSlices
from plmetrics.states.moments import CENTRE, DISTANT, Centres, distant, means
from plmetrics.states.sums import SumsState, sum_by_place
from plmetrics.suite.model import Suite
from plmetrics.suite.sections.uncertainty import Uncertainty
from plmetrics.table.source import Source

_CELL = "@cell"
_MOST = 24
_OF_ROWS = ("labels", "cross_validation")
"""Sections that say which rows count."""


def search_plan(suite: Suite, source: Source) -> SearchPlan:
    """Plan of the groupings, from the values of the searched columns.

    Raises:
        ConfigError: there are more slices than `max_slices`.
        DataError: a column is absent, or of a type that has no slices.
    """
    spec = FindSlices.of(suite)
    plan = prepare(bind(inner_suite(suite, spec), source))
    encodings = column_encodings(plan, spec)
    columns = searched_columns(plan.view.schema, spec, encodings)
    sizes = [column.size for column in columns]
    number = possible(sizes, spec.depth)
    if number > suite.max_slices:
        raise _size_error(suite, columns, number)
    groups = min(GROUPS, max(LEAST_GROUPS, plan.rows.read))
    together = column_groups(sizes, spec.depth, groups // (2 * spec.blocks))
    return plan_of(plan, spec, encodings, columns, together)


def plan_of(
    plan: RunPlan,
    spec: FindSlices,
    encodings: Sequence[Encoding],
    columns: tuple[SearchedColumn, ...],
    groupings: tuple[tuple[int, ...], ...],
) -> SearchPlan:
    """Plan of a search with known columns and groupings."""
    spec = spec.model_copy(update={"metric": plan.request.suite.metrics[0]})
    models = tuple(name for name in plan.request.models if name in (spec.model or (name,)))
    searched = replace(plan, table=searched_table(plan, [column.key for column in columns]))
    return SearchPlan(searched, spec, columns, groupings, models, tuple(encodings))


def search_steps(request: Request) -> Iterator[Step]:
    """Scans of a search: its constants, a look at its columns, then groupings to cover all crossings.

    A long table is not looked at.
    """
    if request.suite.data.long is not None:
        return
    plan = search_plan(request.column_suite, request.source)
    groups = sum(map(plan.groups, plan.groupings))
    does = (
        f"up to {plan.slices:,} slices of {len(plan.columns)} columns, "
        f"{len(plan.groupings)} groupings of {groups:,} cells and blocks"
    )
    yield from (replace(step, stage="search") for step in plan.run_plan.steps)
    yield Step("search", (plan.rows(),), does, times=1 + len(plan.passes()), at_least=True)


def search_states(plan: SearchPlan) -> SearchStates:
    """Run the scans."""
    groupings = []
    for members, tally in tallies(plan):
        groupings.append(Grouping(members, recentre(plan, members, state_of(plan, tally))))
    return states_of(plan, groupings)


def tallies(plan: SearchPlan) -> Iterator[tuple[tuple[int, ...], GroupingSums]]:
    """The sums of each grouping of the rows."""
    for together in plan.passes():
        sums = {members: plan.tally(members) for members in together}
        for rows in collected_batches(plan.rows(), BATCH_ROWS):
            refuse_bad(plan.run_plan, rows)
            batch = by_block(rows)
            for tally in sums.values():
                tally.add(batch)
        yield from sums.items()


def state_of(plan: SearchPlan, tally: GroupingSums) -> SumsState:
    """The state of a grouping, from its sums."""
    run_plan, metrics, populations = plan.run_plan, [plan.spec.metric], plan.populations
    cell, block, sums = tally.nonempty_entries()
    centres = centres_of(run_plan.centres, moments(run_plan, metrics, populations), pl.DataFrame())
    columns = summed_columns(run_plan, metrics, sums, populations)
    return SumsState(cell, block, columns, 2 * plan.spec.blocks, centres)


def states_of(plan: SearchPlan, groupings: Sequence[Grouping]) -> SearchStates:
    """The states of a search, from those of its groupings."""
    spec = plan.spec
    return SearchStates(plan.columns, tuple(groupings), spec.blocks, spec.depth, plan.populations)


def inner_suite(suite: Suite, spec: FindSlices) -> Suite:
    """Suite of a run with the search's metric alone."""
    return suite.model_copy(
        update={
            "compare": None,
            "metrics": (spec.metric,),
            "metric_slices": {},
            "sections": {key: part for key, part in suite.sections.items() if key in _OF_ROWS},
            "slices": {},
            "gates": (),
            "curves": (),
            "uncertainty": Uncertainty(blocks=spec.blocks),
        }
    )


def _size_error(suite: Suite, columns: Sequence[SearchedColumn], number: int) -> ConfigError:
    widest = max(columns, key=lambda column: column.size)
    msg = f"the search has up to {number:,} slices, more than max_slices = {suite.max_slices:,}"
    hint = (
        f"lower depth, top or bins, name fewer columns ('{widest.label}' has the most values, {widest.size:,}), "
        "or raise max_slices"
    )
    return ConfigError(Problem(msg, ("find_slices",), hint))


def recentre(plan: SearchPlan, members: tuple[int, ...], state: SumsState) -> SumsState:
    """Sums of a grouping of columns, with moments of large cancellation about the mean of each cell.

    Where they would not, which sums themselves tell, nothing is read again.
    """
    for _ in range(_MOST if state.centres.moments else 0):
        if not any(distant_slices(plan, members, state)):
            break
        moved = _about_means(plan, members, state)
        if moved is None:
            break
        state = moved
    return state


def distant_slices(
    plan: SearchPlan, members: tuple[int, ...], state: SumsState, variances: float = DISTANT
) -> Iterator[bool]:
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
                yield any(bool((far & tested).any()) for far in distant(totals, moments, variances).values())


def _by_cell(state: SumsState, cells: int, names: set[str]) -> dict[str, NDArray[np.float64]]:
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
    run_plan = plan.run_plan
    cell = pl.lit(0, dtype=pl.Int64)
    for number in members:
        cell = cell * plan.columns[number].size + pl.col(code_column(number)).cast(pl.Int64)
    keyed = run_plan.table.frame.with_columns(plan.keys()).with_columns(cell.alias(_CELL))
    frame = keyed.join(centres.lazy(), on=_CELL, how="left")
    values = centred_values(run_plan, plan.spec.metric, plan.models)
    addition = answer(run_plan.request.arithmetic.addition(frame, values))
    tally = plan.tally(tuple(members), addition.exponents)
    codes = [code_column(number) for number in members]
    rows = frame.select(BLOCK, *codes, *values.values())
    for batch in collected_batches(rows, BATCH_ROWS):
        tally.add(by_block(batch))
    return tally.nonempty_entries()[2]
