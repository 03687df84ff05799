"""The feature `labels`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.features.protocol import Feature, Outputs
from plmetrics.suite.sections.labels import Labels

if TYPE_CHECKING:
    from plmetrics.features.protocol import Run


class LabelsFeature(Feature):
    """Rows whose labels come later, and how their scores differ from those of rows with a label."""

    key = "labels"
    section = Labels
    description = "Labels that come later than scores: a null label is no bad value; none if not given."

    def run(self, run: Run) -> Outputs:  # noqa: ARG002
        """Nothing yet."""
        return Outputs({})
