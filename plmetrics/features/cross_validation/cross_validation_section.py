"""Section `cross_validation` of a suite: the columns of folds, repeats and splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field

from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.core.names import SuitePath, did_you_mean
from plmetrics.suite.problems import Findings, absent
from plmetrics.suite.sections.basics import Finite, NamedMetric
from plmetrics.suite.sections.section import Column, OrOne, Section, Strict

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.sums import Total
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.section import ReadMetric
    from plmetrics.table.prediction_table import PredictionTable

_PATH = ("cross_validation",)
_FORM = (
    "write columns: {fold: fold} for the folds, and cross_validation: {repeat: ..., split: ...} for the rest"
)
_DIRECTED = ("higher", "lower", "zero")

AXES = ("configuration", "split", "x", "repeat", "fold", "inner")
"""Keys of the rows of a cross-validation, in the order of results; x is a training size or a parameter."""

Limit = Annotated[Finite, Field(ge=0)]


class HighBias(Strict):
    """Rule for models too simple: even their training rows miss the level, other rows little more."""

    level: Finite = Field(description="The value of the metric that is aimed at.")
    gap: Limit = Field(
        default=0.05,
        description="The most that other rows may be worse than training rows, else it is variance.",
    )


class HighVariance(Strict):
    """Rule for models that overfit: other rows are much worse than their training rows."""

    gap: Limit = Field(default=0.15, description="How much worse other rows may be than training rows.")


class StillImproving(Strict):
    """Rule for more training rows: the last of three sizes is better than the first by more than `delta`."""

    delta: Limit = Field(default=0.02, description="The improvement over the last 3 training sizes.")


class Diagnosis(Strict):
    """Limits of the plain rules on training and learning curves."""

    high_bias: HighBias | None = Field(
        default=None, description="Level that training rows must reach; not judged if not given."
    )
    high_variance: HighVariance = Field(
        default=HighVariance(), description="How much worse other rows may be than training rows."
    )
    still_improving: StillImproving = Field(
        default=StillImproving(), description="What counts as improvement by more training rows."
    )


class CrossValidation(Section):
    """Estimates fold by fold, next to the pooled ones; the column of the fold itself is `columns.fold`."""

    example: ClassVar[str | None] = _FORM

    repeat: Column | None = Field(
        default=None, description="Column of the repetition: rows occur once in each of them."
    )
    inner: Column | None = Field(
        default=None,
        description="Column of the inner fold, by which a configuration is chosen within each fold; null in the rows "
        "of the fold itself.",
    )
    configuration: Column | None = Field(
        default=None,
        description="Column of the configuration that gave a row its prediction; else each model is one.",
    )
    split: Column | None = Field(
        default=None,
        description="Column that says train, valid or test. Rows of train count here alone, not in metrics.",
    )
    train_size: Column | None = Field(
        default=None, description="Column of the number of rows trained on: a learning curve."
    )
    parameter: Column | None = Field(
        default=None, description="Column of a parameter's value, a number: a validation curve."
    )
    slices: Annotated[tuple[str, ...], OrOne()] = Field(
        default=(), description="Slice sets to do it for, besides overall."
    )
    metric: NamedMetric | None = Field(
        default=None,
        description="Text of the metric by which inner folds choose, and that is diagnosed; the first with a direction "
        "if not given.",
    )
    diagnosis: Diagnosis = Field(default=Diagnosis(), description="Limits of the rules that read the curves.")
    repeated: dict[str, Annotated[tuple[Column, ...], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="By name, columns of predictions of a model that was trained several times: their squared error "
        "falls apart into bias, variance and noise.",
    )
    truth: Column | None = Field(
        default=None, description="Column of the label without noise, where it is known (with repeated)."
    )

    def axes(self, fold: str | None) -> dict[str, str]:
        """Column of each axis of the table, in the order of `AXES`."""
        columns = {
            "configuration": self.configuration,
            "split": self.split,
            "x": self.train_size or self.parameter,
            "repeat": self.repeat,
            "fold": fold,
            "inner": self.inner,
        }
        return {axis: column for axis in AXES if (column := columns[axis]) is not None}

    @classmethod
    def read(cls, value: Any, path: SuitePath, problems: Findings, read_metric: ReadMetric) -> Self | None:
        """Section from plain values, without the fold itself."""
        if isinstance(value, Mapping) and "fold" in value:
            hint = "write columns: {fold: ...}"
            problems.add("the column of the fold stands in columns", (*path, "fold"), hint)
            return None
        return super().read(value, path, problems, read_metric)

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note requests without their inputs."""
        columns = fields.get("columns")
        if columns is not None:
            _columns(self, columns.fold, problems.add)
        metrics = fields.get("metrics")
        if metrics is not None:
            _metric(self, metrics, problems.add)
        slice_sets = fields.get("slices")
        for index, name in enumerate(self.slices if slice_sets is not None else ()):
            if name not in (slice_sets or {}):
                problems.add(*absent(name, "slice sets", (*_PATH, "slices", index), slice_sets or {}))
        for name, predictions in self.repeated.items():
            if len(set(predictions)) < max(len(predictions), 2):
                hint = "list a column for each time the model was trained"
                problems.add(
                    f"repeated '{name}' needs two or more different columns", (*_PATH, "repeated", name), hint
                )
        if self.truth is not None and not self.repeated:
            problems.add("truth needs repeated: the predictions whose error falls apart", (*_PATH, "truth"))
        if self.repeated and fields["task"] not in {"", "regression", "binary"}:
            msg = f"repeated belongs to tasks 'regression' and 'binary', not to '{fields['task']}'"
            problems.add(msg, (*_PATH, "repeated"))

    def totals(self, table: PredictionTable, *, every: bool) -> Sequence[Total]:
        """The squared errors of repeated predictions, where there are some."""
        from plmetrics.features.cross_validation.repeated_totals import repeated_totals

        return repeated_totals(self.repeated, self.truth, table, every=every) if self.repeated else ()


