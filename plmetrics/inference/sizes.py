"""Sample sizes that gates read: the number of positive rows, and Kish's effective size of weighted rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.inference.estimate import kish_sizes
from plmetrics.states.sums import POSITIVE_ROWS

if TYPE_CHECKING:
    from plmetrics.inference.subject import Analysis

_SCHEMA = pl.Schema({"model": pl.String, "slice_set": pl.String, "slice": pl.String, "positives": pl.Float64})


def slice_positives(analysis: Analysis) -> pl.DataFrame:
    """The number of positive rows (binary tasks), by model, slice set and slice.

    Beside its slices each set has one `all`, for what is made from all of them.

    Raises:
        DataError: weighted states of an earlier version, which have the weight of the positives only.
    """
    parts = []
    for model, prefix in analysis.population.models.items():
        column = f"{prefix}{POSITIVE_ROWS}"
        if column not in analysis.sets[0].sums.columns:
            msg = "min_positives counts rows, and weighted states of earlier versions have their weight only"
            raise DataError(Problem(msg, ("gates",), "write the states again, or use min_rows"))
        everything = analysis.sets[0].sums.total(column)[:1]
        for states in analysis.sets:
            name, texts = states.slices.slice_set.name, states.slices.texts()
            values = [*states.sums.total(column), *(everything if name != "overall" else ())]
            texts = [*texts, "all"] if name != "overall" else texts
            columns = [[model] * len(texts), [name] * len(texts), texts, values]
            parts.append(pl.DataFrame(columns, schema=_SCHEMA))
    return pl.concat(parts).unique(["model", "slice_set", "slice"], keep="first", maintain_order=True)


def with_kish_sizes(analysis: Analysis, metrics: pl.DataFrame) -> pl.DataFrame:
    """The table `metrics` with `kish_size`: (sum w)^2 / sum w^2 over weighted units, null where they count alike.

    Where each unit is a block, that is `blocks`; where blocks hold many, `kish_sizes` tells it, of one block more, as
    `blocks` is rounded down.
    """
    units = analysis.units
    if not analysis.suite.weighted or units is None:
        return metrics.with_columns(kish_size=pl.lit(None, pl.Float64))
    size = metrics["blocks"].cast(pl.Float64)
    if units.max(initial=1) > 1:
        most = size.to_numpy() + 1.0
        size = pl.Series("blocks", kish_sizes(most, len(units), np.full(most.shape, np.inf)))
        size = size.set(~size.is_finite(), None)
    weighted = ~pl.col("model").is_in(analysis.suite.unweighted_models)
    return metrics.with_columns(kish_size=pl.when(weighted).then(size))
