"""Counts of one window: rows by slice cell and value, or by bin of a constant grid. They add.

A column of few values is counted by value, one of more by bin; a text that is new in every row becomes one value. That
happens when the values are too many, in a window or in several together: it depends on all rows, not on how they were
split. Sums of how far values lie above the edges of their bins keep means and variances exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from plmetrics.engine.inquiry import Question, answer
from plmetrics.engine.memory.budget import separates_scans
from plmetrics.engine.prepare.slices import resolve_keys
from plmetrics.engine.request import TableView
from plmetrics.features.drift.constant_grid import lower_edge
from plmetrics.features.drift.counts import MOST_CATEGORIES
from plmetrics.features.drift.description import ColumnDescription, Description
from plmetrics.features.drift.subjects import Kind, in_bits
from plmetrics.features.drift.windows import VALUE, CurrentWindow, comparable, current_window
from plmetrics.states.state_format import CELL, number_cells
from plmetrics.table.joins import left_join
from plmetrics.table.prediction_columns import WEIGHT

MOST_VALUES = 16_384
"""A column of numbers with more different values is counted by bin."""

NUMBER, TEXT, ROWS, WEIGHTS, APART = "@number", "@text", "@rows", "@weights", "@apart"
OFFSET, SQUARE, CROSS = "@offset", "@square", "@cross"
OFFSETS = (OFFSET, SQUARE, CROSS)
COUNTS = pl.Schema(
    {
        CELL: pl.UInt32(),
        NUMBER: pl.Float64(),
        TEXT: pl.String(),
        ROWS: pl.Int64(),
        WEIGHTS: pl.Float64(),
        APART: pl.Boolean(),
    }
)
SUMS = pl.Schema({CELL: pl.UInt32(), **dict.fromkeys(OFFSETS, pl.Float64())})
ANY = "any"
_NEW = "@new"
_SURELY = 2


@dataclass(frozen=True, slots=True)
class Tally:
    """One column in the cells of one group.

    `counts` are rows and weight by cell and place; `APART` says whether a value lies above its place, a bin's edge.
    `offsets` are, of each cell with such values, sums of weight x a, weight x a^2 and weight x a x place, with a the
    value less its place.
    """

    counts: pl.DataFrame
    offsets: pl.DataFrame


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """Counts of one window.

    `cells` are, for each group of `description`, the values of its keys by number; `tallies` are those of each column
    in each group, in the order of `description.subjects`.
    """

    description: Description
    cells: tuple[pl.DataFrame, ...]
    tallies: tuple[tuple[Tally, ...], ...]

    @property
    def rows(self) -> int:
        """Number of rows of the window; for scores with absences, of the column with the most."""
        return max((int(tallies[0].counts[ROWS].sum()) for tallies in self.tallies), default=0)


def count_window(view: TableView) -> WindowCounts:
    """Counts of the evaluated rows.

    `view` is of the rows as they are in the data.
    """
    separate = separates_scans(view)
    return answer(answer(WindowCounting.prepare(view), separate=separate).count(), separate=separate)


@dataclass(frozen=True, slots=True)
class WindowCounting:
    """Counting of one window; `many` are the numbers of the folded columns."""

    window: CurrentWindow
    many: frozenset[int]

    @classmethod
    def prepare(cls, view: TableView) -> Question[WindowCounting]:
        """Question for the columns with many distinct values; arguments and errors are those of `count_window`."""
        keys = yield from resolve_keys(view)
        window = current_window(view.with_keys(keys))
        return cls(window, (yield from _continuous_columns(window)))

    def count(self) -> Question[WindowCounts]:
        """Count the rows: a plan for each column and group, collected together."""
        window, description = self.window, Description.of(self.window)
        plans = [
            _plan(window, number, group, folded=number in self.many)
            for number in range(len(window.subjects))
            for group in description.groups
        ]
        frames = iter((yield plans))
        counted = [[next(frames) for _ in description.groups] for _ in window.subjects]
        cells = tuple(
            _cells(group, [counts[n] for counts in counted]) for n, group in enumerate(description.groups)
        )
        names = (column.name for number, column in enumerate(description.subjects) if number in self.many)
        tallies = tuple(tuple(map(_tally, counts, cells)) for counts in counted)
        return canonical_counts(WindowCounts(replace(description, folded=frozenset(names)), cells, tallies))


def _continuous_columns(window: CurrentWindow) -> Question[frozenset[int]]:
    """Columns with too many distinct values for counts by value: by an estimate, with a margin for its error."""
    values = [
        pl.col(f"{VALUE}{number}").approx_n_unique().alias(str(number))
        for number in range(len(window.subjects))
    ]
    if not values:
        return frozenset()
    (counted,) = yield [window.frame.select(values)]
    sizes = counted.row(0)
    limits = (_value_limit(subject.kind) for subject in window.subjects)
    return frozenset(number for number, most in enumerate(limits) if sizes[number] > _SURELY * most)


def _value_limit(kind: Kind | None) -> int:
    return MOST_CATEGORIES if kind in {"category", None} else MOST_VALUES


def _plan(window: CurrentWindow, number: int, group: Sequence[str], *, folded: bool) -> pl.LazyFrame:
    """One pass for the counts of a column by the cells of a group."""
    subject, frame = window.subjects[number], window.frame
    value, weight = pl.col(f"{VALUE}{number}"), pl.col(WEIGHT)
    place = _folded_place(value, subject.kind) if folded else value
    sums = [pl.len().cast(pl.Int64).alias(ROWS), weight.sum().cast(pl.Float64).alias(WEIGHTS)]
    if folded and subject.of_numbers:
        apart = value - place
        sums += [(weight * apart).sum().alias(OFFSET), (weight * apart**2).sum().alias(SQUARE)]
    name = NUMBER if subject.of_numbers else TEXT
    return frame.group_by(*group, place.alias(name)).agg(sums)


def _folded_place(value: pl.Expr, kind: Kind | None) -> pl.Expr:
    """Place of a folded value: the edge of its bin, or the common place of all."""
    if kind in {"category", None}:
        return pl.when(value.is_not_null()).then(pl.lit(ANY))
    assert kind is not None
    return lower_edge(value, kind)


def _cells(group: Sequence[str], frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Cells of a group, the numbered combinations of its keys' values."""
    if not group:
        return pl.DataFrame(height=1).with_row_index(CELL)
    every = pl.concat([frame.select(group) for frame in frames]).unique().sort(group, nulls_last=True)
    return every.with_row_index(CELL)


