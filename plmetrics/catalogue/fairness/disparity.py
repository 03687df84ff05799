"""Differences of any metric between groups, for every task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plmetrics.catalogue.composite_metrics import AcrossSlices, Groups
from plmetrics.catalogue.fairness.base import GroupComparison, MetricOfGroups
from plmetrics.catalogue.fairness.shrinkage import is_rate, shrunken
from plmetrics.catalogue.metric import TOTAL, Metric
from plmetrics.catalogue.needs import Kind
from plmetrics.catalogue.parameters import ParameterError, parameter
from plmetrics.catalogue.registry import register_for

TASKS = ("binary", "multiclass", "multilabel", "regression", "quantile", "ranking", "uplift")


@dataclass(frozen=True)
class _Disparity(MetricOfGroups):
    metric: Metric = parameter(doc="the metric that is compared", domain="a metric", unnamed=True)  # noqa: RUF009
    form: str = parameter(
        "difference",
        doc="largest difference, or smallest ratio",
        options=("difference", "ratio"),
        name="kind",
    )


@dataclass(frozen=True)
class Disparity(GroupComparison, _Disparity):
    """Difference or ratio of any metric between the slices of a set.

    difference: largest minus smallest value (between_groups), or the largest distance from the value of all rows
    (to_overall) or of one group (reference). ratio: smallest over largest value, or the smallest of m_g / m and
    m / m_g; undefined (`nonpositive_values`) where a value is negative. Weighted as the metric is; 0 or more, and 1
    or less for a ratio. Groups without a value or below `min_share` of the weight are named in the note and take no
    part; undefined (`too_few_groups`) with fewer than two others. Source: Barocas, Hardt and Narayanan (2023),
    Fairness and machine learning, MIT Press, for group-wise comparison.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 1, 1, 1], "p": [0.9, 0.8, 0.9, 0.1], "sex": ["f", "f", "m", "m"]})
    >>> told = plm.evaluate(rows, label="y", models="p", slices=["sex"], metrics=["disparity(recall, by=sex)"])
    >>> told.metrics["value"].item()
    0.5
    """

    name = "disparity"
    range = (0.0, float("inf"))
    direction = "lower"
    failures = ("zero_denominator", "nonpositive_values", "reference_not_judged")
    formula = "max over g of m_g - min over g of m_g, or min m_g / max m_g (ratio)"
    use_when = "Any metric should be about the same for all groups, such as errors by region."
    beware = "Noise alone makes groups differ, the more the smaller they are: read the interval."
    reference = "Barocas, Hardt and Narayanan (2023), Fairness and Machine Learning, MIT Press"

    shrinkage: str = parameter(
        "none",
        doc="whether rates of groups are drawn towards their mean first, see shrunken_rate",
        options=("none", "empirical_bayes"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reads_sizes and not is_rate(self.metric):
            msg = f"{self.name}: '{self.metric.text}' is no share of rows, and only those are shrunk"
            raise ParameterError(msg, "shrinkage")
        if isinstance(self.metric, AcrossSlices):
            msg = (
                f"{self.name}: '{self.metric.text}' has one value for all slices, and one for each is needed"
            )
            raise ParameterError(msg, "metric")
        if self.metric.additive:
            msg = f"{self.name}: '{self.metric.text}' {TOTAL}: larger slices would differ by their size alone"
            raise ParameterError(msg, "metric")
        low, high = self.metric.range
        facts = {
            "range": (0.0, 1.0 if self.is_ratio else high - low),
            "direction": "higher" if self.is_ratio else "lower",
            "kind": _kind(self.metric, ratio=self.is_ratio),
            "needs_score": self.metric.needs_score,
            "threshold_free": self.metric.threshold_free,
        }
        for fact, value in facts.items():
            object.__setattr__(self, fact, value)

    @property
    def reads_sizes(self) -> bool:  # type: ignore[override]
        """Whether rates are shrunk as far as the sizes of groups say."""
        return self.shrinkage != "none"

    def of_groups(self, state: Groups, text: str) -> Any:
        """Values of groups, shrunk on request."""
        values = super().of_groups(state, text)
        return shrunken(values, state.sizes[text]) if self.reads_sizes else values

    @property
    def is_ratio(self) -> bool:
        """Whether it is the smallest ratio."""
        return self.form == "ratio"


def _kind(metric: Metric, *, ratio: bool) -> Kind:
    if metric.kind == "extreme":
        return "extreme"
    return "ratio" if ratio else "norm"


register_for(TASKS, Disparity)
