"""The grids of a run as a state holds them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.states.scores.bin_lookup import Keys
from plmetrics.states.scores.run_grids import Cuts, ModelGrid
from plmetrics.states.state_format import PLACES, SUMS, Part

if TYPE_CHECKING:
    from plmetrics.states.scores.run_grids import Grids
    from plmetrics.states.state_format import Builder, SavedState


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
    """Add the parts that hold the grids."""
    for model, grid in grids.items():
        edges = pl.DataFrame({SUMS: [grid.edges]}, schema={SUMS: pl.List(pl.Float64)})
        builder.add(Part("edges", model=model), edges)
        usual = pl.DataFrame({PLACES: [grid.usual]}, schema={PLACES: pl.List(pl.UInt32)})
        builder.add(Part("usual", model=model), usual)
        for number, cuts in grid.cuts.items():
            places = pl.Series(PLACES, cuts.places.astype(np.uint32)).cast(pl.List(pl.UInt32))
            builder.add(Part("cuts", (number,), model), cuts.values.with_columns(places))


def read_grids(saved: SavedState) -> dict[str, ModelGrid] | None:
    """The grids that a state holds; None where it counts no scores."""
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
