"""The sections of a suite: frozen, strict and typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema, model_validator

from plmetrics.catalogue.metric import Metric
from plmetrics.suite.sections.references import ByInterval, DurationText, IntervalReference
from plmetrics.suite.sections.section import (
    BySet,
    Column,
    ComparisonTest,
    OneOrMore,
    OrOne,
    Strict,
    each_once,
    with_label_columns,
)
from plmetrics.suite.tasks import CurveName  # noqa: TC001 (pydantic reads it)
from plmetrics.table.prediction_columns import quantile_part

if TYPE_CHECKING:
    from plmetrics.states.class_probabilities import Kind

Missing = Literal["error", "drop", "drop_per_model"]
Correction = Literal["holm", "bonferroni", "benjamini_hochberg", "none"]
ContrastScale = Literal["difference", "ratio", "relative_change"]
BASELINE = "baseline"
"""The built-in model that gives every row the same, on request."""

BY_FOLD = "fold"
"""Value of `fit_on` for calibrators that are fitted on the other folds."""

Level = Annotated[float, Field(gt=0, lt=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
MOST_BINS = 1000
"""More bins of a curve are more points than it may have."""

Edge = int | float | datetime | date


def _metric_text(metric: Metric) -> Any:
    return metric.definition


NamedMetric = Annotated[
    Metric, PlainSerializer(_metric_text, return_type=Any), WithJsonSchema({"type": "string", "minLength": 1})
]


class Long(Strict):
    """Forecasts with a row per quantile."""

    by: Annotated[tuple[Column, ...], Field(min_length=1)] = Field(
        description="Columns that tell forecasts apart."
    )
    level: Column = Field(description="Column of the quantile's level.")
    value: Column = Field(description="Column of the quantile's value.")
    model: Column | None = Field(
        default=None, description="Column of the model, where each is to have columns of its own."
    )


class Trec(Strict):
    """Judgements and runs in TREC's formats, in place of a table of rows."""

    qrels: Column = Field(description="File of judgements: QUERY ITERATION DOCUMENT RELEVANCE.")
    run: Column | Annotated[dict[Column, Column], Field(min_length=1)] = Field(
        description="File of a run: QUERY Q0 DOCUMENT RANK SCORE RUN; or several by the name of the model."
    )
    complete: bool = Field(
        default=False, description="Count queries that were judged and have no results, as 0."
    )


class Data(Strict):
    """Source of the rows; `path` is None for a frame from Python."""

    path: Column | Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="File, folder or glob, or a list of them, relative to this file. ${VAR} is replaced.",
    )
    trec: Trec | None = Field(default=None, description="Files of a TREC evaluation, not a path (ranking).")
    version: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="Version of a Delta table, or snapshot of an Iceberg table; else the present one.",
    )
    database: Column | None = Field(
        default=None,
        description="Address of a database, in place of path: PostgreSQL, MySQL, MariaDB, SQLite or DuckDB. ${VAR} "
        "is replaced.",
    )
    query: Column | None = Field(default=None, description="SELECT statement whose rows are read from it.")
    spark: Column | None = Field(default=None, description="Name of a Spark table; Spark counts its rows.")
    long: Long | None = Field(
        default=None, description="Conversion of a row per quantile to a row per forecast."
    )
    where: Column | None = Field(default=None, description="SQL condition on the rows to evaluate.")
    partitioned_by: Literal["query"] | None = Field(
        default=None, description="`query`: a query's rows lie in one file, and rankings read each once."
    )
    missing: Missing = Field(
        default="error",
        description="Treatment of null or bad values: an error, drop the row for every model, or per model.",
    )

    @property
    def rows(self) -> Any:
        """Source of the rows, as `plmetrics.table.opening.open_source` takes it."""
        if self.database is not None:
            return {"database": self.database, "query": self.query}
        if self.version is not None:
            return {"path": self.path, "version": self.version}
        other = {"trec": self.trec and self.trec.model_dump(), "spark": self.spark}
        return next(({key: value} for key, value in other.items() if value is not None), self.path)


