"""Merging of states: cells and slices get common numbers, and their counts are added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from plmetrics.core.errors import AbsentDataError, Problem
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.registry import features_in
from plmetrics.features.stored.alignment import AlignedStates, MergedBlocks, StateReference, blocks_of, tables
from plmetrics.features.stored.summation import add_parts
from plmetrics.states.state_format import (
    BLOCK,
    BLOCKS,
    CELL,
    PART,
    Builder,
    Head,
    Part,
    SavedState,
    frame_of,
    frame_text,
)
from plmetrics.table.joins import left_join, with_types
from plmetrics.table.slices import order

_NEW = "@new"
_SMALL = ("cells", "slices", "edges", "usual", "cuts", "drift_cells")


def read_state(state: StateReference, *kinds: str) -> SavedState:
    """A state with the rows of some kinds of parts."""
    return read_parts(state, list(state.head.numbers(*kinds)))


def read_parts(state: StateReference, numbers: Sequence[int]) -> SavedState:
    """A state with the rows of the parts of some numbers."""
    columns = (name for number in numbers for name in state.head.parts[number].columns)
    names = dict.fromkeys([PART, *columns])
    rows = tables([state]).filter(pl.col(PART).is_in(list(numbers))).select(list(names))
    return SavedState(state.head, collected_frame(rows), state.place)


def merge_states(states: Sequence[StateReference], *, totals: bool, room: int) -> SavedState:
    """Merged state of several additive ones.

    Args:
        states: at least one, of which `adding.check` found nothing against it. Those without parts are of no rows.
        totals: whether replicates need to know how many different units there are.
        room: bytes for what they are added in; with less it takes longer, and gives the same.

    Raises:
        AbsentDataError: none of them has rows.
    """
    full = [state for state in states if state.head.parts]
    if not full:
        raise AbsentDataError(Problem("the states have no rows", ("data", "path")))
    layouts = by_layout(full)
    blocks = blocks_of(layouts, totals=totals)
    builder = Builder()
    groups = list(_groups([group.head for group in layouts]))
    for sets in groups:
        _cells(builder, sets, layouts)
    for number in range(len(layouts[0].head.sets)):
        _slices(builder, number, layouts)
    add_parts(builder, groups, layouts, blocks, room)
    _bins(builder, layouts, blocks)
    _queries(builder, layouts)
    first = layouts[0].first
    for number, part in first.head.numbers("edges", "usual", "cuts").items():
        builder.add(part, first.of(number))
    blocks.write(builder)
    of_features: dict[str, Any] = {
        feature.key: feature.merge(layouts, builder) for feature in features_in(full[0].head.suite)
    }
    present = {key: content for key, content in of_features.items() if content is not None}
    empty = [state for state in states if not state.head.parts]
    head = replace(_head([*full, *empty], builder, blocks), **present)
    return SavedState(head, builder.table(), "the merged states")


def by_layout(states: Sequence[StateReference]) -> list[AlignedStates]:
    """States in groups of equal numbering."""
    layouts: dict[str, AlignedStates] = {}
    for state in states:
        if state.head.layout not in layouts:
            layouts[state.head.layout] = AlignedStates(read_state(state, *_SMALL))
        layouts[state.head.layout].states.append(state)
    groups = list(layouts.values())
    for group, table in zip(groups, with_types([group.first.table for group in groups]), strict=True):
        group.first = replace(group.first, table=table)
    return groups


def _groups(heads: Sequence[Head]) -> Iterator[tuple[int, ...]]:
    """Slice sets with a common cube in every state."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for index in range(len(heads[0].sets)):
        groups.setdefault(tuple(head.cells_of(index) for head in heads), []).append(index)
    yield from map(tuple, groups.values())


def _cells(builder: Builder, sets: tuple[int, ...], layouts: Sequence[AlignedStates]) -> None:
    """The cells of all states, and the new number of each old one."""
    columns = list(dict.fromkeys(name for index in sets for name in layouts[0].head.sets[index]))
    frames = [group.first.of(group.head.cells_of(sets[0])) for group in layouts]
    _renumber(
        builder, Part("cells", sets), columns, [frame.select(CELL, *columns) for frame in frames], layouts
    )


