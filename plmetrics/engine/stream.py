"""The fourth stage where the rows do not fit into memory: count scores on a grid, batch by batch.

A first pass counts on fine bins. The others count by block, on coarse bins that follow from the fine ones; where that
does not fit into memory, it is cut into parts of a few slices, and each pass makes as many parts as fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.engine.budget import memory_budget
from plmetrics.engine.passes import BLOCK, POSITIVE, cell_column, needs_rows, rows_plan
from plmetrics.engine.rows import block_numbers
from plmetrics.states.coarse import coarse_of_fine
from plmetrics.states.grid import FINE_BINS, Batch, SlicedGrid, Tally, shape
from plmetrics.states.scores import Binning, balanced_edges
from plmetrics.table.predicted import score_column
from plmetrics.table.roles import LABEL, WEIGHT, valid_column
from plmetrics.table.slices import LOOKUP_CELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from plmetrics.engine.passes import Aggregated
    from plmetrics.engine.prepare import Prepared
    from plmetrics.states.coarse import Array, Codes
    from plmetrics.states.grid import Bins

SAMPLE_ROWS = 400_000
BATCH_ROWS = 500_000
RELIABILITY = Binning(15)
_LEAST_BINS = 256
_FINE_SHARE = 4


@dataclass(frozen=True, slots=True)
class Part:
    """Counts that one pass can make: of one model, of some slices of a set, on bins of one kind."""

    model: str
    index: int
    bins: Bins
    first: int
    last: int


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
    """The counts of a run on fine bins, and those by block of the parts that the last pass made."""

    def __init__(self, prepared: Prepared, aggregated: Aggregated) -> None:
        self._prepared = prepared
        self._known = aggregated.block_keys
        self._room = memory_budget(prepared.request) // 2
        self._edges = _edges(prepared, self._room)
        self._lookups: dict[int, Codes] = {}
        self._made: dict[Part, Tally] = {}
        bins = _wanted_bins(prepared)
        self._fine = self._count(list(self._parts_on(["fine"]))) if "fine" in bins else {}
        self._parts = list(self._parts_on([kind for kind in bins if kind != "fine"]))

    def of_model(self, model: str) -> Callable[[int], SlicedGrid]:
        """The grids of one model by slice set."""
        fine = {part.index: tally.counts[:, 0] for part, tally in self._fine.items() if part.model == model}

        def cut(index: int) -> SlicedGrid:
            def parts(bins: Bins) -> Iterator[tuple[int, int, Array]]:
                for part in self._parts:
                    if (part.model, part.index, part.bins) == (model, index, bins):
                        yield part.first, part.last, self._counts(part)

            weighted = self._prepared.request.suite.columns.weight is not None
            slices = len(self._prepared.slices[index])
            return SlicedGrid(self._edges[model], slices, fine.get(index, np.zeros(0)), parts, weighted)

        return cut

    def _counts(self, part: Part) -> Array:
        """The counts of a part, made together with as many of those that are needed after it as there is room for."""
        if part not in self._made:
            self._made = {}
            room = self._room
            together: list[Part] = []
            for other in self._parts[self._parts.index(part) :]:
                room -= self._bytes(other.model, other.index, other.bins) * (other.last - other.first)
                if room < 0 and together:
                    break
                together.append(other)
            self._made = self._count(together)
        return self._made[part].counts

    def _count(self, parts: list[Part]) -> dict[Part, Tally]:
        """Make some parts in one pass over the rows."""
        tallies = {part: self._tally(part) for part in parts}
        by_model: dict[str, dict[Part, Tally]] = {}
        for part, tally in tallies.items():
            by_model.setdefault(part.model, {})[part] = tally
        plan = rows_plan(self._prepared, list(by_model))
        for frame in plan.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False):
            for model, own in by_model.items():
                self._add(frame, model, own)
        return tallies

    def _tally(self, part: Part) -> Tally:
        slices = len(self._prepared.slices[part.index])
        bins = shape(part.bins, self._edges[part.model], slices)
        coarse = None
        if part.bins == "coarse":
            whole = self._fine[Part(part.model, part.index, "fine", 0, slices)]
            coarse = coarse_of_fine(whole.counts[part.first : part.last, 0], slices)
        size = (part.last - part.first, self._blocks(part.bins), *bins)
        return Tally(part.bins, part.first, size, coarse)

    def _add(self, frame: pl.DataFrame, model: str, tallies: dict[Part, Tally]) -> None:
        if valid_column(model) in frame.columns:
            frame = frame.filter(pl.col(valid_column(model)))
        block = block_numbers(frame[BLOCK].to_numpy(), self._known) if BLOCK in frame.columns else None
        weight = frame[WEIGHT].to_numpy() if WEIGHT in frame.columns else None
        score, positive = frame[score_column(model)].to_numpy(), frame[POSITIVE].to_numpy()
        batch = Batch(self._edges[model], score, positive, weight, block)
        codes: dict[int, Codes] = {}
        for part, tally in tallies.items():
            if part.index not in codes:
                codes[part.index] = self._codes(frame, part.index)
            tally.add(batch, codes[part.index])

    def _codes(self, frame: pl.DataFrame, index: int) -> Codes:
        """The slice of each row in a set."""
        slices = self._prepared.slices[index]
        number = self._prepared.cube_of(slices)
        if not slices.slice_set.keys:
            return np.zeros(frame.height, dtype=np.int64)
        cube = self._prepared.cubes[number]
        cells: NDArray[np.int64] = frame[cell_column(number)].to_numpy().astype(np.int64)
        if cube.cells > LOOKUP_CELLS:
            return cube.slice_codes(slices, cells)
        if index not in self._lookups:
            self._lookups[index] = cube.slice_codes(slices, np.arange(cube.cells))
        return self._lookups[index][cells]

    def _blocks(self, bins: Bins) -> int:
        return 1 if bins == "fine" or self._prepared.blocks is None else len(self._known)

    def _bytes(self, model: str, index: int, bins: Bins) -> int:
        """How much memory a slice of a set takes."""
        slices = len(self._prepared.slices[index])
        return self._blocks(bins) * math.prod(shape(bins, self._edges[model], slices)) * 8

    def _parts_on(self, wanted: list[Bins]) -> Iterator[Part]:
        """The parts in the order of their use; fine bins are never parted."""
        for model in self._prepared.request.models:
            for index, slices in enumerate(self._prepared.slices):
                for bins in wanted:
                    room = len(slices) if bins == "fine" else self._room // self._bytes(model, index, bins)
                    step = max(1, room)
                    for first in range(0, len(slices), step):
                        yield Part(model, index, bins, first, min(first + step, len(slices)))


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


def _edges(prepared: Prepared, room: int) -> dict[str, Array]:
    """Edges of fine bins from every k-th row; fewer where there are so many slices that bins would not fit."""
    slices = sum(len(part) for part in prepared.slices) * len(prepared.request.models)
    bins = max(_LEAST_BINS, min(FINE_BINS, room // (_FINE_SHARE * 16 * slices)))
    step = max(1, prepared.rows.read // SAMPLE_ROWS)
    scores = [score_column(model) for model in prepared.request.models]
    chosen = prepared.table.frame.with_row_index("@row").filter(pl.col("@row") % step == 0)
    sample = chosen.select(*scores, (pl.col(LABEL) == 1).alias(POSITIVE)).collect()
    member = sample[POSITIVE].to_numpy()
    found: dict[str, Array] = {}
    for model, column in zip(prepared.request.models, scores, strict=True):
        values = sample[column].to_numpy()
        sound = np.isfinite(values)
        found[model] = balanced_edges(values[sound], values[sound & member], bins)
    return found
