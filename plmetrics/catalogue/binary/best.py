"""Accuracy at the best threshold of a ranking."""

from __future__ import annotations

from typing import Any

from plmetrics.catalogue.binary.areas import running_totals
from plmetrics.catalogue.binary.operating import OperatingPoint, highest_score
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

_TIE = 1e-12


@register
class MaxAccuracy(OperatingPoint):
    """Accuracy at its best threshold, "nothing is called positive" among them.

    Weighted by row; from max(prevalence, 1 - prevalence) to 1; undefined (`no_rows`) without rows. It is chosen on
    the rows it is judged on, so it is too high by design, and replicates are still higher: its interval is centred.
    Source: Fawcett (2006).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> found = plm.evaluate(rows, label="y", models="p", metrics=["max_accuracy"])
    >>> found.metrics.select("value", "threshold").row(0)
    (0.75, 0.9)
    """

    name = "max_accuracy"
    kind = "norm"
    nonzero = ()
    masses = ("weight",)
    handles_imbalance = False
    formula = "max over t of (TP(t) + TN(t)) / n"
    use_when = "You ask what accuracy the ranking allows at most; compare it with default_accuracy."
    beware = (
        "A best value on the same rows is optimistic, and with rare positives it is close to the default."
    )
    reference = "Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27(8)"

    def finalise(self, state: Any) -> Any:
        """The largest surplus of hits over alarms, and all negatives, over all rows."""
        points = running_totals(state)
        gained = ops.larger(ops.largest(points.hits - points.alarms), 0.0)
        return ops.ratio(gained + state.negatives, state.weight)

    def deviation(self, replicate: Any, point: Any) -> Any:
        """Largest rise of accuracy at a threshold, the bias of the best one."""
        (gained, negatives), (of_point, negatives_of_point) = map(_gains, (replicate, point))
        return ops.larger(ops.largest(gained - of_point), 0.0) + negatives - negatives_of_point

    def cut(self, state: Any) -> Any:
        """Highest threshold of the best accuracy, -inf without calls."""
        points = running_totals(state)
        gained = points.hits - points.alarms
        best = ops.larger(ops.largest(gained), 0.0)
        slack = _TIE * state.weight
        threshold = highest_score(state, (gained >= ops.broadcast(best - slack, gained)) & (points.calls > 0))
        return ops.where(best <= slack, -float("inf"), threshold)

    def bound(self, state: Any) -> Any:
        """Further gain of a bin if its positives come first."""
        points = running_totals(state)
        alarms = ops.where(state.tied, points.alarms, points.alarms_above)
        best = ops.larger(ops.largest(points.hits - alarms), 0.0)
        return ops.ratio(best - ops.larger(ops.largest(points.hits - points.alarms), 0.0), state.weight)


def _gains(state: Any) -> tuple[Any, Any]:
    """Gain of accuracy of each threshold over predicting no positives, and the accuracy of the latter."""
    points = running_totals(state)
    gained = points.hits - points.alarms
    return ops.ratio(gained, ops.broadcast(state.weight, gained)), ops.ratio(state.negatives, state.weight)
