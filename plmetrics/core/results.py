"""The result tables, their columns in order, and the record of a run: the same in Python and in the run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NotRequired, TypeAlias, TypedDict

import polars as pl

SLICE_VALUES = pl.List(pl.Struct({"column": pl.String, "value": pl.String}))

_NUMBERS = (
    "value lower upper std_error weight threshold bound difference p_value p_adjusted observed x y share "
    "limit pooled mean sd minimum maximum per_sd reference current statistic rest searched mean_control "
    "share_reference share_current "
    "sampling_error labelled mean_labelled mean_unlabelled standardised "
    "always_valid_p mann_whitney_p superiority shift shift_lower shift_upper lift lift_lower lift_upper cohen_d effect "
    "power minimum_effect at_least at_most band_lower band_upper"
)
"""Columns of floats, in whatever table."""

_COUNTS = (
    "n blocks undefined_replicates family_size rows folds undefined_folds n_reference n_current depth "
    "n_labelled n_unlabelled n_control units units_control required_n"
)
"""Columns of whole numbers; the others hold texts."""

_TYPES: Mapping[str, pl.DataType] = {
    **dict.fromkeys(_NUMBERS.split(), pl.Float64()),
    **dict.fromkeys(_COUNTS.split(), pl.Int64()),
    "slice_values": SLICE_VALUES,
    "confirmed": pl.Boolean(),
}


class TableSchema(pl.Schema):
    """Schema with a cached empty table: a run asks for ten of them."""

    @cached_property
    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self)

    def to_frame(self, *, eager: bool = True) -> pl.DataFrame | pl.LazyFrame:  # type: ignore[override]
        """The table without rows."""
        return self._empty.clone() if eager else self._empty.lazy()


def table_schema(columns: str) -> pl.Schema:
    """The schema of a table with these columns: a name has one type in all tables."""
    return TableSchema({name: _TYPES.get(name, pl.String()) for name in columns.split()})


NEARER, FARTHER = "nearer to 0", "farther from 0"
"""Words in the note of a comparison of a metric that is best at 0."""

MEAN_RANK = "mean_rank"
"""Scale of comparisons of mean ranks."""

METRICS_SCHEMA = table_schema(
    "model slice metric value lower upper n status slice_set class std_error method interval_status "
    "slice_values weight blocks undefined_replicates threshold bound note"
)

LABELLED = "labelled"
"""The column of `metrics` that is there where labels may come later: the share of the slice's rows that have one."""

COMPARISONS_SCHEMA = table_schema(
    "model slice metric reading difference lower upper p_value p_adjusted baseline contrast scale n status "
    "slice_set class test statistic std_error method interval_status family family_size slice_values note"
)

GATES_SCHEMA = table_schema(
    "gate verdict model slice observed lower upper rule level metric status slice_set class bound at_least at_most "
    "band_lower band_upper baseline scale key note"
)

CURVES_SCHEMA = table_schema("model slice curve x y lower upper threshold n slice_set class")

LEAKAGE_SCHEMA = table_schema("check columns observed limit verdict rows share measure level example note")

FOLDS_SCHEMA = table_schema(
    "model slice metric value repeat fold split x n status slice_set class configuration inner slice_values "
    "weight note"
)

CROSS_VALIDATION_SCHEMA = table_schema(
    "model slice metric value lower upper kind pooled mean sd minimum maximum verdict n status slice_set "
    "class configuration split x std_error method interval_status folds undefined_folds sd_status "
    "slice_values note"
)

DRIFT_SCHEMA = table_schema(
    "subject column measure value model slice reference current per_sd statistic p_value p_adjusted "
    "n_reference n_current status slice_set family family_size p_status bound slice_values note"
)

DRIFT_HISTOGRAMS_SCHEMA = table_schema(
    "subject model column slice_set slice bin kind unit lower upper share_reference share_current "
    "n_reference n_current"
)

DECOMPOSITION_SCHEMA = table_schema(
    "model slice metric part value lower upper baseline contrast status slice_set class std_error method "
    "interval_status bound sampling_error slice_values note"
)

FOUND_SLICES_SCHEMA = table_schema(
    "model slice metric difference value rest lower upper p_value p_adjusted confirmed n share depth status "
    "std_error family_size searched slice_values note"
)

LABELLING_SCHEMA = table_schema(
    "model slice share mean_labelled mean_unlabelled difference lower upper standardised n_labelled "
    "n_unlabelled status slice_set std_error method interval_status slice_values"
)

