"""A search for slices in stored states: its sums by cell and block add, and are searched when states are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.exact_sums import Addition
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.engine.run_plan import Accounting, RunPlan
from plmetrics.features.protocol import CountedRows
from plmetrics.features.slice_search.row_sums import GroupingSums
from plmetrics.features.slice_search.search_columns import Encoding, searched_columns
from plmetrics.features.slice_search.search_plan import (
    Grouping,
    SearchPlan,
    cells_of,
    column_groups,
    digits_of,
)
from plmetrics.features.slice_search.search_scan import (
    distant_slices,
    inner_suite,
    plan_of,
    search_plan,
    state_of,
    states_of,
    tallies,
)
from plmetrics.features.slice_search.search_section import FindSlices
from plmetrics.features.slice_search.slice_selection import slices_of_states
from plmetrics.features.stored.alignment import AlignedStates
from plmetrics.features.stored.capture import constants_content
from plmetrics.features.stored.grids import read_constants
from plmetrics.features.stored.restoration import empty_rows
from plmetrics.features.stored.stored_state import suite_of
from plmetrics.states.moments import LOST
from plmetrics.states.state_format import CELL, Builder, Part, SavedState
from plmetrics.suite.model import Suite
from plmetrics.table.source import Source

KIND = "search"
_FEW_DIGITS = (
    "has few right digits in states where slices lie as far apart as here: search the rows themselves"
)
_DENSE = 4_000_000
"""The most groups, with those of codes that may come, for which columns are grouped as in a run over the rows."""


def search_constants(written: Suite, source: Source) -> dict[str, Any]:
    """Shared constants of a search's states, from the rows: of its metric, codes and groupings."""
    plan = search_plan(written, source)
    spec, groupings = plan.spec, plan.groupings
    sizes = [sum(replace(encoding, open=True).codes) for encoding in plan.encodings]
    if any(np.prod([sizes[n] for n in members]) * 2 * spec.blocks > _DENSE for members in groupings):
        groupings = column_groups(sizes, spec.depth, _DENSE // (2 * spec.blocks))
    return {
        "constants": constants_content(plan.run_plan, {}, None),
        "columns": [asdict(encoding) for encoding in plan.encodings],
        "groupings": [list(members) for members in groupings],
    }


def write(builder: Builder, rows: CountedRows) -> None:
    """Add the parts of a search's sums to a state."""
    content: Mapping[str, Any] = rows.constants
    suite, source = rows.request.column_suite, rows.source
    spec = FindSlices.of(suite)
    constants = read_constants(content["constants"], None)
    bound = bind(inner_suite(suite, spec), source, classes=constants.classes)
    plan = _plan(prepare(bound, constants), suite, content, _open_encodings(content))
    for members, tally in tallies(plan):
        builder.add(Part(KIND, bins=_name(members)), tally.counts())


def merge(layouts: Sequence[AlignedStates], builder: Builder) -> None:
    """Add the parts of a search's sums in all states."""
    spec = FindSlices.of(suite_of(layouts[0].head))
    content = layouts[0].head.constants["features"]["find_slices"]
    exponents = content["constants"]["exponents"]
    sizes = [sum(encoding.codes) for encoding in _open_encodings(content)]
    for members in map(tuple, content["groupings"]):
        tally = GroupingSums(members, [sizes[number] for number in members], 2 * spec.blocks, exponents)
        for group in layouts:
            for rows in group.rows_of(KIND, _name(members)):
                tally.add_counts(rows)
        builder.add(Part(KIND, bins=_name(members)), tally.counts())


def search_of_state(suite: Suite, saved: SavedState) -> tuple[pl.DataFrame, dict[str, Any], list[str]]:
    """The table `found_slices` of a state, the entry of the search in the record, and warnings."""
    content = saved.head.constants["features"]["find_slices"]
    opened = _open_encodings(content)
    sizes = [sum(encoding.codes) for encoding in opened]
    groups = map(tuple, content["groupings"])
    counted = {members: saved.of(saved.head.place(KIND, bins=_name(members))) for members in groups}
    occupied = [np.zeros(size, dtype=np.bool_) for size in sizes]
    for members, frame in counted.items():
        digits = digits_of(frame[CELL].to_numpy().astype(np.int64), [sizes[number] for number in members])
        for number, digit in zip(members, digits, strict=True):
            occupied[number][digit] = True
    encodings = [_present(*pair) for pair in zip(opened, occupied, strict=True)]
    plan = _restored_plan(suite, saved, content, encodings)
    groupings = []
    for members, frame in counted.items():
        tally = plan.tally(members)
        tally.add_counts(_with_codes(frame, members, opened, encodings))
        groupings.append(Grouping(members, state_of(plan, tally)))
    table, record = slices_of_states(suite.uncertainty, plan, states_of(plan, groupings))
    lost = any(any(distant_slices(plan, each.columns, each.state, LOST)) for each in groupings)
    return table, record, [f"find_slices: {plan.spec.metric.text} {_FEW_DIGITS}"] if lost else []


def _name(members: Sequence[int]) -> str:
    return " ".join(map(str, members))


def _open_encodings(content: Mapping[str, Any]) -> list[Encoding]:
    """Codes of values in states: one for any value of any state's rows."""
    return [replace(Encoding.read(column), open=True) for column in content["columns"]]


def _present(encoding: Encoding, occupied: NDArray[np.bool_]) -> Encoding:
    """Encoding with codes of the values of all rows together."""
    _, other, nans, nulls = (bool(part.any()) for part in np.split(occupied, np.cumsum(encoding.codes)[:-1]))
    return replace(encoding, other=other, nans=nans, nulls=nulls, open=False)


def _with_codes(
    frame: pl.DataFrame, members: Sequence[int], before: Sequence[Encoding], after: Sequence[Encoding]
) -> pl.DataFrame:
    """The sums of a grouping, with the cells of other encodings of the same values."""
    old, new = ([encodings[number].codes for number in members] for encodings in (before, after))
    digits = digits_of(frame[CELL].to_numpy().astype(np.int64), list(map(sum, old)))
    for place, (there, here) in enumerate(zip(old, new, strict=True)):
        occurs = np.concatenate([np.arange(size) < count for size, count in zip(there, here, strict=True)])
        digits[place] = (np.cumsum(occurs) - 1)[digits[place]]
    return frame.with_columns(pl.Series(CELL, cells_of(digits, list(map(sum, new)))))


def _restored_plan(
    suite: Suite, saved: SavedState, content: Mapping[str, Any], encodings: Sequence[Encoding]
) -> SearchPlan:
    """Plan of a search with stored counts, on zero rows."""
    spec, constants = FindSlices.of(suite), read_constants(content["constants"], None)
    request, view = empty_rows(inner_suite(suite, spec), saved.head, constants)
    plan = RunPlan(
        request,
        view,
        view.table(),
        slices=(),
        cubes=(),
        rows=Accounting(0, 0, {}),
        blocks=None,
        centres=constants.centres,
        thresholds=constants.thresholds,
        exact=False,
        addition=Addition(constants.exponents),
    )
    return _plan(plan, suite, content, encodings)


def _plan(
    plan: RunPlan, suite: Suite, content: Mapping[str, Any], encodings: Sequence[Encoding]
) -> SearchPlan:
    """Plan of a search with known codes and groupings."""
    spec = FindSlices.of(suite)
    columns = searched_columns(plan.view.schema, spec, encodings)
    return plan_of(plan, spec, encodings, columns, tuple(map(tuple, content["groupings"])))
