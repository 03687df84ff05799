"""The suite: one frozen, strict, typed object for a YAML file or keyword arguments."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from plmetrics.catalogue import registry
from plmetrics.catalogue.derived import AcrossSlices
from plmetrics.catalogue.metric import Facts, Metric, leaves
from plmetrics.table.predicted import quantile_part

if TYPE_CHECKING:
    from collections.abc import Mapping

Task = Literal["binary", "multiclass", "regression", "quantile", "ranking", "uplift"]
Missing = Literal["error", "drop", "drop_per_model"]
Correction = Literal["holm", "bonferroni", "benjamini_hochberg", "none"]
PREDICTION_KINDS = ("score", "prediction", "proba", "quantiles", "mean", "members")
PREDICTS: dict[str, tuple[str, ...]] = {
    "binary": ("score", "prediction"),
    "multiclass": ("proba", "prediction"),
    "regression": ("score", "prediction"),
    "quantile": ("quantiles", "mean", "members"),
    "ranking": ("score",),
    "uplift": ("score",),
}
"""The kinds of prediction of each task."""

ROLES_OF_TASKS = {"ranking": ("query",), "uplift": ("treatment",)}
"""The columns that a task cannot do without, besides the label."""

BINARY_CURVES = ("roc", "roc_hull", "pr", "pr_interpolated", "lift", "gain", "cost", "reliability")
REGRESSION_CURVES = (
    "residual_histogram",
    "residual_qq",
    "label_histogram",
    "conditional_label",
    "conditional_prediction",
    "conditional_recall",
)
MULTICLASS_CURVES = ("confusion",)
UPLIFT_CURVES = ("qini", "uplift", "guelman", "effect_calibration")
CurveName = Literal[
    "confusion",
    "roc",
    "roc_hull",
    "pr",
    "pr_interpolated",
    "lift",
    "gain",
    "cost",
    "reliability",
    "residual_histogram",
    "residual_qq",
    "label_histogram",
    "conditional_label",
    "conditional_prediction",
    "conditional_recall",
    "qini",
    "uplift",
    "guelman",
    "effect_calibration",
]
ROW_CURVES = (*MULTICLASS_CURVES, *REGRESSION_CURVES, *UPLIFT_CURVES)
"""Curves that are drawn from the rows themselves."""

CURVES: dict[str, tuple[str, ...]] = {
    "binary": BINARY_CURVES,
    "multiclass": MULTICLASS_CURVES,
    "regression": REGRESSION_CURVES,
    "quantile": REGRESSION_CURVES,
    "uplift": UPLIFT_CURVES,
}
"""The curves of each task."""

BASELINE = "baseline"
"""The built-in model that gives every row the same, on request."""

BY_FOLD = "fold"
"""What `fit_on` says of calibrators that are fitted on the other folds."""

Column = Annotated[str, Field(min_length=1)]
Level = Annotated[float, Field(gt=0, lt=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Edge = int | float | datetime | date


def _written(metric: Metric) -> Any:
    """A metric as a suite writes it: its text, or the definition of one that the suite makes up."""
    return getattr(metric, "definition", metric.text)


NamedMetric = Annotated[
    Metric, PlainSerializer(_written, return_type=Any), WithJsonSchema({"type": "string", "minLength": 1})
]


class Strict(BaseModel):
    """Frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, strict=True)


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
    """Where the rows are. `path` is None when a frame was handed over."""

    path: Column | Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="File, folder or glob, or a list of them, relative to this file. ${VAR} is replaced.",
    )
    trec: Trec | None = Field(
        default=None, description="Files of a TREC evaluation, in place of path (ranking)."
    )
    long: Long | None = Field(
        default=None, description="How a table with a row per quantile becomes one with a row per forecast."
    )
    where: Column | None = Field(default=None, description="SQL condition on the rows to evaluate.")
    missing: Missing = Field(
        default="error",
        description="What a null or bad value does: an error, drop the row for every model, or per model.",
    )

    @property
    def rows(self) -> Any:
        """What says where the rows are, as `plmetrics.table.source.open_source` takes it."""
        return self.path if self.trec is None else {"trec": self.trec.model_dump()}


