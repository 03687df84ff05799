"""Plan of a search for slices: crossed columns, and a few groupings to cover all crossings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.hashing import SEARCH_SALT, mix_expr, mix_int
from plmetrics.engine.aggregate.row_plan import BLOCK
from plmetrics.features.slice_search.row_sums import GroupingSums, code_column, row_values, sum_names
from plmetrics.states.complements import ComplementSums
from plmetrics.states.sums import SlicedSums, SumsState
from plmetrics.table.prediction_columns import UNIT
from plmetrics.table.slices import LOOKUP_CELLS

if TYPE_CHECKING:
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.features.slice_search.search_columns import Encoding, SearchedColumn
    from plmetrics.features.slice_search.search_section import FindSlices

LEAST_GROUPS = 20_000

GROUPS = 600_000
"""The most groups of one grouping."""

GROUPS_A_PASS = 4_000_000
"""The most groups that the groupings of one scan have together."""

BATCH_ROWS = 1_000_000

_WORDS = 1 << 64


@dataclass(frozen=True, slots=True)
class Crossing:
    """Nonempty slices of some columns: `codes` `[slice, column]`, and their sums by block.

    `rests` are the sums of all other rows, where they cannot be taken off those of all: moments lie too far apart.
    """

    columns: tuple[int, ...]
    codes: NDArray[np.int64]
    sums: SlicedSums
    rests: ComplementSums | None = None


@dataclass(frozen=True, slots=True)
class Grouping:
    """Columns of one grouping, and the sums of its scan."""

    columns: tuple[int, ...]
    state: SumsState


@dataclass(frozen=True, slots=True)
class SearchStates:
    """The sums of a search: blocks 0 to `blocks` - 1 are those of the searched part, the rest confirms.

    `populations` is the prefix of the counts that hold for a model. `centres_differ` says whether moments are about
    separate centres, so that sums of a part cannot be subtracted from those of all.
    """

    columns: tuple[SearchedColumn, ...]
    groupings: tuple[Grouping, ...]
    blocks: int
    depth: int
    populations: Mapping[str, str]
    centres_differ: bool = field(init=False)

    def __post_init__(self) -> None:
        differ = any(grouping.state.centres.differ for grouping in self.groupings)
        object.__setattr__(self, "centres_differ", differ)

    def overall(self) -> SlicedSums:
        """The sums of all rows, as one slice."""
        state = self.groupings[0].state
        return state.roll_up(np.zeros(len(state.cell), dtype=np.int64), 1)

    def outside(self, inner: Mapping[int, int], outer: Mapping[int, int]) -> dict[str, NDArray[np.float64]]:
        """Sums `[1, block]` of the rows of a slice outside a smaller one: codes by column."""
        grouping = next(candidate for candidate in self.groupings if set(candidate.columns) >= inner.keys())
        state, sizes = grouping.state, [self.columns[number].size for number in grouping.columns]
        digits = dict(zip(grouping.columns, digits_of(state.cell, sizes), strict=True))
        within = np.ones(len(state.cell), dtype=np.bool_)
        mask = within.copy()
        for number, code in inner.items():
            within &= digits[number] == code
        for number, code in outer.items():
            mask &= digits[number] == code
        rest = state.take(mask & ~within)
        return rest.roll_up(np.zeros(len(rest.cell), dtype=np.int64), 1).by_block(0, 1)

    def crossings(self) -> Iterator[Crossing]:
        """Every set of columns once, with the nonempty slices."""
        done: set[tuple[int, ...]] = set()
        for grouping in self.groupings:
            sizes = [self.columns[number].size for number in grouping.columns]
            digits = dict(zip(grouping.columns, digits_of(grouping.state.cell, sizes), strict=True))
            for members in subsets(grouping.columns, self.depth):
                if members in done:
                    continue
                done.add(members)
                yield self._crossing(grouping.state, members, [digits[number] for number in members])

    def _crossing(
        self, state: SumsState, members: tuple[int, ...], digits: list[NDArray[np.int64]]
    ) -> Crossing:
        sizes = [self.columns[number].size for number in members]
        if self.centres_differ:
            occupied, place = _distinct_keys(cells_of(digits, sizes), math.prod(sizes))
            codes = np.stack(digits_of(occupied, sizes), axis=1)
            rests = ComplementSums(state.roll_up(place + 1, len(occupied) + 1))
            return Crossing(members, codes, state.roll_up(place, len(occupied)), rests)
        key = cells_of([*digits, state.block], [*sizes, state.blocks])
        occupied, place = _distinct_keys(key, math.prod(sizes) * state.blocks)
        columns = {
            name: np.bincount(place, weights=column, minlength=len(occupied)).astype(np.float64, copy=False)
            for name, column in state.columns.items()
        }
        cell, block = np.divmod(occupied, state.blocks)
        first = np.diff(cell, prepend=-1) > 0
        sums = SlicedSums(np.cumsum(first) - 1, block, columns, int(first.sum()), state.blocks)
        return Crossing(members, np.stack(digits_of(cell[first], sizes), axis=1), sums)


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """Plan of a search of some models: the run plan of the rows, codes of columns, and groupings of them by number.

    `encodings` are what the codes of the columns mean.
    """

    run_plan: RunPlan
    spec: FindSlices
    columns: tuple[SearchedColumn, ...]
    groupings: tuple[tuple[int, ...], ...]
    models: tuple[str, ...]
    encodings: tuple[Encoding, ...]

    @property
    def populations(self) -> dict[str, str]:
        """Prefix of the counts of each model."""
        populations = self.run_plan.populations()
        return {model: populations[model] for model in self.models}

    @property
    def slices(self) -> int:
        """Upper bound of the number of slices."""
        return possible([column.size for column in self.columns], self.spec.depth)

    def passes(self) -> list[list[tuple[int, ...]]]:
        """The groupings of each scan."""
        out: list[list[tuple[int, ...]]] = []
        room = 0
        for members in self.groupings:
            groups = self.groups(members)
            if not out or groups > room:
                out.append([])
                room = GROUPS_A_PASS
            out[-1].append(members)
            room -= groups
        return out

    def groups(self, members: Sequence[int]) -> int:
        """The most groups of a grouping."""
        return math.prod(self.columns[number].size for number in members) * 2 * self.spec.blocks

    def keys(self) -> list[pl.Expr]:
        """The block of every row, searched ones first, and its codes."""
        blocks = self.spec.blocks
        confirms = (~search_part(pl.col(UNIT), self.spec)).cast(pl.UInt16)
        block = (confirms * blocks + (pl.col(UNIT) % blocks).cast(pl.UInt16)).alias(BLOCK)
        return [
            block,
            *(column.code().alias(code_column(number)) for number, column in enumerate(self.columns)),
        ]

    def rows(self) -> pl.LazyFrame:
        """Keys of every row, and its summands."""
        values = row_values(self.run_plan, self.spec.metric, self.models)
        return self.run_plan.table.frame.select(*self.keys(), *values)

    def tally(self, members: tuple[int, ...], exponents: Mapping[str, int] | None = None) -> GroupingSums:
        """The sums of a grouping, empty; with the exponents of the run, or others."""
        sizes = [self.columns[number].size for number in members]
        pinned = self.run_plan.addition.exponents if exponents is None else exponents
        names = sum_names(self.rows().collect_schema()) if exponents is None else ()
        return GroupingSums(members, sizes, 2 * self.spec.blocks, pinned, names)


def search_part(unit: pl.Expr, spec: FindSlices) -> pl.Expr:
    """Whether a unit belongs to the searched part: by a hash of its own, independent of blocks."""
    salt = SEARCH_SALT ^ mix_int(spec.seed)
    limit = pl.lit(min(int(spec.share * _WORDS), _WORDS - 1), dtype=pl.UInt64)
    return mix_expr(unit ^ pl.lit(salt, dtype=pl.UInt64)) < limit


def subsets(columns: Sequence[int], depth: int) -> list[tuple[int, ...]]:
    """Sets of crossed columns, the smaller first.

    >>> subsets([0, 1, 2], 2)
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    sizes = range(1, min(depth, len(columns)) + 1)
    return [members for size in sizes for members in combinations(columns, size)]


