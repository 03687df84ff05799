"""The slices of an experiment in the order of results, and the place of each line of a table among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.features.experiment.design import slice_column
from plmetrics.table.slice_keys import SliceKey
from plmetrics.table.slices import Slices, SliceSet

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SLICES = 10_000


def slices_in(
    sets: Sequence[tuple[str, tuple[str, ...]]], tables: Sequence[pl.DataFrame]
) -> tuple[list[tuple[str, str]], list[pl.DataFrame]]:
    """The slices as (set, slice) in the order of results, and for each set the place of its keys among them."""
    slices: list[tuple[str, str]] = []
    places = []
    for (name, columns), table in zip(sets, tables, strict=True):
        keys = [slice_column(column) for column in columns]
        values = (
            table.select(keys).unique().sort(keys, nulls_last=True) if keys else pl.DataFrame({"@one": [0]})
        )
        first = len(slices)
        named = tuple(
            SliceKey(key, column, pl.col(key), "column") for key, column in zip(keys, columns, strict=True)
        )
        slices += [(name, text) for text in Slices(SliceSet(name, named), values).texts()]
        places.append(values.with_columns(pl.int_range(first, len(slices), dtype=pl.Int64).alias("@place")))
    if len(slices) > MOST_SLICES:
        msg = f"there are {len(slices):,} slices, more than {MOST_SLICES:,}"
        raise ConfigError(Problem(msg, ("by",), "slice by columns of fewer values"))
    return slices, places


def add_slices(sets: Sequence[Slices], slices: list[tuple[str, str]], places: list[pl.DataFrame]) -> None:
    """Append slices that are known: lines of others, such as rows where a condition does not hold, have no place."""
    for part in sets:
        first = len(slices)
        slices += [(part.slice_set.name, text) for text in part.texts()]
        values = part.values.rename({name: slice_column(name) for name in part.values.columns})
        places.append(values.with_columns(pl.int_range(first, len(slices), dtype=pl.Int64).alias("@place")))


def table_with_places(table: pl.DataFrame, place: pl.DataFrame) -> pl.DataFrame:
    """The table with the place of each line's slice."""
    keys = [column for column in place.columns if column not in {"@place", "@one"}]
    if not keys:
        return table.with_columns(pl.lit(place["@place"][0]).alias("@place"))
    return table.join(place, on=keys, how="inner", nulls_equal=True, maintain_order="left")
