"""The result tables: their columns, in order. DESIGN: the same frames in Python and in the run folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

ColumnType: TypeAlias = pl.DataType | type[pl.DataType]

SLICE_VALUES = pl.List(pl.Struct({"column": pl.String, "value": pl.String}))


def _schema(**columns: ColumnType) -> pl.Schema:
    return pl.Schema({name.rstrip("_"): dtype for name, dtype in columns.items()})


NEARER, FARTHER = "nearer to 0", "farther from 0"
"""Words in the note of a comparison of a metric that is best at 0."""

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

FOLDS_SCHEMA = _schema(
    model=pl.String,
    slice_set=pl.String,
    slice=pl.String,
    slice_values=SLICE_VALUES,
    metric=pl.String,
    class_=pl.String,
    configuration=pl.String,
    split=pl.String,
    x=pl.Float64,
    repeat=pl.String,
    fold=pl.String,
    inner=pl.String,
    value=pl.Float64,
    n=pl.Int64,
    weight=pl.Float64,
    status=pl.String,
    note=pl.String,
)

CROSS_VALIDATION_SCHEMA = _schema(
    model=pl.String,
    slice_set=pl.String,
    slice=pl.String,
    slice_values=SLICE_VALUES,
    metric=pl.String,
    class_=pl.String,
    kind=pl.String,
    configuration=pl.String,
    split=pl.String,
    x=pl.Float64,
    value=pl.Float64,
    lower=pl.Float64,
    upper=pl.Float64,
    std_error=pl.Float64,
    method=pl.String,
    interval_status=pl.String,
    folds=pl.Int64,
    undefined_folds=pl.Int64,
    pooled=pl.Float64,
    mean=pl.Float64,
    sd=pl.Float64,
    sd_status=pl.String,
    minimum=pl.Float64,
    maximum=pl.Float64,
    n=pl.Int64,
    verdict=pl.String,
    status=pl.String,
    note=pl.String,
)

DRIFT_SCHEMA = _schema(
    subject=pl.String,
    model=pl.String,
    column=pl.String,
    slice_set=pl.String,
    slice=pl.String,
    slice_values=SLICE_VALUES,
    measure=pl.String,
    value=pl.Float64,
    per_sd=pl.Float64,
    reference=pl.Float64,
    current=pl.Float64,
    statistic=pl.Float64,
    p_value=pl.Float64,
    p_adjusted=pl.Float64,
    family=pl.String,
    family_size=pl.Int64,
    p_status=pl.String,
    n_reference=pl.Int64,
    n_current=pl.Int64,
    bound=pl.Float64,
    status=pl.String,
    note=pl.String,
)

DECOMPOSITION_SCHEMA = _schema(
    contrast=pl.String,
    model=pl.String,
    baseline=pl.String,
    metric=pl.String,
    class_=pl.String,
    slice_set=pl.String,
    slice=pl.String,
    slice_values=SLICE_VALUES,
    part=pl.String,
    value=pl.Float64,
    lower=pl.Float64,
    upper=pl.Float64,
    std_error=pl.Float64,
    method=pl.String,
    interval_status=pl.String,
    status=pl.String,
    note=pl.String,
)

FOUND_SLICES_SCHEMA = _schema(
    model=pl.String,
    metric=pl.String,
    slice=pl.String,
    slice_values=SLICE_VALUES,
    depth=pl.Int64,
    value=pl.Float64,
    rest=pl.Float64,
    difference=pl.Float64,
    lower=pl.Float64,
    upper=pl.Float64,
    std_error=pl.Float64,
    p_value=pl.Float64,
    p_adjusted=pl.Float64,
    family_size=pl.Int64,
    searched=pl.Float64,
    n=pl.Int64,
    share=pl.Float64,
    confirmed=pl.Boolean,
    status=pl.String,
    note=pl.String,
)

TABLES = {
    "metrics": METRICS_SCHEMA,
    "comparisons": COMPARISONS_SCHEMA,
    "gates": GATES_SCHEMA,
    "curves": CURVES_SCHEMA,
    "leakage": LEAKAGE_SCHEMA,
    "folds": FOLDS_SCHEMA,
    "cross_validation": CROSS_VALIDATION_SCHEMA,
    "drift": DRIFT_SCHEMA,
    "decomposition": DECOMPOSITION_SCHEMA,
    "found_slices": FOUND_SLICES_SCHEMA,
}


def first_rows(metrics: pl.DataFrame) -> pl.DataFrame:
    """The table `metrics` with a row an estimate: where several methods made its interval, that of the first.

    Gates, comparisons and reports judge by it. Rows are in result order, so that those of an estimate lie together.
    Neighbours whose slices have the same text differ in their values.
    """
    about = pl.struct("model", "slice_set", "slice", "slice_values", "metric", "class", "value", "n")
    return metrics.filter(about.rle_id().is_first_distinct())


ALWAYS = ("metrics", "comparisons", "gates", "curves")
"""The tables that every version has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTables:
    """The tables of a result, all of them, with all their columns, also without rows.

    `metrics` has a row per model, slice and metric, `comparisons` one per contrast, `gates` one per rule, model and
    slice, `curves` one per point, `leakage` one per check for leakage, `folds` one per fold, `cross_validation` one
    per summary of folds, `drift` one per measure of a column, `decomposition` one per part of a change, and
    `found_slices` one per slice that a search found. `others` are those of further features, by name.
    """

    metrics: pl.DataFrame = field(default_factory=METRICS_SCHEMA.to_frame)
    comparisons: pl.DataFrame = field(default_factory=COMPARISONS_SCHEMA.to_frame)
    gates: pl.DataFrame = field(default_factory=GATES_SCHEMA.to_frame)
    curves: pl.DataFrame = field(default_factory=CURVES_SCHEMA.to_frame)
    leakage: pl.DataFrame = field(default_factory=LEAKAGE_SCHEMA.to_frame)
    folds: pl.DataFrame = field(default_factory=FOLDS_SCHEMA.to_frame)
    cross_validation: pl.DataFrame = field(default_factory=CROSS_VALIDATION_SCHEMA.to_frame)
    drift: pl.DataFrame = field(default_factory=DRIFT_SCHEMA.to_frame)
    decomposition: pl.DataFrame = field(default_factory=DECOMPOSITION_SCHEMA.to_frame)
    found_slices: pl.DataFrame = field(default_factory=FOUND_SLICES_SCHEMA.to_frame)
    others: Mapping[str, pl.DataFrame] = field(default_factory=dict, repr=False)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables by name."""
        return {name: getattr(self, name) for name in TABLES} | dict(self.others)
