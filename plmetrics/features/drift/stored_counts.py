"""Counts for drift in a state: written, read back, and added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import SuitePath
from plmetrics.engine.request import TableView
from plmetrics.engine.streaming import frames_of
from plmetrics.features.drift.description import Description, check_one_meaning, check_serves
from plmetrics.features.drift.window_counts import (
    APART,
    COUNTS,
    NUMBER,
    OFFSETS,
    ROWS,
    SUMS,
    TEXT,
    WEIGHTS,
    Tally,
    WindowCounts,
    common_description,
    selection,
    sum_of_counts,
)
from plmetrics.features.stored.alignment import AlignedStates, StateReference
from plmetrics.features.stored.state_files import state_bytes
from plmetrics.features.stored.stored_state import head_of
from plmetrics.states.state_format import CELL, PART, Builder, Part, SavedState, State, frame_text

CELLS, COUNTED, SUMMED = "drift_cells", "drift", "drift_sums"


def write(builder: Builder, summary: WindowCounts) -> dict[str, Any]:
    """Add the parts of drift counts to a state.

    Returns:
        What the head of the state says of them.
    """
    for number, cells in enumerate(summary.cells):
        builder.add(Part(CELLS, (number,)), cells)
    weight = pl.lit(None, dtype=pl.Float64) if summary.description.weight is None else pl.col(WEIGHTS)
    for column, tallies in zip(summary.description.subjects, summary.tallies, strict=True):
        for number, tally in enumerate(tallies):
            counts = tally.counts.with_columns(weight.alias(WEIGHTS))
            builder.add(Part(COUNTED, (number,), column.name), counts)
            builder.add(Part(SUMMED, (number,), column.name), tally.offsets)
    return summary.description.json()


def descriptions_of(states: Sequence[StateReference], path: SuitePath) -> list[Description]:
    """Descriptions of the counts of some states.

    Raises:
        DataError: a state has none.
    """
    problems = [
        Problem(
            f"{state.place} holds no counts for drift: its suite has no section drift",
            path,
            "write the state with a suite that has one",
        )
        for state in states
        if state.head.drift is None
    ]
    if problems:
        raise DataError(problems)
    return [Description.read(state.head.drift) for state in states if state.head.drift is not None]


def check_states(first: StateReference, other: StateReference) -> None:
    """Check the drift counts of two states of one suite for equal meaning, if both have some."""
    if first.head.drift is not None and other.head.drift is not None:
        left, right = (Description.read(head) for head in (first.head.drift, other.head.drift))
        check_one_meaning(left, right, (first.place, other.place))


def check_reference(states: Sequence[StateReference], needed: Description, path: SuitePath) -> None:
    """Check states for the columns a suite compares, and for equal meaning."""
    every = descriptions_of(states, path)
    for state, description in zip(states, every, strict=True):
        check_serves(needed, description, state.place, path)
        check_one_meaning(every[0], description, (states[0].place, state.place), path)


def reference_of(layouts: Sequence[AlignedStates], needed: Description) -> WindowCounts:
    """The counts of all states together, as far as they are wanted."""
    return sum_of_counts([selection(_summary(group), needed) for group in layouts])


def sum_of_states(layouts: Sequence[AlignedStates]) -> WindowCounts | None:
    """The counts of states of one suite together; None where one of them has none."""
    if any(state.head.drift is None for group in layouts for state in group.states):
        return None
    return sum_of_counts([_summary(group) for group in layouts])


def counts_of(state: SavedState) -> WindowCounts:
    """Drift counts of a state, among several or merged from several."""
    reference = StateReference(state.head, state.table, state.place, state.content)
    return sum_of_counts([_summary(AlignedStates(state, [reference]))])


def run_state(view: TableView, summary: WindowCounts, merged: SavedState | None = None) -> State:
    """State of drift counts alone, stored with the results of a run.

    Its files are those of `merged`, where the counts are those of a merged state.
    """
    builder = Builder()
    description = write(builder, summary)
    fields = {
        "schema": frame_text(pl.DataFrame(schema=view.schema)),
        "constants": {},
        "parts": tuple(builder.parts),
        "layout": builder.layout(),
        "rows": {"read": summary.rows},
        "sets": (),
        "drift": description,
    }
    table, head = builder.table(), head_of(view.suite, view.source, fields, ())
    head = head if merged is None else replace(head, files=merged.head.files, states=merged.head.states)
    return State(head, table, state_bytes(head, table)[1])


def _summary(layout: AlignedStates) -> WindowCounts:
    """Sum of the counts of states with equal numbers of parts and cells."""
    head = layout.head
    description = common_description(
        [Description.read(state.head.drift) for state in layout.states if state.head.drift is not None]
    )
    plans = [_rows(layout, COUNTED, COUNTS), _rows(layout, SUMMED, SUMS)]
    if len(layout.states) > 1:
        plans[0] = plans[0].group_by(PART, CELL, NUMBER, TEXT).agg(_COUNTED)
        plans[1] = plans[1].group_by(PART, CELL).agg(pl.col(OFFSETS).sum())
    counted, summed = frames_of(plans)
    if description.weight is None:
        counted = counted.with_columns(pl.col(ROWS).cast(pl.Float64).alias(WEIGHTS))
    parts = [frame.partition_by(PART, as_dict=True, include_key=False) for frame in (counted, summed)]

    def tally(name: str, group: int) -> Tally:
        numbers = (head.number(kind, (group,), name) for kind in (COUNTED, SUMMED))
        present = (tables.get((number,)) for tables, number in zip(parts, numbers, strict=True))
        frames = (
            schema.to_frame() if frame is None else frame.select(list(schema))
            for frame, schema in zip(present, (COUNTS, SUMS), strict=True)
        )
        return Tally(*frames)

    cells = tuple(layout.first.of(number) for number in head.numbers(CELLS))
    groups = range(len(description.groups))
    return WindowCounts(
        description,
        cells,
        tuple(tuple(tally(column.name, n) for n in groups) for column in description.subjects),
    )


_COUNTED = (pl.col(ROWS).sum(), pl.col(WEIGHTS).sum(), pl.col(APART).any())


def _rows(group: AlignedStates, kind: str, schema: pl.Schema) -> pl.LazyFrame:
    """Rows of all parts of a kind, with the union of their columns."""
    rows = group.rows().filter(pl.col(PART).is_in(list(group.head.numbers(kind))))
    return rows.select(PART, *schema)
