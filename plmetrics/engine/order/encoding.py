"""Rows encoded as small whole numbers, for counts on a grid; retained between passes where they fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.hashing import block_numbers
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.threads import parallel_map, steps
from plmetrics.engine.aggregate.aggregation import families
from plmetrics.engine.aggregate.row_plan import BLOCK, TREATED, cell_column, rows_plan
from plmetrics.engine.aggregate.totals import row_count
from plmetrics.engine.inquiry import Step
from plmetrics.engine.order.orderings import Ordering, run_orderings, sample_columns
from plmetrics.engine.order.score_bins import fixed_binnings
from plmetrics.engine.streaming import collected_batches, collected_frame, column_array
from plmetrics.states.scores.bin_lookup import Locator, score_locator, value_locator
from plmetrics.states.scores.grid.grid_tally import FINE_BINS
from plmetrics.states.scores.grid.placed_rows import Members
from plmetrics.table.prediction_columns import LABEL
from plmetrics.table.sampling import telling
from plmetrics.table.slices import LOOKUP_CELLS

if TYPE_CHECKING:
    from plmetrics.engine.aggregate.cell_sums import CellSums
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.sums import SumsState

    Arrays = Sequence[NDArray[Any]]

    Runs = Sequence[tuple[int, int, slice]]

    "Code, batch and rows of each run."

SAMPLE_ROWS = 400_000
BATCH_ROWS = 2_000_000
STEP_ROWS = 1 << 18
FINE_SHARE = 4
_LEAST_ROWS = 1 << 16
_LEAST_BINS = 256
_RADIX_BYTES = 2
"""Whole numbers of so many bytes are sorted by counting them."""

_ROOM_IN_SINGLE = 1 << 24
"""Whole numbers up to this are exact in single precision."""

_BATCH_COPIES = 8
"""A batch is there while the next ones are read, sorted, and as small numbers, with what these are made from."""
_LEAST_RUN = 1 << 10
"""Copies of runs that are shorter on average take longer than they save."""


@dataclass(frozen=True, slots=True)
class Group:
    """A grouping of rows: the cells of a cube, or the slices of a set."""

    cube: int
    index: int | None = None


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """A few rows as small whole numbers, those of a cell together.

    `place` is, by what rows are ordered by, twice the fine bin of a row plus one for a positive; `held` are the rows
    that have the number where not all do. `weight` is by column, `outcome` that of each row where there are two arms.
    """

    cells: dict[int, Members]
    rows: int
    block: NDArray[Any] | None
    weight: dict[str, Array]
    place: dict[str, NDArray[Any]]
    masks: dict[str, Flags]
    outcome: Array | None = None

    @property
    def bytes(self) -> int:
        """Size in memory."""
        parts = [*self.place.values(), *self.masks.values(), self.block, *self.weight.values(), self.outcome]
        parts += [array for members in self.cells.values() for array in (members.code, members.starts)]
        return sum(part.nbytes for part in parts if part is not None)


class Encoder:
    """Turns the rows of a run into small whole numbers: fine bins, cells and blocks."""

    def __init__(self, plan: RunPlan, block_keys: NDArray[np.uint64], room: int) -> None:
        """Find the bins of the scores; `room` is memory in bytes."""
        self.orderings = {ordering.name: ordering for ordering in run_orderings(plan)}
        self.locators = _locators(plan, tuple(self.orderings.values()), room)
        self._plan = plan
        self._block_keys = block_keys
        self._room = room
        self._lookups: dict[Group, Codes] = {}

    def batches(
        self, models: Sequence[str] | None = None, sums: CellSums | None = None
    ) -> Iterator[pl.DataFrame]:
        """The rows, a batch at a time, their blocks as numbers; each is added to the sums before."""
        unlabelled = bool(self._plan.request.label_free_values)
        further = () if sums is None else sums.columns
        plan = rows_plan(self._plan, models, further, unlabelled=unlabelled)
        fit = self._room // (_BATCH_COPIES * 8 * len(plan.collect_schema()))
        most = BATCH_ROWS if sums is None else BATCH_ROWS // 2  # what rows add makes them about twice as wide
        size = max(1, min(most, max(_LEAST_ROWS, fit)) // self._plan.request.width)
        for frame in collected_batches(plan, size):
            block = self._block_numbers(frame)
            rows = frame if sums is None else sums.take(frame, block)
            yield from self._flat(rows if block is None else rows.with_columns(pl.Series(BLOCK, block)))

    def _block_numbers(self, frame: pl.DataFrame) -> NDArray[Any] | None:
        if BLOCK not in frame.columns:
            return None
        keys, kind = self._block_keys, _smallest(len(self._block_keys))
        parts = [block_numbers(part.to_numpy(), keys) for part in frame[BLOCK].get_chunks()]
        return np.concatenate(parts, dtype=kind, casting="unsafe")

    def order(self, frame: pl.DataFrame) -> Codes | None:
        """Sort keys of rows, and of counts, by cell in memory; None for a single cell."""
        if self.finest_cube is None:
            return None
        code = self._cells(frame, self.finest_cube)
        return np.argsort(code, kind="stable" if code.itemsize <= _RADIX_BYTES else None)

    @property
    def finest_cube(self) -> int | None:
        """Number of the cube with most cells; None where none has several."""
        cells = {cube.cells: number for number, cube in enumerate(self._plan.cubes) if cube.codes}
        return cells[max(cells)] if max(cells, default=1) > 1 else None

    def _cells(self, frame: pl.DataFrame, number: int) -> NDArray[Any]:
        return column_array(frame[cell_column(number)], _smallest(self._plan.cubes[number].cells))

    def _flat(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Rows of a batch, repeated for each ordering with several numbers per row."""
        numbers = {part.column: part for part in self.orderings.values() if part.column in frame.columns}
        wide = {name: part for name, part in numbers.items() if part.width > 1}
        if len(wide) < len(numbers) or not wide:
            yield frame.drop(wide) if wide else frame
        for name, ordering in wide.items():
            yield ordering.flat(frame.drop(numbers.keys() - {name}))

    def encode(self, frame: pl.DataFrame, order: Codes | None) -> list[EncodedRows]:
        """The rows of a batch as small whole numbers, a few at a time, without their scores."""
        cells = {
            number: in_order(self._cells(frame, number), order)
            for number, cube in enumerate(self._plan.cubes)
            if cube.codes
        }
        block = in_order(column_array(frame[BLOCK]), order) if BLOCK in frame.columns else None
        names = dict.fromkeys(ordering.weight for ordering in self.orderings.values())
        weight = {
            name: in_order(column_array(frame[name]), order)
            for name in names
            if name is not None and name in frame.columns
        }
        outcome = in_order(frame[LABEL].to_numpy(), order) if TREATED in frame.columns else None

        def part(some: slice) -> EncodedRows:
            return EncodedRows(
                {number: Members.of(code[some]) for number, code in cells.items()},
                some.stop - some.start,
                None if block is None else block[some],
                {name: values[some] for name, values in weight.items()},
                {},
                {},
                None if outcome is None else outcome[some],
            )

        return list(map(part, few_rows(frame)))

    def locate(
        self, frame: pl.DataFrame, order: Codes | None, pieces: Sequence[EncodedRows], name: str
    ) -> Array:
        """Add the bins of an ordering's numbers to encoded rows; returns the numbers."""
        ordering, locator = self.orderings[name], self.locators[name]
        column, members, positive = frame[ordering.column], ordering.members(frame), ordering.positives(frame)
        if members is not None:
            column = column.fill_null(0.0).fill_nan(0.0)
        score = column_array(column)
        place = np.empty(frame.height, dtype=np.uint16)

        def of_rows(some: slice) -> None:
            locator.locate(score[some], locator.keys(score[some]), place[some])
            place[some] *= 2
            place[some] += positive[some]

        parallel_map(of_rows, few_rows(frame))
        for rows, some in zip(pieces, few_rows(frame), strict=True):
            rows.place[name] = in_order(place, order, some)
            if members is not None:
                rows.masks[name] = in_order(members, order, some)
        return score

    def joint_groups(self, names: Sequence[str]) -> list[list[str]]:
        """Names of orderings, grouped by joint counts of one across the other."""
        across = {name: self.orderings[name].across for name in names}
        labels = set(across.values())
        return [[name, *([] if of is None else [of])] for name, of in across.items() if name not in labels]

    def members_in(self, rows: EncodedRows, group: Group) -> Members:
        """Member of its group of each row."""
        cells = rows.cells.get(group.cube)
        if cells is None:
            start = np.zeros(min(1, rows.rows), dtype=np.int64)
            return Members(start, start, rows.rows)
        if group.index is None:
            return cells
        cube, slices = self._plan.cubes[group.cube], self._plan.slices[group.index]
        if cube.cells > LOOKUP_CELLS:
            return Members(cube.slice_codes(slices, cells.code.astype(np.int64)), cells.starts, cells.rows)
        if group not in self._lookups:
            self._lookups[group] = cube.slice_codes(slices, np.arange(cube.cells))
        return cells.translate(self._lookups[group])


