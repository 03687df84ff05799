"""Whether the effect of a treatment differs between slices by more than chance."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from plmetrics.catalogue.fairness.base import Judged
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.uplift.arms import INFINITY, OUTCOME, OfArms, centred_moment
from plmetrics.catalogue.uplift.effects import AverageEffect
from plmetrics.core import ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.derived import Groups
    from plmetrics.catalogue.metric import Direction, Kind, Metric, Undefined
    from plmetrics.states.sums import Atom, RowValue

_COCHRAN = "Cochran (1954), The combination of estimates from different experiments, Biometrics 10(1)"


class EffectError(OfArms):
    """Standard error of `ate` for independent rows: the root of s1^2 / W1 + s0^2 / W0, s^2 an arm's variance (ddof 1).

    In the outcome's unit; weights count rows; undefined (`empty_arm`) where an arm has no rows, `zero_denominator`
    where its weight is at most 1 or no outcome differs from its arm's others.
    """

    name = "ate_standard_error"
    family = "sums"
    range = (0.0, INFINITY)
    direction: ClassVar[Direction] = "lower"

    def centres(self) -> tuple[RowValue, ...]:
        """The outcomes."""
        return (OUTCOME,)

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Two moments of the outcomes of each arm around a constant near them."""
        moments = {
            "treated_sum": centred_moment(treated=True),
            "control_sum": centred_moment(treated=False),
            "treated_square_sum": centred_moment(2, treated=True),
            "control_square_sum": centred_moment(2, treated=False),
        }
        return {**super().atoms(), **moments}

    def finalise(self, state: Any) -> Any:
        """Root of the variance."""
        return ops.sqrt(self._variance(state))

    def undefined(self, state: Any) -> Undefined:
        """Also an arm of a single row, and no variance at all."""
        single = ops.smaller(state.treated_weight, state.control_weight) <= 1
        nothing = ~(self._variance(state) > 0)
        return [*super().undefined(state), ("zero_denominator", single), ("zero_denominator", nothing)]

    @staticmethod
    def _variance(state: Any) -> Any:
        """The sum over arms of variance / weight; variation within the rounding of n summands is none."""
        total = 0.0
        for arm in ("treated", "control"):
            weight, first = getattr(state, f"{arm}_weight"), getattr(state, f"{arm}_sum")
            second = getattr(state, f"{arm}_square_sum")
            found = second - first * ops.ratio(first, weight)
            found = ops.where(found <= (state.n + 8.0) * sys.float_info.epsilon * second, 0.0, found)
            total = total + ops.ratio(found, weight * (weight - 1.0))
        return total


@dataclass(frozen=True)
class OfEffects(Judged):
    """Base of the metrics of the effects in the slices of a set, weighted by the inverse of their squared errors."""

    task = "uplift"
    family = "derived"
    direction: ClassVar[Direction] = "none"
    kind: ClassVar[Kind] = "extreme"
    failures: ClassVar[tuple[str, ...]] = ()
    reference = _COCHRAN

    def parts(self) -> tuple[Metric, ...]:
        """The effect of each slice, and its standard error."""
        return (AverageEffect(), EffectError())

    @staticmethod
    def _statistic(groups: Groups) -> Any:
        effect, error = (np.asarray(groups.values[part.text]) for part in (AverageEffect(), EffectError()))
        weight = 1.0 / error**2
        mean = (weight * effect).sum(axis=-1) / weight.sum(axis=-1)
        return (weight * (effect - mean[..., None]) ** 2).sum(axis=-1)


@register
@dataclass(frozen=True)
class CochranQ(OfEffects):
    """Spread of the effects of slices around their common effect, in units of their errors: sum of (d - m)^2 / v.

    d is a slice's `ate`, v its squared standard error s1^2 / W1 + s0^2 / W0 (s^2 the variance of an arm's outcomes, W
    its weight), m the mean of d with weights 1 / v. 0 or more, about the number of slices less one if all have the same
    effect; weights count rows, which are taken as independent; undefined (`too_few_groups`) with fewer than two slices
    that have both; the others are named in the note. It has no interval. Source: Cochran (1954).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [3, 1, 0, 2, 9, 7, 1, 1], "t": [1, 1, 0, 0] * 2, "g": list("aaaabbbb"), "p": 1.0})
    >>> arguments = {"task": "uplift", "label": "y", "treatment": "t", "models": "p", "slices": "g"}
    >>> found = plm.evaluate(rows, metrics="cochran_q(by=g)", **arguments).metrics
    >>> round(found["value"].item(), 4)
    12.0
    """

    name = "cochran_q"
    range = (0.0, INFINITY)
    formula = "sum over slices of (ate - common effect)^2 / standard error^2"
    use_when = (
        "You ask whether a treatment works differently in some slices, or whether they differ by chance."
    )
    beware = "Slices must not overlap, and with rows that are not independent (a unit) it is too large."

    def finalise(self, state: Groups) -> Any:
        """The weighted sum of squares."""
        return self._statistic(state)


@register
@dataclass(frozen=True)
class CochranQPValue(OfEffects):
    """Chance of a cochran_q at least as large if all slices have the same effect.

    From the chi-squared distribution with one degree of freedom less than there are slices. In [0, 1]; undefined
    (`too_few_groups`) as cochran_q is. It has no interval. Source: Cochran (1954).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [3, 1, 0, 2, 9, 7, 1, 1], "t": [1, 1, 0, 0] * 2, "g": list("aaaabbbb"), "p": 1.0})
    >>> arguments = {"task": "uplift", "label": "y", "treatment": "t", "models": "p", "slices": "g"}
    >>> found = plm.evaluate(rows, metrics="cochran_q_p_value(by=g)", **arguments).metrics
    >>> round(found["value"].item(), 6)
    0.000532
    """

    name = "cochran_q_p_value"
    range = (0.0, 1.0)
    formula = "P(chi-squared with slices - 1 degrees of freedom >= cochran_q)"
    use_when = "A report must state the test of equal effects; read it beside the effects themselves."
    beware = "A large value is no proof of equal effects: few rows in each slice see little."

    def finalise(self, state: Groups) -> Any:
        """The upper tail."""
        from scipy.special import chdtrc

        slices = np.asarray(next(iter(state.values.values()))).shape[-1]
        return chdtrc(slices - 1, self._statistic(state))
