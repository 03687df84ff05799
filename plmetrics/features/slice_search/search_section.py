"""The section `find_slices` of a suite: its short forms, and what does not fit together in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from plmetrics.catalogue.metric import TOTAL, Metric
from plmetrics.catalogue.needs import Sums
from plmetrics.core.names import did_you_mean
from plmetrics.suite.problems import shown
from plmetrics.suite.sections.basics import MOST_ROWS, Column, Correction, Level, NamedMetric, Section

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.suite.model import Suite
    from plmetrics.suite.problems import Findings

_PATH = ("find_slices",)
_FORM = "write find_slices: {columns: [region, device], metric: log_loss}"
_POSSIBLE = {
    "binary": "log_loss, brier, accuracy, precision, recall or f1",
    "multiclass": "log_loss, brier or accuracy",
    "regression": "mae, mse, rmse or a loss of each row",
    "quantile": "pinball_loss",
    "uplift": "a metric of sums over rows",
}


class FindSlices(Section):
    """A search for slices that are worse than the rest: found on one part of the units, confirmed on the other."""

    columns: Annotated[tuple[Column, ...], Field(min_length=1)] = Field(
        description="Columns whose values, alone and crossed, make the slices that are searched."
    )
    metric: NamedMetric = Field(description="Text of the metric that is worse: one made of sums over rows.")
    model: Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
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
        default="benjamini_hochberg", description="How p values are corrected for how many slices there are."
    )
    share: Level = Field(default=0.5, description="Share of the units that is searched; the rest confirms.")
    seed: int = Field(default=0, description="Seed of the division of the units.")
    largest: Annotated[int, Field(ge=1, le=MOST_ROWS)] = Field(
        default=20, description="The most slices of a model that go on to be confirmed."
    )
    blocks: Annotated[int, Field(ge=10, le=1000)] = Field(
        default=100, description="Groups of units whose spread gives the standard errors."
    )


def section_of(suite: Suite) -> FindSlices:
    """The section of a suite that has it."""
    section = suite.sections["find_slices"]
    assert isinstance(section, FindSlices)
    return section


def read_find_slices(
    value: Any, found: Findings, metric: Callable[[Any, tuple[str | int, ...]], Metric | None]
) -> FindSlices | None:
    """The section; None where it is wrong. `metric` reads one from its text."""
    if not isinstance(value, Mapping):
        found.add(f"find_slices must be a mapping, not {shown(value)}", _PATH, _FORM)
        return None
    given: dict[str, Any] = {
        key: [item] if key in {"columns", "model"} and isinstance(item, str) else item
        for key, item in value.items()
    }
    if isinstance(given.get("metric"), (str, Mapping)):
        given["metric"] = metric(given["metric"], (*_PATH, "metric"))
        if given["metric"] is None:
            return None
    if isinstance(given.get("metric"), Metric) and given["metric"].task != "ranking":
        _metric(given["metric"], found.add)
    return found.model(FindSlices, given, _PATH)


def check_find_slices(spec: FindSlices, fields: Mapping[str, Any], add: Callable[..., None]) -> None:
    """Note what is asked for without what it needs."""
    for index, name in enumerate(spec.columns):
        if name in spec.columns[:index]:
            add(f"column '{name}' is named twice", (*_PATH, "columns", index))
    data = fields.get("data")
    if data is not None and data.missing != "error" and spec.metric.every_row:
        msg = f"find_slices cannot search by {spec.metric.text}: it counts rows that data.missing leaves out"
        add(msg, (*_PATH, "metric"), "leave such rows in, or search by another metric")
    if fields["task"] == "ranking":
        add("find_slices searches rows, and a ranking has queries", _PATH, "leave it out for task 'ranking'")
    elif fields["task"]:
        _models(spec, fields, add)


def _metric(metric: Metric, add: Callable[..., None]) -> None:
    """A metric whose difference between a slice and the rest can be taken, and says which side is worse."""
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
    """The models must be there, and have what the metric reads."""
    models = fields.get("models") or {}
    added = {spec.named(name) for spec in fields.get("calibrate") or () for name in spec.sources(models)}
    known = (*models, *added, *(["baseline"] if fields.get("baseline") else []))
    for index, name in enumerate(spec.model or ()):
        if models and name not in known:
            msg = f"model '{name}' is not one of the models"
            add(msg, (*_PATH, "model", index), did_you_mean(name, known))
    for name in spec.model or models:
        lacking = spec.metric.lacks(tuple(models[name].columns())) if name in models else None
        if lacking is not None:
            msg = f"{spec.metric.text} needs {lacking}, which model '{name}' does not have"
            add(msg, (*_PATH, "metric"), "give the model such columns, or name other models here")


def find_slices_schema() -> dict[str, Any]:
    """The JSON Schema of the section: one column, and one model, may stand without a list."""
    schema = FindSlices.model_json_schema()
    columns = schema["properties"]["columns"]
    several = {key: columns.pop(key) for key in ("type", "items", "minItems")}
    columns["anyOf"] = [several, _text("The column.")]
    schema["properties"]["model"]["anyOf"].append(_text("The model."))
    return schema


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": description}