def _tally(frame: pl.DataFrame, cells: pl.DataFrame) -> Tally:
    """Counts of a plan by the number of a cell in place of the values of its keys."""
    frame = number_cells(frame, cells)
    absent = {NUMBER: None, TEXT: None, OFFSET: 0.0, SQUARE: 0.0}
    constants = [pl.lit(value).alias(name) for name, value in absent.items() if name not in frame.columns]
    frame = frame.with_columns(constants).with_columns(pl.col(NUMBER).cast(pl.Float64))
    return _split_sums(frame.with_columns(pl.col(OFFSET).fill_null(0.0), pl.col(SQUARE).fill_null(0.0)))


def _split_sums(frame: pl.DataFrame) -> Tally:
    """Counts, and the sums of each cell from those of its places."""
    moved = pl.col(OFFSET) > 0
    derived = {APART: moved, CROSS: pl.col(NUMBER) * pl.col(OFFSET)}
    counts, sums = (
        [derived.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in schema.items()]
        for schema in (COUNTS, SUMS)
    )
    return Tally(frame.select(counts), frame.filter(moved).select(sums))


def canonical_counts(summary: WindowCounts) -> WindowCounts:
    """Counts in canonical order; columns with too many values, or folded in another window, are folded.

    Values are those that floats of the column's bits tell apart, in whatever bits they were counted.
    """
    folded, tallies = set(summary.description.folded), []
    for column, counted in zip(summary.description.subjects, summary.tallies, strict=True):
        name = TEXT if column.kind in {"category", None} else NUMBER
        of_column = counted if column.bits == 64 else tuple(_in_bits(tally, column.bits) for tally in counted)
        if column.name not in folded:
            number = of_column[0].counts[name].drop_nulls().n_unique()
            folded |= {column.name} if number > _value_limit(column.kind) else set()
        canonical = (_fold(tally, column) for tally in counted) if column.name in folded else of_column
        tallies.append(tuple(_sum_places(tally, name) for tally in canonical))
    description = replace(summary.description, folded=frozenset(folded))
    return replace(summary, description=description, tallies=tuple(tallies))


def _in_bits(tally: Tally, bits: int) -> Tally:
    return replace(tally, counts=tally.counts.with_columns(in_bits(pl.col(NUMBER), bits)))


def _fold(tally: Tally, column: ColumnDescription) -> Tally:
    """Summary with values where they are not told apart: at the edges of bins, or as any."""
    if column.kind in {"category", None}:
        counts = tally.counts.with_columns(_folded_place(pl.col(TEXT), column.kind).alias(TEXT))
        return replace(tally, counts=counts)
    place = _folded_place(pl.col(NUMBER), column.kind)
    apart = (pl.col(NUMBER) - place).fill_null(0.0)
    offset = (pl.col(WEIGHTS) * apart).alias(OFFSET), (pl.col(WEIGHTS) * apart**2).alias(SQUARE)
    split = _split_sums(tally.counts.with_columns(place.alias(NUMBER), *offset))
    counts = split.counts.with_columns(tally.counts[APART] | split.counts[APART])
    return Tally(counts, pl.concat([tally.offsets, split.offsets]))


def _sum_places(tally: Tally, name: str) -> Tally:
    """Counts of one cell and place in one row, and the sums of one cell; `name` is the column of places."""
    keys, other = [CELL, name], TEXT if name == NUMBER else NUMBER
    counted = tally.counts.group_by(keys).agg(pl.col(ROWS, WEIGHTS).sum(), pl.col(APART).any())
    absent = pl.lit(None, COUNTS[other]).alias(other)
    columns = [absent if column == other else column for column in COUNTS]
    offsets = tally.offsets.group_by(CELL).agg(pl.col(OFFSETS).sum()).sort(CELL)
    return Tally(counted.sort(keys, nulls_last=True).select(columns), offsets.select(list(SUMS)))


