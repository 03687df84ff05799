"""Quantiles of a number of each row: what all metrics of the values channel are made of.

The state of a slice holds the distinct values, ascending, with the weight of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.metric import Metric
from plmetrics.core import ops

if TYPE_CHECKING:
    from plmetrics.catalogue.needs import Quantiles

_TIE = 1e-12
_INFINITY = float("inf")


class Quantile(Metric):
    """Base of the quantiles: the averaged inverse of the weighted distribution of a number of each row at a level.

    The smallest value with more than level W of the weight at or below it, averaged with the value before where
    exactly level W is reached: NumPy's median for level 0.5. Limits are compared with a relative tolerance of 1e-12.
    """

    family = "scores"
    smooth = False
    needs_score = True
    expressible = False

    @property
    def needs(self) -> Quantiles:
        """Which quantile, and of what."""
        raise NotImplementedError

    def finalise(self, state: Any) -> Any:
        """The mean of the first value that reaches the level and the first that passes it."""
        running = ops.cumulative(state.mass)
        target = ops.broadcast(ops.largest(running), running) * self.needs.level
        occupied = state.mass > 0
        low = self._least(state, occupied & (running >= target * (1 - _TIE)))
        high = self._least(state, occupied & (running > target * (1 + _TIE)))
        middle = low / 2.0 + high / 2.0  # the sum may be larger than any float
        return ops.where((high == _INFINITY) | (high == low), low, middle)

    @staticmethod
    def _least(state: Any, condition: Any) -> Any:
        return -ops.largest(ops.where(condition, -state.value, -_INFINITY))
