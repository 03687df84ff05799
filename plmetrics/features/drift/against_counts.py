"""Drift against counts of an earlier window: both windows on one grid, in the form measures read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat

import polars as pl

from plmetrics.core.names import SuitePath
from plmetrics.engine.prepare.constants import pinned_keys
from plmetrics.engine.prepare.slices import SliceList, key_codes, list_slices
from plmetrics.engine.request import TableView
from plmetrics.features.drift.column_counts import ColumnCounts, DriftCounts
from plmetrics.features.drift.constant_grid import upper_edge
from plmetrics.features.drift.description import Description
from plmetrics.features.drift.slice_counts import BLOCK, KEY, PLACE, WIDTH, SetCounts, roll_up_windows
from plmetrics.features.drift.subjects import Kind, Subject
from plmetrics.features.drift.window_counts import (
    APART,
    NUMBER,
    OFFSETS,
    ROWS,
    TEXT,
    WEIGHTS,
    Tally,
    WindowCounts,
    canonical_counts,
    in_common_groups,
    union_of_cells,
)
from plmetrics.features.drift.windows import CurrentWindow, current_window, no_current_rows, no_reference_rows
from plmetrics.states.state_format import CELL
from plmetrics.table.slices import Cube, plan_cubes

_ANY_SIZE = 1 << 62


def on_slices_of(view: TableView, bound: TableView, description: Description) -> TableView:
    """The view with the slices of the reference: its edges of quantiles, and its values of tops.

    `bound` is the view before anything was looked up, with keys that wait for that.
    """
    waiting = {key.column: key for key in bound.roles.keys}
    return view.with_keys(waiting | pinned_keys(bound.roles.keys, description.keys_from_data, view.schema))


def drift_against(
    view: TableView, reference: WindowCounts, current: WindowCounts, path: SuitePath
) -> DriftCounts:
    """Both windows counted on one grid.

    `current` counts the rows that are evaluated, in the order of `reference`.

    Raises:
        DataError: a window has no rows.
        ConfigError: there are more slices than `max_slices`.
    """
    if not current.rows:
        raise no_current_rows(path)
    if not reference.rows:
        raise no_reference_rows(path, "name the state of a day that has some")
    window = current_window(view)
    sides = _on_one_grid(*in_common_groups([reference, current]))
    description = sides[0].description
    cells = [union_of_cells([side.cells[n] for side in sides]) for n in range(len(description.groups))]
    slices = _slices(window, description, [every for every, _ in cells])
    numbers, cubes = _cubes(window, description, slices)
    keyed = [
        _cube_cells(cube, *cells[number], description.block)
        for number, cube in zip(numbers, cubes, strict=True)
    ]
    columns = []
    for place, (subject, column) in enumerate(
        zip(window.subjects, sides[0].description.subjects, strict=True)
    ):
        typed = replace(subject, kind=column.kind or subject.kind)
        tallies = [[side.tallies[place][number] for side in sides] for number in numbers]
        frames = [_by_place(pair, keys, typed) for pair, keys in zip(tallies, keyed, strict=True)]
        by_set = roll_up_windows(slices.slices, cubes, frames)
        folded = column.name in sides[0].description.folded
        if folded and typed.of_numbers:
            above = [_above(pair, keys) for pair, keys in zip(tallies, keyed, strict=True)]
            sums = roll_up_windows(slices.slices, cubes, above)
            by_set = list(map(_bin_counts, by_set, sums, repeat(typed.kind)))
        columns.append(
            ColumnCounts.of_sets(
                typed,
                slices.slices,
                by_set,
                weighted=window.has_weights,
                binned=folded and typed.of_numbers,
                too_many=folded and not typed.of_numbers,
            )
        )
    return DriftCounts(slices.slices, columns, window.has_weights)


def _on_one_grid(reference: WindowCounts, current: WindowCounts) -> tuple[WindowCounts, WindowCounts]:
    """Both windows, with the same columns folded, of the same kind and in the fewer bits."""
    abouts = tuple(
        replace(column, kind=column.kind or other.kind, bits=min(column.bits, other.bits))
        for column, other in zip(current.description.subjects, reference.description.subjects, strict=True)
    )
    folded = current.description.folded | reference.description.folded
    both = []
    for side in (reference, current):
        description = replace(side.description, subjects=abouts, folded=folded)
        described = replace(side, description=description)
        bits = [column.bits for column in side.description.subjects]
        same = side.description.folded == folded and bits == [column.bits for column in abouts]
        both.append(described if same else canonical_counts(described))
    return both[0], both[1]


def _slices(window: CurrentWindow, description: Description, cells: Sequence[pl.DataFrame]) -> SliceList:
    values: dict[str, pl.DataFrame] = {}
    for index, part in enumerate(window.sets):
        if part.keys and not part.is_predicate:
            number = description.group_of(part.columns)
            assert number is not None
            values[f"slices|{index}"] = cells[number].select(key.column for key in part.keys).unique()
    return list_slices(window.view, values)


def _cubes(
    window: CurrentWindow, description: Description, slices: SliceList
) -> tuple[list[int], list[Cube]]:
    """Cubes of the groups of a slice set, and the numbers of these groups."""
    codes = key_codes(window.view.roles, slices)
    numbers, cubes = [], []
    for number in range(len(description.groups)):
        parts = [part for part in slices.slices if description.group_of(part.slice_set.columns) == number]
        for cube in plan_cubes(parts, codes, 1, _ANY_SIZE):
            numbers.append(number)
            cubes.append(cube)
    return numbers, cubes


def _cube_cells(
    cube: Cube, every: pl.DataFrame, moves: Sequence[pl.DataFrame], block: str | None
) -> list[pl.DataFrame]:
    """For each window the key of each of its cells: twice the cell of the cube, and 1 more in rows evaluated.

    Beside it is the block of units, where counts tell these.
    """
    blocks = [] if block is None else [pl.col(block).alias(BLOCK)]
    new = every.select(pl.col(CELL).alias("@new"), cube.cell().alias(KEY), *blocks)
    return [
        cells.join(new, on="@new", how="left").select(
            CELL, (2 * pl.col(KEY) + window).alias(KEY), *(pl.col(BLOCK) for _ in blocks)
        )
        for window, cells in enumerate(moves)
    ]


def _by_place(tallies: Sequence[Tally], keyed: Sequence[pl.DataFrame], subject: Subject) -> pl.DataFrame:
    """The counts of both windows by key and place; of places with values above them `offset` is not 0."""
    place = pl.col(NUMBER if subject.of_numbers else TEXT).alias(PLACE)
    sums = pl.col(ROWS).alias("rows"), pl.col(WEIGHTS).alias("weight"), pl.col(APART).cast(pl.Float64)
    return pl.concat(
        tally.counts.join(keys, on=CELL, how="left").select(
            *keys.drop(CELL).columns, place, *sums[:2], sums[2].alias("offset")
        )
        for tally, keys in zip(tallies, keyed, strict=True)
    )


def _above(tallies: Sequence[Tally], keyed: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Sums of both windows by key, with equal places, in additive columns."""
    place, rows = pl.lit(None, dtype=pl.Float64).alias(PLACE), pl.lit(0, dtype=pl.Int64).alias("rows")
    sums = [pl.col(name).alias(column) for name, column in zip(OFFSETS, _ADDED, strict=True)]
    return pl.concat(
        tally.offsets.join(keys, on=CELL, how="left").select(*keys.drop(CELL).columns, place, rows, *sums)
        for tally, keys in zip(tallies, keyed, strict=True)
    )