def folds_of(suite: Suite) -> CrossValidation | None:
    """The section, or its defaults where there is nothing but a column of folds."""
    section = CrossValidation.find(suite)
    if section is None and suite.columns.fold is not None and suite.task != "ranking":
        return CrossValidation()
    return section


def deciding(metrics: tuple[Metric, ...], spec: CrossValidation) -> Metric | None:
    """Metric for choice and diagnosis: the named one, or the first with a better side."""
    return spec.metric or next((metric for metric in metrics if _decides(metric)), None)


def _decides(metric: Metric) -> bool:
    single = len(metric.per_class()) == 1 and not is_across_slices(metric)
    return single and metric.direction in _DIRECTED


def _columns(spec: CrossValidation, fold: str | None, add: Callable[..., None]) -> None:
    axes = spec.axes(fold)
    for key in ("repeat", "inner"):
        if key in axes and fold is None:
            add(f"{key} needs columns.fold", (*_PATH, key), "name its column: columns: {fold: ...}")
    if spec.train_size is not None and spec.parameter is not None:
        hint = "leave one of them out: one suite draws one of these curves"
        add("train_size and parameter exclude each other", (*_PATH, "parameter"), hint)
    if not axes and not spec.repeated:
        add("cross_validation says nothing of the rows", _PATH, _FORM)
    if set(axes) == {"configuration"}:
        hint = "name the folds: columns: {fold: ...}; or slice by the column"
        add(
            "configuration tells folds, splits or sizes apart, and there are none",
            (*_PATH, "configuration"),
            hint,
        )
    named: dict[str, str] = {}
    for axis, column in axes.items():
        key = axis if axis != "x" else "train_size" if spec.train_size is not None else "parameter"
        if column in named and axis != "fold":
            msg = f"column '{column}' cannot be {named[column]} and {key} as well"
            add(msg, (*_PATH, key))
        elif column in named:
            add(f"column '{column}' is the fold already", (*_PATH, named[column]))
        named[column] = key


def _metric(spec: CrossValidation, metrics: tuple[Metric, ...], add: Callable[..., None]) -> None:
    named_metric = spec.metric
    if named_metric is not None and named_metric.text not in {metric.text for metric in metrics}:
        hint = did_you_mean(named_metric.text, [metric.text for metric in metrics])
        add(f"the metric '{named_metric.text}' is not in metrics", (*_PATH, "metric"), hint)
    elif named_metric is not None and not _decides(named_metric):
        why = (
            "is neither better higher nor lower" if named_metric.direction == "none" else "has several values"
        )
        add(f"'{named_metric.text}' {why}, so it cannot choose", (*_PATH, "metric"))
    elif named_metric is None and spec.inner is not None and deciding(metrics, spec) is None:
        add("none of the metrics says which side is better, so that inner folds cannot choose", _PATH)
