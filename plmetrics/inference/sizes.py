"""How many positives stand behind each slice, model by model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from plmetrics.inference.analysis import Analysis

_SCHEMA = pl.Schema({"model": pl.String, "slice_set": pl.String, "slice": pl.String, "positives": pl.Float64})


def slice_positives(analysis: Analysis) -> pl.DataFrame:
    """The weight of the positives (binary tasks), by model, slice set and slice.

    Beside its slices each set has one `all`, for what is made from all of them.
    """
    parts = []
    for model, prefix in analysis.population.models.items():
        column = f"{prefix}positives"
        everything = analysis.sets[0].sums.total(column)[:1]
        for states in analysis.sets:
            name, texts = states.slices.slice_set.name, states.slices.texts()
            values = [*states.sums.total(column), *(everything if name != "overall" else ())]
            texts = [*texts, "all"] if name != "overall" else texts
            columns = [[model] * len(texts), [name] * len(texts), texts, values]
            parts.append(pl.DataFrame(columns, schema=_SCHEMA))
    return pl.concat(parts).unique(["model", "slice_set", "slice"], keep="first", maintain_order=True)
