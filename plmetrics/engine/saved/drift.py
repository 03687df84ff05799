"""What drift counts, in a state: written, read back, and added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.engine.drift_said import Said, check_one_meaning, check_serves
from plmetrics.engine.drift_summary import (
    APART,
    COUNTS,
    NUMBER,
    OFFSETS,
    ROWS,
    SUMS,
    TEXT,
    WEIGHTS,
    Summary,
    Tally,
    added,
    selected,
    together_said,
)
from plmetrics.states.saved import CELL, PART, Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from plmetrics.core.names import SuitePath
    from plmetrics.engine.saved.merging import Alike, Stored
    from plmetrics.states.saved import Builder

CELLS, COUNTED, SUMMED = "drift_cells", "drift", "drift_sums"


def write(builder: Builder, summary: Summary) -> dict[str, Any]:
    """Add the parts that hold what drift counts.

    Returns:
        What the head of the state says of them.
    """
    for number, cells in enumerate(summary.cells):
        builder.add(Part(CELLS, (number,)), cells)
    weight = pl.lit(None, dtype=pl.Float64) if summary.said.weight is None else pl.col(WEIGHTS)
    for about, own in zip(summary.said.subjects, summary.tallies, strict=True):
        for number, tally in enumerate(own):
            counts = tally.counts.with_columns(weight.alias(WEIGHTS))
            builder.add(Part(COUNTED, (number,), about.name), counts)
            builder.add(Part(SUMMED, (number,), about.name), tally.offsets)
    return summary.said.json()


def said_of(states: Sequence[Stored], path: SuitePath) -> list[Said]:
    """What the counts of some states are about.

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
    return [Said.read(state.head.drift) for state in states if state.head.drift is not None]


def check_reference(states: Sequence[Stored], wanted: Said, path: SuitePath) -> None:
    """Check that states hold what a suite compares, and that they add.

    Raises:
        DataError: one lacks columns or slices that are compared, or holds them with another meaning.
        ConfigError: they mean other things by the same names.
    """
    every = said_of(states, path)
    for state, held in zip(states, every, strict=True):
        check_serves(wanted, held, state.place, path)
        check_one_meaning(every[0], held, (states[0].place, state.place), path)


def check_whole(states: Sequence[Stored]) -> None:
    """Refuse what holds counts for drift alone where metrics are needed.

    Raises:
        DataError: a state is what a run keeps for the drift of later ones.
    """
    for state in states:
        if not state.head.numbers("cells"):
            msg = f"{state.place} holds what drift counts, and no metrics: a run keeps it as a later one's reference"
            raise DataError(Problem(msg, hint="take states that plmetrics state has written"))


def reference_of(alike: Sequence[Alike], wanted: Said) -> Summary:
    """The counts of all states together, as far as they are wanted."""
    return added([selected(_summary(group), wanted) for group in alike])


def merged_drift(builder: Builder, alike: Sequence[Alike]) -> Mapping[str, Any] | None:
    """Add what the states of one suite count together; what the head says of it, None where they count nothing."""
    if any(state.head.drift is None for group in alike for state in group.states):
        return None
    return write(builder, added([_summary(group) for group in alike]))


def _summary(alike: Alike) -> Summary:
    """The counts of states whose parts and cells have the same numbers, together."""
    head = alike.head
    said = together_said(
        [Said.read(state.head.drift) for state in alike.states if state.head.drift is not None]
    )
    plans = [_rows(alike, COUNTED, COUNTS), _rows(alike, SUMMED, SUMS)]
    if len(alike.states) > 1:
        plans[0] = plans[0].group_by(PART, CELL, NUMBER, TEXT).agg(_COUNTED)
        plans[1] = plans[1].group_by(PART, CELL).agg(pl.col(OFFSETS).sum())
    counted, summed = pl.collect_all(plans)
    if said.weight is None:
        counted = counted.with_columns(pl.col(ROWS).cast(pl.Float64).alias(WEIGHTS))
    parts = [frame.partition_by(PART, as_dict=True, include_key=False) for frame in (counted, summed)]

    def tally(name: str, group: int) -> Tally:
        numbers = (head.number(kind, (group,), name) for kind in (COUNTED, SUMMED))
        held = (own.get((number,)) for own, number in zip(parts, numbers, strict=True))
        frames = (
            schema.to_frame() if frame is None else frame.select(list(schema))
            for frame, schema in zip(held, (COUNTS, SUMS), strict=True)
        )
        return Tally(*frames)

    cells = tuple(alike.first.of(number) for number in head.numbers(CELLS))
    groups = range(len(said.groups))
    return Summary(said, cells, tuple(tuple(tally(about.name, n) for n in groups) for about in said.subjects))


_COUNTED = (pl.col(ROWS).sum(), pl.col(WEIGHTS).sum(), pl.col(APART).any())


def _rows(alike: Alike, kind: str, schema: pl.Schema) -> pl.LazyFrame:
    """The rows of all parts of a kind, with the columns that these have."""
    rows = alike.rows().filter(pl.col(PART).is_in(list(alike.head.numbers(kind))))
    return rows.select(PART, *schema)
