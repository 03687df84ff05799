"""State as a run: the full input of estimates, without a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.exact_sums import Addition, are_exact
from plmetrics.core.ops import Array, Codes
from plmetrics.engine.aggregate.aggregation import Aggregates, collect_aggregates, needs_rows
from plmetrics.engine.aggregate.row_plan import BLOCK as ROW_BLOCK
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.binding.reference_slices import check_references
from plmetrics.engine.memory.budget import counting_room
from plmetrics.engine.order.orderings import Ordering, run_orderings
from plmetrics.engine.prepare.constants import pinned_keys
from plmetrics.engine.prepare.preparation import model_origins, with_stored_models
from plmetrics.engine.prepare.slices import SliceList, key_codes, list_slices
from plmetrics.engine.ranking.queries import view_of_queries
from plmetrics.engine.run_plan import Accounting, Blocks, RunPlan
from plmetrics.features.stored.capture import bins_text, blocks_in
from plmetrics.features.stored.grids import read_constants, read_ends, read_grids
from plmetrics.features.stored.sparse_counts import PIECES, PieceRows
from plmetrics.states.arms import ARMS
from plmetrics.states.scores.coarse import is_sparse
from plmetrics.states.scores.exact.row_counts import RowCounts
from plmetrics.states.scores.exact.sorting import sort
from plmetrics.states.scores.grid.grid_tally import UNBLOCKED, BinKind, shape
from plmetrics.states.scores.grid.run_grids import matching_rows
from plmetrics.states.scores.grid.sliced_grid import SlicedGrid
from plmetrics.states.scores.sliced_scores import CLASSES
from plmetrics.states.state_format import BLOCK, BLOCKS, CELL, PART, Head, Part, SavedState, frame_of
from plmetrics.table.slices import Cube, SliceSet, plan_cubes
from plmetrics.table.source import Source

if TYPE_CHECKING:
    from plmetrics.engine.prepare.constants import Constants
    from plmetrics.engine.request import Request, TableView
    from plmetrics.states.bin_sums import BinSums
    from plmetrics.suite.model import Suite

    Scores = Iterator[tuple[str, str | None, Callable[[int], SlicedGrid]]]

_ANY = 1 << 62
_NONE = np.zeros(0, dtype=np.int64)
_BY_SLICE = ("slices", "scores", "ends", "bins")
"""The kinds of parts whose rows are of slices of one set."""


@dataclass(frozen=True, slots=True)
class RestoredRun:
    """A run brought back: its constants, its sums, and its scores model by model."""

    plan: RunPlan
    aggregates: Aggregates
    scores: Scores


def restore(suite: Suite, saved: SavedState, *, is_part: bool = False) -> RestoredRun:
    """Bring a state back; a part of the rows may lack slices that the suite refers to."""
    head = saved.head
    constants = read_constants(head.constants, read_grids(saved))
    request, view = empty_rows(suite, head, constants)
    slices = _slices_of_state(view, saved)
    saved = _numbered_as(slices, view.sets, saved)
    if not is_part:
        check_references(request.suite, slices.slices)
    plan = RunPlan(
        request,
        view,
        view.table(),
        slices.slices,
        _cubes(view, saved, slices),
        Accounting(
            head.rows["read"],
            head.rows["zero_weight"],
            head.rows["dropped"],
            head.rows.get("fitted", 0),
            head.rows["pairs_read"],
        ),
        _blocks(saved),
        {model: dict(constants.centres[model]) for model in request.models},
        constants.thresholds,
        exact=False,
        warnings=slices.warnings,
        grids=constants.grids,
        addition=Addition(constants.exponents),
        score_spans=constants.score_spans,
        bin_edges=constants.bin_edges,
        added=model_origins(constants.calibrators, constants.baseline),
    )
    sums = collect_aggregates(plan, _frames(saved), None, _bins(plan, saved))
    return RestoredRun(plan, sums, _scores(plan, sums, saved))


def empty_rows(suite: Suite, head: Head, constants: Constants) -> tuple[Request, TableView]:
    """Request of a state on a table of its columns, and its view on the state's slices: without rows."""
    data = suite.data.model_copy(update={"long": None})
    frame = frame_of(head.schema).drop([str(path[-1]) for path in suite.expressions], strict=False)
    source = Source(frame.lazy(), frame.schema, (), "frame", rows=None)
    request = bind(suite.model_copy(update={"data": data}), source, classes=constants.classes)
    keys = pinned_keys(request.view.roles.keys, constants.keys, request.view.schema)
    view = with_stored_models(request.view.with_keys(keys), constants)
    return request, view_of_queries(view, frame_of(head.queries_schema)) if suite.task == "ranking" else view