class Columns(Strict):
    """Which column plays which role."""

    label: Column = Field(description="Column of the label.")
    weight: Column | None = Field(
        default=None, description="Column of row weights; rows of weight 0 are absent."
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


class ModelColumns(Strict):
    """What one model predicted: exactly one kind of column."""

    score: Column | None = Field(default=None, description="Column of a score; higher means more positive.")
    prediction: Column | None = Field(
        default=None, description="Column of a number, or of a class that was chosen."
    )
    proba: dict[str, Column] | Column | None = Field(
        default=None,
        description="A column of probabilities for each class, or what the names of these columns begin with.",
    )
    normalise: bool = Field(default=False, description="Divide the probabilities of a row by their sum.")
    quantiles: Annotated[dict[Level, Column], Field(min_length=1)] | Column | None = Field(
        default=None,
        description="A column for each quantile, or what the names of these columns begin with.",
    )
    mean: Column | None = Field(default=None, description="Column of the predicted mean; needs `sd`.")
    sd: Column | None = Field(default=None, description="Column of the predicted standard deviation.")
    members: Annotated[tuple[Column, ...], Field(min_length=2)] | None = Field(
        default=None, description="Columns of the members of an ensemble."
    )

    @property
    def kind(self) -> str:
        """Which kind of prediction it is: score, prediction, proba, quantiles, mean or members."""
        return next(kind for kind in PREDICTION_KINDS if getattr(self, kind) is not None)

    def columns(self) -> dict[str, str]:
        """The column of each part of the prediction; see `plmetrics.table.predicted.Predicted`."""
        if isinstance(self.proba, dict):
            return {f"proba|{name}": column for name, column in self.proba.items()}
        if isinstance(self.quantiles, dict):
            return {quantile_part(level): self.quantiles[level] for level in sorted(self.quantiles)}
        if self.members is not None:
            return {f"member|{number}": column for number, column in enumerate(self.members)}
        return {
            part: column for part in ("score", "prediction", "mean", "sd") if (column := getattr(self, part))
        }


class SliceSet(Strict):
    """One named grouping: columns (crossed), bins or the largest values of one column, tags, or predicates."""

    columns: tuple[Column, ...] = Field(
        default=(), description="Columns whose values, crossed, make the slices."
    )
    bins: tuple[Edge, ...] | None = Field(
        default=None, description="Ascending edges: [25, 40] makes three slices."
    )
    quantiles: Annotated[int, Field(ge=2, le=1000)] | None = Field(
        default=None, description="Number of bins of equal weight, whose edges are found in the data."
    )
    top: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="So many values with the most rows; the rest is one slice, `other`."
    )
    where: Column | Annotated[dict[str, Column], Field(min_length=1)] | None = Field(
        default=None,
        description="SQL condition: one slice where it holds; or several by name, which may overlap.",
    )
    exclude: tuple[Any, ...] = Field(
        default=(), description="Slices to leave out: values, texts of bins, or mappings of column to value."
    )


class Uncertainty(Strict):
    """How intervals are made. Its absence means: no intervals."""

    method: Literal["bootstrap"] = Field(default="bootstrap", description="How estimates are replicated.")
    replicates: Annotated[int, Field(ge=2, le=100_000)] = Field(
        default=1000, description="Number of replicates."
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.95, description="Level of two-sided intervals."
    )
    interval: Literal["auto", "percentile", "t", "centred"] = Field(
        default="auto", description="Form of the intervals; auto chooses one by metric and number of blocks."
    )
    seed: int = Field(default=0, description="Seed of the resampling.")
    blocks: Annotated[int, Field(ge=2, le=4000)] = Field(default=1000, description="Blocks above 4000 units.")


