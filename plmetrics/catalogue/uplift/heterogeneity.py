"""Whether the effect of a treatment differs between slices by more than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from plmetrics.catalogue.fairness.base import GroupMetric
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.uplift.effects import AverageEffect
from plmetrics.catalogue.uplift.errors import EffectError
from plmetrics.catalogue.uplift.propensity import INFINITY

if TYPE_CHECKING:
    from plmetrics.catalogue.composite_metrics import Groups
    from plmetrics.catalogue.metric import Direction, Metric
    from plmetrics.catalogue.needs import Kind

_COCHRAN = "Cochran (1954), The combination of estimates from different experiments, Biometrics 10(1)"


class OfEffects(GroupMetric):
    """Base of the metrics of the effects in the slices of a set, weighted by the inverse of their squared errors."""

    task = "uplift"
    direction: ClassVar[Direction] = "none"
    kind: ClassVar[Kind] = "extreme"
    compares_groups = False
    failures: ClassVar[tuple[str, ...]] = ()
    reference = _COCHRAN

    def parts(self) -> tuple[Metric, ...]:
        return (AverageEffect(), EffectError())

    @staticmethod
    def _statistic(groups: Groups) -> Any:
        effect, error = (np.asarray(groups.values[part.text]) for part in (AverageEffect(), EffectError()))
        weight = 1.0 / error**2
        mean = (weight * effect).sum(axis=-1) / weight.sum(axis=-1)
        return (weight * (effect - mean[..., None]) ** 2).sum(axis=-1)


@register
class CochranQ(OfEffects):
    """Spread of the effects of slices around their common effect, in units of their errors: sum of (d - m)^2 / v.

    d is a slice's `ate`, v its squared standard error s1^2 / W1 + s0^2 / W0 (s^2 the variance of an arm's outcomes, W
    its weight; where those of one arm are all alike, from both arms together), m the mean of d with weights 1 / v. 0 or
    more, about the number of slices less one if all have the same effect; weights count rows, which are taken as
    independent; undefined (`too_few_groups`) with fewer than two slices that have both; the others are named in the
    note. It has no interval. Source: Cochran (1954).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [3, 1, 0, 2, 9, 7, 1, 3], "t": [1, 1, 0, 0] * 2, "g": list("aaaabbbb"), "p": 1.0})
    >>> arguments = {"task": "uplift", "label": "y", "treatment": "t", "models": "p", "slices": "g"}
    >>> round(plm.evaluate(rows, metrics="cochran_q(by=g)", **arguments).metrics["value"].item(), 4)
    6.25
    """

    name = "cochran_q"
    range = (0.0, INFINITY)
    formula = "sum over slices of (ate - common effect)^2 / standard error^2"
    use_when = (
        "You ask whether a treatment works differently in some slices, or whether they differ by chance."
    )
    beware = "Slices must not overlap, and with rows that are not independent (a unit) it is too large."

    def finalise(self, state: Groups) -> Any:
        return self._statistic(state)


@register
class CochranQPValue(OfEffects):
    """Chance of a cochran_q at least as large if all slices have the same effect.

    From the chi-squared distribution with one degree of freedom less than there are slices. In [0, 1]; undefined
    (`too_few_groups`) as cochran_q is. It has no interval. Source: Cochran (1954).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [3, 1, 0, 2, 9, 7, 1, 3], "t": [1, 1, 0, 0] * 2, "g": list("aaaabbbb"), "p": 1.0})
    >>> arguments = {"task": "uplift", "label": "y", "treatment": "t", "models": "p", "slices": "g"}
    >>> round(plm.evaluate(rows, metrics="cochran_q_p_value(by=g)", **arguments).metrics["value"].item(), 6)
    0.012419
    """

    name = "cochran_q_p_value"
    range = (0.0, 1.0)
    formula = "P(chi-squared with slices - 1 degrees of freedom >= cochran_q)"
    use_when = "A report must state the test of equal effects; read it beside the effects themselves."
    beware = "A large value is no proof of equal effects: few rows in each slice see little."

    def finalise(self, state: Groups) -> Any:
        from scipy.special import chdtrc

        slices = np.asarray(next(iter(state.values.values()))).shape[-1]
        return chdtrc(slices - 1, self._statistic(state))
