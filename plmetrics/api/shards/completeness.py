"""Whether the states that are merged are of all units of their plans."""

from plmetrics.features.shards.coverage import UnitCoverage, planned_states

__all__ = ["UnitCoverage", "planned_states"]