class Compare(Strict):
    """Paired comparison of every model with the baseline."""

    baseline: str = Field(description="The model that the others are compared with.")
    correction: Correction = Field(default="holm", description="Correction of p values for many comparisons.")
    family: Literal["metric", "suite"] = Field(
        default="metric", description="What is corrected together: a metric in one slice set, or all."
    )
    p_value: Literal["t", "percentile"] = Field(default="t", description="Form of the p values.")


class Calibrate(Strict):
    """A calibrator of scores, whose result is one more model, named MODEL_METHOD."""

    method: Literal["platt", "isotonic", "temperature", "beta"] = Field(
        description="platt: a logistic curve of the log odds; isotonic: any rising curve; temperature: log odds "
        "divided by one number; beta: a curve with a bend of its own at either end."
    )
    fit_on: Column = Field(
        description="SQL condition on the rows to fit on, whatever data.where says: they are left out of the "
        "evaluation. Or fold: each fold's scores get the curve that is fitted on the other folds (columns.fold)."
    )
    models: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        default=None, description="The models to calibrate; all that give scores if not given."
    )
    smoothing: bool = Field(
        default=False, description="Whether platt fits to Platt's targets, a little inside 0 and 1."
    )

    def named(self, model: str) -> str:
        """The name of a model's calibrated scores."""
        return f"{model}_{self.method}"

    def sources(self, models: Mapping[str, ModelColumns]) -> tuple[str, ...]:
        """The models that are calibrated."""
        return self.models or tuple(name for name, model in models.items() if model.score is not None)


class GateRule(Strict):
    """What a gate asks for, without the metric it is about."""

    name: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="Name in results and reports."
    )
    model: str | None = Field(default=None, description="The model; every model if not given.")
    slices: str | tuple[str, ...] = Field(
        default="overall", description="`overall`, a slice set, a list of them, or `all`."
    )
    level: Literal["fail", "warn"] = Field(default="fail", description="Whether a failure fails the run.")
    at_least: Finite | None = Field(default=None, description="Lower limit of the value or difference.")
    at_most: Finite | None = Field(default=None, description="Upper limit of the value or difference.")
    against: str | None = Field(default=None, description="Judge the difference from this model.")
    no_worse_than: Annotated[Finite, Field(ge=0)] | None = Field(
        default=None, description="Largest loss against the other model, in the metric's direction."
    )
    using: Literal["value", "interval"] = Field(
        default="value", description="Judge the value, or its whole interval."
    )
    on_undefined: Literal["inconclusive", "fail", "skip"] = Field(
        default="inconclusive", description="Verdict where the value is undefined."
    )


class Gate(GateRule):
    """A rule on an estimate (`at_least`, `at_most`) or on a difference (`against`)."""

    metric: NamedMetric = Field(description="One of the suite's metrics.")
    between: str | None = Field(
        default=None,
        description="A slice set: judge the largest difference between its slices, or the smallest ratio.",
    )
    ratio_at_least: Annotated[Finite, Field(ge=0, le=1)] | None = Field(
        default=None, description="Lower limit of the smallest ratio between slices."
    )
    four_fifths: str | None = Field(
        default=None,
        description="A slice set: every group is selected at least four fifths as often as another.",
    )

    @property
    def subject(self) -> Metric:
        """What is judged: the metric, or how far it differs between slices."""
        if self.between is None:
            return self.metric
        kind = "difference" if self.ratio_at_least is None else "ratio"
        given = {"metric": self.metric, "by": self.between, "kind": kind}
        return registry.create(self.metric.task, "disparity", given)


class Curve(Strict):
    """A curve and the slice sets it is drawn for, besides overall."""

    curve: CurveName = Field(description="Name of the curve.")
    slices: tuple[str, ...] = Field(default=(), description="Slice sets to draw it for, besides overall.")
    cost_fp: Annotated[Finite, Field(ge=0)] = Field(
        default=1.0, description="Cost of a false positive (curve cost)."
    )
    cost_fn: Annotated[Finite, Field(ge=0)] = Field(
        default=1.0, description="Cost of a false negative (curve cost)."
    )