class Columns(Strict):
    """Columns by role."""

    label: Column = Field(
        description="Column of the label; of several classes a row (multilabel) a column of lists, a column of 0 and 1 "
        "for each class (a list of them, or a mapping by class), or what the names of these columns begin with."
    )
    label_columns: dict[str, Column] = Field(default_factory=dict, exclude_if=lambda columns: not columns)
    weight: Column | None = Field(
        default=None,
        description="Column of row weights; rows of weight 0 are absent. A list adds every model with each further "
        "one, null for none.",
    )
    query: Column | None = Field(default=None, description="Column of the query (ranking).")
    document: Column | None = Field(
        default=None, description="Column of the document (ranking): what a row of a query is about."
    )
    unit: Column | None = Field(
        default=None, description="Column of what is resampled together; else each row, or query (ranking)."
    )
    treatment: Column | None = Field(default=None, description="Column of the treatment arm (uplift).")
    fold: Column | None = Field(default=None, description="Column of the fold.")

    _several = model_validator(mode="before")(with_label_columns)


class ModelColumns(Strict):
    """Predictions of one model: exactly one kind of column."""

    score: Column | None = Field(default=None, description="Column of a score; higher means more positive.")
    margin: Column | None = Field(
        default=None,
        description="Column of any number, such as a support vector machine's margin: calibrators make scores of "
        "it, which are evaluated in its place (binary).",
        exclude_if=lambda margin: margin is None,
    )
    threshold: Finite | Annotated[dict[str, Finite], Field(min_length=1)] | None = Field(
        default=None,
        description="Threshold where a metric names none, in place of 0.5 (binary, multilabel); or one for each class, "
        "others have 0.5: of several classes that of the largest probability / threshold is called.",
        exclude_if=lambda threshold: threshold is None,
    )
    prediction: Column | None = Field(
        default=None, description="Column of a number, or of a class that was chosen."
    )
    proba: dict[str, Column] | Column | None = Field(
        default=None,
        description="A column of probabilities for each class, or what the names of these columns begin with.",
    )
    normalise: bool = Field(default=False, description="Divide the probabilities of a row by their sum.")
    quantiles: Annotated[dict[Level, Column], Field(min_length=1)] | Column | None = Field(
        default=None, description="A column for each quantile, or what the names of these columns begin with."
    )
    mean: Column | None = Field(default=None, description="Column of the predicted mean; needs `sd`.")
    sd: Column | None = Field(default=None, description="Column of the predicted standard deviation.")
    members: Annotated[tuple[Column, ...], Field(min_length=2)] | None = Field(
        default=None, description="Columns of the members of an ensemble."
    )
    label: Column | None = Field(
        default=None,
        description="Column of the label of this model, in place of that of the suite.",
        exclude_if=lambda label: label is None,
    )
    weight: Column | Literal[False] | None = Field(
        default=None,
        description="Column of the row weights of this model, in place of those of the suite; `false`: without any.",
        exclude_if=lambda weight: weight is None,
    )

    @property
    def has_own_rows(self) -> bool:
        """Whether it is held against a label, or weighted by a column, of its own."""
        return self.label is not None or self.weight is not None

    @property
    def after_calibration(self) -> ModelColumns:
        """The model after calibration: its score has another scale."""
        score = self.score if self.margin is None else self.margin
        return self.model_copy(update={"score": score, "margin": None, "threshold": None})

    def columns(self) -> dict[str, str]:
        """The column of each part of the prediction; see `plmetrics.table.prediction_columns.PredictionColumns`."""
        if isinstance(self.proba, dict):
            return {f"proba|{name}": column for name, column in self.proba.items()}
        if isinstance(self.quantiles, dict):
            return {quantile_part(level): self.quantiles[level] for level in sorted(self.quantiles)}
        if self.members is not None:
            return {f"member|{number}": column for number, column in enumerate(self.members)}
        if self.margin is not None:
            return {"score": self.margin}
        return {
            part: column for part in ("score", "prediction", "mean", "sd") if (column := getattr(self, part))
        }