def few_rows(frame: pl.DataFrame) -> list[slice]:
    """Rows of a batch in pieces with arrays small enough for the cache."""
    return [slice(*step) for step in steps(0, frame.height, STEP_ROWS)]


def in_order(values: NDArray[Any], order: Codes | None, some: slice = slice(None)) -> NDArray[Any]:
    """Some of the values in an order of theirs, as they are without one."""
    return values[some] if order is None else values.take(order[some], mode="clip")


def _smallest(size: int) -> np.dtype[Any]:
    """The type of as few bytes as hold whole numbers below `size`."""
    return np.min_scalar_type(max(size - 1, 0))


def chosen_rows(plan: RunPlan, step: int) -> pl.LazyFrame:
    """Every k-th row; where the order of rows must not show, about as many by a hash of their values."""
    request, view = plan.request, plan.view
    frame = plan.table.scored if request.label_free_values else plan.table.frame
    return view.arithmetic.sample(frame, step, telling(view.roles, frame.collect_schema().names()))


def grid_steps(plan: RunPlan, sums: CellSums | None) -> Iterator[Step]:
    """The scans of counts on a grid: a sample for the edges of bins, and the rows, once or more often.

    Where they tell `sums`, too, the rows come with these.
    """
    blocks = plan.blocks is not None
    stage, by_block = "order" if sums is None else "aggregate", ", then by block" if blocks else ""
    if plan.grids is None and _samples(plan):
        yield Step(stage, (_sample_plan(plan),))
    if sums is None:
        yield Step(
            stage, (rows_plan(plan),), f"counts on a grid: edges, fine bins{by_block}", at_least=blocks
        )
        return
    yield Step(stage, (rows_plan(plan, further=sums.columns),), families(plan.request), sums=1)
    does = f"counts on a grid: edges, fine bins{by_block}; rows come with the sums"
    yield Step("order", does=does, at_least=blocks)


