"""Sums by slice values: a single scan for both, for sums without other prerequisites in few slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.engine.aggregate.aggregation import side_by_side, sum_plans
from plmetrics.engine.inquiry import Question, frames_by_name
from plmetrics.engine.memory.budget import rows_that_fit
from plmetrics.engine.prepare.slices import slice_plans
from plmetrics.engine.run_plan import Accounting, RunPlan, SliceSums
from plmetrics.engine.streaming import SAMPLE_ROWS, collected_frames
from plmetrics.table.slices import Cube, KeyCodes, Slices, SliceSet

if TYPE_CHECKING:
    from plmetrics.engine.request import Request, TableView
    from plmetrics.table.prediction_table import PredictionTable

    KeyValues = tuple[Mapping[str, pl.DataFrame], SliceSums | None]

_FEW = 1000
"""So many combinations of slice values among the first rows are few: more might be nearly as many as rows."""

_SUMS = 4
"""About so many numbers are added for a metric."""


def has_few_slices(request: Request, view: TableView, table: PredictionTable) -> Question[bool]:
    """Whether the first rows are in few slices, and sums fit into memory where all others have as many new ones."""
    columns = _columns(view.sets)
    (frame,) = yield [table.scored.select(columns).head(SAMPLE_ROWS).unique()]
    rows = view.source.rows or 0
    most = frame.height * max(1, rows // SAMPLE_ROWS)
    sums = _SUMS * max(1, len(request.sums) * len(request.models))
    return frame.height <= _FEW and most <= rows_that_fit(view.suite, sums)


def slice_sums(
    request: Request,
    view: TableView,
    table: PredictionTable,
    centres: Mapping[str, Mapping[str, float]],
    thresholds: Mapping[str, Mapping[str, float]],
    plans: Mapping[str, pl.LazyFrame],
    *,
    adds: bool,
) -> Question[KeyValues]:
    """Results of `plans` by name, and sums with the values in them; no sums unless one `adds`."""
    if not adds:
        return (yield from frames_by_name(plans)), SliceSums(None, tuple(plans.values()))
    columns = _columns(view.sets)
    codes = tuple(KeyCodes(key, pl.Series()) for key in view.roles.keys if key.column in columns)
    cube = Cube(codes, tuple(Slices(part, pl.DataFrame()) for part in view.sets))
    no_rows = Accounting(0, 0, {})
    guess = RunPlan(request, view, table, (), (cube,), no_rows, None, centres, thresholds, exact=False)
    (sums,) = sum_plans(guess)
    frame = side_by_side((yield sums))
    values = collected_frames(slice_plans(view, frame.lazy()))
    return values, SliceSums(frame, tuple(plans.values()))


def _columns(sets: Sequence[SliceSet]) -> list[str]:
    """The canonical columns of all slice keys."""
    return list(dict.fromkeys(column for part in sets for column in part.columns))
