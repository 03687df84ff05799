"""Rows of two runs, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.results import first_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYS = ("model", "slice_set", "slice", "metric", "class")
"""What tells the values of a run apart."""

ROUNDING = 1e-9
"""By what share of their size values are taken as the same: sums of floats in another order differ a little."""

_OCCURRENCE, _OCCURRENCES = "@occurrence", "@occurrences"


def align(now: pl.DataFrame, before: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The rows of either run, with columns of the earlier one called `name|b`; those that it alone has come last.

    `here` and `here|b` are not null where a run has the row. In tables of older versions slices may share a text: their
    rows are matched in their order where both runs have as many, else not at all.
    """
    on = [*keys, _OCCURRENCE, _OCCURRENCES]
    mine, other = (
        frame.with_columns(
            pl.int_range(pl.len()).over(keys).alias(_OCCURRENCE),
            pl.len().over(keys).alias(_OCCURRENCES),
            here=True,
        )
        for frame in (now, before)
    )
    other = other.rename({name: f"{name}|b" for name in other.columns if name not in on})
    both = mine.join(other, on=on, how="left", nulls_equal=True, maintain_order="left")
    gone = other.join(mine, on=on, how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([both, gone], how="diagonal").drop(_OCCURRENCE, _OCCURRENCES)


def aligned_metrics(now: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """The tables `metrics` of two runs aligned, with the first interval of each value."""
    both = align(first_rows(now), first_rows(before), KEYS)
    gone = pl.col("here").is_null()
    return both.with_columns(slice_values=pl.when(gone).then("slice_values|b").otherwise("slice_values"))
