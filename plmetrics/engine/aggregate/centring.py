"""Moments of slices far from the centres of the run, recomputed about centres near each entry.

Where all slices lie near, which sums themselves tell, nothing is read again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.exact_sums import FIXED, LEFT
from plmetrics.core.ops import Array, Codes
from plmetrics.engine.aggregate.row_plan import BLOCK
from plmetrics.engine.aggregate.totals import (
    atom_totals,
    cells_of,
    centres_of,
    count_columns,
    moments,
    summed_in,
    sums_of,
)
from plmetrics.engine.inquiry import answer
from plmetrics.engine.streaming import node_aggregates
from plmetrics.states.moments import CENTRE, Moment, distant, means
from plmetrics.states.sums import SCORED, Total, sum_by_place
from plmetrics.table.joins import inner_join, left_join

if TYPE_CHECKING:
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.table.slices import Cube

    Sums = Mapping[str, Array]

_ROWS = "rows"
_MOST = 24


def recentre(plan: RunPlan, cube: Cube, frame: pl.DataFrame) -> pl.DataFrame:
    """Sums of a cube, with moments of large cancellation about centres of their own, in columns.

    A centre is known to 16 digits of its distance from the one before. Where that is not near enough, as beside levels
    that are 10^16 times the spread of others, it is looked for again.
    """
    moments_of_sums = moments(plan, summed_in(plan, cube))
    for _ in range(_MOST if moments_of_sums else 0):
        moved_frame = _once(plan, cube, frame, moments_of_sums)
        if moved_frame is None:
            break
        frame = moved_frame
    return frame


def _once(
    plan: RunPlan, cube: Cube, frame: pl.DataFrame, moments_of_sums: Mapping[str, Moment]
) -> pl.DataFrame | None:
    """The sums with far moments about nearer centres; None where there are none. They have no whole numbers beside."""
    cell = cells_of(cube, frame)
    names, distant_cells = _distant(plan, cube, frame, cell, moments_of_sums)
    if not names:
        return None
    where = np.isin(cell, distant_cells)
    columns = sums_of(plan, cube, frame)
    redone = [name for name, moment in moments_of_sums.items() if names & set(moment.centres)]
    before = centres_of(plan.centres, moments_of_sums, frame)
    near = means(columns, before)
    at = {name: np.broadcast_to(center, where.shape) for name, center in before.at.items()}
    summed = frozenset(frame.columns)
    centre_names = [name for name in at if name in names or f"{CENTRE}{name}" in summed]
    if all(np.array_equal(near[name][0][where], at[name][where]) for name in names):
        return None
    centres = {f"{CENTRE}{name}": near[name][0] if name in names else at[name] for name in centre_names}
    keys = [name for name in (*cube.columns, BLOCK) if name in frame.columns]
    marked = pl.DataFrame([*frame.select(keys), *(pl.Series(name, at) for name, at in centres.items())])
    sums = _moment_sums(plan, cube, marked.filter(pl.Series(where)), keys, redone)
    aggregates = [f"{kind}{name}" for kind in (FIXED, LEFT) for name in redone if f"{FIXED}{name}" in summed]
    unmoved = pl.lit(pl.Series(~where))
    center = frame.with_columns(pl.when(unmoved).then(pl.col(name)).alias(name) for name in aggregates)
    center = center.with_columns(pl.Series(name, columns[name]) for name in redone)
    center = center.with_columns(pl.Series(f"{CENTRE}{name}", at[name]) for name in centre_names)
    if not keys:
        return center.with_columns(sums.get_columns())
    renamed = sums.rename({name: f"{name}@new" for name in (*redone, *centres)})
    joined = left_join(center, renamed, keys)
    return joined.select(
        pl.coalesce(f"{name}@new", name).alias(name) if f"{name}@new" in joined.columns else pl.col(name)
        for name in center.columns
    )


def _distant(
    plan: RunPlan, cube: Cube, frame: pl.DataFrame, cell: Codes, moments_of_sums: Mapping[str, Moment]
) -> tuple[set[str], Codes]:
    """Centres far from some slice or the complement of one, and the cells of these."""
    counts = count_columns(plan, frame)
    cells, columns = _by_cell(
        frame, cell, {*moments_of_sums, *counts, *(moment.mass for moment in moments_of_sums.values())}
    )
    names: set[str] = set()
    where = np.zeros(len(cells), dtype=np.bool_)
    for slices in cube.sets:
        codes = cube.slice_codes(slices, cells) + 1
        with np.errstate(over="ignore", invalid="ignore"):
            sums: Sums = {
                name: sum_by_place(codes, column, len(slices) + 1) for name, column in columns.items()
            }
            others = {name: total.sum() - total for name, total in sums.items()}
        with_complements = plan.request.has_complements(slices.slice_set.name)
        for of_slice, totals in ((True, sums), (False, others))[: 1 + with_complements]:
            several = np.any([totals[name] > 1 for name in counts], axis=0)
            several[0] &= not of_slice
            for name, far in distant(totals, moments_of_sums).items():
                chosen = far & several
                if chosen.any():
                    names.add(name)
                    where |= chosen[codes] if of_slice else np.ones(len(cells), dtype=np.bool_)
    return names, cells[where]


def _by_cell(frame: pl.DataFrame, cell: Codes, names: Collection[str]) -> tuple[Codes, Sums]:
    """Nonempty cells, and some sums of each."""
    columns = {name: frame[name].cast(pl.Float64).to_numpy() for name in sorted(names)}
    size = int(cell.max(initial=-1)) + 1
    if size >= len(cell):
        return cell, columns
    cells = np.flatnonzero(np.bincount(cell, minlength=size))
    return cells, {name: sum_by_place(cell, column, size)[cells] for name, column in columns.items()}


def _moment_sums(
    plan: RunPlan, cube: Cube, centres: pl.DataFrame, keys: list[str], names: Sequence[str]
) -> pl.DataFrame:
    """The moments of some entries about their centres, with these."""
    frame = plan.sum_rows
    if plan.blocks is not None:
        frame = frame.with_columns(plan.blocks.of_unit.alias(BLOCK))
    rows = (
        inner_join(frame, centres.lazy(), keys, ordered=False)
        if keys
        else frame.join(centres.lazy(), how="cross")
    )
    at = [name for name in centres.columns if name not in keys]
    sums = _totals(plan, cube, names, at)
    values = {total.name: total.value for total in sums if total.value is not None}
    addition = answer(plan.request.arithmetic.addition(rows, values))
    aggregates = [pl.len().cast(pl.Int64).alias(_ROWS), *(pl.col(name).first() for name in at)]
    aggregates += addition.sums(values)
    parts = node_aggregates(aggregates)
    collected = pl.collect_all([rows.group_by(keys).agg(part) for part in parts])
    together = collected[0]
    for part in collected[1:]:
        together = inner_join(together, part, keys) if keys else together.hstack(part)
    return addition.totals(together).drop(_ROWS)


def _totals(plan: RunPlan, cube: Cube, names: Sequence[str], at: Sequence[str]) -> list[Total]:
    """The sums of the moments about columns of centres."""
    rows = {}
    for model in plan.request.models:
        row = plan.row_of(model)
        keys = [name for key in row.centres for name in (key, f"{SCORED}{key}")]
        centre_columns = {key: f"{CENTRE}{model}|{key}" for key in keys}
        columns = {key: pl.col(column) for key, column in centre_columns.items() if column in at}
        rows[model] = replace(row, centres={**row.centres, **columns})
    selected = set(names)
    return [total for total in atom_totals(plan, summed_in(plan, cube), rows) if total.name in selected]