Limit = Annotated[int, Field(ge=0)] | Annotated[float, Field(gt=0, lt=1)]


class LeakageLimits(Strict):
    """How much leakage is borne: so many rows, or below 1 a share of them."""

    keys: Limit = Field(default=0, description="Rows whose keys stand in the training table.")
    time: Limit = Field(default=0, description="Rows no later than the last training row.")
    folds: Limit = Field(default=0, description="Rows whose keys stand in another fold too.")
    duplicates: Limit = Field(default=0, description="Rows that are there more than once.")


class Leakage(Strict):
    """Checks that the rows to evaluate were not known in training. What goes beyond its limit is a failed gate."""

    train: Column | Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None, description="Files of the training table, as in data.path. ${VAR} is replaced."
    )
    keys: Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None, description="Columns that together tell what a row is about: no such row in two places."
    )
    train_keys: Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None, description="What the keys are called in the training table; the same if not given."
    )
    time: Column | None = Field(
        default=None, description="Column of a time, date or number: all must be later than in the training table."
    )
    train_time: Column | None = Field(
        default=None, description="What `time` is called in the training table; the same if not given."
    )
    duplicates: bool | Annotated[tuple[Column, ...], Field(min_length=1)] = Field(
        default=False, description="Whether no two rows may have the same keys, or the columns to compare instead."
    )
    attributes: bool | Annotated[tuple[Column, ...], Field(min_length=1)] = Field(
        default=False, description="Columns that must not tell the label by themselves; true: all without a role."
    )
    perfect: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.99, description="How well an attribute alone may not tell the label."
    )
    limit: LeakageLimits = Field(default=LeakageLimits(), description="How much of it is borne.")
    level: Literal["fail", "warn"] = Field(default="fail", description="Whether leakage fails the run.")


class Output(Strict):
    """Where run folders go, relative to the suite's folder."""

    directory: Column = Field(
        default="runs", description="Folder for run folders, under this file's. ${VAR} is replaced."
    )


