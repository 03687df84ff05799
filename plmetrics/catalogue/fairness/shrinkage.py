"""Shrinkage of groups' rates towards their common mean by empirical Bayes, against chance in tiny groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.catalogue.fairness.base import MetricOfGroups
from plmetrics.catalogue.parameters import ParameterError, parameter
from plmetrics.catalogue.registry import register_for

if TYPE_CHECKING:
    from plmetrics.catalogue.composite_metrics import Groups
    from plmetrics.catalogue.metric import Metric

TASKS = ("binary", "multiclass", "quantile")
SOURCE = (
    "Efron and Morris (1975), JASA 70(350); DerSimonian and Laird (1986), Controlled Clinical Trials 7(3)"
)


def is_rate(metric: Metric) -> bool:
    """Whether a metric is a share of rows with a sampling variance from its value and their number."""
    return "wilson" in metric.closed_forms


def shrunken(values: Any, sizes: Any) -> Any:
    """Rates `[..., group]` of groups of some sizes, each drawn towards the mean of all as far as chance explains it.

    >>> shrunken(np.array([0.2, 0.3, 1.0]), np.array([1000.0, 1000.0, 2.0])).round(3).tolist()
    [0.202, 0.299, 0.314]
    """
    values, sizes = np.asarray(values, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (values * sizes).sum(axis=-1, keepdims=True) / sizes.sum()
        variance = pooled * (1 - pooled) / sizes
        weight = 1 / variance
        total = weight.sum(axis=-1, keepdims=True)
        spread = (weight * (values - pooled) ** 2).sum(axis=-1, keepdims=True)
        excess = spread - (values.shape[-1] - 1)
        between = np.maximum(excess / (total - (weight**2).sum(axis=-1, keepdims=True) / total), 0.0)
        precision = 1 / (variance + between)
        centre = (values * precision).sum(axis=-1, keepdims=True) / precision.sum(axis=-1, keepdims=True)
        drawn = centre + between * precision * (values - centre)
    return np.where((pooled > 0) & (pooled < 1), drawn, values)


@dataclass(frozen=True)
class _RateOfGroups(MetricOfGroups):
    metric: Metric = parameter(doc="the rate that is shrunk", domain="a share of rows", unnamed=True)  # noqa: RUF009


class ShrunkenRate(_RateOfGroups):
    """Rate of each group drawn towards the mean of all groups by empirical Bayes.

    m + t^2 / (t^2 + s_g^2) (v_g - m): v_g the rate in the group, s_g^2 = p (1 - p) / n_g its sampling variance with p
    the pooled rate and n_g the rows (effective units, with weights or units) in its denominator, t^2 the variance
    between groups by moments (DerSimonian and Laird, 0 or more), m the mean with weights 1 / (s_g^2 + t^2). A row for
    each group, under the slice set. Groups without a value keep their status; undefined (`too_few_groups`) with fewer
    than two others. Source: Efron and Morris (1975); t^2: DerSimonian and Laird (1986).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1] * 9, "p": [0.9] * 4 + [0.1] * 4 + [0.9], "g": [*"aabbaabb", "c"]})
    >>> asked = ["shrunken_rate(recall, by=g)"]
    >>> plm.evaluate(rows, label="y", models="p", slices=["g"], metrics=asked).metrics["value"].round(3).to_list()
    [0.556, 0.556, 0.556]
    """

    name = "shrunken_rate"
    direction = "higher"
    range = (0.0, 1.0)
    for_each = True
    reads_sizes = True
    formula = "m + t^2 / (t^2 + s_g^2) (v_g - m), s_g^2 = p (1 - p) / n_g"
    use_when = (
        "Groups are crossed until some hold a handful of rows, and these must not top every list by chance."
    )
    beware = (
        "A tiny group that is truly different is drawn to the others as well: more rows are the only cure."
    )
    reference = SOURCE

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_rate(self.metric):
            msg = f"{self.name}: '{self.metric.text}' is no share of rows, such as recall or selection_rate"
            raise ParameterError(msg, "metric")
        for fact in ("direction", "needs_score", "threshold_free"):
            object.__setattr__(self, fact, getattr(self.metric, fact))

    def finalise(self, state: Groups) -> Any:
        return shrunken(state.values[self.metric.text], state.sizes[self.metric.text])


register_for(TASKS, ShrunkenRate)
