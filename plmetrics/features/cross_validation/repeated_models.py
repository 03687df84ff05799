"""Bias, variance and noise of a repeatedly trained model, under squared error.

The mean squared error of the m predictions of a row is (mean p - f)^2 + variance of p + (y - f)^2, but for a cross term
that is 0 on average over the noise of y; the variance divides by m, so that nothing else is missing. Where the label
without noise, f, is not known, y stands for it: the noise is then part of the bias, and the parts sum up exactly.

Source: Geman, Bienenstock and Doursat (1992), Neural networks and the bias/variance dilemma.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from plmetrics.core.errors import Collected
from plmetrics.core.names import SuitePath
from plmetrics.core.ops import Array
from plmetrics.core.results import CROSS_VALIDATION_SCHEMA, in_schema
from plmetrics.features.cross_validation.cross_validation_section import CrossValidation
from plmetrics.features.cross_validation.repeated_totals import BIAS, LOSS, NOISE, VARIANCE, repeated_column
from plmetrics.inference.subject import Analysis
from plmetrics.suite.model import Suite
from plmetrics.table.checks import Requirement, is_no_number, require_numbers
from plmetrics.table.prediction_columns import require
from plmetrics.table.slices import Slices


@dataclass(frozen=True, slots=True)
class RepeatedSums:
    """The sums of one name in the slices of a set; `n` and `weight` are those of the rows."""

    name: str
    slices: Slices
    sums: Mapping[str, Array]
    n: Array
    weight: Array


def repeated_requirements(suite: Suite) -> tuple[Requirement, ...]:
    """The columns of repeats, with requirements on their values."""
    spec = CrossValidation.find(suite)
    if spec is None or not spec.repeated:
        return ()
    named: list[tuple[str, SuitePath]] = [
        (column, ("cross_validation", "repeated", name))
        for name, columns in spec.repeated.items()
        for column in columns
    ]
    named += [] if spec.truth is None else [(spec.truth, ("cross_validation", "truth"))]

    return tuple(
        Requirement(column, "null, NaN or infinite", is_no_number, "cross_validation", path, numeric=True)
        for column, path in named
    )


def check_repeats(suite: Suite, schema: pl.Schema) -> None:
    """Check the columns of repeated predictions on zero rows.

    Raises:
        DataError: some are absent, or hold no numbers; all are named.
    """
    collected = Collected()
    for need in repeated_requirements(suite):
        with collected.step():
            require(schema, need.column, need.role, need.path)
            require_numbers([need], schema)
    collected.settle()


def repeated_sums(analysis: Analysis) -> list[RepeatedSums]:
    """The sums of the run for overall and the slice sets of the cross-validation; nothing without such columns."""
    spec = CrossValidation.find(analysis.suite)
    if spec is None or not spec.repeated:
        return []
    out = []
    for part in analysis.sets:
        if part.slices.slice_set.name not in {"overall", *spec.slices}:
            continue
        n, weight = (part.sums.total(repeated_column(name)) for name in ("n", "weight"))
        for name in spec.repeated:
            kinds = (BIAS, VARIANCE, LOSS) if spec.truth is None else (BIAS, VARIANCE, NOISE, LOSS)
            sums = {kind: part.sums.total(repeated_column(f"{kind}|{name}")) for kind in kinds}
            out.append(RepeatedSums(name, part.slices, sums, n, weight))
    return out


_METRICS = {"binary": "brier", "regression": "mse"}
_CROSS = "bias_squared + variance + noise on average: chance leaves a rest in these rows"
_UNKNOWN = "noise is part of it: the label without noise is not known (truth)"


def bias_and_variance(parts: Sequence[RepeatedSums], task: str) -> pl.DataFrame:
    """A row per name, slice and part, as in the table `cross_validation`: `model` is the name.

    Units are those of the label, squared. Rows count by their weight; slices without rows have status `no_rows`.
    """
    names = list(dict.fromkeys(part.name for part in parts))
    frames = [
        _rows(part, task, kind, order)
        for name in names
        for part in parts
        if part.name == name
        for order, kind in enumerate(part.sums)
    ]
    if not frames:
        return CROSS_VALIDATION_SCHEMA.to_frame()
    table = pl.concat(frames)
    numbers = {name: number for number, name in enumerate(names)}
    sets = {part.slices.slice_set.name: number for number, part in enumerate(parts)}
    ordered = table.with_columns(
        pl.col("model").replace_strict(numbers, return_dtype=pl.Int64).alias("@model"),
        pl.col("slice_set").replace_strict(sets, return_dtype=pl.Int64).alias("@set"),
    ).sort("@model", "@set", "@slice", "@order", maintain_order=True)
    return in_schema(ordered, CROSS_VALIDATION_SCHEMA)


def _rows(part: RepeatedSums, task: str, kind: str, order: int) -> pl.DataFrame:
    size = len(part.n)
    occupied = part.weight > 0
    value = np.divide(part.sums[kind], part.weight, out=np.full(size, np.nan), where=occupied)
    has_noise = NOISE in part.sums
    note = {BIAS: None if has_noise else _UNKNOWN, LOSS: _CROSS if has_noise else None}.get(kind)
    return pl.DataFrame(
        {
            "slice": part.slices.texts(),
            "slice_values": pl.Series(part.slices.pairs(), dtype=CROSS_VALIDATION_SCHEMA["slice_values"]),
            "value": pl.Series(value, dtype=pl.Float64).fill_nan(None),
            "n": np.rint(part.n).astype(np.int64),
            "status": np.where(occupied, "ok", "no_rows").tolist(),
            "@slice": np.arange(size),
        }
    ).select(
        pl.lit(part.name).alias("model"),
        pl.lit(part.slices.slice_set.name).alias("slice_set"),
        pl.all(),
        pl.lit(_METRICS[task]).alias("metric"),
        pl.lit(kind).alias("kind"),
        pl.lit("not_requested").alias("interval_status"),
        pl.lit(note, dtype=pl.String).alias("note"),
        pl.lit(order).alias("@order"),
    )
