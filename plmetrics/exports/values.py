"""The values that systems with few names get: those of all rows, and those that gates judge in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.results import first_rows

if TYPE_CHECKING:
    from plmetrics.runs.outcome import Outcome

OVERALL = "overall"
_PLACE = ["model", "slice_set", "slice", "metric"]


def headline_values(result: Outcome) -> pl.DataFrame:
    """The rows of the table `metrics` of all rows together, and of models, metrics and slices that have a gate."""
    rows = first_rows(result.metrics)
    gated = rows.join(result.gates.select(_PLACE).unique(), on=_PLACE, how="semi", maintain_order="left")
    return pl.concat([rows.filter(slice_set=OVERALL), gated.filter(pl.col("slice_set") != OVERALL)])
