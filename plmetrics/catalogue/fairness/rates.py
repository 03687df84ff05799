"""The rates that groups are judged by, of the favourable decision, and which of them a metric reads."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

from plmetrics.catalogue.binary.counts import DecisionShare, Rate
from plmetrics.catalogue.metric import Facts, Metric
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import parameter
from plmetrics.core import ops
from plmetrics.states.sums import Atom

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.threshold_rule import ThresholdRule


class RejectionRate(DecisionShare):
    """Share of the rows that are called negative: (FN + TN) / (TP + FP + FN + TN)."""

    name = "rejection_rate"
    selected = False


class MeanGap(Metric):
    """Mean score minus rate of positives: sum of w (p - y) / W."""

    name = "mean_gap"
    mean = "rows"
    criterion = "calibration"
    task = "binary"
    needs = Sums(classes=True)
    range = (-1.0, 1.0)
    direction = "zero"
    probability = True
    needs_score = True

    def atoms(self) -> Mapping[str, Atom]:
        """The sum of scores."""
        return {"score_sum": Atom("score", lambda rows: rows.score)}

    def finalise(self, state: Any) -> Any:
        """Expected minus observed, per weight."""
        return ops.ratio(state.score_sum - state.positives, state.weight)


class RateMetric:
    """Base of the metrics of rates at a threshold: the rates they read."""

    rates: ClassVar[tuple[type[Rate], ...]]
    mirrored: ClassVar[tuple[type[Rate], ...]] = ()
    threshold: float | ThresholdRule
    facts: ClassVar[Facts] = Facts()

    def settled(self, facts: Facts) -> Self:
        """The metric of rates that know what the run knows."""
        metric = copy.copy(self)
        object.__setattr__(metric, "facts", facts)
        return metric

    def parts(self) -> tuple[Metric, ...]:
        """The rates, of the favourable decision."""
        flipped = getattr(self, "favourable", "positive") == "negative"
        rates = self.mirrored if flipped else self.rates
        return tuple(rate(threshold=self.threshold).settled(self.facts) for rate in rates)


def favourable_parameter() -> Any:
    """The parameter `favourable`."""
    return parameter(
        "positive",
        doc="the decision that people want",
        options=("positive", "negative"),
    )
