"""Slice keys with the edges of quantile bins and the top values of another run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from plmetrics.core.results import Json
from plmetrics.table.slice_keys import SliceKey, top_index
from plmetrics.table.slices import plain_values


def pinned_keys(
    keys: Iterable[SliceKey], constants: Mapping[str, Mapping[str, Json]], schema: pl.Schema
) -> dict[str, SliceKey]:
    """Keys with stored edges and values, by canonical column."""
    return {key.column: _key(key, constants[key.column], schema) for key in keys if key.column in constants}


def _key(key: SliceKey, content: Mapping[str, Any], schema: pl.Schema) -> SliceKey:
    dtype = schema[key.label]
    if content["kind"] == "bins":
        return key.in_bins(tuple(content["edges"]), dtype)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        dtype = pl.String()
    values, excluded = (_series(content[name], dtype) for name in ("edges", "excluded"))
    number = top_index(key.expression, values, excluded)
    edges = tuple(plain_values(values, key.label))
    return replace(key, expression=number, edges=edges, excluded=excluded, values=values)


def _series(physical: list[Any], dtype: pl.DataType) -> pl.Series:
    """Values cast from their stored type."""
    physical_series = pl.Series(physical, dtype=pl.Series([], dtype=dtype).to_physical().dtype)
    return physical_series.cast(dtype)
