"""Warnings of gates: impossible and contradictory limits, and gates a trivial model passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.core.names import name_list, number_text

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.gates import Gate

_MOST_LIMITS = 3

_REWARDS = {
    "calls": ("every row", "precision or one that counts false alarms"),
    "refusals": ("hardly any row", "recall or one that counts misses"),
}
"""By what a metric rewards: which rows a trivial model calls, and what gate or metric tells it from others."""


def gate_warnings(suite: Suite) -> list[str]:
    """Warnings of the gates of a suite, independent of its rows."""
    return [*_impossible_limits(suite.gates), *_contradictions(suite.gates), *_gates_of_one_side(suite)]


def _impossible_limits(gates: Sequence[Gate]) -> Iterator[str]:
    """Warning of gates with limits beyond the ranges of their metrics, as those in percent."""
    impossible = [fault for gate in gates if (fault := _beyond_range(gate)) is not None]
    limits = list(dict.fromkeys(impossible))
    if len(impossible) == 1:
        (limit, side), *_ = limits
        yield f"no value passes the gate {limit}: the metric is {side}"
    elif impossible:
        names = [f"{limit} (the metric is {side})" for limit, side in limits[:_MOST_LIMITS]]
        more = [f"and {len(limits) - _MOST_LIMITS} more"] if len(limits) > _MOST_LIMITS else []
        yield f"no value passes {len(impossible)} gates: {'; '.join([*names, *more])}"


def _beyond_range(gate: Gate) -> tuple[str, str] | None:
    """The limit of a gate and the side of its metric's range that it is beyond; None where values may pass."""
    if gate.against is not None:
        return None
    low, high = gate.subject.range
    if gate.at_least is not None and not gate.at_least <= high:
        return f"{gate.subject.text}, at_least: {number_text(gate.at_least)}", f"at most {number_text(high)}"
    if gate.at_most is not None and not gate.at_most >= low:
        return f"{gate.subject.text}, at_most: {number_text(gate.at_most)}", f"at least {number_text(low)}"
    return None


def _contradictions(gates: Sequence[Gate]) -> Iterator[str]:
    """Warning for each slice set with gates on parity, odds and calibration together.

    Where the groups' rates of positives differ, and the scores do not separate the classes perfectly, no score can
    fulfil even two of the three. Sources: Kleinberg, Mullainathan and Raghavan (2017); Chouldechova (2017).
    """
    criteria_of_sets: dict[str, set[str]] = {}
    for gate in gates:
        metric = gate.subject
        if is_across_slices(metric):
            criteria_of_sets.setdefault(metric.slice_set, set()).update(metric.criteria)
    for name, criteria in criteria_of_sets.items():
        if len(criteria) == 3:
            yield (
                f"the gates ask for parity, odds and calibration between the slices of '{name}' together: where rates "
                "of positives differ between groups, no imperfect score can have even two of them; decide which matters"
            )


def _gates_of_one_side(suite: Suite) -> Iterator[str]:
    """Warning for gates on metrics a constant call satisfies, of every row or none, without a metric against it.

    Metrics at a threshold that a rule chooses are left out: the rule says how many rows are called.
    """
    gated = {gate.metric.text: gate.metric for gate in suite.gates if gate.subject is gate.metric}
    metrics = (*suite.metrics, *gated.values())
    for rewards, (rows, companion) in _REWARDS.items():
        names = [
            name
            for name, metric in gated.items()
            if metric.rewards == rewards and metric.fixed_threshold is not None
        ]
        if names and not any(_tells_trivial(metric, rewards) for metric in metrics):
            yield (
                f"a model that calls {rows} positive passes the gate on {name_list(names)}, and no metric of the suite "
                f"tells: ask for {companion} as well, or gate f1"
            )


def _tells_trivial(metric: Metric, rewards: str) -> bool:
    """Whether a metric punishes more of another's rewards; metrics defined in the suite may.

    Metrics of probabilities are: a model that calls every row has scores that are too high.
    """
    if metric.path is not None or metric.reads_probability:
        return True
    return not metric.threshold_free and not is_across_slices(metric) and metric.rewards != rewards