MOST_EDGES = 10_000
"""The most edges of bins in a slice set: as many slices as a run has by default."""


class SliceSet(Strict):
    """One named grouping: columns (crossed), bins or the largest values of one column, tags, or predicates."""

    columns: tuple[Column, ...] = Field(
        default=(), description="Columns whose values, crossed, make the slices."
    )
    bins: Annotated[tuple[Edge, ...], Field(max_length=MOST_EDGES)] | None = Field(
        default=None, description="Ascending edges: [25, 40] makes three slices."
    )
    quantiles: Annotated[int, Field(ge=2, le=1000)] | None = Field(
        default=None, description="Number of bins of equal weight, whose edges are found in the data."
    )
    top: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="So many values with the most rows; the rest is one slice, `other`."
    )
    every: DurationText | None = Field(
        default=None, description="Length of the periods of a column of dates or times: 1d, 1w, 1mo or 6h."
    )
    expression: Column | None = Field(
        default=None, description="SQL expression whose values make the slices, in place of a column."
    )
    rollup: Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="Columns from wide to narrow: [country, region] has the slices of country, and of both crossed.",
    )
    where: Column | Annotated[dict[str, Column], Field(min_length=1)] | None = Field(
        default=None,
        description="SQL condition: one slice where it holds; or several by name, which may overlap.",
    )
    exclude: tuple[Any, ...] = Field(
        default=(), description="Slices to leave out: values, texts of bins, or mappings of column to value."
    )

    @property
    def overlaps(self) -> bool:
        """Whether a row may belong to several of its slices, as far as the suite shows: tags are in the table."""
        return self.rollup is not None or isinstance(self.where, dict)


def _other_rows(words: tuple[str, ...]) -> tuple[str, ...]:
    """References of slices, each once; `overall` are all rows."""
    return each_once(tuple(ALL if word == "overall" else word for word in words))


