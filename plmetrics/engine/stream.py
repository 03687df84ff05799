"""The fourth stage where the rows do not fit into memory: count scores on a fine grid, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.engine.passes import BLOCK, POSITIVE, cell_column, rows_plan
from plmetrics.engine.rows import block_numbers
from plmetrics.states.grid import Batch, Grid, GridEdges
from plmetrics.states.scores import Binning
from plmetrics.table.roles import LABEL, WEIGHT, score_column, valid_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from plmetrics.engine.passes import Aggregated
    from plmetrics.engine.prepare import Prepared
    from plmetrics.states.grid import SlicedGrid

SAMPLE_ROWS = 400_000
BATCH_ROWS = 500_000
RELIABILITY = Binning(15)


def models_on_grids(
    prepared: Prepared, aggregated: Aggregated
) -> Iterator[tuple[str, Callable[[int], SlicedGrid]]]:
    """Each model's scores on its grid, as a function that adds up the cells of a set's slices."""
    grids = _empty_grids(prepared, aggregated)
    for batch in rows_plan(prepared).collect_batches(chunk_size=BATCH_ROWS, maintain_order=False):
        block = None
        if BLOCK in batch.columns:
            block = block_numbers(batch[BLOCK].to_numpy(), aggregated.block_keys)
        for (model, cube), grid in grids.items():
            grid.add(_batch(batch, model, cube, block))
    for model in prepared.request.models:
        yield model, _adder(prepared, {cube: grid for (name, cube), grid in grids.items() if name == model})


def _empty_grids(prepared: Prepared, aggregated: Aggregated) -> dict[tuple[str, int], Grid]:
    suite = prepared.request.suite
    wanted = [metric.binning() for metric in prepared.request.scores]
    if any(curve.curve == "reliability" for curve in suite.curves):
        wanted.append(RELIABILITY)
    binnings = tuple(dict.fromkeys(binning for binning in wanted if binning is not None))
    edges = _edges(prepared)
    return {
        (model, index): Grid(
            edges[model],
            cube.cells,
            1 if prepared.blocks is None else len(aggregated.block_keys),
            binnings,
            weighted=suite.columns.weight is not None,
        )
        for model in prepared.request.models
        for index, cube in enumerate(prepared.cubes)
    }


def _edges(prepared: Prepared) -> dict[str, GridEdges]:
    """Edges from every k-th row of the table."""
    step = max(1, prepared.rows.read // SAMPLE_ROWS)
    scores = [score_column(model) for model in prepared.request.models]
    chosen = prepared.table.frame.with_row_index("@row").filter(pl.col("@row") % step == 0)
    sample = chosen.select(*scores, (pl.col(LABEL) == 1).alias(POSITIVE)).collect()
    member = sample[POSITIVE].to_numpy()
    found: dict[str, GridEdges] = {}
    for model, column in zip(prepared.request.models, scores, strict=True):
        values = sample[column].to_numpy()
        sound = np.isfinite(values)
        found[model] = GridEdges.of(values[sound], values[sound & member])
    return found


def _batch(
    frame: pl.DataFrame, model: str, cube: int, block: np.ndarray[tuple[int], np.dtype[np.int32]] | None
) -> Batch:
    if valid_column(model) in frame.columns:
        keep = frame[valid_column(model)].to_numpy()
        frame = frame.filter(pl.col(valid_column(model)))
        block = None if block is None else block[keep]
    cell = cell_column(cube)
    return Batch(
        frame[score_column(model)].to_numpy(),
        frame[POSITIVE].to_numpy(),
        frame[WEIGHT].to_numpy() if WEIGHT in frame.columns else None,
        frame[cell].to_numpy().astype(np.int64)
        if cell in frame.columns
        else np.zeros(frame.height, dtype=np.int64),
        block,
    )


def _adder(prepared: Prepared, grids: dict[int, Grid]) -> Callable[[int], SlicedGrid]:
    def add(index: int) -> SlicedGrid:
        slices = prepared.slices[index]
        number = prepared.cube_of(slices)
        cube = prepared.cubes[number]
        codes = cube.slice_codes(slices, np.arange(cube.cells))
        return grids[number].regroup(codes, len(slices))

    return add
