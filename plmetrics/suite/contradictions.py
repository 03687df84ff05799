"""Gates of a suite that cannot all hold: criteria of fairness that exclude each other."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from plmetrics.catalogue.fairness.base import Judged
from plmetrics.catalogue.metric import leaves

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.suite.model import Suite

_CRITERIA: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "parity": frozenset({"selection_rate", "rejection_rate"}),
        "odds": frozenset({"recall", "specificity", "fpr", "fnr"}),
        "calibration": frozenset(
            {"precision", "npv", "false_discovery_rate", "false_omission_rate", "mean_gap", "ece"}
            | {"calibration_ratio", "calibration_intercept", "calibration_slope"}
        ),
    }
)
"""The rates by which a gate between groups asks for each criterion."""


def contradictions(suite: Suite) -> list[str]:
    """A warning for each slice set that is gated on parity, odds and calibration together.

    Where the groups' rates of positives differ, and the scores do not separate the classes perfectly, no score can
    fulfil even two of the three. Sources: Kleinberg, Mullainathan and Raghavan (2017); Chouldechova (2017).
    """
    asked: dict[str, set[str]] = {}
    for gate in suite.gates:
        metric = gate.subject
        if isinstance(metric, Judged):
            names = {leaf.name for leaf in leaves(metric)}
            asked.setdefault(metric.slice_set, set()).update(
                criterion for criterion, rates in _CRITERIA.items() if names & rates
            )
    return [
        f"the gates ask for parity, odds and calibration between the slices of '{name}' together: where rates of "
        "positives differ between groups, no imperfect score can have even two of them; decide which matters"
        for name, criteria in asked.items()
        if len(criteria) == len(_CRITERIA)
    ]