def possible(sizes: Sequence[int], depth: int) -> int:
    """Possible number of slices of the columns, alone and crossed.

    >>> possible([2, 3], 2)
    11
    """
    counts = [1] + [0] * depth
    for size in sizes:
        for deep in range(depth, 0, -1):
            counts[deep] += counts[deep - 1] * size
    return sum(counts[1:])


def column_groups(sizes: Sequence[int], depth: int, limit: int) -> tuple[tuple[int, ...], ...]:
    """Few groupings of columns, each set of `depth` columns within one.

    Sets join a grouping while that has at most `limit` cells; a set that is wider stands alone.

    >>> column_groups([2, 2, 2, 50], 2, 100)
    ((0, 1, 2), (0, 3), (1, 3), (2, 3))
    """
    depth = min(depth, len(sizes))
    groups: list[tuple[int, ...]] = []
    spacious: list[int] = []
    covered: set[tuple[int, ...]] = set()

    def cells(group: Iterable[int]) -> int:
        return math.prod(sizes[number] for number in group)

    for members in combinations(range(len(sizes)), depth):
        if members in covered:
            continue
        place = next((place for place in spacious if cells({*groups[place], *members}) <= limit), len(groups))
        if place == len(groups):
            groups.append(members)
            spacious.append(place)
        groups[place] = tuple(sorted({*groups[place], *members}))
        covered.update(combinations(groups[place], depth))
        if cells(groups[place]) * min(sizes) > limit:
            spacious.remove(place)
    return _largest_sets(groups)


def _largest_sets(groups: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The groups that are within no other, in their order."""
    holders: dict[int, set[tuple[int, ...]]] = {}
    for members in groups:
        for number in members:
            holders.setdefault(number, set()).add(members)
    return tuple(
        members
        for members in groups
        if set.intersection(*(holders[number] for number in members)) == {members}
    )


def _distinct_keys(key: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different keys below a size, ascending, and the place of each key among them."""
    if size > LOOKUP_CELLS:
        occupied, place = np.unique(key, return_inverse=True)
        return occupied, place
    mask = np.zeros(size, dtype=np.bool_)
    mask[key] = True
    return np.flatnonzero(mask), (np.cumsum(mask) - 1)[key]


def cells_of(digits: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Cells of crossed columns from the codes of each."""
    cell = np.zeros(len(digits[0]), dtype=np.int64)
    for digit, size in zip(digits, sizes, strict=True):
        cell = cell * size + digit
    return cell


def digits_of(cell: NDArray[np.int64], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """The inverse of `cells_of`."""
    out = []
    for size in reversed(sizes):
        cell, digit = np.divmod(cell, size)
        out.append(digit)
    return out[::-1]
