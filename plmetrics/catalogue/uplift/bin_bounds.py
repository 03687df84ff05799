"""Totals of both arms in the rows with the highest scores, and bounds where scores are counted in bins.

Curves of the totals, whose areas are metrics of uplift, run over the share of all rows, from nobody to everybody; they
begin at 0 and are straight between points. At the ends of bins curves are exact. Inside a bin they depend on the order
of its rows, which is not known: only how many rows of each arm it holds, the sum of their outcomes, and between what
any outcome lies. Rows of one score are taken together, so that a bin that is `tied` has no order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plmetrics.core import ops

Interval = tuple[Any, Any]

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
        gained = ops.difference(self.treated_outcome, expected)
        return gained / ops.broadcast(self._state.treated_weight, self.mass)

    def guelman(self) -> Any:
        """Outcome of the treated by treated row of all, less that of the controls by control of all."""
        treated = self.treated_outcome / ops.broadcast(self._state.treated_weight, self.mass)
        control = self.control_outcome / ops.broadcast(self._state.control_weight, self.mass)
        return ops.difference(treated, control)

    def uplift(self) -> Any:
        """Share of all rows times the difference of the arms' mean outcomes; the mean of no rows is 0."""
        treated = ops.ratio(self.treated_outcome, self.treated, otherwise=0.0)
        control = ops.ratio(self.control_outcome, self.control, otherwise=0.0)
        return self.share * ops.difference(treated, control)

    def area(self, curve: Any) -> Any:
        """The area under one of the curves."""
        step = self.mass / ops.broadcast(self._state.weight, self.mass)
        return ops.total(step * (curve + ops.above(curve, 0.0))) / 2.0


class BinBounds:
    """Bounds on the curves inside each bin."""

    def __init__(self, state: Any) -> None:
        self._totals = TargetedTotals(state)
        self._state = state
        self._ends = tuple(
            ops.broadcast(end, self._totals.mass) for end in (state.lowest_outcome, state.highest_outcome)
        )

    def guelman(self) -> Interval:
        """Of the curve of this name."""
        (low, high), (least, most) = self._outcome("treated"), self._outcome("control")
        treated, control = (self._arm_weight("treated"), self._arm_weight("control"))
        return low / treated - most / control, high / treated - least / control

    def radcliffe(self) -> Interval:
        """Of the curve of this name."""
        low, high = self._outcome("treated")
        least, most = _product(self._mean("control"), self._mass("treated"))
        treated = self._arm_weight("treated")
        return (low - most) / treated, (high - least) / treated

    def uplift(self) -> Interval:
        """Of the curve of this name."""
        (low, high), (least, most) = self._mean("treated"), self._mean("control")
        share = self._totals.share
        return _product((low - most, high - least), (ops.above(share, 0.0), share))

    def area(self, curve: Any, between: Interval) -> Any:
        """Bound on the distance of the area under a curve from that of straight lines, given bounds on the curve."""
        low, high = between
        middle = (curve + ops.above(curve, 0.0)) / 2.0
        step = self._totals.mass / ops.broadcast(self._state.weight, self._totals.mass)
        off = ops.larger(ops.larger(high - middle, middle - low), 0.0)
        return ops.total(ops.where(self._state.tied, 0.0, step * off))

    def _arm_weight(self, arm: str) -> Any:
        return ops.broadcast(getattr(self._state, f"{arm}_weight"), self._totals.mass)

    def _mass(self, arm: str) -> Interval:
        """The weight of an arm from a place in a bin upwards."""
        running = getattr(self._totals, arm)
        return ops.above(running, 0.0), running

    def _outcome(self, arm: str) -> Interval:
        """The sum of an arm's outcomes from there upwards."""
        mass, outcome = getattr(self._state, arm), getattr(self._state, f"{arm}_outcome")
        above = ops.above(getattr(self._totals, f"{arm}_outcome"), 0.0)
        gained, lost = _partial_sums(mass, outcome, *self._ends)
        return above - lost, above + gained

    def _mean(self, arm: str) -> Interval:
        """The mean of an arm's outcomes from there upwards; 0 as long as it has no rows."""
        low, high = mean_between(self._outcome(arm), self._mass(arm), *self._ends)
        fewest, most = self._mass(arm)
        none = fewest <= 0
        low = ops.where(none, ops.smaller(low, 0.0), low)
        high = ops.where(none, ops.larger(high, 0.0), high)
        return ops.where(most <= 0, 0.0, low), ops.where(most <= 0, 0.0, high)