def _slices(builder: Builder, number: int, layouts: Sequence[AlignedStates]) -> None:
    """The slices of a set in all states, and the new number of each old one."""
    part = Part("slices", (number,))
    frames = []
    for group in layouts:
        place = group.head.number(*part.name[:2])
        frames.append(None if place is None else group.first.of(place))
    present = [frame for frame in frames if frame is not None]
    if present:
        columns = [name for name in present[0].columns if name != CELL]
        _renumber(builder, part, columns, frames, layouts)


def _renumber(
    builder: Builder,
    part: Part,
    columns: list[str],
    frames: Sequence[pl.DataFrame | None],
    layouts: Sequence[AlignedStates],
) -> None:
    """Add the cells or slices of some states, distinct and in order, and note their new numbers."""
    place = len(builder.parts)
    if columns:
        every = order(pl.concat([frame.select(columns) for frame in frames if frame is not None]).unique())
    else:
        every = pl.DataFrame(height=1)
    every = every.with_row_index(CELL)
    builder.add(part, every)
    for group, frame in zip(layouts, frames, strict=True):
        if frame is not None and columns:
            renumbered = left_join(frame, every.rename({CELL: _NEW}), columns).sort(CELL)
            group.numbers[place] = renumbered[_NEW].to_numpy().astype(np.int64)
        elif frame is not None:
            group.numbers[place] = np.zeros(frame.height, dtype=np.int64)


def _bins(builder: Builder, layouts: Sequence[AlignedStates], blocks: MergedBlocks) -> None:
    """Add the tables of sums by bins, state after state."""
    if not any(part.kind == "bins" for group in layouts for part in group.head.parts):
        return
    from plmetrics.states.bin_sums import KIND, Name, add_frames, read_bins, write_bins

    slices = {part.sets[0]: number for number, part in enumerate(builder.parts) if part.kind == "slices"}
    sums: dict[Name, pl.DataFrame] = {}
    for group in layouts:
        for state in group.states:
            for name, frame in read_bins(read_state(state, KIND)).items():
                cells = group.numbers[slices[name[2]]][frame[CELL].to_numpy()]
                rows = frame.with_columns(pl.Series(CELL, cells, dtype=pl.UInt32))
                if BLOCK in rows.columns and blocks.modulus is not None:
                    rows = rows.with_columns(pl.col(BLOCK) % blocks.modulus)
                sums[name] = add_frames([*([sums[name]] if name in sums else []), rows])
    write_bins(builder, sums)


def _queries(builder: Builder, layouts: Sequence[AlignedStates]) -> None:
    """Add the queries of all states, unless one of these was merged without its own."""
    if all(group.head.numbers("queries") for group in layouts):
        rows = [rows for group in layouts for rows in group.rows_of("queries", "")]
        hashes = pl.concat([frame[BLOCKS].explode().drop_nulls() for frame in rows]).unique().sort()
        builder.add(Part("queries"), hashes.implode().to_frame())


def _head(states: Sequence[StateReference], builder: Builder, blocks: MergedBlocks) -> Head:
    heads = [state.head for state in states]
    contents_of_states = [state.head.states or (state.content,) for state in states]
    return replace(
        heads[0],
        schema=_schema([head.schema for head in heads]),
        queries_schema=_schema([head.queries_schema for head in heads]),
        parts=tuple(builder.parts),
        layout=builder.layout(),
        rows=_rows([head.rows for head in heads]),
        files=tuple(file for head in heads for file in head.files),
        modulus=blocks.modulus,
        hashed=blocks.hashes is not None,
        units=blocks.units,
        states=tuple(content for contents in contents_of_states for content in contents if content),
        warnings=tuple(dict.fromkeys(word for head in heads for word in head.warnings)),
        plan=None,
    )


def _schema(texts: Sequence[str]) -> str:
    """Schema of the first state; columns that are null throughout there have the type they have in others."""
    frames = [frame_of(text) for text in dict.fromkeys(texts) if text]
    return frame_text(with_types(frames)[0]) if len(frames) > 1 else texts[0]


def _rows(counted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    dropped = {
        model: sum(rows["dropped"].get(model, 0) for rows in counted) for model in counted[0]["dropped"]
    }
    pairs = [rows["pairs_read"] for rows in counted if rows["pairs_read"] is not None]
    return {
        "read": sum(rows["read"] for rows in counted),
        "units": sum(rows["units"] for rows in counted),
        "zero_weight": sum(rows["zero_weight"] for rows in counted),
        "dropped": dropped,
        "pairs_read": sum(pairs) if pairs else None,
        "fitted": sum(rows.get("fitted", 0) for rows in counted),
    }