def _slices_of_state(view: TableView, saved: SavedState) -> SliceList:
    """Slices of a state from the key values of its cells."""
    values: dict[str, pl.DataFrame] = {}
    cells = {number: saved.values(number) for number in saved.head.numbers("cells")}
    for index, part in enumerate(view.sets):
        if part.keys and not part.is_predicate:
            of_set = cells[saved.head.cells_of(index)]
            values[f"slices|{index}"] = of_set.select(key.column for key in part.keys).unique()
    return list_slices(view, values)


def _numbered_as(slices_of_run: SliceList, sets: Sequence[SliceSet], saved: SavedState) -> SavedState:
    """State with its tags numbered as those of a run: a merged state does not know their overlaps."""
    table = saved.table
    for number, part in enumerate(sets):
        place = saved.head.number("slices", (number,)) if part.is_tagged else None
        values = [slices.values for slices in slices_of_run.slices if slices.slice_set is part]
        if place is None or not values:
            continue
        new = pl.lit(pl.Series(matching_rows(saved.values(place), pl.concat(values))))
        parts = [n for n, content in saved.head.numbers(*_BY_SLICE).items() if content.sets == (number,)]
        of_set = pl.col(PART).is_in(parts)
        rows = table.filter(of_set).with_columns(new.gather(CELL).cast(pl.UInt32).alias(CELL))
        table = pl.concat([table.filter(~of_set), rows.sort(PART, CELL, maintain_order=True)])
    return replace(saved, table=table)


def _cubes(view: TableView, saved: SavedState, slices_of_run: SliceList) -> tuple[Cube, ...]:
    """One cube for each group of sets with common sums."""
    codes = key_codes(view.roles, slices_of_run)
    out = []
    for part in saved.head.numbers("cells").values():
        groups = [view.sets[index] for index in part.sets]
        members = [
            slices for slices in slices_of_run.slices if any(slices.slice_set is group for group in groups)
        ]
        out += plan_cubes(members, codes, 1, _ANY)
    return tuple(out)


def _frames(saved: SavedState) -> list[pl.DataFrame]:
    """The sums of each cube by the values of its keys, as a scan brings them."""
    out = []
    for number, part in saved.head.numbers("cells").items():
        sums = saved.of(saved.head.place("sums", part.sets))
        frame = sums.join(saved.of(number), on=CELL, how="left").drop(CELL)
        out.append(frame.rename({BLOCK: ROW_BLOCK}, strict=False))
    return out


def _bins(plan: RunPlan, saved: SavedState) -> BinSums | None:
    """The sums by bins of a state; None where no curve is drawn from them."""
    if not plan.request.suite.bin_curves:
        return None
    from plmetrics.engine.aggregate.bin_values import run_tables
    from plmetrics.states.bin_sums import BinSums, read_bins

    tables = {table.name: table for table in run_tables(plan)}
    return BinSums(tables, read_bins(saved), plan.bin_edges)


def _blocks(saved: SavedState) -> Blocks | None:
    head = saved.head
    if head.blocks is None:
        return None
    if head.by_row:
        return Blocks(head.modulus)
    counts = np.array(head.units, dtype=np.int64)
    if head.hashed:
        keys = saved.of(head.place("units"))[BLOCKS][0].to_numpy()
        if head.modulus is None:
            return Blocks(None, keys, np.ones(len(keys), dtype=np.int64))
        counts = np.bincount((keys % np.uint64(head.modulus)).astype(np.int64), minlength=head.modulus)
    blocks = np.flatnonzero(counts)
    return Blocks(head.modulus, blocks.astype(np.uint64), counts[blocks])


def _scores(plan: RunPlan, sums: Aggregates, saved: SavedState) -> Scores:
    """Counts of each ordering of rows on its grid; see `grid_scores.models_on_grids`."""
    if not needs_rows(plan):
        return
    if plan.grids is None:
        msg = "the state has no edges of bins, which its metrics need"
        raise ValueError(msg)
    for ordering in run_orderings(plan):
        yield ordering.model, ordering.key, _of_ordering(plan, sums, saved, ordering)


def _of_ordering(
    plan: RunPlan, sums: Aggregates, saved: SavedState, ordering: Ordering
) -> Callable[[int], SlicedGrid]:
    assert plan.grids is not None
    name, across = ordering.name, ordering.across
    grid, labels = plan.grids[name], None if across is None else plan.grids[across].edges
    weighted = ordering.weight is not None
    firsts, counted = [], dict.fromkeys(range(len(plan.view.sets)), 0)
    for slices in plan.slices:
        number = plan.number_of(slices)
        firsts.append(counted[number])
        counted[number] += len(slices)

    def cut(index: int) -> SlicedGrid:
        slices = plan.slices[index]
        number, size = plan.number_of(slices), len(slices)
        scores = _SliceCounts(plan, sums, saved, ordering, number, firsts[index], size)
        coarse = partial(grid.coarse, number, slices.values)
        ends = read_ends(saved, number, name, firsts[index], size)
        fine, parts = scores.fine(), scores.parts
        return SlicedGrid(grid.edges, size, fine, parts, weighted, coarse, ends, labels, scores.row_counts)

    return cut


