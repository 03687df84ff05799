"""The features `interval` and `keep`: what they add to a run is what its record says of its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.features.nights.interval_section import IntervalSection, Keep
from plmetrics.features.protocol import Feature, Outputs

if TYPE_CHECKING:
    from plmetrics.features.protocol import Run


class IntervalFeature(Feature):
    """The rows of one interval of time at a time, each with a result of its own."""

    key = "interval"
    section = IntervalSection
    description = "Which rows are of which interval of time: a run evaluates one; all rows if not given."

    def run(self, run: Run) -> Outputs:  # noqa: ARG002
        """Nothing: its rows are chosen before they are counted."""
        return Outputs({})


class KeepFeature(Feature):
    """How long what is written of intervals is there."""

    key = "keep"
    section = Keep
    description = "How long results and states of intervals are there; for ever if not given."

    def run(self, run: Run) -> Outputs:  # noqa: ARG002
        """Nothing: `plmetrics gc` reads it."""
        return Outputs({})