EXPERIMENT_SCHEMA = table_schema(
    "outcome slice_set slice arm control n n_control units units_control mean mean_control difference "
    "lower upper std_error test p_value p_adjusted family family_size always_valid_p mann_whitney_p "
    "superiority shift shift_lower shift_upper lift lift_lower lift_upper cohen_d effect required_n power "
    "minimum_effect status note"
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

FURTHER_COLUMNS = {"metrics": (LABELLED,)}
"""The columns of tables that are there only where a suite asks for what they say."""

FURTHER_TABLES = {
    "drift_histograms": DRIFT_HISTOGRAMS_SCHEMA,
    "labelling": LABELLING_SCHEMA,
    "experiment": EXPERIMENT_SCHEMA,
}
"""The tables of features that are there only where a suite asks for these: among the `others` of a result."""


def in_schema(frame: pl.DataFrame, schema: pl.Schema, *, strict: bool = True) -> pl.DataFrame:
    """The columns of a schema in its order and types, null where the frame has none."""
    if frame.schema == schema:
        return frame
    there = {column.name: column for column in frame.get_columns()}
    columns = []
    for name, dtype in schema.items():
        column = there.get(name)
        if column is None:
            column = pl.Series(name, [None], dtype).new_from_index(0, frame.height)
        columns.append(column if column.dtype == dtype else column.cast(dtype, strict=strict))
    return pl.DataFrame(columns)


def first_word(cases: Mapping[str, pl.Expr], otherwise: str) -> pl.Expr:
    """Word of the first true condition of a row, else `otherwise`."""
    words = (pl.when(holds).then(pl.lit(word)) for word, holds in cases.items())
    return pl.coalesce(*words, pl.lit(otherwise))


GATE_OUTCOMES = ("fail", "inconclusive", "warn", "skipped", "pass")
"""Outcomes of gates, the worst first; a gate of level warn that fails warns."""


def gate_table(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Table `gates` from rows without their null columns."""
    return pl.DataFrame([dict.fromkeys(GATES_SCHEMA) | {**row} for row in rows], GATES_SCHEMA, orient="row")


def first_rows(metrics: pl.DataFrame, *further: str) -> pl.DataFrame:
    """Table `metrics` with a row an estimate: of several intervals, that of the first method.

    Gates, comparisons and reports judge by it. Rows are in result order, so that those of an estimate lie together.
    Neighbours whose slices have the same text differ in their values. `further` are columns that tell runs apart.
    """
    names = [*further, "model", "slice_set", "slice", "metric", "class", "value", "n"]
    repeated = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in names)
    if not metrics.select(repeated.any()).item():  # lists of values take most of the time to compare
        return metrics
    return metrics.filter(pl.struct(*names, "slice_values").rle_id().is_first_distinct())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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


Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A value of JSON, with tuples for lists where nothing is changed."""


class RecordedFile(TypedDict):
    """Data file: `path` below `folder`; `digest` is that of its size and both its ends."""

    path: str
    folder: NotRequired[str]
    bytes: int | None
    rows: int | None
    digest: str | None


class RecordedRows(TypedDict, total=False):
    """Numbers of rows; `used`, `dropped` and `unlabelled` are by model."""

    read: int
    zero_weight: int
    used: Mapping[str, int]
    dropped: Mapping[str, int]
    unlabelled: Mapping[str, int]
    fitted: int
    pairs_read: int


class RecordedInterval(TypedDict):
    """Interval of a run: its name, its ends in ISO 8601, and the time zone of its calendar."""

    key: str
    start: str
    end: str
    timezone: str


class RecordedMasses(TypedDict):
    """The denominator of a mean in all rows (`all`) and in each slice of a set.

    `massless` is what slices with a denominator of 0 add to the mean of all rows, if they do.
    """

    model: str
    metric: str
    class_name: str
    slice_set: str
    masses: Mapping[str, float]
    massless: NotRequired[Mapping[str, float]]


class RunRecord(TypedDict, total=False):
    """Record of a run. Features add entries of their own, a run folder id, status, exit code and times."""

    suite: Mapping[str, Json]
    constants: Mapping[str, Json]
    files: Sequence[RecordedFile]
    table_version: int
    states: Sequence[Mapping[str, Json]]
    rows: RecordedRows
    timings: Mapping[str, float]
    exit_code: int
    warnings: list[str]
    defaults: Sequence[str]
    references: Mapping[str, Json]
    history: Sequence[str]
    interval: RecordedInterval
    masses: Sequence[RecordedMasses]
