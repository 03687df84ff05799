"""Metric of one model over that of another: relative errors, and overall weighted averages of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.catalogue.composite_metrics import AcrossSlices, DerivedMetric
from plmetrics.catalogue.parameters import ParameterError, fact_of, parameter
from plmetrics.catalogue.registry import register_for
from plmetrics.core import ops

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric

TASKS = ("regression", "quantile")


@dataclass(frozen=True)
class Relative(DerivedMetric):
    """Ratio of a metric of two models on the same rows: m / m_to.

    Slice by slice and replicate by replicate, so that its interval is of a paired ratio. With `missing: drop_per_model`
    each model has rows of its own: read it in slices that both have. Weighted as the metric is; 1 for the other model
    itself; undefined (`zero_denominator`) where the other model has 0, (`nonpositive_values`) where one of the two is
    below 0, else with the status of the two values. In formulas it makes the overall weighted average of forecasting
    competitions: `(relative(smape, to=naive) + relative(mase(scale=naive_error), to=naive)) / 2`. Source: Makridakis et
    al. (2020).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1.0, 2.0], "good": [1.5, 2.0], "naive": [0.0, 3.0]})
    >>> asked = {"task": "regression", "label": "y", "models": ["good", "naive"]}
    >>> plm.evaluate(rows, **asked, metrics=["relative(mae, to=naive)"]).metrics["value"].to_list()
    [0.25, 1.0]
    """

    name = "relative"
    range = (0.0, float("inf"))
    direction = "lower"
    formula = "m / m_to"
    use_when = "Errors of slices or series of different scale are compared, or averaged."
    beware = "It is large where the other model is nearly perfect, and the mean of ratios is not the ratio of means."
    reference = (
        "Makridakis, Spiliotis and Assimakopoulos (2020), The M4 competition, Int. J. Forecasting 36(1)"
    )

    metric: Metric = parameter(doc="the metric", domain="a metric", unnamed=True)  # noqa: RUF009
    to: str = parameter(
        doc="the model whose value is the denominator", check=bool, domain="the name of a model"
    )

    chosen_threshold = fact_of("metric.chosen_threshold")
    lacks = fact_of("metric.lacks")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.metric, AcrossSlices) or self.metric.by_class:
            msg = f"{self.name}: '{self.metric.text}' has not one value in each slice, and one is needed"
            raise ParameterError(msg, "metric")
        for fact in ("direction", "needs_score", "threshold_free"):
            object.__setattr__(self, fact, getattr(self.metric, fact))

    @property
    def other_model(self) -> str:  # type: ignore[override]
        return self.to

    def parts(self) -> tuple[Metric, ...]:
        return (self.metric,)

    def finalise(self, state: Any) -> Any:
        """The ratio, NaN where one of the two is undefined."""
        return ops.ratio(state[self.metric.text], state[self.other_key(self.metric)])

    def combined_status(self, value: Any, statuses: Sequence[Any]) -> Any:
        """As of every derived metric; without a finite ratio of two values the denominator is 0.

        A ratio of a negative number and a positive one says nothing of their sizes.
        """
        status = super().combined_status(value, statuses)
        status = np.where(status == "not_finite", "zero_denominator", status)
        return np.where((status == "ok") & (value < 0), "nonpositive_values", status)


register_for(TASKS, Relative)