def sum_of_counts(summaries: Sequence[WindowCounts]) -> WindowCounts:
    """The counts of several windows together; all have the same groups and columns, in one order.

    Blocks of units are told where all windows tell them.
    """
    summaries = in_common_groups(summaries)
    description = common_description([summary.description for summary in summaries])
    if len(summaries) == 1:
        return canonical_counts(summaries[0])
    cells, moves = [], []
    for number in range(len(description.groups)):
        every, renumbering = union_of_cells([summary.cells[number] for summary in summaries])
        cells.append(every)
        moves.append(renumbering)
    tallies = tuple(
        tuple(
            _end_to_end(
                _renumber(summary.tallies[place][number], moves[number][n])
                for n, summary in enumerate(summaries)
            )
            for number in range(len(description.groups))
        )
        for place in range(len(description.subjects))
    )
    return canonical_counts(WindowCounts(description, tuple(cells), tallies))


def _end_to_end(tallies: Iterable[Tally]) -> Tally:
    every = list(tallies)
    return Tally(pl.concat([tally.counts for tally in every]), pl.concat([tally.offsets for tally in every]))


def in_common_groups(summaries: Sequence[WindowCounts]) -> list[WindowCounts]:
    """The windows in groups without blocks of units, unless all of them tell these."""
    if len({summary.description.groups for summary in summaries}) == 1:
        return list(summaries)
    descriptions = [summary.description for summary in summaries]
    plain = [replace(description, groups=description.groups_without_units) for description in descriptions]
    return list(map(selection, summaries, plain))


def common_description(every: Sequence[Description]) -> Description:
    """Common description of several windows: folded if one is, of the first known kind, in the fewest bits."""
    subjects = tuple(map(_first_kind, *(description.subjects for description in every)))
    return replace(
        every[0], subjects=subjects, folded=frozenset().union(*(description.folded for description in every))
    )


def _first_kind(*abouts: ColumnDescription) -> ColumnDescription:
    """First known kind; None for a window of nulls alone."""
    first = next((column for column in abouts if column.kind is not None), abouts[0])
    return replace(first, bits=min(column.bits for column in abouts))


def union_of_cells(cells: Sequence[pl.DataFrame]) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """The cells of several windows, each once, and the new number of each old one of each window."""
    keys = [name for name in cells[0].columns if name != CELL]
    if not keys:
        return _cells((), ()), [frame.with_columns(pl.lit(0).alias(_NEW)) for frame in cells]
    labels = {key: key.split("|")[1] if "|" in key else key for key in keys}
    typed = comparable([frame.select(CELL, *keys) for frame in cells], labels)
    every = pl.concat([frame.select(keys) for frame in typed]).unique().sort(keys, nulls_last=True)
    every = every.with_row_index(CELL)
    new = every.rename({CELL: _NEW})
    return every, [left_join(frame, new, keys).select(CELL, _NEW) for frame in typed]


def _renumber(tally: Tally, numbers: pl.DataFrame) -> Tally:
    """Counts with the new numbers of cells."""
    new = pl.col(_NEW).cast(pl.UInt32).alias(CELL)
    counts, offsets = (
        frame.join(numbers, on=CELL, how="left").with_columns(new).drop(_NEW)
        for frame in (tally.counts, tally.offsets)
    )
    return Tally(counts, offsets)


def selection(summary: WindowCounts, needed: Description) -> WindowCounts:
    """Counts of the requested columns, in their order and groups; the summary covers them all, see `check_serves`.

    Blocks of units are left out where the summary does not tell them.
    """
    if any(summary.description.group_of(group) is None for group in needed.groups):
        needed = replace(needed, groups=needed.groups_without_units)
    cells, moves, sources = [], [], []
    for group in needed.groups:
        source = summary.description.group_of(group)
        assert source is not None
        every, (numbers,) = union_of_cells([summary.cells[source].select(CELL, *group)])
        cells.append(every)
        moves.append(numbers)
        sources.append(source)
    places = {column.name: place for place, column in enumerate(summary.description.subjects)}
    tallies, abouts, folded = [], [], set()
    for column in needed.subjects:
        there = summary.description.counterpart(column)
        assert there is not None
        of_column = [summary.tallies[places[there.name]][source] for source in sources]
        tallies.append(tuple(map(_renumber, of_column, moves)))
        abouts.append(replace(column, kind=there.kind, bits=there.bits))
        if there.name in summary.description.folded:
            folded.add(column.name)
    description = replace(
        summary.description,
        sets=needed.sets,
        groups=needed.groups,
        subjects=tuple(abouts),
        folded=frozenset(folded),
    )
    return WindowCounts(description, tuple(cells), tuple(tallies))
