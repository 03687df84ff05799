"""Section `find_slices` of a suite: its short forms, and checks of its consistency."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field

from plmetrics.catalogue.metric import TOTAL, Metric
from plmetrics.catalogue.needs import Sums
from plmetrics.suite.problems import Findings, absent, lacks_column
from plmetrics.suite.sections.basics import Correction, Level, NamedMetric
from plmetrics.suite.sections.section import MOST_ROWS, OneOrMore, Section

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.suite.sections.section import ReadMetric

_PATH = ("find_slices",)
_POSSIBLE = {
    "binary": "log_loss, brier, accuracy, precision, recall or f1",
    "multiclass": "log_loss, brier or accuracy",
    "regression": "mae, mse, rmse or a loss of each row",
    "quantile": "pinball_loss",
    "uplift": "a metric of sums over rows",
}


class FindSlices(Section):
    """A search for slices worse than the rest: found on one part of the units, confirmed on the other."""

    example: ClassVar[str | None] = "write find_slices: {columns: [region, device], metric: log_loss}"

    columns: OneOrMore = Field(
        description="Columns whose values, alone and crossed, make the slices that are searched."
    )
    metric: NamedMetric = Field(description="Text of the metric that is worse: one made of sums over rows.")
    model: OneOrMore | None = Field(
        default=None, description="The models to search for; every model if not given."
    )
    depth: Annotated[int, Field(ge=1, le=6)] = Field(
        default=2, description="The most columns that are crossed."
    )
    bins: Annotated[int, Field(ge=2, le=100)] = Field(
        default=4,
        description="Bins of numbers, dates and times, of equal weight, each with about as many rows.",
    )
    top: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=20,
        description="Values of any other column that are kept, those with the most rows; the rest is `other`.",
    )
    min_rows: Annotated[int, Field(ge=1, le=MOST_ROWS)] = Field(
        default=500,
        description="Slices with fewer rows are not searched; the searched part has its share of them.",
    )
    level: Level = Field(
        default=0.05, description="Share of false alarms that is borne among what is found, and confirmed."
    )
    correction: Correction = Field(
        default="benjamini_hochberg", description="Correction of p values for the number of slices."
    )
    share: Level = Field(default=0.5, description="Share of the units that is searched; the rest confirms.")
    seed: int = Field(default=0, description="Seed of the division of the units.")
    largest: Annotated[int, Field(ge=1, le=MOST_ROWS)] = Field(
        default=20, description="The most slices of a model that go on to be confirmed."
    )
    blocks: Annotated[int, Field(ge=10, le=1000)] = Field(
        default=100, description="Groups of units whose spread gives the standard errors."
    )

    @classmethod
    def read(cls, value: Any, path: SuitePath, problems: Findings, read_metric: ReadMetric) -> Self | None:
        """The section from plain values, if its metric can be searched by."""

        def searched(value: Any, place: SuitePath) -> Metric | None:
            metric = read_metric(value, place)
            if metric is not None and metric.task != "ranking":
                _metric(metric, problems.add)
            return metric

        return super().read(value, path, problems, searched)

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note requests without their inputs."""
        for index, name in enumerate(self.columns):
            if name in self.columns[:index]:
                problems.add(f"column '{name}' is named twice", (*_PATH, "columns", index))
        data = fields.get("data")
        if data is not None and data.missing != "error" and self.metric.every_row:
            msg = f"find_slices cannot search by {self.metric.text}: it counts rows that data.missing leaves out"
            problems.add(msg, (*_PATH, "metric"), "leave such rows in, or search by another metric")
        if fields["task"] == "ranking":
            problems.add(
                "find_slices searches rows, and a ranking has queries",
                _PATH,
                "leave it out for task 'ranking'",
            )
        elif fields["task"]:
            _models(self, fields, problems.add)


def _metric(metric: Metric, add: Callable[..., None]) -> None:
    """Metric with a better side and a difference between a slice and the rest."""
    why = None
    if not (isinstance(metric.needs, Sums) and metric.value_kind.is_resampled):
        why = "is not made of sums over rows"
    elif len(metric.per_class()) != 1 or metric.by_class:
        why = "has a value for each class"
    elif metric.additive:
        why = TOTAL
    elif metric.direction not in {"higher", "lower"}:
        why = "is neither better higher nor lower"
    if why is not None:
        hint = f"use a metric of sums, such as {_POSSIBLE.get(metric.task, 'a loss of each row')}"
        add(f"find_slices cannot search by {metric.text}: it {why}", (*_PATH, "metric"), hint)


def _models(spec: FindSlices, fields: Mapping[str, Any], add: Callable[..., None]) -> None:
    """Check that the models exist, with the parts for the metric."""
    models = fields.get("models") or {}
    added = {spec.model_name(name) for spec in fields.get("calibrate") or () for name in spec.sources(models)}
    names = (*models, *added, *(["baseline"] if fields.get("baseline") else []))
    for index, name in enumerate(spec.model or ()):
        if models and name not in names:
            add(*absent(name, "models", (*_PATH, "model", index), names, "model"))
    for name in spec.model or models:
        words = lacks_column(spec.metric, name, tuple(models[name].columns())) if name in models else None
        if words is not None:
            add(words, (*_PATH, "metric"), "give the model such columns, or name other models here")
