"""Quantiles of a number of each row: what all metrics of the values channel are made of.

The state of a slice holds the distinct values, ascending, with the weight of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from plmetrics.catalogue.metric import Metric
from plmetrics.core import ops

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Family

_TIE = 1e-12
_INFINITY = float("inf")


class Quantile(Metric):
    """Base of the quantiles: the averaged inverse of the weighted distribution of `values` at `level`.

    The smallest value with more than level W of the weight at or below it, averaged with the value before where
    exactly level W is reached: NumPy's median for level 0.5. Limits are compared with a relative tolerance of 1e-12.
    """

    family: ClassVar[Family] = "scores"
    smooth = False
    needs_score = True
    expressible = False

    @property
    def level(self) -> float:
        """Which quantile, from 0 to 1."""
        raise NotImplementedError

    def finalise(self, state: Any) -> Any:
        """The mean of the first value that reaches the level and the first that passes it."""
        running = ops.cumulative(state.mass)
        wanted = ops.spread(ops.largest(running), running) * self.level
        held = state.mass > 0
        low = self._least(state, held & (running >= wanted * (1 - _TIE)))
        high = self._least(state, held & (running > wanted * (1 + _TIE)))
        return ops.where(high == _INFINITY, low, (low + ops.where(high == _INFINITY, low, high)) / 2.0)

    @staticmethod
    def _least(state: Any, condition: Any) -> Any:
        return -ops.largest(ops.where(condition, -state.value, -_INFINITY))

    def place(self, mass: Any, whole: Any) -> Any:
        """Where a replicate's quantile lies in the distribution of all rows: a share from 0 to 1.

        Args:
            mass: the replicate's weight by bin `[..., bin]`, bins ascending.
            whole: the weight of all rows by bin.
        """
        running, everything = ops.cumulative(mass), ops.cumulative(whole)
        wanted = self.level * running[..., -1:]
        within = ops.smaller(ops.larger(ops.ratio(wanted - (running - mass), mass, otherwise=0.0), 0.0), 1.0)
        reached = (running >= wanted * (1 - _TIE)) & (mass > 0)
        passed = ops.where(reached, everything - whole + within * whole, _INFINITY)
        return -ops.largest(-passed) / everything[..., -1]
