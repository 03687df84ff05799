"""The fourth stage where the rows do not fit into memory: count scores on a grid, batch by batch.

A first pass turns rows into small whole numbers and counts what every slice shares: fine bins, and bins at fixed edges,
cell by cell, for slices are sums of cells. Coarse bins follow from the fine ones, slice by slice, so they are counted
after that, by block: from the small numbers where these fit into memory, else from the files again. Where the counts do
not fit, they are cut into parts of a few slices, and each pass makes as many parts as fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.engine.budget import memory_budget
from plmetrics.engine.passes import BLOCK, POSITIVE, cell_column, needs_rows, rows_plan
from plmetrics.engine.rows import block_numbers
from plmetrics.states.grid import (
    FINE_BINS,
    CoarseTally,
    FixedTally,
    Placed,
    SlicedGrid,
    Tally,
    fixed_bins,
    rolled_up,
    shape,
)
from plmetrics.states.locate import Locator
from plmetrics.states.scores import Binning, balanced_edges
from plmetrics.table.predicted import score_column
from plmetrics.table.roles import LABEL, WEIGHT, valid_column
from plmetrics.table.slices import LOOKUP_CELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.engine.passes import Aggregated
    from plmetrics.engine.prepare import Prepared
    from plmetrics.states.coarse import Array, Codes
    from plmetrics.states.grid import Bins

    Scored = tuple[Array, Codes]

SAMPLE_ROWS = 400_000
BATCH_ROWS = 500_000
RELIABILITY = Binning(15)
_LEAST_BINS = 256
_FINE_SHARE = 4
_CELLS_PER_SLICE = 4
_ROOM_IN_SINGLE = 1 << 24
"""Whole numbers up to this are exact in single precision."""


@dataclass(frozen=True, slots=True)
class Group:
    """What rows are counted by: the cells of a cube, or the slices of a set."""

    cube: int
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Counts that one pass can make: of one model, of some members of a group, on bins of one kind."""

    model: str
    group: Group
    bins: Bins
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Encoded:
    """A batch of rows as small whole numbers, those of a cell together.

    `place` is, by model, twice the fine bin of a row plus one for a positive; `held` are a model's rows where it does
    not have them all.
    """

    cells: dict[int, NDArray[Any]]
    block: NDArray[Any] | None
    weight: Array | None
    place: dict[str, NDArray[Any]]
    held: dict[str, NDArray[np.bool_]]

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        parts = [*self.cells.values(), *self.place.values(), *self.held.values(), self.block, self.weight]
        return sum(part.nbytes for part in parts if part is not None)


def models_on_grids(
    prepared: Prepared, aggregated: Aggregated
) -> Iterator[tuple[str, str | None, Callable[[int], SlicedGrid]]]:
    """Each model's scores on its grid, as a function that gives those of a slice set; see `models_in_order`."""
    if not needs_rows(prepared):
        return
    passes = Passes(prepared, aggregated)
    for model in prepared.request.models:
        yield model, None, passes.of_model(model)