def _samples(plan: RunPlan) -> bool:
    """Whether edges of bins are found among the rows: some are not fixed."""
    return not all(fixed_binnings(plan, ordering) for ordering in run_orderings(plan))


def _sample_plan(plan: RunPlan) -> pl.LazyFrame:
    """Every k-th row, its numbers to order by and its class, in a scan of its own: shared ones would hold all rows."""
    return sample_columns(plan, chosen_rows(plan, max(1, plan.rows.read // SAMPLE_ROWS)))


def _locators(plan: RunPlan, every: Sequence[Ordering], room: int) -> dict[str, Locator]:
    """Fine bins from every k-th row; fewer for many slices, within memory."""
    if plan.grids is not None:
        return {name: grid.locator for name, grid in plan.grids.items()}
    slices = sum(len(part) for part in plan.slices) * len(every)
    bins = max(_LEAST_BINS, min(FINE_BINS, room // (FINE_SHARE * 16 * slices)))
    sample = collected_frame(_sample_plan(plan)) if _samples(plan) else pl.DataFrame()

    def locator(ordering: Ordering) -> Locator:
        fixed = fixed_binnings(plan, ordering)
        if fixed:
            return Locator.around(np.concatenate([bins.uniform_edges() for bins in fixed]), fixed[0].span)
        numbers = ordering.flat(sample)
        column = numbers[ordering.column].cast(pl.Float64).fill_null(np.nan)
        values = column.to_numpy() + 0.0  # -0.0 is 0.0, whichever comes first
        sound = np.isfinite(values)
        number = bins
        if ordering.side is not None:
            from plmetrics.states.joint_counts import joint_bins

            number = max(_LEAST_BINS, joint_bins(room // (FINE_SHARE * slices), areas=ordering.of_areas))
        if ordering.of_ranks:
            from plmetrics.states.joint_counts import rank_locator

            return rank_locator(values[sound], number)
        if ordering.one_class:
            return value_locator(values[sound], number)
        return score_locator(values[sound], ordering.positives(numbers)[sound], number)

    names = [ordering.name for ordering in every]
    return dict(zip(names, parallel_map(locator, every), strict=True))


def count_type(request: Request, sums: Sequence[SumsState]) -> type[np.number[Any]]:
    """Smallest type for exact counts of all rows of a block, and for running totals of their bins."""
    state = sums[0]
    if request.suite.has_weights or "n" not in state.columns:
        return np.float64
    by_block = np.bincount(state.block, weights=state.columns[row_count(state.columns)])
    most = float(by_block.max(initial=0.0)) * request.width
    if most <= np.iinfo(np.uint16).max:
        return np.uint16
    return np.float32 if most < _ROOM_IN_SINGLE else np.float64


def regroup(batches: Sequence[EncodedRows], cube: int) -> list[EncodedRows]:
    """Bring rows into the order of the cells of a cube, within the memory that they have.

    Rows with weights or in arms, which are not counted by runs, stay where they are, and so do those of short runs.
    """
    members = [part.cells[cube] for part in batches]
    rows, number = sum(part.rows for part in members), sum(len(part.code) for part in members)
    by_runs = not any(part.weight or part.outcome is not None for part in batches)
    columns = {(frozenset(part.place), frozenset(part.masks)) for part in batches}
    if not by_runs or number * _LEAST_RUN > rows or len(columns) > 1:
        return list(batches)
    runs = sorted(_runs(members), key=itemgetter(0))
    codes = [{other: each.spread(each.code) for other, each in part.cells.items()} for part in batches]
    arrays_of_columns = [*_columns(batches), *([part[other] for part in codes] for other in codes[0])]
    scratch = np.empty(rows * max(arrays[0].itemsize for arrays in arrays_of_columns), dtype=np.uint8)
    for arrays in arrays_of_columns:
        _rearrange(arrays, runs, scratch)
    return [
        replace(part, cells={other: Members.of(code) for other, code in of_part.items()})
        for part, of_part in zip(batches, codes, strict=True)
    ]


def _runs(members: Sequence[Members]) -> Iterator[tuple[int, int, slice]]:
    for batch, part in enumerate(members):
        yield from ((code, batch, run) for code, run in part.runs())


def _columns(batches: Sequence[EncodedRows]) -> Iterator[Arrays]:
    """Arrays of each column, a batch's each."""
    first = batches[0]
    yield from ([part.place[name] for part in batches] for name in first.place)
    yield from ([part.masks[name] for part in batches] for name in first.masks)
    blocks = [part.block for part in batches if part.block is not None]
    yield from [blocks] if blocks else []


def _rearrange(arrays: Arrays, runs: Runs, scratch: NDArray[np.uint8]) -> None:
    """Write the runs into the arrays in their order, through memory that is used for one column after another."""
    rows, kind = sum(map(len, arrays)), arrays[0].dtype
    ordered = scratch[: rows * kind.itemsize].view(kind)
    np.concatenate([arrays[batch][run] for _, batch, run in runs], out=ordered)
    for array, (first, last) in zip(arrays, pairwise(accumulate(map(len, arrays), initial=0)), strict=True):
        array[:] = ordered[first:last]
