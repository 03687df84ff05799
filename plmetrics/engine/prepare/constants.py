"""What the preparation finds in the rows, models that a run adds and thresholds, and what it takes of another run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.table.slice_keys import bin_index, only_bin, top_index
from plmetrics.table.slices import plain_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from plmetrics.core.results import Json
    from plmetrics.engine.request import TableView
    from plmetrics.states.scores.run_grids import Grids
    from plmetrics.table.slice_keys import SliceKey


@dataclass(frozen=True, slots=True)
class Calibration:
    """Rows with calibrated models, what was fitted by model, words of caution, and how many rows are left out."""

    view: TableView
    constants: Mapping[str, Json]
    warnings: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """Thresholds by model and text of the rule, NaN where none does what the rule asks; and words of caution."""

    values: Mapping[str, Mapping[str, float]]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constants:
    """What a run does not look for in its data, as another has found it.

    `keys` are by canonical column the edges of quantile bins, and the values of a top; `grids` where scores are
    counted, and `features` what each feature has looked up, by key.
    """

    centres: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    grids: Grids | None = None
    exponents: Mapping[str, int] = field(default_factory=dict)
    score_spans: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    bin_edges: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


def pinned_keys(
    keys: Iterable[SliceKey], constants: Mapping[str, Mapping[str, Json]], schema: pl.Schema
) -> dict[str, SliceKey]:
    """The keys that waited for edges and values, with these, by canonical column."""
    return {key.column: _key(key, constants[key.column], schema) for key in keys if key.column in constants}


def _key(key: SliceKey, content: Mapping[str, Any], schema: pl.Schema) -> SliceKey:
    dtype = schema[key.label]
    if content["kind"] == "bins":
        edges = tuple(content["edges"])
        index = bin_index(key.expression, dtype, edges) if edges else only_bin(key.expression, dtype)
        return replace(key, kind="bins", expression=index, edges=edges)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        dtype = pl.String()
    values, excluded = (_series(content[name], dtype) for name in ("edges", "excluded"))
    number = top_index(key.expression, values, excluded)
    edges = tuple(plain_values(values, key.label))
    return replace(key, expression=number, edges=edges, excluded=excluded, values=values)


def _series(physical: list[Any], dtype: pl.DataType) -> pl.Series:
    """Values of a type from those that they are held as."""
    physical_series = pl.Series(physical, dtype=pl.Series([], dtype=dtype).to_physical().dtype)
    return physical_series.cast(dtype)