class Compare(Strict):
    """Comparisons of models, slices and runs, always on shared replicates where the data are the same.

    `slices` and `decompose` are by slice set. A set's comparisons are `rest`, `all`, `pairs`, or the text of a slice;
    what a decomposition names are texts of metrics, none for all that are means.
    """

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": [key]} for key in ("baseline", "pairs", "slices", "run")]}
    )

    baseline: str | None = Field(default=None, description="The model that the others are compared with.")
    pairs: Literal["all"] | None = Field(
        default=None, description="Every pair of models instead, the later one with the earlier one."
    )
    scales: Annotated[tuple[ContrastScale, ...], Field(min_length=1), OrOne(), AfterValidator(each_once)] = (
        Field(
            default=("difference",),
            description="Kind of comparison: the difference, the ratio, or the relative change (ratio - 1).",
        )
    )
    slices: Annotated[
        dict[str, Annotated[OneOrMore, AfterValidator(_other_rows)]], BySet("slices: {region: rest}")
    ] = Field(
        default_factory=dict,
        description="Reference of the slices of a set: rest (all other rows), all (all rows), pairs "
        "(each with those before it), or the text of one of them.",
    )
    run: Annotated[IntervalReference | Column | None, ByInterval] = Field(
        default=None,
        description="An earlier run to compare with: its folder, or that of a suite's runs, ${VAR} is replaced. In a "
        "suite with intervals: previous, or {ago: 7d}, {window: 28d}, {same_weekday: 4}, {run: ID}.",
    )
    reference: Literal["accepted", "any"] = Field(
        default="accepted",
        description="Which of a folder's runs may be that run: the last whose gates did not fail, or the last of any "
        "verdict. Never one of the same data.",
    )
    decompose: Annotated[
        dict[str, Annotated[tuple[Column, ...], OrOne()]], BySet("decompose: [region]", alone=True)
    ] = Field(
        default_factory=dict,
        description="Slice sets over which a change of a mean is taken apart: the slices moved (within), or their "
        "shares did (mix). Between intervals also metrics of the order of scores that are named: {region: [roc_auc]}.",
    )
    correction: Correction = Field(default="holm", description="Correction of p values for many comparisons.")
    family: Literal["metric", "suite"] = Field(
        default="metric",
        description="Family of tests that is corrected together: a metric in one slice set, or all.",
    )
    p_value: Literal["t", "percentile"] = Field(default="t", description="Form of the p values.")
    tests: tuple[ComparisonTest, ...] = Field(
        default=(), description="Tests of models beside the bootstrap: names, or names with their parameters."
    )

    def pairs_of(self, models: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Compared pairs of models, each as (model, baseline)."""
        names = tuple(models)
        if self.pairs is not None:
            return tuple((later, name) for place, name in enumerate(names) for later in names[place + 1 :])
        if self.baseline is None:
            return ()
        return tuple((name, self.baseline) for name in names if name != self.baseline)


class Calibrate(Strict):
    """A calibrator of scores, with one more model, MODEL_METHOD, as its result."""

    method: Literal["platt", "isotonic", "temperature", "beta", "vector", "dirichlet"] = Field(
        description="platt: a logistic curve of the log odds; isotonic: any rising curve; temperature: log odds over "
        "one number; beta: a curve with a bend of its own at either end. Of several classes: temperature, vector (a "
        "slope and an intercept for each class), dirichlet (coefficients of all classes for each), or isotonic (each "
        "against the rest)."
    )
    fit_on: Column = Field(
        description="SQL condition on the rows to fit on, whatever data.where says: they are left out of the "
        "evaluation. Or fold: each fold's scores get the curve that is fitted on the other folds (columns.fold)."
    )
    models: Annotated[tuple[str, ...], Field(min_length=1), OrOne()] | None = Field(
        default=None, description="The models to calibrate; all that give scores if not given."
    )
    smoothing: bool = Field(default=False, description="Whether platt fits Platt's targets, inside 0 and 1.")

    def model_name(self, model: str) -> str:
        """The name of a model's calibrated scores."""
        return f"{model}_{self.method}"

    def sources(self, models: Mapping[str, ModelColumns]) -> tuple[str, ...]:
        """Calibrated models."""
        names = (name for name, model in models.items() if model.score or model.margin or model.proba)
        return self.models or tuple(names)


class Curve(Strict):
    """A curve and the slice sets it is drawn for, besides overall."""

    curve: CurveName = Field(description="Name of the curve.")
    slices: Annotated[tuple[str, ...], OrOne()] = Field(
        default=(), description="Slice sets to draw it for, besides overall."
    )
    bins: Annotated[int, Field(ge=2, le=MOST_BINS)] | None = Field(
        default=None, description="Number of bins (reliability: 15, score_histogram: 40)."
    )
    strategy: Literal["width", "count"] = Field(
        default="width", description="Bins of equal width, or of equal weight (reliability)."
    )
    scheme: Literal["ovr", "ovo"] = Field(
        default="ovr",
        description="Each class against the rest, or against each other (roc, pr, reliability).",
    )
    cost_fp: Annotated[Finite, Field(ge=0)] = Field(
        default=1.0, description="Cost of a false positive (curve cost)."
    )
    cost_fn: Annotated[Finite, Field(ge=0)] = Field(
        default=1.0, description="Cost of a false negative (curve cost)."
    )
    metric: Column | None = Field(
        default=None, description="The suite's metric that models differ in (curve query_differences)."
    )

    @property
    def of_classes(self) -> Kind:
        """Curve's numbers for several classes."""
        if self.scheme == "ovr":
            return "class"
        return "share" if self.curve == "reliability" else "pair"


RESULT = "@result"
"""Value of `compare.run` where the earlier result is an object."""

REST, ALL, PAIRS = "rest", "all", "pairs"
"""References of slices beside slices by name."""
