"""Chosen thresholds: by costs, by the best value of a metric, or to reach a limit.

The text of a rule stands where a threshold's number would: `precision(threshold=max(f1))`. A rule that needs data
chooses once per model, on all rows or on those of `select_on`, and is a constant of the run from then on: its value
is the same in every slice and every replicate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import ThresholdRule
from plmetrics.core.names import number_text
from plmetrics.core.text import Call, HintError, Value, parse_call
from plmetrics.states.sums import class_threshold

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric

LIMITS = ("recall", "precision", "fpr", "volume")
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Optimal(ThresholdRule):
    """Threshold of least expected cost for calibrated probabilities: c_fp / (c_fp + c_fn).

    Source: Elkan (2001), The foundations of cost-sensitive learning, IJCAI.

    >>> Optimal(cost_fp=1.0, cost_fn=4.0).constant
    0.2
    """

    cost_fp: float = 1.0
    cost_fn: float = 1.0

    @property
    def constant(self) -> float:
        """The share of a false positive in the two costs."""
        return self.cost_fp / (self.cost_fp + self.cost_fn)

    def _call(self) -> Call:
        return Call("optimal", {"cost_fp": self.cost_fp, "cost_fn": self.cost_fn})


@dataclass(frozen=True, slots=True)
class Best(ThresholdRule):
    """Threshold of the largest, or smallest, value of a metric; the highest of equals.

    Candidates are the distinct scores, and one above them all at which nothing is called positive.
    """

    metric: Metric | None = None
    smallest: bool = False

    def _call(self) -> Call:
        assert self.metric is not None
        return Call("min" if self.smallest else "max", {}, (_metric_argument(self.metric),))

    def choose(self, points: Any) -> float:
        """Best candidate with a defined metric."""
        assert self.metric is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.asarray(self.metric.finalise(points), dtype=np.float64)
            for _, condition in self.metric.undefined(points):
                value = np.where(condition, np.nan, value)
        defined = np.isfinite(value)
        if not defined.any():
            return float("nan")
        slack = _TIE * np.abs(value[defined]).max()  # whatever the unit of costs
        value = np.where(defined, -value if self.smallest else value, -np.inf)
        return float(points.threshold[np.flatnonzero(value >= value.max() - slack)[-1]])


@dataclass(frozen=True, slots=True)
class Reach(ThresholdRule):
    """Threshold at a limit of a share: recall, volume, precision or fpr.

    recall, volume: the highest at which the share is at least the limit; precision: that of the highest recall with
    at least the limit; fpr: that of the highest recall with at most the limit. Shares are compared with a tolerance
    of 1e-12.
    """

    share: str = "recall"
    limit: float = 0.5

    def _call(self) -> Call:
        return Call("at", {self.share: self.limit})

    def choose(self, points: Any) -> float:
        """The candidate, NaN where none reaches the limit."""
        calls = points.tp + points.fp
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = {
                "recall": points.tp / points.positives,
                "precision": points.tp / calls,
                "fpr": points.fp / points.negatives,
                "volume": calls / points.weight,
            }[self.share]
            reaching = shares <= self.limit + _TIE if self.share == "fpr" else shares >= self.limit - _TIE
        members = np.flatnonzero(reaching)
        if len(members) == 0:
            return float("nan")
        if self.share in {"recall", "volume"}:
            return float(points.threshold[members[-1]])
        hits = points.tp[members]
        return float(points.threshold[members[hits >= hits.max()][-1]])


class RuleError(HintError):
    """Error of a threshold's rule."""


_KNOWN = (
    "known: optimal(cost_fp=1, cost_fn=5), max(f1), min(expected_cost(cost_fp=1, cost_fn=5)), at(recall=0.9)"
)


