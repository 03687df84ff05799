"""Outcomes of tests as columns of the table `comparisons`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from plmetrics.inference.comparisons.tests.outcome import TestOutcomes


def tested_columns(text: str, form: str | None, tested: TestOutcomes) -> pl.DataFrame:
    """The columns of `comparisons` that a test fills, a row per place."""
    ok = tested.status == "ok"
    nothing = np.full(len(ok), np.nan)
    columns = {"difference": tested.estimate, "lower": tested.lower, "upper": tested.upper}
    columns |= {"std_error": tested.std_error, "p_value": tested.p_value}
    columns["statistic"] = tested.statistic
    numbers = {
        name: np.where(ok & np.isfinite(part), part, np.nan) if part is not None else nothing
        for name, part in columns.items()
    }
    between = np.isfinite(numbers["lower"])
    status = np.where(ok & ~between, "no_interval", tested.status)
    frame = pl.DataFrame({name: pl.Series(values, nan_to_null=True) for name, values in numbers.items()})
    return frame.with_columns(
        pl.lit("model").alias("contrast"),
        pl.lit("difference").alias("scale"),
        pl.lit(text).alias("test"),
        pl.Series("n", tested.n, dtype=pl.Int64),
        pl.Series("status", tested.status.tolist(), dtype=pl.String),
        pl.Series("interval_status", status.tolist(), dtype=pl.String),
        pl.Series("method", [form if defined else None for defined in between.tolist()], dtype=pl.String),
    )