def top_bound(state: Any, value: Any, shares: tuple[Any, Any], *, by_arm: bool) -> Any:
    """Error bound of `value`, the effect in a top with a share of each arm's rows of a bin."""
    treated, control = shares
    cut = {
        arm: ops.where(state.tied, 0.0, (share > 0) & (share < 1)) > 0
        for arm, share in (("treated", treated), ("control", control))
    }
    taken = {
        arm: ops.total(ops.where(cut[arm], getattr(state, arm) * share, 0.0))
        for arm, share in zip(cut, shares, strict=True)
    }
    there = {arm: ops.total(ops.where(cut[arm], getattr(state, arm), 0.0)) for arm in cut}
    means = []
    for arm, other, share in (("treated", "control", treated), ("control", "treated", control)):
        fewest = most = taken[arm]
        if not by_arm:
            both = taken["treated"] + taken["control"]
            fewest, most = ops.larger(both - there[other], 0.0), ops.smaller(both, there[arm])
        outcome = getattr(state, f"{arm}_outcome")
        full = ops.total(ops.where(cut[arm], 0.0, getattr(state, arm) * share))
        gained, lost = _partial_sums(
            there[arm],
            ops.total(ops.where(cut[arm], outcome, 0.0)),
            state.lowest_outcome,
            state.highest_outcome,
        )
        sure = ops.total(ops.where(cut[arm], 0.0, outcome * share))
        sums, masses = (sure - lost, sure + gained), (full + fewest, full + most)
        means.append(mean_between(sums, masses, state.lowest_outcome, state.highest_outcome))
    (low, high), (least, highest) = means
    return ops.larger(ops.larger(high - least - value, value - (low - highest)), 0.0)


def mean_between(sums: Interval, masses: Interval, lowest: Any, highest: Any) -> Interval:
    """Bounds on a mean, from bounds on the sum, on the weight, and on each number."""
    (low, high), (fewest, most) = sums, masses
    least = ops.where(low < 0, ops.ratio(low, fewest, otherwise=0.0), ops.ratio(low, most, otherwise=0.0))
    largest = ops.where(
        high > 0, ops.ratio(high, fewest, otherwise=0.0), ops.ratio(high, most, otherwise=0.0)
    )
    least = ops.where(fewest <= 0, lowest, ops.larger(least, lowest))
    return least, ops.where(fewest <= 0, highest, ops.smaller(largest, highest))


def _partial_sums(mass: Any, total: Any, lowest: Any, highest: Any) -> Interval:
    """Largest excess of a sum over some rows above 0, and below it, given those of all and the bounds of each."""
    spread = ops.ratio(highest * (total - mass * lowest), highest - lowest, otherwise=0.0)
    gained = ops.where(lowest >= 0, total, ops.where(highest <= 0, 0.0, spread))
    return gained, gained - total


def _product(one: Interval, positive: Interval) -> Interval:
    """Bounds on a product with a nonnegative second factor."""
    (low, high), (least, most) = one, positive
    return low * ops.where(low < 0, most, least), high * ops.where(high > 0, most, least)


def area_bound(state: Any, curve: Callable[[Any], Any]) -> Any:
    """Error bound of an area from that of the bins; `curve` gives a curve of totals, or its ends inside bins."""
    bounds = BinBounds(state)
    return bounds.area(curve(TargetedTotals(state)), curve(bounds))
