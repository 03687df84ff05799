"""Totals of both arms in the rows with the highest scores: the curves whose areas are metrics of uplift.

Curves run over the share of all rows, from nobody to everybody; they begin at 0 and are straight between points.
"""

from __future__ import annotations

from typing import Any

from plmetrics.core import ops

_CHANNELS = ("treated", "control", "treated_outcome", "control_outcome")


class TargetedTotals:
    """Weight and outcome of each arm at every point of a state and all above it.

    Named as in the state; `mass` is what each point holds itself.
    """

    def __init__(self, state: Any) -> None:
        running = [ops.cumulative(getattr(state, name), descending=True) for name in _CHANNELS]
        self.treated, self.control, self.treated_outcome, self.control_outcome = running
        self.mass = state.treated + state.control
        self._state = state

    @property
    def share(self) -> Any:
        """The share of all rows."""
        return (self.treated + self.control) / ops.broadcast(self._state.weight, self.mass)

    def radcliffe(self) -> Any:
        """Outcome gained over as many controls, by treated row of all; as gained while there are no controls."""
        expected = ops.ratio(self.control_outcome * self.treated, self.control, otherwise=0.0)
        return (self.treated_outcome - expected) / ops.broadcast(self._state.treated_weight, self.mass)

    def guelman(self) -> Any:
        """Outcome of the treated by treated row of all, less that of the controls by control of all."""
        treated = self.treated_outcome / ops.broadcast(self._state.treated_weight, self.mass)
        return treated - self.control_outcome / ops.broadcast(self._state.control_weight, self.mass)

    def uplift(self) -> Any:
        """Share of all rows times the difference of the arms' mean outcomes; the mean of no rows is 0."""
        treated = ops.ratio(self.treated_outcome, self.treated, otherwise=0.0)
        return self.share * (treated - ops.ratio(self.control_outcome, self.control, otherwise=0.0))

    def area(self, curve: Any) -> Any:
        """The area under one of the curves."""
        step = self.mass / ops.broadcast(self._state.weight, self.mass)
        return ops.total(step * (curve + ops.above(curve, 0.0))) / 2.0
