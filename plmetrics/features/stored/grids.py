"""The constants of a run, its grids, and the ends of its slices where it counts quantiles, as a state holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array
from plmetrics.engine.prepare.constants import Constants
from plmetrics.states.scores.bin_lookup import Keys
from plmetrics.states.scores.grid.roll_up import NO_ENDS
from plmetrics.states.scores.grid.run_grids import Cuts, ModelGrid
from plmetrics.states.state_format import CELL, PLACES, SUMS, Builder, Part, SavedState

if TYPE_CHECKING:
    from plmetrics.states.scores.grid.run_grids import Grids
    from plmetrics.table.slice_keys import SliceKey

LOW, HIGH = "@low", "@high"
ENDS = pl.Schema({CELL: pl.UInt32(), LOW: pl.Float64(), HIGH: pl.Float64()})


def grids_digest(grids: Grids) -> dict[str, Any]:
    """Identity of grids, and the keys of scores: JSON-able."""
    digest = hashlib.sha256()
    for grid in grids.values():
        digest.update(grid.edges.tobytes() + grid.usual.tobytes())
        for number, cuts in sorted(grid.cuts.items()):
            digest.update(f"{number} {cuts.values.rows()}".encode() + cuts.places.tobytes())
    keys = {
        model: [grid.keys.low, grid.keys.scale, grid.keys.shift, grid.keys.size]
        for model, grid in grids.items()
    }
    return {"keys": keys, "hash": digest.hexdigest()[:32]}


def write_grids(builder: Builder, grids: Grids) -> None:
    """Add the parts of the grids to a state."""
    for model, grid in grids.items():
        edges = pl.DataFrame({SUMS: [grid.edges]}, schema={SUMS: pl.List(pl.Float64)})
        builder.add(Part("edges", model=model), edges)
        usual = pl.DataFrame({PLACES: [grid.usual]}, schema={PLACES: pl.List(pl.UInt32)})
        builder.add(Part("usual", model=model), usual)
        for number, cuts in grid.cuts.items():
            places = pl.Series(PLACES, cuts.places.astype(np.uint32)).cast(pl.List(pl.UInt32))
            builder.add(Part("cuts", (number,), model), cuts.values.with_columns(places))


def read_grids(saved: SavedState) -> dict[str, ModelGrid] | None:
    """Grids of a state; None without counts of scores."""
    content = saved.head.constants["grid"]
    if content is None:
        return None
    return {model: _model_grid(saved, model, Keys(*keys)) for model, keys in content["keys"].items()}


def _model_grid(saved: SavedState, model: str, keys: Keys) -> ModelGrid:
    parts = {part.name: number for number, part in enumerate(saved.head.parts) if part.model == model}
    edges = saved.of(parts["edges", (), model, ""])[SUMS][0].to_numpy()
    usual = saved.of(parts["usual", (), model, ""])[PLACES][0].to_numpy().astype(np.int64)
    cuts = {}
    for (kind, sets, _, _), number in parts.items():
        if kind == "cuts":
            frame = saved.of(number)
            lists = frame[PLACES]
            places = lists.explode().to_numpy().astype(np.int64).reshape(len(lists), -1)
            cuts[sets[0]] = Cuts(frame.drop(PLACES), places)
    return ModelGrid(keys, edges, cuts, usual)


def ends_rows(ends: Array, first: int) -> pl.DataFrame:
    """Rows of slices with numbers, from `[slice, end]`; `first` is the number of the first slice."""
    occupied = np.flatnonzero(ends[:, 0] <= ends[:, 1])
    return pl.DataFrame(
        {CELL: occupied + first, LOW: ends[occupied, 0], HIGH: ends[occupied, 1]}, schema=ENDS
    )


def write_ends(builder: Builder, ends: Mapping[tuple[int, str], pl.DataFrame]) -> None:
    """Add the parts of the ends, by number of the slice set and name of the ordering."""
    for (number, name), rows in ends.items():
        builder.add(Part("ends", (number,), name), rows)


def joined_ends(first: pl.DataFrame, other: pl.DataFrame, numbers: NDArray[np.int64]) -> pl.DataFrame:
    """Joint ends of two states; `numbers` are those of the other one's slices."""
    cells = pl.Series(CELL, numbers[other[CELL].to_numpy()], dtype=pl.UInt32)
    both = pl.concat([first, other.with_columns(cells)])
    return both.group_by(CELL).agg(pl.col(LOW).min(), pl.col(HIGH).max()).sort(CELL)


def read_ends(saved: SavedState, number: int, name: str, first: int, size: int) -> Array | None:
    """The ends of some slices of a set `[slice, end]`; None where the state has none of an ordering."""
    part = saved.head.number("ends", (number,), name)
    if part is None:
        return None
    rows = saved.of(part).filter(pl.col(CELL).is_between(first, first + size, closed="left"))
    out = np.empty((size, 2))
    out[:] = NO_ENDS
    out[rows[CELL].to_numpy().astype(np.int64) - first] = rows.select(LOW, HIGH).to_numpy()
    return out


def read_constants(content: Mapping[str, Any], grids: Grids | None) -> Constants:
    """The constants from the head of a state."""
    thresholds = {
        model: {rule: nan if value is None else value for rule, value in values.items()}
        for model, values in content["thresholds"].items()
    }
    classes = tuple(content["classes"])
    spans = {model: (low, high) for model, (low, high) in content.get("score_spans", {}).items()}
    edges = {}
    if "bin_edges" in content:
        from plmetrics.states.bin_sums import edges_from

        edges = edges_from(content["bin_edges"])
    return Constants(
        content["centres"],
        thresholds,
        classes,
        content["keys"],
        grids,
        content["exponents"],
        spans,
        content.get("features", {}),
        edges,
        content.get("calibrators", {}),
        content.get("baseline", {}),
    )


def key_content(key: SliceKey) -> dict[str, Any]:
    """Content of a key from the data: edges, or the values of a top."""
    if key.values is None or key.excluded is None:
        return {"label": key.label, "kind": key.kind, "edges": list(key.edges)}
    values, excluded = (series.to_physical().to_list() for series in (key.values, key.excluded))
    return {"label": key.label, "kind": key.kind, "edges": values, "excluded": excluded}
