"""The result tables: their columns, in order. DESIGN: the same frames in Python and in the run folder."""

from __future__ import annotations

from typing import TypeAlias

import polars as pl

ColumnType: TypeAlias = pl.DataType | type[pl.DataType]

SLICE_VALUES = pl.List(pl.Struct({"column": pl.String, "value": pl.String}))


def _schema(**columns: ColumnType) -> pl.Schema:
    return pl.Schema({name.rstrip("_"): dtype for name, dtype in columns.items()})


METRICS_SCHEMA = _schema(
    model=pl.String,
    slice_set=pl.String,
    slice=pl.String,
    slice_values=SLICE_VALUES,
    metric=pl.String,
    class_=pl.String,
    value=pl.Float64,
    lower=pl.Float64,
    upper=pl.Float64,
    std_error=pl.Float64,
    method=pl.String,
    interval_status=pl.String,
    n=pl.Int64,
    weight=pl.Float64,
    blocks=pl.Int64,
    undefined_replicates=pl.Int64,
    threshold=pl.Float64,
    bound=pl.Float64,
    status=pl.String,
    note=pl.String,
)

COMPARISONS_SCHEMA = _schema(
    contrast=pl.String,
    scale=pl.String,
    slice_set=pl.String,
    slice=pl.String,
    slice_values=SLICE_VALUES,
    metric=pl.String,
    class_=pl.String,
    model=pl.String,
    baseline=pl.String,
    difference=pl.Float64,
    lower=pl.Float64,
    upper=pl.Float64,
    std_error=pl.Float64,
    method=pl.String,
    p_value=pl.Float64,
    p_adjusted=pl.Float64,
    family=pl.String,
    family_size=pl.Int64,
    test=pl.String,
    n=pl.Int64,
    interval_status=pl.String,
    status=pl.String,
    note=pl.String,
)

GATES_SCHEMA = _schema(
    gate=pl.String,
    level=pl.String,
    metric=pl.String,
    model=pl.String,
    slice_set=pl.String,
    slice=pl.String,
    observed=pl.Float64,
    lower=pl.Float64,
    upper=pl.Float64,
    rule=pl.String,
    verdict=pl.String,
    status=pl.String,
    note=pl.String,
)

CURVES_SCHEMA = _schema(
    model=pl.String,
    slice_set=pl.String,
    slice=pl.String,
    curve=pl.String,
    class_=pl.String,
    x=pl.Float64,
    y=pl.Float64,
    lower=pl.Float64,
    upper=pl.Float64,
    threshold=pl.Float64,
    n=pl.Int64,
)

LEAKAGE_SCHEMA = _schema(
    check=pl.String,
    columns=pl.String,
    rows=pl.Int64,
    share=pl.Float64,
    observed=pl.Float64,
    limit=pl.Float64,
    measure=pl.String,
    level=pl.String,
    verdict=pl.String,
    example=pl.String,
    note=pl.String,
)

TABLES = {
    "metrics": METRICS_SCHEMA,
    "comparisons": COMPARISONS_SCHEMA,
    "gates": GATES_SCHEMA,
    "curves": CURVES_SCHEMA,
    "leakage": LEAKAGE_SCHEMA,
}
