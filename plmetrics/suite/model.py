"""The suite: one frozen, strict, typed object for a YAML file or keyword arguments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from plmetrics.catalogue.metric import Metric

Task = Literal["binary", "multiclass", "regression", "quantile", "ranking", "uplift"]
Missing = Literal["error", "drop", "drop_per_model"]
Correction = Literal["holm", "bonferroni", "benjamini_hochberg", "none"]


class Strict(BaseModel):
    """Frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, strict=True)


class Data(Strict):
    """Where the rows are. `path` is None when a frame was handed over."""

    path: str | tuple[str, ...] | None = None
    where: str | None = None
    missing: Missing = "error"


class Columns(Strict):
    """Which column plays which role."""

    label: str
    weight: str | None = None
    query: str | None = None
    unit: str | None = None
    treatment: str | None = None
    fold: str | None = None


class ModelColumns(Strict):
    """What one model predicted: exactly one kind of column."""

    score: str | None = None
    prediction: str | None = None
    proba: dict[str, str] | None = None
    quantiles: dict[float, str] | None = None
    mean: str | None = None
    sd: str | None = None

    @property
    def column(self) -> str:
        """The one score or prediction column."""
        column = self.score or self.prediction
        assert column is not None  # noqa: S101
        return column


class SliceSet(Strict):
    """One named grouping: columns (crossed), bins of one column, or the rows where a predicate holds."""

    columns: tuple[str, ...] = ()
    bins: tuple[Any, ...] | None = None
    where: str | None = None


class Uncertainty(Strict):
    """How intervals are made. Its absence means: no intervals."""

    method: Literal["bootstrap"] = "bootstrap"
    replicates: Annotated[int, Field(ge=2, le=100_000)] = 1000
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    interval: Literal["auto", "percentile", "t", "centred"] = "auto"
    seed: int = 0
    blocks: Annotated[int, Field(ge=2, le=4000)] = 1000


class Compare(Strict):
    """Paired comparison of every model with the baseline."""

    baseline: str
    correction: Correction = "holm"
    family: Literal["metric", "suite"] = "metric"
    p_value: Literal["t", "percentile"] = "t"


class Gate(Strict):
    """A rule on an estimate (`at_least`, `at_most`) or on a difference (`against`)."""

    name: str | None = None
    metric: Metric
    model: str | None = None
    slices: str | tuple[str, ...] = "overall"
    level: Literal["fail", "warn"] = "fail"
    at_least: float | None = None
    at_most: float | None = None
    against: str | None = None
    no_worse_than: float | None = None
    using: Literal["value", "interval"] = "value"
    on_undefined: Literal["inconclusive", "fail", "skip"] = "inconclusive"


class Curve(Strict):
    """A curve and the slice sets it is drawn for, besides overall."""

    curve: Literal["roc", "pr", "reliability"]
    slices: tuple[str, ...] = ()


class Output(Strict):
    """Where run folders go, relative to the suite's folder."""

    directory: str = "runs"


class Suite(Strict):
    """One evaluation, complete and checked: names exist, parameters are in their domains, gates name something."""

    name: str
    task: Task = "binary"
    data: Data = Data()
    columns: Columns
    positive: str | int | float | bool | None = None
    models: dict[str, ModelColumns]
    metrics: tuple[Metric, ...]
    slices: dict[str, SliceSet] = Field(default_factory=dict)
    min_rows: Annotated[int, Field(ge=0)] = 0
    max_slices: Annotated[int, Field(ge=1)] = 10_000
    uncertainty: Uncertainty | None = None
    compare: Compare | None = None
    gates: tuple[Gate, ...] = ()
    curves: tuple[Curve, ...] = ()
    exact: bool | None = None
    memory: int | None = None
    output: Output = Output()
