"""Third stage: one scan for the sums of every cube, and the rows for ordered metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.errors import PlmetricsError, Problem
from plmetrics.core.exact_sums import exact_products
from plmetrics.core.hashing import row_digest
from plmetrics.core.ops import Codes
from plmetrics.engine.aggregate.row_plan import BLOCK, rows_plan
from plmetrics.engine.aggregate.totals import (
    DIGEST,
    cells_of,
    centres_of,
    check_codes,
    count_columns,
    counted_columns,
    counted_rows,
    moments,
    row_count,
    summed_in,
    sums_of,
    tells_counts,
    totals,
)
from plmetrics.engine.inquiry import Question, Step, answer, constant_question, gather
from plmetrics.engine.memory.budget import separates_scans
from plmetrics.engine.run_plan import NoRowsLeftError, RunPlan
from plmetrics.engine.streaming import node_aggregates
from plmetrics.states.sums import SlicedSums, SumsState, Total
from plmetrics.table.prediction_columns import LABEL, UNIT

if TYPE_CHECKING:
    from plmetrics.engine.request import Request
    from plmetrics.states.bin_sums import BinSums
    from plmetrics.states.complements import ComplementSums
    from plmetrics.table.slices import Cube, Slices

Counted = TypeVar("Counted")
_ADDED = "@added|"


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Results of the scan: the sums of each cube, the rows for ordered metrics, and the blocks.

    `digests` are words that tell the units of each block from others, None where nobody asked for them; `bins` are sums
    by bins, None where no curve is drawn from them.
    """

    sums: tuple[SumsState, ...]
    rows: pl.DataFrame | None
    block_keys: NDArray[np.uint64]
    units: Codes
    used: dict[str, int]
    any_order: bool
    digests: NDArray[np.uint64] | None = None
    bins: BinSums | None = None

    def arithmetic(self) -> AbstractContextManager[object]:
        """Context of exact products in reproducible runs; overflow of sums of weights is no warning."""
        stack = ExitStack()
        stack.enter_context(exact_products(enabled=self.any_order))
        masses = [column for name, column in self.sums[0].columns.items() if name.endswith("weight")]
        with np.errstate(over="ignore"):
            finite = all(np.isfinite(column.sum()) for column in masses)
        if not finite:
            stack.enter_context(np.errstate(over="ignore", invalid="ignore"))
        return stack


def aggregate(
    plan: RunPlan, counting: Question[Counted], *, digested: bool = False, sums: Sequence[pl.DataFrame] = ()
) -> tuple[Aggregates, Counted]:
    """Run the scan with the counts of features; `digested` asks for digests of the units.

    `sums` are those of the cubes where rows that are counted have told them.

    Raises:
        DataError: rows failed a check, and the suite says that is an error.
        PlmetricsError: rows in do not equal rows used and dropped: a bug.
    """
    asked = gather(sum_cubes(plan, digested=digested, sums=sums), sum_bins(plan), counting)
    (frames, rows), bins, counted = answer(asked, separate=separates_scans(plan.view))
    result = collect_aggregates(plan, frames, rows, bins)
    return replace(result, digests=_digests(plan, frames[0])) if digested else result, counted


def sum_bins(plan: RunPlan) -> Question[BinSums | None]:
    """Sums by bins for curves, unmerged; None without such a curve."""
    if not plan.request.suite.bin_curves:
        return constant_question(None)
    from plmetrics.engine.aggregate.bin_sums import bin_sums

    return bin_sums(plan)


