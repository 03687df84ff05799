"""States added one after another: each is read once, and the next one while one is added."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.threads import ahead, each
from plmetrics.features.stored.capture import blocks_in, write_blocks
from plmetrics.features.stored.far_moments import centre_columns
from plmetrics.features.stored.score_counts import countings, wanted
from plmetrics.features.stored.sparse_counts import KEYS, PIECES, PieceRows
from plmetrics.features.stored.totals import cube, grouped, totals_of
from plmetrics.states.stored import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.features.stored.alignment import Alike, Stored
    from plmetrics.features.stored.score_counts import Counting, Wanted
    from plmetrics.features.stored.totals import Totals
    from plmetrics.features.stored.units import MergedBlocks
    from plmetrics.states.stored import Builder, Head


def add_all(
    builder: Builder,
    groups: Sequence[tuple[int, ...]],
    alike: Sequence[Alike],
    blocks: MergedBlocks,
    room: int,
) -> None:
    """Add the parts with the sums and the counts of all states.

    Args:
        builder: with the cells and slices of all states; those of each group of sets are its first parts.
        groups: the slice sets whose sums lie together.
        alike: the states.
        blocks: how they are blocked together.
        room: bytes for what they are added in: half for sums, half for counts. What has no room there is sorted.
    """
    cubes = [cube(sets, place, builder.parts[place].rows, alike) for place, sets in enumerate(groups)]
    known = blocks.keys()
    keys = _block_keys(alike) if known is None else known
    sums = totals_of(cubes, keys, blocks.modulus, room // 2)
    scores = [] if keys is None else list(countings(_wanted(builder, alike), keys, blocks.modulus, room // 2))
    for group in alike:
        reading = partial(_table, names=_columns(group, sums, scores))
        for state, table in zip(group.states, ahead(reading, group.states), strict=True):
            each(lambda job: job(), list(_jobs(group, state.head, table, sums, scores)))
    plain = iter(grouped([one for one, own in zip(cubes, sums, strict=True) if own is None], alike, blocks))
    for sets, own in zip(groups, sums, strict=True):
        builder.add(Part("sums", sets), next(plain) if own is None else own.rows(alike[0].head.constants))
    if scores and keys is not None:
        write_blocks(builder, keys)
    for part, rows in each(lambda counting: counting.written(), scores):
        builder.add(part, rows)


def _block_keys(alike: Sequence[Alike]) -> NDArray[np.uint64] | None:
    """The blocks that scores are counted in by some state; None where none are counted."""
    found = []
    for group in alike:
        number = group.head.number("blocks")
        if number is not None:
            found += [blocks_in(_rows(_table(state, [KEYS]), state.head, number)) for state in group.states]
    return np.unique(np.concatenate(found)) if found else None


def _wanted(builder: Builder, alike: Sequence[Alike]) -> list[Wanted]:
    """What there is to count: each model, slice set and kind of bins of any state."""
    slices = {part.sets[0]: n for n, part in enumerate(builder.parts) if part.kind == "slices"}
    parts: dict[tuple[str, tuple[int, ...], str, str], list[Part]] = {}
    for group in alike:
        for state in group.states:
            for part in state.head.numbers("scores").values():
                parts.setdefault(part.name, []).append(part)
    places = [slices[own[0].sets[0]] for own in parts.values()]
    return [
        wanted(own, builder.parts[place].rows, place)
        for own, place in zip(parts.values(), places, strict=True)
    ]


def _columns(group: Alike, sums: Sequence[Totals | None], scores: Sequence[Counting]) -> list[str]:
    """The columns that are read of states."""
    cubes = [own.cube for own in sums if own is not None]
    names = [name for cube in cubes for name in (*cube.names, *centre_columns(cube, group))]
    if scores and group.head.number("blocks") is not None:
        names += [*PIECES, KEYS]
    return list(dict.fromkeys(names))


def _table(state: Stored, names: list[str]) -> pl.DataFrame:
    """Some columns of a state."""
    if isinstance(state.table, pl.DataFrame):
        return state.table.select(names)
    return pl.read_parquet(state.table, columns=names, glob=False)


def _rows(table: pl.DataFrame, head: Head, number: int | None) -> pl.DataFrame:
    """The rows of one part: they lie part after part."""
    assert number is not None
    return table.slice(sum(part.rows for part in head.parts[:number]), head.parts[number].rows)


def _jobs(
    group: Alike,
    head: Head,
    table: pl.DataFrame,
    sums: Sequence[Totals | None],
    scores: Sequence[Counting],
) -> Iterator[Callable[[], None]]:
    """What there is to do with the table of a state; no two add to the same."""
    for own in sums:
        if own is not None:
            yield partial(own.add, group, _rows(table, head, own.cube.number(group)))
    number = head.number("blocks")
    if not scores or number is None:
        return
    keys = blocks_in(_rows(table, head, number))
    starts = np.cumsum([0, *(part.rows for part in head.parts)])
    places = {part.name: place for place, part in head.numbers("scores").items()}
    first, last = starts[min(places.values())], starts[max(places.values()) + 1]
    rows = PieceRows.of(table[first:last])
    for counting in scores:
        place = places.get(counting.wanted.part.name)
        if place is not None:
            part = rows.part(starts[place] - first, starts[place + 1] - first)
            yield partial(counting.add, group, part, keys)
