"""The feature `engine`: it says where rows are counted, and adds nothing to a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.features.protocol import Feature, Outputs
from plmetrics.features.shards.engine_section import EngineSection

if TYPE_CHECKING:
    from plmetrics.features.protocol import Run


class EngineFeature(Feature):
    """Where the units of a table are counted."""

    key = "engine"
    section = EngineSection
    description = "Where the units of the table are counted: in this process if not given."

    def run(self, run: Run) -> Outputs:  # noqa: ARG002
        """Nothing: its units are counted before."""
        return Outputs({})