def sum_cubes(
    plan: RunPlan, *, digested: bool = False, sums: Sequence[pl.DataFrame] = (), is_part: bool = False
) -> Question[tuple[list[pl.DataFrame], pl.DataFrame | None]]:
    """The scan: the sums of each cube by the values of its keys, and the rows for ordered metrics.

    Moments that lose digits about the centres of the run are added about others. A part of the rows may lack positives.
    """
    rows: pl.DataFrame | None = None
    early = plan.slice_sums
    if sums:
        frames = list(sums)
    elif early is not None and early.frame is not None:
        frames = [early.frame]
    else:
        groups, step = sums_scan(plan, digested=digested)
        parts = iter((yield step.plans))
        frames = [side_by_side([next(parts) for _ in group]) for group in groups]
        rows = next(parts, None)
        if rows is not None and not groups:
            frames, rows = counted_rows(plan, rows)
    rows = None if rows is None else plan.request.arithmetic.rows(rows)
    refuse_bad(plan, frames[0])
    if plan.request.suite.positive is not None and not is_part:
        from plmetrics.engine.bad_rows import refuse_absent_positive

        refuse_absent_positive(plan.view, frames[0].to_dict())
    if any(plan.centres.values()):
        from plmetrics.engine.aggregate.centring import recentre

        frames = [recentre(plan, *pair) for pair in zip(plan.cubes, frames, strict=True)]
    return frames, rows


def sums_scan(run_plan: RunPlan, *, digested: bool = False) -> tuple[list[list[pl.LazyFrame]], Step]:
    """Scan of a run's sums: the plans of each cube, none if collected rows have the counts; and its step.

    After the sums the step has the rows for ordered metrics, where these are sorted in memory.
    """
    does, recentres = families(run_plan.request), any(run_plan.centres.values())
    rows: list[pl.LazyFrame] = []
    if brings_rows(run_plan):
        if tells_counts(run_plan):
            plan = rows_plan(run_plan, further=counted_columns(run_plan))
            return [], Step("aggregate", (plan,), does, at_least=recentres)
        rows.append(rows_plan(run_plan, unlabelled=bool(run_plan.request.label_free_values)))
    groups = sum_plans(run_plan, digested=digested)
    sums = [plan for group in groups for plan in group]
    separate = separates_scans(run_plan.view)
    return groups, Step(
        "aggregate", (*sums, *rows), does, at_least=recentres, sums=len(sums), separate=separate
    )


def families(request: Request) -> str:
    """Number of metrics by state family, in words."""
    return ", ".join(
        f"{len(metrics)} {word} ({family})"
        for family, metrics in (("sums", request.sums), ("scores", request.scores))
        if metrics
        for word in ["metric" if len(metrics) == 1 else "metrics"]
    )


def collect_aggregates(
    plan: RunPlan,
    frames: Sequence[pl.DataFrame],
    rows: pl.DataFrame | None,
    bins: BinSums | None = None,
    *,
    may_be_empty: bool = False,
) -> Aggregates:
    """Results of a scan, or of several saved states, as the stages behind it read them.

    Raises:
        DataError: no rows are left, and it may not be empty.
        PlmetricsError: rows in do not equal rows used and dropped: a bug.
    """
    keys, units = _block_keys(plan, frames[0])
    states = tuple(_state(plan, cube, frame, keys) for cube, frame in zip(plan.cubes, frames, strict=True))
    used_rows = _conserve(plan, states[0], may_be_empty=may_be_empty)
    if bins is not None:
        from plmetrics.engine.aggregate.bin_sums import bin_totals

        bins = bin_totals(plan.addition, bins)
    any_order = plan.request.arithmetic.any_order
    return Aggregates(states, rows, keys, units, used_rows, any_order, bins=bins)


def needs_rows(plan: RunPlan) -> bool:
    """Whether an ordered metric or a curve needs the rows themselves."""
    return plan.request.orders_rows


def brings_rows(plan: RunPlan) -> bool:
    """Whether the rows of ordered metrics come with the sums."""
    return needs_rows(plan) and plan.exact and plan.order.way == "rows"


def sum_plans(plan: RunPlan, *, digested: bool = False) -> list[list[pl.LazyFrame]]:
    """Aggregation plans by cube, with a limit of aggregates per plan."""
    frame = plan.sum_rows
    keys = [] if plan.blocks is None else [plan.blocks.of_unit.alias(BLOCK)]
    shared = [total.sum.alias(total.name) for total in (digests(plan) if digested else ())]
    return [
        [
            frame.with_columns(values).group_by([*map(pl.col, cube.columns), *keys]).agg(chunk)
            for values, chunk in _chunks(plan, cube, [] if index else shared)
        ]
        for index, cube in enumerate(plan.cubes)
    ]