@dataclass(frozen=True, slots=True)
class _SliceCounts:
    """The counts of some slices of a set, for one ordering."""

    plan: RunPlan
    sums: Aggregates
    saved: SavedState
    ordering: Ordering
    number: int
    first: int
    size: int

    def fine(self) -> Array:
        """Counts on fine bins `[slice, bin, class]`."""
        part, rows = self._rows("fine")
        return self._dense(part, rows, 0, self.size, None)[:, 0]

    def parts(self, bins: BinKind) -> Iterator[tuple[int, int, Array]]:
        """Counts by block, as many slices at a time as there is room for."""
        part, rows = self._rows(bins)
        size = part.size
        blocks = None if self.plan.blocks is None or bins in UNBLOCKED else self.sums.block_keys
        width = size[0] * size[1] * (1 if blocks is None else len(blocks)) * 8
        step = max(1, counting_room(self.plan.request.suite) // max(width, 1))
        for low in range(0, self.size, step):
            high = min(low + step, self.size)
            yield low, high, self._dense(part, rows, low, high, blocks)

    def _rows(self, bins: BinKind) -> tuple[Part, pl.DataFrame]:
        """Part with the counts of the slices, and its rows."""
        number = self.saved.head.number("scores", (self.number,), self.ordering.name, bins_text(bins))
        if number is None or not self.saved.head.parts[number].rows:
            return Part("scores", size=self._shape(bins)), pl.DataFrame(schema=PIECES)
        return self.saved.head.parts[number], self.saved.of(number)

    def _shape(self, bins: BinKind) -> tuple[int, int]:
        assert self.plan.grids is not None
        grid = self.plan.grids[self.ordering.name]
        if self.ordering.across is not None and bins != "fine":
            from plmetrics.states.joint_counts import joint_shape

            labels = self.plan.grids[self.ordering.across]
            sizes = len(grid.edges) + 1, len(labels.edges) + 1
            return joint_shape(bins, *sizes, areas=self.ordering.of_areas)
        channels = len(ARMS if self.ordering.arms else CLASSES)
        if bins == "coarse":
            return grid.coarse_bins(self.number), channels
        return shape(bins, grid.edges, 1, channels)

    def _dense(
        self, part: Part, rows: pl.DataFrame, low: int, high: int, blocks: NDArray[np.uint64] | None
    ) -> Array:
        """Counts `[slice, block, bin, channel]` of the slices from one up to another."""
        counts = np.zeros((high - low, 1 if blocks is None else len(blocks), *part.size))
        for slots, entries in self._entries(part, rows, low, high, blocks):
            counts.reshape(-1)[slots] = entries
        return part.totals(counts)

    def row_counts(self) -> RowCounts | None:
        """Rows on coarse bins, where they are few beside all counts by block; None where weights are fractions."""
        part, rows = self._rows("coarse")
        blocks = self.sums.block_keys
        of_classes = self.ordering.across is None and not self.ordering.arms
        if not of_classes or are_exact() or part.total is None or part.exponent is not None:
            return None
        if not is_sparse(part.entries, self.size, len(blocks)):
            return None
        pieces: list[tuple[Codes, NDArray[np.generic]]] = [(_NONE, _NONE)]
        pieces += [(slots.copy(), few) for slots, few in self._entries(part, rows, 0, self.size, blocks)]
        slots, entries = map(np.concatenate, zip(*pieces, strict=True))
        if not is_sparse(int(entries.sum()), self.size, len(blocks)):
            return None
        slots = np.repeat(slots, entries)
        sort(slots)
        cell, place = np.divmod(slots, part.size[0] * part.size[1])
        code, block = np.divmod(cell, len(blocks))
        offsets = np.searchsorted(code, np.arange(self.size + 1))
        return RowCounts(place, block.astype(np.int32), None, offsets, part.size[0])

    def _entries(
        self, part: Part, rows: pl.DataFrame, low: int, high: int, blocks: NDArray[np.uint64] | None
    ) -> Iterator[tuple[Codes, NDArray[np.generic]]]:
        """Slots of the counts `[slice, block, bin, channel]` of these slices, some at a time, and the counts."""
        number, places = 1 if blocks is None else len(blocks), part.size[0] * part.size[1]
        first = self.first + low
        of_slices = rows.filter(pl.col(CELL).is_between(first, self.first + high, closed="left"))
        to = np.zeros(1, dtype=np.int64) if blocks is None else np.searchsorted(blocks, self._blocks())
        slices = np.arange(self.first + high) - first
        return PieceRows.of(of_slices).in_blocks(places, to, number, slices)

    def _blocks(self) -> NDArray[np.uint64]:
        """Blocks of the state's counts."""
        number = self.saved.head.number("blocks")
        return np.zeros(1, dtype=np.uint64) if number is None else blocks_in(self.saved.of(number))