class Suite(Strict):
    """One evaluation, complete and checked: names exist, parameters are in their domains."""

    name: str = Field(description="Name of the evaluation and of its folder; the file's name if not given.")
    task: Task = Field(default="binary", description="What is predicted.")
    data: Data = Field(default=Data(), description="Where the rows are.")
    columns: Columns = Field(description="Which column plays which role.")
    positive: str | int | float | bool | None = Field(
        default=None, description="The label that counts as positive, where labels are not 0/1 or booleans."
    )
    classes: Annotated[tuple[Column, ...], Field(min_length=2)] | None = Field(
        default=None, description="The classes in order (multiclass); else those of the probability columns."
    )
    models: dict[str, ModelColumns] = Field(description="The models and their columns.")
    calibrate: tuple[Calibrate, ...] = Field(
        default=(), description="Calibrators: each adds a model to every model it is fitted for."
    )
    baseline: bool = Field(
        default=False,
        description="Whether to add a model 'baseline' that gives every row the same: the share of positives or of "
        "each class, the mean or the quantiles of the label, or 0 (ranking, uplift).",
    )
    metrics: tuple[NamedMetric, ...] = Field(description="The metrics; the task's default list if not given.")
    metric_slices: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Slice sets, besides overall, of metrics that are not in all."
    )
    slices: dict[str, SliceSet] = Field(default_factory=dict, description="Slice sets by name.")
    min_rows: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Slices with fewer rows are listed without values."
    )
    max_slices: Annotated[int, Field(ge=1)] = Field(
        default=10_000, description="Refuse to start with more slices."
    )
    uncertainty: Uncertainty | None = Field(
        default=None, description="Bootstrap intervals; none if not given."
    )
    compare: Compare | None = Field(default=None, description="Paired differences from a baseline model.")
    gates: tuple[Gate, ...] = Field(default=(), description="Rules on values and differences.")
    leakage: Leakage | None = Field(
        default=None, description="Checks for rows and attributes that give the label away; none if not given."
    )
    curves: tuple[Curve, ...] = Field(default=(), description="Curves to draw.")
    exact: bool | None = Field(
        default=None,
        description="Whether ordered metrics must be exact; by default while they fit into memory.",
    )
    memory: Annotated[int, Field(gt=0)] | None = Field(
        default=None, description="Memory budget in bytes, or as 4GB."
    )
    output: Output = Field(default=Output(), description="Where results go.")

    @property
    def added(self) -> tuple[str, ...]:
        """The models that a run adds to those in `models`: calibrated ones, and the built-in baseline."""
        calibrated = [spec.named(name) for spec in self.calibrate for name in spec.sources(self.models)]
        return (*calibrated, BASELINE) if self.baseline else tuple(calibrated)

    def settled(self, facts: Facts) -> Suite:
        """The suite with metrics that know what the run knows."""
        metrics = tuple(metric.settled(facts) for metric in self.metrics)
        gates = tuple(gate.model_copy(update={"metric": gate.metric.settled(facts)}) for gate in self.gates)
        return self.model_copy(update={"metrics": metrics, "gates": gates})

    def listed(self, slice_set: str) -> tuple[Metric, ...]:
        """The metrics that have rows for the slices of a set, or of `overall`."""
        return tuple(
            metric
            for metric in self.metrics
            if not isinstance(metric, AcrossSlices) and slice_set in self.sets_of(metric)
        )

    def sets_of(self, metric: Metric) -> tuple[str, ...]:
        """Where a metric has rows: `overall` and slice sets in suite order; one over slices in its set alone."""
        if isinstance(metric, AcrossSlices):
            return (metric.slice_set,)
        chosen = self.metric_slices.get(metric.text, tuple(self.slices))
        return ("overall", *(name for name in self.slices if name in chosen))

    @property
    def computed(self) -> tuple[Metric, ...]:
        """The metrics, and those that only gates look at, each once."""
        judged = (gate.subject for gate in self.gates if isinstance(gate.subject, AcrossSlices))
        return tuple({metric.text: metric for metric in (*self.metrics, *judged)}.values())

    def over(self, slice_set: str) -> tuple[AcrossSlices, ...]:
        """The metrics that put together the slices of a set."""
        return tuple(m for m in self.computed if isinstance(m, AcrossSlices) and m.slice_set == slice_set)

    def needed(self, *slice_sets: str) -> tuple[Metric, ...]:
        """The metrics of a state family that the results of some sets are made from, each once."""
        found = [
            leaf for name in slice_sets for m in (*self.listed(name), *self.over(name)) for leaf in leaves(m)
        ]
        if "overall" in slice_sets:
            across = (metric for metric in self.computed if isinstance(metric, AcrossSlices))
            found += [leaf for metric in across if metric.reads_overall for leaf in leaves(metric)]
        return tuple({metric.text: metric for metric in found}.values())


# Neither changes a number: names, where things lie, and how much memory there is.
_COSMETIC: Any = {
    "name": True,
    "output": True,
    "memory": True,
    "data": {"path": True, "trec": {"qrels", "run"}},
    "gates": {"__all__": {"name"}},
    "leakage": {"train"},
}


def canonical(suite: Suite) -> dict[str, Any]:
    """What the suite asks for, as JSON-able data that suites of the same meaning share.

    Names, paths, the memory budget, the order of metrics, gates and curves, and whether a default is spelled
    out leave no trace. The order of keys has no meaning: hash it with sorted keys.
    """
    content: dict[str, Any] = suite.model_dump(mode="json", exclude=_COSMETIC)
    for key in ("metrics", "gates", "curves"):
        content[key] = sorted(content[key], key=lambda item: json.dumps(item, sort_keys=True))
    return content