def _chunks(
    plan: RunPlan, cube: Cube, shared: Sequence[pl.Expr]
) -> Iterator[tuple[list[pl.Expr], list[pl.Expr]]]:
    """Aggregates of a cube, split by the limit of one plan node; and the columns they need before.

    A value that is added in several ways is a column first: else it would be computed for each.
    """
    addition, every = plan.addition, totals(plan, summed_in(plan, cube))
    exact = {
        total.name: total.value for total in every if total.name in addition.exact and total.value is not None
    }
    summed: list[pl.Expr] = []
    for total in every:
        staged = {total.name: pl.col(f"{_ADDED}{total.name}")}
        summed += addition.sums(staged) if total.name in exact else [total.sum.alias(total.name)]
    summed += shared
    for chunk in node_aggregates(summed):
        columns_read = {name for part in chunk for name in part.meta.root_names()}
        yield (
            [
                value.alias(f"{_ADDED}{name}")
                for name, value in exact.items()
                if f"{_ADDED}{name}" in columns_read
            ],
            chunk,
        )


def side_by_side(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The sums of a cube from those of its plans."""
    if len(parts) == 1:
        return parts[0]
    keys = [name for name in parts[0].columns if name in parts[1].columns]
    ordered = [part.sort(keys, nulls_last=True) for part in parts]
    return pl.concat([ordered[0], *(part.drop(keys) for part in ordered[1:])], how="horizontal")


def refuse_bad(plan: RunPlan, frame: pl.DataFrame) -> None:
    """Raise an error for bad rows counted by the sums of a cube.

    Raises:
        DataError: they did.
    """
    if "bad" not in frame.columns or not frame["bad"].sum():
        return
    from plmetrics.engine.bad_rows import bad_values

    raise bad_values(plan.view, plan.table.checks, plan.rows.read)


def _block_keys(plan: RunPlan, frame: pl.DataFrame) -> tuple[NDArray[np.uint64], Codes]:
    blocks = plan.blocks
    if blocks is None:
        return np.zeros(1, dtype=np.uint64), np.ones(1, dtype=np.int64)
    if blocks.keys is not None and blocks.units is not None:
        return blocks.keys, blocks.units
    rows = pl.col(row_count(frame.columns)).sum()
    counted = frame.lazy().group_by(BLOCK).agg(rows.alias("n")).sort(BLOCK).collect()
    return counted[BLOCK].to_numpy(), counted["n"].to_numpy()


def digests(plan: RunPlan) -> list[Total]:
    """Digests of units and labels, to verify equal blocks; none if counts of positives suffice."""
    request, blocks = plan.request, plan.blocks
    if blocks is None or blocks.digests is not None:
        return []
    roles = request.view.roles
    if roles.binary and roles.weight is None and not roles.per_model:
        return []
    digest = row_digest(pl.col(UNIT), pl.col(LABEL))
    return [Total(DIGEST, digest.sum(), digest)]


def _digests(plan: RunPlan, frame: pl.DataFrame) -> NDArray[np.uint64] | None:
    """The digests of the blocks' units, in the order of their keys."""
    if plan.blocks is None or not plan.request.unit_rows:
        return None if plan.blocks is None else plan.blocks.digests
    name = next((name for name in (DIGEST, "positives") if name in frame.columns), None)
    if name is None:
        return None
    added = frame.lazy().group_by(BLOCK).agg(pl.col(name).cast(pl.UInt64).sum()).sort(BLOCK).collect()
    return added[name].to_numpy()


def _state(plan: RunPlan, cube: Cube, frame: pl.DataFrame, keys: NDArray[np.uint64]) -> SumsState:
    if cube.codes:
        check_codes(cube, frame, count_columns(plan, frame))
    cell, columns = cells_of(cube, frame), sums_of(plan, cube, frame)
    block = np.zeros(frame.height, dtype=np.int64)
    if BLOCK in frame.columns:
        block = np.searchsorted(keys, frame[BLOCK].to_numpy())
    centres = centres_of(plan.centres, moments(plan, summed_in(plan, cube)), frame)
    if plan.request.arithmetic.any_order:
        return SumsState(cell, block, columns, len(keys), centres).in_order()
    order = np.argsort(cell, kind="stable")
    for name in columns:  # one after another: they may take as much memory as the rows
        columns[name] = columns[name][order]
    return SumsState(cell[order], block[order], columns, len(keys), centres.take(order))


def _conserve(plan: RunPlan, state: SumsState, *, may_be_empty: bool) -> dict[str, int]:
    rows = plan.rows
    used_rows = _rows_by_model(state, plan.populations())
    counted = {**used_rows, **_rows_by_model(state, plan.scored_populations())}
    for model, number in counted.items():
        expected = rows.read - rows.zero_weight - rows.dropped[model]
        if number != expected:
            msg = (
                f"rows went astray for model '{model}': {rows.read:,} read, {rows.zero_weight:,} of weight 0, "
                f"{rows.dropped[model]:,} dropped, but {number:,} used"
            )
            raise PlmetricsError(msg)
    if not (any(counted.values()) or may_be_empty):
        raise _no_rows_error(plan)
    return used_rows


def _rows_by_model(state: SumsState, prefixes: Mapping[str, str]) -> dict[str, int]:
    """Number of valid rows of each model, from the counts of a prefix."""
    return {model: round(float(state.columns[f"{prefix}n"].sum())) for model, prefix in prefixes.items()}


def unlabelled_rows(plan: RunPlan, aggregated: Aggregates) -> dict[str, int] | None:
    """The number of rows without a label of each model; None where each row must have one."""
    scored = _rows_by_model(aggregated.sums[0], plan.scored_populations())
    return {model: number - aggregated.used[model] for model, number in scored.items()} or None


def _no_rows_error(plan: RunPlan) -> NoRowsLeftError:
    rows = plan.rows
    if rows.zero_weight == rows.read:
        msg = f"no rows are left: all {rows.read:,} have weight 0"
        error = NoRowsLeftError(Problem(msg, ("columns", "weight")))
    else:
        from plmetrics.engine.bad_rows import bad_values, no_rows_left

        problems = bad_values(plan.view, plan.table.checks, rows.read).problems
        error = NoRowsLeftError(
            [no_rows_left(rows.read), *(replace(problem, hint=None) for problem in problems)]
        )
    error.rows = rows
    return error


def sliced_complements(plan: RunPlan, sums: Sequence[SumsState]) -> list[ComplementSums | None]:
    """Sums of the complement of every slice, for sets compared with it or decomposed."""
    compare = plan.request.suite.compare
    if compare is None:
        return [None] * len(plan.slices)
    from plmetrics.states.complements import ComplementSums

    out: list[ComplementSums | None] = []
    for slices in plan.slices:
        name = slices.slice_set.name
        with_complements = plan.request.has_complements(name)
        if not (with_complements or name in compare.decompose):
            out.append(None)
            continue
        out.append(ComplementSums(_rolled_up(plan, sums, slices, 1), with_complements))
    return out


def sliced_sums(plan: RunPlan, sums: Sequence[SumsState]) -> list[SlicedSums]:
    """The sums of every slice set, rolled up from its cube."""
    return [_rolled_up(plan, sums, slices) for slices in plan.slices]


def _rolled_up(plan: RunPlan, sums: Sequence[SumsState], slices: Slices, complement: int = 0) -> SlicedSums:
    index = plan.cube_of(slices)
    state = sums[index]
    codes = plan.cubes[index].slice_codes(slices, state.cell)
    return state.roll_up(codes + complement, len(slices) + complement)