def read_rule(call: Call, metric_of: Callable[[Call], Metric]) -> ThresholdRule:
    """A rule from its text taken apart.

    `metric_of` finds the metric that `max` and `min` name.

    Raises:
        RuleError: there is no such rule, or a parameter is wrong.
    """
    parameters = dict(call.parameters)
    select_on = parameters.pop("select_on", None)
    if select_on is not None and not isinstance(select_on, str):
        msg = f"{call.name}: select_on must be a condition in quotes, not {select_on}"
        raise RuleError(msg)
    if call.name == "optimal":
        return Optimal(select_on, *_costs(parameters, call.arguments))
    if call.name in {"max", "min"}:
        if len(call.arguments) != 1 or parameters:
            msg = f"{call.name} takes the name of one metric"
            raise RuleError(msg, f"write {call.name}(f1)")
        named = call.arguments[0]
        named = Call(named) if isinstance(named, str) else named
        if not isinstance(named, Call):
            msg = f"{call.name} takes the name of a metric, not {named}"
            raise RuleError(msg, f"write {call.name}(f1)")
        return Best(select_on, _at_threshold(metric_of(named), named), call.name == "min")
    if call.name == "at":
        return _reach(select_on, parameters, call.arguments)
    msg = f"threshold={call.name}(...) is not known"
    raise RuleError(msg, _KNOWN)


def _costs(parameters: dict[str, Value], arguments: tuple[Value, ...]) -> tuple[float, float]:
    costs = [parameters.pop(name, None) for name in ("cost_fp", "cost_fn")]
    numbers = [float(cost) for cost in costs if isinstance(cost, (int, float)) and not isinstance(cost, bool)]
    if parameters or arguments or len(numbers) < 2 or min(numbers) < 0 or sum(numbers) <= 0:
        msg = "optimal takes two costs of at least 0, not both 0"
        raise RuleError(msg, "write optimal(cost_fp=1, cost_fn=5)")
    return numbers[0], numbers[1]


def _reach(select_on: str | None, parameters: dict[str, Value], arguments: tuple[Value, ...]) -> Reach:
    hint = "write at(recall=0.9), at(precision=0.9), at(fpr=0.01) or at(volume=0.1)"
    if arguments or len(parameters) != 1:
        msg = "at takes one limit"
        raise RuleError(msg, hint)
    ((share, limit),) = parameters.items()
    if share not in LIMITS:
        msg = f"at takes no {share}"
        if share in {"specificity", "tnr"}:
            hint = "limit fpr, which is 1 - specificity: at(fpr=0.1) is a specificity of 0.9"
        raise RuleError(msg, hint)
    if not isinstance(limit, (int, float)) or isinstance(limit, bool) or not 0 <= limit <= 1:
        msg = f"at: {share} must be a number from 0 to 1, not {limit}"
        raise RuleError(msg, hint)
    return Reach(select_on, share, float(limit))


def _at_threshold(metric: Metric, named: Call) -> Metric:
    if not hasattr(metric, "threshold") or not isinstance(metric.needs, Sums):
        msg = f"'{metric.name}' is read at no threshold, so none can be chosen by it"
        raise RuleError(msg, "name a metric such as f1, mcc or expected_cost(cost_fp=1, cost_fn=5)")
    if "threshold" in named.parameters:
        msg = f"the threshold of {named} is what is to be chosen"
        raise RuleError(msg, f"leave it out: {metric.name}")
    return metric


def _metric_argument(metric: Metric) -> Value:
    """A metric as a value in a rule's text: a bare word where it has no parameters."""
    call = parse_call(metric.text)
    return call if call.parameters else call.name


def threshold_keys(metric: Metric) -> tuple[str, ...]:
    """Key of the threshold by a metric's rule among those of a model, or those of its classes."""
    rule = metric.chosen_threshold
    if rule is None:
        return ()
    return tuple(class_threshold(rule.text, name) for name in threshold_classes(metric)) or (rule.text,)


def threshold_classes(metric: Metric) -> tuple[str, ...]:
    """Classes with thresholds of their own; none where a row has one score."""
    classes: tuple[str, ...] = getattr(metric, "threshold_classes", ())
    return classes


def threshold_text(threshold: float | ThresholdRule) -> str:
    """A threshold as it stands in a metric's text."""
    return threshold.text if isinstance(threshold, ThresholdRule) else number_text(threshold)
