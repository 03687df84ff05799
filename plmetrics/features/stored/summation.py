"""States added one after another: each is read once, and the next one while one is added."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.threads import ahead, parallel_map
from plmetrics.features.stored.alignment import StateReference
from plmetrics.features.stored.capture import blocks_in, write_blocks
from plmetrics.features.stored.cube_sums import cube_sums
from plmetrics.features.stored.grids import ENDS, joined_ends, write_ends
from plmetrics.features.stored.score_counts import ScoreCounts, form_of
from plmetrics.features.stored.sparse_counts import KEYS, PIECES, PieceRows
from plmetrics.states.scores.grid import UNBLOCKED
from plmetrics.states.state_format import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from plmetrics.features.stored.alignment import AlignedStates
    from plmetrics.features.stored.cube_sums import CubeSums
    from plmetrics.features.stored.units import MergedBlocks
    from plmetrics.states.state_format import Builder


def add_parts(
    builder: Builder,
    groups: Sequence[tuple[int, ...]],
    alike: Sequence[AlignedStates],
    blocks: MergedBlocks,
    room: int,
) -> None:
    """Add the parts with the sums and the counts of all states.

    `builder` has the cells and slices of all states; those of each group of sets are its first parts. Half of `room` is
    for sums, half for counts; without that only those that some state has are added.
    """
    sums = _sums(groups, alike, blocks, room // 2)
    slices = {part.sets[0]: number for number, part in enumerate(builder.parts) if part.kind == "slices"}
    scores = list(_scores(builder, slices, alike, blocks, room // 2))
    ends: dict[tuple[int, str], pl.DataFrame] = {}
    for group in alike:
        names = dict.fromkeys(name for sums_of_state in sums for name in sums_of_state.read_in(group))
        if scores and group.head.number("blocks") is not None:
            names |= dict.fromkeys([*PIECES, KEYS])
        if group.head.numbers("ends"):
            names |= dict.fromkeys(ENDS)
        tables = ahead(partial(StateReference.read, names=list(names)), group.states)
        for state, table in zip(group.states, tables, strict=True):
            parallel_map(lambda job: job(), list(_jobs(group, state, table, sums, scores)))
            _join_ends(ends, group, state, table, slices)
    for sums_of_state in sums:
        builder.add(Part("sums", sums_of_state.sets), sums_of_state.rows(alike[0].head.constants))
    if scores:
        write_blocks(builder, blocks.keys)
    for part, rows in parallel_map(lambda counts: counts.written(), scores):
        builder.add(part, rows)
    write_ends(builder, dict(sorted(ends.items())))


def _sums(
    groups: Sequence[tuple[int, ...]], alike: Sequence[AlignedStates], blocks: MergedBlocks, room: int
) -> list[CubeSums]:
    """Accumulators of sums: the cells of each group of sets are a part, in their order."""
    sums = []
    for number, sets in enumerate(groups):
        sums.append(cube_sums(sets, number, alike, blocks, room))
        room -= sums[-1].bytes
    return sums


def _join_ends(
    ends: dict[tuple[int, str], pl.DataFrame],
    group: AlignedStates,
    state: StateReference,
    table: pl.DataFrame,
    slices: Mapping[int, int],
) -> None:
    """Join the ends of a state with those of the ones before."""
    for place, part in state.head.numbers("ends").items():
        key, numbers = (part.sets[0], part.model), group.numbers[slices[part.sets[0]]]
        there = ends.get(key, pl.DataFrame(schema=ENDS))
        ends[key] = joined_ends(there, state.rows(table, place).select(list(ENDS)), numbers)


def _scores(
    builder: Builder,
    slices: Mapping[int, int],
    alike: Sequence[AlignedStates],
    blocks: MergedBlocks,
    room: int,
) -> Iterator[ScoreCounts]:
    """Accumulators of counts: of each ordering, slice set and kind of bins of any state.

    `slices` is the number of the part that tells the slices of a set apart.
    """
    parts: dict[tuple[str, tuple[int, ...], str, str], list[Part]] = {}
    for group in alike:
        for state in group.states:
            for part in state.head.numbers("scores").values():
                parts.setdefault(part.name, []).append(part)
    for same in parts.values():
        part, number = same[0], slices[same[0].sets[0]]
        keys = blocks.keys[:1] if part.bins in UNBLOCKED else blocks.keys
        there = builder.parts[number].rows
        form, size = form_of(same, there * len(keys) * part.size[0] * part.size[1], room)
        room -= size
        yield ScoreCounts(part, there, number, keys, blocks.modulus, form)


def _jobs(
    group: AlignedStates,
    state: StateReference,
    table: pl.DataFrame,
    sums: Sequence[CubeSums],
    scores: Sequence[ScoreCounts],
) -> Iterator[Callable[[], None]]:
    """Tasks on the table of a state; no two add to the same."""
    for sums_of_state in sums:
        yield partial(sums_of_state.add, group, state.rows(table, group.sums_of(sums_of_state.sets[0])))
    number = state.head.number("blocks")
    if not scores or number is None:
        return
    keys = blocks_in(state.rows(table, number))
    starts = np.cumsum([0, *(part.rows for part in state.head.parts)])
    places = {part.name: place for place, part in state.head.numbers("scores").items()}
    first, last = starts[min(places.values())], starts[max(places.values()) + 1]
    rows = PieceRows.of(table[first:last])
    for counts in scores:
        place = places.get(counts.part.name)
        if place is not None:
            part = rows.part(starts[place] - first, starts[place + 1] - first)
            yield partial(counts.add, group, part, keys)
