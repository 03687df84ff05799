"""Sums for bias, variance and noise of a repeatedly trained model.

They are made by the scan that sums what metrics read. Of the m predictions p of a row with label y and label
without noise f (y where it is not known): (mean p - f)^2, the mean of (p - mean p)^2, (y - f)^2 and the mean of
(p - y)^2, each times the row's weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from plmetrics.states.sums import Total
from plmetrics.table.prediction_columns import LABEL, plain_column
from plmetrics.table.prediction_table import PredictionTable, sound_rows

BIAS, VARIANCE, NOISE, LOSS = "bias_squared", "variance", "noise", "expected_loss"


def repeated_totals(
    repeated: Mapping[str, Sequence[str]], truth: str | None, table: PredictionTable, *, every: bool
) -> list[Total]:
    """Rows, their weight and the parts of their errors, summed with the metrics."""
    valid = sound_rows(table.roles) if every else None
    count = pl.len() if valid is None else valid.sum()
    totals = [Total(repeated_column("n"), count.cast(pl.Int64))]
    for name, value in _row_sums(table.weight, repeated, truth).items():
        of_row = value if valid is None else pl.when(valid).then(value).otherwise(0.0)
        totals.append(Total(repeated_column(name), of_row.sum(), of_row))
    return totals


def repeated_column(name: str) -> str:
    """The column of a sum in the state of the run."""
    return f"@repeated|{name}"


def _row_sums(
    weight: pl.Expr | None, repeated: Mapping[str, Sequence[str]], truth: str | None
) -> dict[str, pl.Expr]:
    """Terms of a row in each sum."""
    label = pl.col(LABEL)
    target = label if truth is None else pl.col(plain_column(truth)).cast(pl.Float64)
    out = {} if weight is None else {"weight": weight}
    for name, columns in repeated.items():
        predictions = [pl.col(plain_column(column)).cast(pl.Float64) for column in columns]
        mean = pl.mean_horizontal(predictions)
        parts = {
            BIAS: (mean - target) ** 2,
            VARIANCE: pl.mean_horizontal([(prediction - mean) ** 2 for prediction in predictions]),
            LOSS: pl.mean_horizontal([(prediction - label) ** 2 for prediction in predictions]),
        }
        if truth is not None:
            parts[NOISE] = (label - target) ** 2
        out |= {
            f"{kind}|{name}": value if weight is None else value * weight for kind, value in parts.items()
        }
    return out