_ADDED = ("weight", "offset", "square")


def _bin_counts(counts: SetCounts, sums: SetCounts, kind: Kind) -> SetCounts:
    """Counts with the width of their bins, and the sums of each slice at its first place.

    It makes no difference where they stand: what the places of values add to a square is taken from the first instead.
    """
    (frame, units), (above, units_above) = counts, sums
    place = pl.col("place")
    apart = pl.col("offset_0") + pl.col("offset_1") > 0
    width = pl.when(apart).then(upper_edge(place, kind) - place).otherwise(0.0).alias(WIDTH)
    first = pl.col("slice") != pl.col("slice").shift()
    frame = frame.with_columns(width, first.fill_null(value=True).alias("first"))
    above = above.drop("place").select("slice", pl.exclude("slice").name.prefix("sum_"))
    frame = frame.join(above, on="slice", how="left", maintain_order="left")
    columns = []
    for side in (0, 1):
        offset, square, cross = (pl.col(f"sum_{name}_{side}").fill_null(0.0) for name in _ADDED)
        centred = square + 2 * (cross - place * offset)
        columns += [(pl.col("first") * offset).alias(f"offset_{side}")]
        columns += [pl.when("first").then(centred.fill_null(0.0)).otherwise(0.0).alias(f"square_{side}")]
    frame = frame.with_columns(columns).drop("first", *(c for c in above.columns if c != "slice"))
    return frame, None if units is None or units_above is None else units.with_offsets(units_above)
