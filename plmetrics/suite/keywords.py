"""Types of the keyword arguments of `plmetrics.evaluate`: for type checkers and editors, loaded by no run.

Written by `python -m docs.generate` from the schema of suites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from plmetrics.catalogue.metric import Metric
from plmetrics.suite.python_types import MetricText
from plmetrics.suite.section_keywords import (
    Calibrate,
    Compare,
    CrossValidation,
    Curve,
    Drift,
    ExperimentPlan,
    FindSlices,
    Gate,
    Labels,
    Leakage,
    MetricDefinition,
    MetricInSlices,
    ModelColumns,
    SliceSet,
    Uncertainty,
)

# fmt: off

Weight: TypeAlias = str | Sequence[str | None] | Mapping[str, str] | None
Missing: TypeAlias = Literal["error", "drop", "drop_per_model"]
Task: TypeAlias = (
    Literal["binary", "multiclass", "multilabel", "regression", "quantile", "ranking", "uplift", "experiment"]
)
Models: TypeAlias = Mapping[str, str | ModelColumns] | Sequence[str] | str
Metrics: TypeAlias = Metric | Sequence[MetricText | MetricInSlices | MetricDefinition]
Ties: TypeAlias = Literal["average", "worst", "document"] | None
Slices: TypeAlias = Mapping[str, str | Sequence[str] | SliceSet] | Sequence[str | Sequence[str]] | str
Curves: TypeAlias = (
    Sequence[Curve | Literal["confusion", "roc", "roc_hull", "pr", "pr_interpolated", "lift", "gain", "cost",
    "net_benefit", "reliability", "corp", "score_histogram", "residual_histogram", "residual_qq", "label_histogram",
    "conditional_label", "conditional_prediction", "conditional_recall", "residual_prediction",
    "residual_quantiles", "coverage", "quantile_coverage", "pit_histogram", "query_differences", "qini", "uplift",
    "guelman", "effect_calibration"]]
)

class Arguments(TypedDict, total=False):
    """The keyword arguments of `plmetrics.evaluate`."""
    label: str | Sequence[str] | Mapping[str, str] | None
    weight: Weight | None
    query: str | None
    document: str | None
    unit: str | None
    treatment: str | None
    fold: str | None
    where: str | None
    missing: Missing
    name: str | None
    task: Task
    derive: Mapping[str, str] | None
    positive: str | float | bool | None
    classes: Sequence[str | int | bool] | None
    models: Models | None
    calibrate: Calibrate | Sequence[Calibrate] | None
    baseline: bool
    metrics: Metrics | None
    undefined: Literal["exclude", "zero"] | None
    ties: Ties | None
    slices: Slices | None
    min_rows: int
    max_slices: int
    uncertainty: Uncertainty | bool | None
    compare: Compare | str | None
    gates: Sequence[Gate]
    curves: Curves | None
    exact: bool | None
    reproducible: bool
    memory: int | str | None
    labels: Labels | bool | None
    leakage: Leakage | None
    drift: Drift | None
    cross_validation: CrossValidation | None
    experiment: ExperimentPlan | None
    find_slices: FindSlices | None
    seed: int