class Passes:
    """The counts of a run: those that every slice shares, and those by block of the parts that the last pass made."""

    def __init__(self, prepared: Prepared, aggregated: Aggregated) -> None:
        self._prepared = prepared
        self._known = aggregated.block_keys
        self._exact_single = _exact_in_single(prepared, aggregated)
        self._room = memory_budget(prepared.request) // 2
        self._locators = _locators(prepared, self._room)
        self._lookups: dict[Group, Codes] = {}
        self._kept: list[Encoded] | None = []
        self._made: dict[Part, Tally] = {}
        wanted = _wanted_bins(prepared)
        first = [part for kind in wanted if kind != "coarse" for part in self._shared(kind)]
        later = [kind for kind in wanted if kind == "coarse" or not self._shared(kind)]
        self._whole = self._count_shared(first, keep=later == ["coarse"]) if wanted else {}
        self._parts = list(self._parts_on(later))

    def of_model(self, model: str) -> Callable[[int], SlicedGrid]:
        """The grids of one model by slice set."""

        def cut(index: int) -> SlicedGrid:
            def parts(bins: Bins) -> Iterator[tuple[int, int, Array]]:
                whole = self._rolled(model, index, bins)
                if whole is not None:
                    yield 0, len(whole), whole
                    return
                for part in self._parts:
                    if (part.model, part.group.index, part.bins) == (model, index, bins):
                        yield part.first, part.last, self._counts(part)

            weighted = self._prepared.request.suite.columns.weight is not None
            slices = len(self._prepared.slices[index])
            fine = self._rolled(model, index, "fine")
            fine = np.zeros(0) if fine is None else fine[:, 0]
            return SlicedGrid(self._locators[model].edges, slices, fine, parts, weighted)

        return cut

    def _rolled(self, model: str, index: int, bins: Bins) -> Array | None:
        """The counts of a slice set from those of its group that the first pass made, if it did."""
        group = self._group(index)
        size = self._members(group)
        tally = self._whole.get(Part(model, group, bins, 0, size))
        if tally is None:
            return None
        slices = self._prepared.slices[index]
        if group.index is not None:
            return tally.counts
        codes = self._prepared.cubes[group.cube].slice_codes(slices, np.arange(size))
        return rolled_up(tally.counts, codes, len(slices))

    def _group(self, index: int) -> Group:
        """What the rows of a slice set are counted by: cells, where there are not many more of them than slices."""
        number = self._prepared.cube_of(self._prepared.slices[index])
        cube = self._prepared.cubes[number]
        slices = sum(len(part) for part in self._prepared.slices if self._prepared.cube_of(part) == number)
        return Group(number) if cube.cells <= _CELLS_PER_SLICE * slices else Group(number, index)

    def _members(self, group: Group) -> int:
        """Number of cells, or of slices."""
        if group.index is None:
            return self._prepared.cubes[group.cube].cells
        return len(self._prepared.slices[group.index])

    def _shared(self, bins: Bins) -> list[Part]:
        """The parts of the first pass: fine bins, and fixed ones if they fit."""
        indices = range(len(self._prepared.slices))
        groups = {group: self._members(group) for group in map(self._group, indices)}
        models = self._prepared.request.models
        parts = [Part(model, group, bins, 0, size) for model in models for group, size in groups.items()]
        if bins != "fine" and sum(map(self._bytes, parts)) > self._room // _FINE_SHARE:
            return []
        return parts

    def _count_shared(self, parts: list[Part], *, keep: bool) -> dict[Part, Tally]:
        """The first pass: count the shared parts, and keep the rows as small numbers if they fit, without scores."""
        tallies = {part: self._tally(part, []) for part in parts}
        room = self._room // 2 if keep else 0
        for frame in self._batches():
            rows, scored = self._encoded(frame)
            self._add(rows, tallies, scored)
            if self._kept is not None and (room := room - rows.bytes) > 0:
                self._kept.append(rows)
            else:
                self._kept = None
        return tallies

    def _counts(self, part: Part) -> Array:
        """The counts of a part, made together with as many of those that are needed after it as there is room for."""
        if part not in self._made:
            room = self._room
            together: list[Part] = []
            for other in self._parts[self._parts.index(part) :]:
                if self._kept is not None and together and other.model != part.model:
                    break
                room -= self._bytes(other)
                if room < 0 and together:
                    break
                together.append(other)
            spare = [tally.counts for tally in self._made.values()]
            self._made = {}
            self._made = self._count(together, spare)
        return self._made[part].counts

    def _count(self, parts: list[Part], spare: list[NDArray[Any]]) -> dict[Part, Tally]:
        """Make some parts in one pass over the rows, or over what was kept of them; `spare` is memory to use again."""
        tallies = {part: self._tally(part, spare) for part in parts}
        if self._kept is not None:
            for rows in self._kept:
                self._add(rows, tallies)
        else:
            for frame in self._batches(list(dict.fromkeys(part.model for part in parts))):
                rows, scored = self._encoded(frame)
                self._add(rows, tallies, scored)
        return tallies

    def _batches(self, models: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows, a batch at a time, those of a cell together: their counts then lie together as well."""
        frames = rows_plan(self._prepared, models).collect_batches(
            chunk_size=BATCH_ROWS, maintain_order=False
        )
        cells = {
            cube.cells: cell_column(number) for number, cube in enumerate(self._prepared.cubes) if cube.codes
        }
        for frame in frames:
            yield frame.sort(cells[max(cells)]) if cells else frame

    def _encoded(self, frame: pl.DataFrame) -> tuple[Encoded, dict[str, Scored]]:
        """A batch as small whole numbers, of the models whose scores it has, and the scores with their keys."""
        positive = frame[POSITIVE].to_numpy()
        place, held, scored = {}, {}, {}
        for model, locator in self._locators.items():
            if score_column(model) in frame.columns:
                score = frame[score_column(model)]
                if valid_column(model) in frame.columns:
                    held[model] = frame[valid_column(model)].to_numpy()
                    score = score.fill_null(0.0).fill_nan(0.0)
                scored[model] = score.to_numpy(), locator.keys(score.to_numpy())
                place[model] = 2 * locator.of_keys(scored[model][1]) + positive
        cells = {
            number: _smallest(frame[cell_column(number)].to_numpy(), cube.cells)
            for number, cube in enumerate(self._prepared.cubes)
            if cube.codes
        }
        block = None
        if BLOCK in frame.columns:
            block = _smallest(block_numbers(frame[BLOCK].to_numpy(), self._known), len(self._known))
        weight = frame[WEIGHT].to_numpy() if WEIGHT in frame.columns else None
        return Encoded(cells, block, weight, place, held), scored

    def _add(
        self, rows: Encoded, tallies: dict[Part, Tally], scored: Mapping[str, Scored] | None = None
    ) -> None:
        """Count a batch; `scored` are the scores, which fixed bins need."""
        codes: dict[Group, Codes] = {}
        placed: dict[str, Placed] = {}
        for part, tally in tallies.items():
            if part.group not in codes:
                codes[part.group] = self._codes(rows, part.group)
            if part.model not in placed:
                score = (None, None) if scored is None else scored[part.model]
                every = Placed(rows.place[part.model], rows.weight, rows.block, *score)
                placed[part.model] = every.take(rows.held.get(part.model))
            held = rows.held.get(part.model)
            code = codes[part.group]
            tally.add(placed[part.model], code if held is None else code[held])

    def _codes(self, rows: Encoded, group: Group) -> Codes:
        """The member of its group that each row is in, -1 for none."""
        cells = rows.cells.get(group.cube)
        if cells is None:
            return np.zeros(len(next(iter(rows.place.values()))), dtype=np.int64)
        if group.index is None:
            return cells.astype(np.int64)
        cube, slices = self._prepared.cubes[group.cube], self._prepared.slices[group.index]
        if cube.cells > LOOKUP_CELLS:
            return cube.slice_codes(slices, cells.astype(np.int64))
        if group not in self._lookups:
            self._lookups[group] = cube.slice_codes(slices, np.arange(cube.cells))
        return self._lookups[group].take(cells)

    def _tally(self, part: Part, spare: list[NDArray[Any]]) -> Tally:
        size = (part.last - part.first, self._blocks(part.bins), *self._shape(part))
        single = part.bins == "coarse" and self._exact_single
        counts = _zeros(size, np.float32 if single else np.float64, spare)
        if isinstance(part.bins, Binning):
            bins = fixed_bins(part.bins, self._locators[part.model].keys)
            return FixedTally(part.first, counts, part.bins, bins)
        if part.bins == "fine":
            return Tally(part.first, counts)
        assert part.group.index is not None
        fine = self._rolled(part.model, part.group.index, "fine")
        assert fine is not None
        slices = len(self._prepared.slices[part.group.index])
        return CoarseTally(part.first, counts, fine[part.first : part.last, 0], slices)

    def _shape(self, part: Part) -> tuple[int, int]:
        return shape(part.bins, self._locators[part.model].edges, self._members(part.group))

    def _blocks(self, bins: Bins) -> int:
        return 1 if bins == "fine" or self._prepared.blocks is None else len(self._known)

    def _bytes(self, part: Part) -> int:
        """How much memory a part takes."""
        return (part.last - part.first) * self._blocks(part.bins) * math.prod(self._shape(part)) * 8

    def _parts_on(self, wanted: list[Bins]) -> Iterator[Part]:
        """The parts of later passes in the order of their use."""
        for model in self._prepared.request.models:
            for index, slices in enumerate(self._prepared.slices):
                group = Group(self._prepared.cube_of(slices), index)
                for bins in wanted:
                    step = max(1, self._room // self._bytes(Part(model, group, bins, 0, 1)))
                    for first in range(0, len(slices), step):
                        yield Part(model, group, bins, first, min(first + step, len(slices)))


def _zeros(size: tuple[int, ...], dtype: type, spare: list[NDArray[Any]]) -> NDArray[Any]:
    """Zeros, in memory that is spare if some of that size is: new memory costs more than counting in it."""
    for number, counts in enumerate(spare):
        if counts.shape == size and counts.dtype == dtype:
            counts.fill(0)
            return spare.pop(number)
    return np.zeros(size, dtype=dtype)


def _smallest(numbers: NDArray[Any], size: int) -> NDArray[Any]:
    """Whole numbers below `size` in as few bytes as hold them."""
    return numbers.astype(np.min_scalar_type(max(size - 1, 0)), copy=False)


def _exact_in_single(prepared: Prepared, aggregated: Aggregated) -> bool:
    """Whether single precision counts the rows of every block exactly."""
    state = aggregated.sums[0]
    if prepared.request.suite.columns.weight is not None or "n" not in state.columns:
        return False
    by_block = np.bincount(state.block, weights=state.columns["n"])
    return float(by_block.max(initial=0.0)) < _ROOM_IN_SINGLE


def _wanted_bins(prepared: Prepared) -> list[Bins]:
    """The kinds of bins that metrics and curves read."""
    asked = [metric.binning() for metric in prepared.request.scores]
    drawn = [curve.curve for curve in prepared.request.suite.curves]
    wanted: list[Bins] = []
    if None in asked or any(curve != "reliability" for curve in drawn):
        wanted.append("fine")
    if None in asked and prepared.blocks is not None:
        wanted.append("coarse")
    binnings = [binning for binning in asked if binning is not None]
    binnings += [RELIABILITY] if "reliability" in drawn else []
    return [*wanted, *dict.fromkeys(binnings)]


def _locators(prepared: Prepared, room: int) -> dict[str, Locator]:
    """Fine bins from every k-th row; fewer where there are so many slices that bins would not fit."""
    slices = sum(len(part) for part in prepared.slices) * len(prepared.request.models)
    bins = max(_LEAST_BINS, min(FINE_BINS, room // (_FINE_SHARE * 16 * slices)))
    step = max(1, prepared.rows.read // SAMPLE_ROWS)
    scores = [score_column(model) for model in prepared.request.models]
    chosen = prepared.table.frame.with_row_index("@row").filter(pl.col("@row") % step == 0)
    sample = chosen.select(*scores, (pl.col(LABEL) == 1).alias(POSITIVE)).collect()
    member = sample[POSITIVE].to_numpy()
    found: dict[str, Locator] = {}
    for model, column in zip(prepared.request.models, scores, strict=True):
        values = sample[column].to_numpy()
        sound = np.isfinite(values)
        found[model] = Locator.near(
            balanced_edges(values[sound], values[sound & member], bins), values[sound]
        )
    return found
